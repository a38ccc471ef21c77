"""What this host offers to boxes: bubblewrap, an interpreter, control groups, uids; and what it cannot promise."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from drydock.box.cgroup import Hierarchy
from drydock.box.wall import Interpreter
from drydock.errors import CannotStart

OLDEST_PYTHON = (3, 9)
UID_LOCKS = Path("/run/drydock")
ROOT_CAPABILITIES = {"SETGID": 6, "SETUID": 7, "SYS_ADMIN": 21}
"""What root needs to give each box a uid of its own and to stage its mounts. An engine gives its root less."""
_ASK = (
    "import json, os, sys; print(json.dumps([sys.version_info[:2], "
    "[os.path.realpath(p) for p in (sys.prefix, sys.base_prefix, os.path.dirname(os.path.realpath(sys.executable)))]]))"
)


@dataclass(frozen=True, slots=True)
class Host:
    bwrap: str
    interpreter: Interpreter
    hierarchy: Hierarchy | None
    root: bool
    lost: Sequence[str]
    """Promises that this host cannot keep, one sentence each."""


def look(python: Path, data: Path) -> Host:
    """Find every part; CannotStart names the one that is missing and how to add it."""
    root = os.geteuid() == 0
    hierarchy = Hierarchy.find("drydock-" + folder_id(data))
    lost = []
    if not root:
        lost.append(
            "Boxes share this server's uid on the host, and what the kernel counts for each uid (pipe buffers, inotify "
            "instances); run it as root for a uid of their own each."
        )
        lost.append("A held box's disk has no hard limit; run it as root for one.")
    if hierarchy is None:
        lost.append(
            "Memory and processes are limited for each process, not for a box as a whole, and CPU is not limited: "
            "no control group can be made here. Run as root, or under systemd with Delegate=yes."
        )
    return Host(find_bwrap(), find_interpreter(python), hierarchy, root, tuple(lost))


def folder_id(data: Path) -> str:
    return hashlib.sha256(os.fsencode(data.resolve())).hexdigest()[:12]


def find_bwrap() -> str:
    path = shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin")
    if path is None:
        raise CannotStart("bubblewrap is missing", hint="Install it: apt-get install bubblewrap")
    if os.stat(path).st_mode & stat.S_ISUID:
        # Its setuid mode runs as root what we hand to it, and has other rules than those that were tested.
        raise CannotStart(f"{path} is setuid root", hint=f"chmod u-s {path}; this kernel has user namespaces.")
    return path


def find_interpreter(python: Path) -> Interpreter:
    if not os.access(python, os.X_OK):
        raise CannotStart(
            f"there is no Python interpreter at {python}",
            hint="apt-get install python3, or name another by DRYDOCK_PYTHON.",
        )
    answer = subprocess.run([str(python), "-I", "-c", _ASK], capture_output=True, text=True, timeout=20, check=False)
    if answer.returncode != 0:
        raise CannotStart(f"{python} does not run as a Python interpreter", hint="Name another by DRYDOCK_PYTHON.")
    version, folders = json.loads(answer.stdout)
    if tuple(version) < OLDEST_PYTHON:
        raise CannotStart(f"{python} is older than Python 3.9", hint="Name another by DRYDOCK_PYTHON.")
    needed = sorted({folder for folder in folders if not (folder + "/").startswith("/usr/")} - {"/usr"})
    outer = [folder for folder in needed if not any(folder.startswith(other + "/") for other in needed)]
    if "/" in outer:
        raise CannotStart(f"{python} has its files in the root folder", hint="Name another by DRYDOCK_PYTHON.")
    return Interpreter(str(python), (version[0], version[1]), tuple(outer))


def must_be_able_root(uid_base: int, proc: Path = Path("/proc/self")) -> None:
    """CannotStart for a uid 0 that cannot give its boxes other uids: running them as root is no way out."""
    status = (proc / "status").read_text()
    held = int(status.partition("\nCapEff:")[2].split()[0], 16)
    missing = [name for name, bit in ROOT_CAPABILITIES.items() if not held >> bit & 1]
    if missing:
        flags = " ".join(f"--cap-add {name}" for name in missing)
        raise CannotStart(
            f"started as uid 0 without CAP_{' and CAP_'.join(missing)}: boxes could have no uid of their own",
            hint=f"Start it as another user, as the image does by itself (--user 10001:0), or add {flags}.",
        )
    spans = [tuple(map(int, line.split())) for line in (proc / "uid_map").read_text().splitlines()]
    if not any(first <= uid_base < first + count for first, _, count in spans):
        raise CannotStart(
            f"the boxes' uids begin at {uid_base}, which this user namespace does not have",
            hint="Set DRYDOCK_UID_BASE to one that it has: /proc/self/uid_map lists first uid, uid outside, count.",
        )


class Uids:
    """Host uids for boxes, one each, reserved among all servers of this host by a lock that dies with the process."""

    def __init__(self, base: int) -> None:
        self._next = base
        self._locks: dict[int, int] = {}

    def reserve(self) -> int | None:
        """A uid that no other box of this host has; None without root, where boxes share the server's own."""
        return self.reserve_one() if os.geteuid() == 0 else None

    def reserve_one(self) -> int:
        """As root only."""
        try:
            UID_LOCKS.mkdir(mode=0o700, exist_ok=True)
        except OSError as wrong:
            raise CannotStart(
                f"{UID_LOCKS}, where servers on one host share out uids, cannot be made: {wrong.strerror}",
                hint="As root /run must be writable; in a container with a read-only root: --tmpfs /run.",
            ) from wrong
        while True:
            uid, self._next = self._next, self._next + 1
            if uid in self._locks:
                continue
            fd = os.open(UID_LOCKS / f"uid-{uid}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
                continue
            self._locks[uid] = fd
            return uid

    def release(self, uid: int) -> None:
        os.close(self._locks.pop(uid))
        self._next = min(self._next, uid)

    def close(self) -> None:
        for fd in self._locks.values():
            os.close(fd)
        self._locks.clear()


def machine() -> str:
    return platform.machine()
