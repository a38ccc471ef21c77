"""From the job's head to a gVisor sandbox of its own: what the zygote's box does instead of becoming the tenant.

    box (root of the slot's user namespace)
      |- runsc run      makes the sandbox, and is gone when its first program is
      |    |- gofer     the only one of them that opens files, below the box's own root folder
      |    `- sentry    the kernel that the tenant sees; under a uid of its own, in an empty folder, filtered
      `- guest          inside the sentry: see guest.py

The tenant's side of the mounts is made of the box's own, so what he finds is what he would find without gVisor.
"""

from __future__ import annotations

import marshal
import os
import signal
import sys

from . import kernel, messages, stage, tenant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from typing import Any, NoReturn

UID = 1000
_RUN = "/run"
_BUNDLE, _STATE, _SHARED, _LOG = _RUN + "/bundle", _RUN + "/state", _RUN + "/guest", _RUN + "/log"
_RUN_OPTIONS = b"size=16777216,nr_inodes=1024,mode=0755"
_SHM = "33554432"
_NAMESPACES = ("pid", "ipc", "uts", "mount")
# What the guest's first program needs in the sentry's own kernel until it has become the tenant.
_GUEST_CAPABILITIES = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_SYS_RESOURCE")


def prepare() -> None:
    """Ahead of the job: a folder for the sandbox's own files, and the workspace given to the tenant's uid."""
    kernel.mount(b"tmpfs", _RUN.encode(), b"tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, _RUN_OPTIONS)
    for folder in (_BUNDLE, _STATE, _SHARED):
        os.mkdir(folder, 0o755)
    for folder in stage.FOLDERS:
        os.chown(folder, UID, UID)
    os.chmod(stage.ROOT, 0o711)


def run(head: dict[str, Any], fds: list[int], order: dict[str, Any], ctl: socket) -> NoReturn:
    """Run the job in a sandbox, and end as its program has ended: the zygote tells of it from our wait status."""
    # The box's own network namespace is empty but for its doors, so to share it gives a way to those and no other.
    network = "host" if head["doors"] else "none"
    import json  # here, since the zygotes of all other slots would have to carry it too

    names = head["fds"]
    stdin = fds[names.index("stdin")] if "stdin" in names else os.open("/dev/null", os.O_RDONLY)
    body = _lay_out_as_tenant(fds[names.index("body")])
    job = {name: body[name] for name in ("argv", "script", "env", "cwd")}
    job |= {"rlimits": {**head["rlimits"], "NPROC": head["processes"]}, "filters": order["filters"]}
    _write(_SHARED + "/job", marshal.dumps(job, 2), 0o444)
    _write(_SHARED + "/ended", b"", 0o600)
    _write(_BUNDLE + "/config.json", json.dumps(_config(order["hostname"], network)).encode(), 0o400)
    runsc = os.fork()
    if runsc == 0:
        _become_runsc(order["runsc"], network, (stdin, *(fds[names.index(name)] for name in ("stdout", "stderr"))))
    os.waitpid(runsc, 0)
    words, _, status = _read(_SHARED + "/ended").rpartition(b"\n")
    kind, _, why = words.decode("utf-8", "replace").partition(" ")
    if kind in ("fault", "crowded"):
        messages.send(ctl, {kind: why, "id": 0}, [])
    elif kind or not status:
        messages.send(ctl, {"lost": why or _last_line(_LOG), "id": 0}, [])
    _end_as(int(status or signal.SIGKILL))


def _lay_out_as_tenant(fd: int) -> dict[str, Any]:
    os.setegid(UID)
    os.seteuid(UID)
    try:
        return tenant.lay_out(fd)
    finally:
        os.seteuid(0)
        os.setegid(0)


def _config(hostname: str, network: str) -> dict[str, Any]:
    namespaces = [*_NAMESPACES, "network"] if network == "none" else _NAMESPACES
    capabilities = {kind: list(_GUEST_CAPABILITIES) for kind in ("bounding", "effective", "permitted")}
    return {
        "ociVersion": "1.0.0",
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": [sys.executable, "/drydock", "guest"],
            "env": [],
            "cwd": "/",
            "capabilities": capabilities,
            "noNewPrivileges": True,
        },
        "root": {"path": "/", "readonly": True},
        "hostname": hostname,
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {
                "destination": "/dev",
                "type": "devtmpfs",
                "source": "none",
            },  # named, so that it comes before what is in it
            {"destination": "/sys", "type": "tmpfs", "source": "none", "options": ["ro"]},
            {"destination": stage.ROOT, "type": "bind", "source": stage.ROOT},
            {"destination": "/tmp", "type": "bind", "source": stage.TMP},
            {"destination": "/dev/shm", "type": "tmpfs", "source": "none", "options": ["mode=1777", "size=" + _SHM]},
            {"destination": _RUN, "type": "bind", "source": _SHARED},
        ],
        "linux": {"namespaces": [{"type": name} for name in namespaces]},
    }


def _become_runsc(runsc: str, network: str, streams: tuple[int, ...]) -> NoReturn:
    try:
        for number, fd in enumerate(streams):
            os.dup2(fd, number)
        os.closerange(3, 1024)
        os.chdir(_BUNDLE)
        told = ["--root=" + _STATE, "--network=" + network, "--ignore-cgroups", "--log=" + _LOG, "run", "box"]
        os.execve(runsc, [runsc, *told], {})
    finally:
        os._exit(tenant.FAULT_EXIT)


def _last_line(path: str) -> str:
    lines = _read(path).decode("utf-8", "replace").splitlines() if os.path.exists(path) else []
    return lines[-1] if lines else "no word of why"


def _end_as(status: int) -> NoReturn:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def _write(path: str, data: bytes, mode: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    at = 0
    while at < len(data):
        at += os.write(fd, data[at:])
    os.close(fd)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(4096)
