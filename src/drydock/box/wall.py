"""The outer wall: what bubblewrap is told. Policy as data, read top to bottom."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

UID_INSIDE = 1000
HOSTNAME = "sandbox"
NAMESPACES = ("pid", "net", "ipc", "uts")
# What the zygote needs to make a box, in its own user namespace only; the box drops all of them before the tenant.
# CAP_SYS_PTRACE: entering a pid namespace by the pidfd of its first process asks for it, since ours is not dumpable.
# CAP_SYS_CHROOT: entering a mount namespace asks for it, since that changes the root folder.
ZYGOTE_CAPABILITIES = ("CAP_SYS_ADMIN", "CAP_NET_ADMIN", "CAP_SETPCAP", "CAP_SYS_PTRACE", "CAP_SYS_CHROOT")
# What gVisor needs besides: its gofer gives the tenant's files their owners, its kernel goes under another uid.
GVISOR_CAPABILITIES = (
    "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID",
    "CAP_KILL", "CAP_SETGID", "CAP_SETUID",
)  # fmt: skip
LAYER_PLACES = ("/packages", "/node_modules", "/tools")
"""Where a box's layers may be mounted: at the root, never below a folder that a tenant can write."""
DEVICES = ("null", "zero", "full", "random", "urandom")
SHARED_ETC_FOLDERS = ("alternatives", "ssl/certs", "fonts")
SHARED_ETC_FILES = ("ld.so.cache", "localtime", "mime.types", "matplotlibrc")
ETC_FILES = {
    "passwd": f"sandbox:x:{UID_INSIDE}:{UID_INSIDE}::/box/home:/bin/sh\nnobody:x:65534:65534::/:/usr/sbin/nologin\n",
    "group": f"sandbox:x:{UID_INSIDE}:\nnogroup:x:65534:\n",
    "hosts": f"127.0.0.1 localhost {HOSTNAME}\n::1 localhost\n",
    # No `dns`: names cannot be resolved in a box, and so they fail at once and say so, instead of "temporarily".
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The Python that runs in the boxes, and the folders outside /usr that it needs."""

    path: str
    version: tuple[int, int]
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wall:
    """Arguments of bubblewrap, and what the launcher must do first for them to work."""

    arguments: list[str]
    files: list[tuple[str, str]]
    """Contents to copy to a path inside, so that no path of the host shows in the box's mount table."""
    staged: list[tuple[str, str]]
    """As root: host folder -> place inside, bound by the launcher before it gives up root."""


def build(
    interpreter: Interpreter,
    inside: Sequence[tuple[str, str]],
    store: str,
    disk: str | None,
    gvisor: bool = False,
) -> Wall:
    """`inside` are our own programs, compiled, and their places.

    With `gvisor` the launcher has made a user namespace already, in which a box has several uids.

    `store` is the folder of read-only trees, which every box takes out of its sight again.

    `disk` is the folder of a held box that becomes /box; a single-use box mounts a fresh tmpfs there each time.
    """
    to = ["--unshare-" + namespace for namespace in NAMESPACES]
    if not gvisor:
        to += ["--unshare-user", "--uid", str(UID_INSIDE), "--gid", str(UID_INSIDE)]
    to += ["--unshare-cgroup-try", "--hostname", HOSTNAME]
    to += ["--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL"]
    for capability in ZYGOTE_CAPABILITIES + (GVISOR_CAPABILITIES if gvisor else ()):
        to += ["--cap-add", capability]
    to += ["--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "LANG", "C.UTF-8"]
    to += ["--setenv", "PYTHONDONTWRITEBYTECODE", "1"]
    to += ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if os.path.islink("/" + name):
            to += ["--symlink", os.readlink("/" + name), "/" + name]
        elif os.path.isdir("/" + name):
            to += ["--ro-bind", "/" + name, "/" + name]
    # Made by themselves, on the way to what is in them, they would be closed to all but their owner.
    for name in ("/etc", "/etc/ssl", "/drydock", "/drydock/_drydock"):
        to += ["--perms", "0755", "--dir", name]
    for name in SHARED_ETC_FOLDERS:
        if os.path.isdir("/etc/" + name):
            to += ["--ro-bind", "/etc/" + name, "/etc/" + name]
    # Our own /dev: bubblewrap's has devpts, for which it ends in a nested user namespace that may mount nothing.
    to += ["--tmpfs", "/dev"]
    to += ["--dir", "/dev/shm"] if gvisor else ["--symlink", "/box/tmp", "/dev/shm"]
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        to += ["--symlink", "/proc/self/fd" + target, "/dev/" + name]
    for name in DEVICES:
        to += ["--dev-bind", "/dev/" + name, "/dev/" + name]
    to += ["--remount-ro", "/dev"]
    to += ["--proc", "/proc", "--dir", "/box", "--symlink", "/box/work", "/work"]
    to += ["--dir", "/var", "--symlink", "/box/tmp", "/var/tmp", "--dir", "/run"]
    # gVisor makes the empty root folder of its kernel at /tmp, and wants no link there.
    to += ["--dir", "/tmp"] if gvisor else ["--symlink", "/box/tmp", "/tmp"]
    for place in LAYER_PLACES:
        to += ["--dir", place]
    files = [*inside]
    files += [("/etc/" + name, "/etc/" + name) for name in SHARED_ETC_FILES if os.path.isfile("/etc/" + name)]
    staged = [(folder, folder) for folder in interpreter.folders]
    staged.append((store, "/store"))
    if disk is not None:
        staged.append((disk, "/box"))
    return Wall(to, files, staged)
