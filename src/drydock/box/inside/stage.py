"""What a parked box is made of, and the drop of every privilege at the end of its making."""

from __future__ import annotations

import _socket
import os
import resource
import struct

from . import kernel, messages

ROOT = "/box"
STORE = b"/store"
EMPTY = b"/empty"
"""A folder of the store with nothing in it: older kernels want at least two folders under an overlay."""
WORK = ROOT + "/work"
TMP = ROOT + "/tmp"
HOME = ROOT + "/home"
CODE = ROOT + "/code"
FOLDERS = (WORK, TMP, HOME, CODE)

_IFF_UP = 0x1
_LIMITS = {
    name: getattr(resource, "RLIMIT_" + name) for name in ("FSIZE", "NOFILE", "CORE", "MEMLOCK", "DATA", "NPROC")
}


def tmpfs_options(work_bytes: int, inodes: int) -> bytes:
    return b"size=%d,nr_inodes=%d,mode=0711" % (work_bytes, inodes)


def mount_tmpfs(options: bytes) -> None:
    kernel.mount(b"tmpfs", b"/box", b"tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)
    for folder in FOLDERS:
        os.mkdir(folder, 0o700)


def resize_tmpfs(options: bytes) -> None:
    kernel.mount(b"tmpfs", b"/box", b"tmpfs", kernel.MS_REMOUNT | kernel.MS_NOSUID | kernel.MS_NODEV, options)


def make_folders() -> None:
    """On the disk of a held box, which may have been used before."""
    for folder in FOLDERS:
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            continue


def mount_proc(*, whole: bool = False) -> None:
    """A /proc of the box's own pid namespace. The kernel's command line is the host's business, so it reads empty.

    The kernel lets nobody below us mount a /proc when a part of ours is covered; gVisor does, and covers it all.
    """
    kernel.mount(b"proc", b"/proc", b"proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    if not whole:
        kernel.mount(b"/dev/null", b"/proc/cmdline", b"", kernel.MS_BIND)


class Store:
    """The slot's store of read-only trees: its box sees the trees that its head names, and never the store itself."""

    def __init__(self) -> None:
        self._slot_mounts = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)

    def hide(self) -> None:
        """Move on to a mount namespace without it, in which all boxes of the slot begin.

        Not each box by itself: a mount table is readable by all in the same pid namespace, that of the sleeper
        included, and the store's line in it tells a path of the host.
        """
        kernel.unshare(kernel.CLONE_NEWNS)
        kernel.umount(STORE)

    def go_back(self) -> None:
        """To the mount namespace of the slot, where the next interpreter begins as this one did."""
        kernel.setns(self._slot_mounts, kernel.CLONE_NEWNS)

    def show(self, layers: list[tuple[str, str]]) -> None:
        """Mount trees at their places. An overlay, because a bind mount would tell its folder's path on the host."""
        own = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        kernel.setns(self._slot_mounts, kernel.CLONE_NEWNS)  # only from there the store can be seen
        try:
            trees = [kernel.overlay(b"%s/%s:%s%s" % (STORE, key.encode(), STORE, EMPTY)) for key, _ in layers]
        finally:
            kernel.setns(own, kernel.CLONE_NEWNS)
            os.close(own)
        for tree, (_, place) in zip(trees, layers):
            kernel.attach(tree, os.fsencode(place))
            os.close(tree)


def hand_out_doors(ctl: _socket.socket, ports: list[int]) -> None:
    """Open listeners on the box's own loopback and give them to the supervisor, who serves them from outside."""
    doors = []
    for port in ports:
        door = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
        door.bind(("127.0.0.1", port))
        door.listen(64)
        doors.append(door)
    messages.send(ctl, {"doors": ports}, [door.fileno() for door in doors])
    for door in doors:
        door.close()


class OomOrder:
    """Who dies first when memory runs out: the tenant, before the zygote. What is forked meanwhile inherits it.

    Made while the process is dumpable: else the file is root's.
    """

    def __init__(self) -> None:
        self._score = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
        self._own = os.pread(self._score, 16, 0)

    def first(self) -> None:
        os.pwrite(self._score, b"1000", 0)

    def as_before(self) -> None:
        os.pwrite(self._score, self._own, 0)


class Loopback:
    """Counts what has passed the loopback of the network namespace in which this object was made."""

    def __init__(self) -> None:
        self._table = os.open("/proc/self/net/dev", os.O_RDONLY | os.O_CLOEXEC)
        self._unused = os.pread(self._table, 4096, 0)

    def was_used(self) -> bool:
        """True once anything has passed: then sockets may linger (TIME_WAIT) that a next tenant could see."""
        return os.pread(self._table, 4096, 0) != self._unused

    def close(self) -> None:
        os.close(self._table)


def fresh_network() -> None:
    """Leave the network namespace for a new and empty one, loopback up."""
    kernel.unshare(kernel.CLONE_NEWNET)
    control = _socket.socket(_socket.AF_NETLINK, _socket.SOCK_RAW, 0)
    # struct nlmsghdr (length, RTM_NEWLINK, REQUEST | ACK, sequence, port), struct ifinfomsg (lo is always number 1)
    control.send(struct.pack("=IHHII BxHiII", 32, 16, 0x1 | 0x4, 1, 0, 0, 0, 1, _IFF_UP, _IFF_UP))
    answer = struct.unpack_from("=i", control.recv(4096), 16)[0]
    control.close()
    if answer:
        raise OSError(-answer, "loopback could not be brought up")


def read_only_work() -> None:
    """For this program alone: its own mount namespace, in which the work folder cannot be written."""
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount(WORK.encode(), WORK.encode(), b"", kernel.MS_BIND)
    flags = kernel.MS_BIND | kernel.MS_REMOUNT | kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV
    kernel.mount(b"", WORK.encode(), b"", flags)


def set_limits(limits: dict[str, int]) -> None:
    for name, value in limits.items():
        resource.setrlimit(_LIMITS[name], (value, value))


def take_environment(wanted: list[tuple[bytes, bytes]]) -> None:
    """Nothing else is left in it. As bytes, past the coding of os.environ, which touches memory that is shared; and
    not at all where it is the one that the zygote has laid out already."""
    known: dict[bytes, bytes] = os.environ._data  # type: ignore[attr-defined]
    if list(known.items()) == wanted:
        return
    os.environ.clear()
    for name, value in wanted:
        known[name] = value
        os.putenv(name, value)


def variable(name: bytes) -> str:
    """Without the exception by which os.environ learns that there is none."""
    return os.fsdecode(os.environ._data.get(name, b""))  # type: ignore[attr-defined]
