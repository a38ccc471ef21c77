"""What a container engine does to a program before it starts it, without an engine or an image.

    python -m tests.standins.engine '{"uid": 12345, "profile": "deploy/seccomp.json"}' COMMAND...

uid        whom it runs as; 0 is an engine's root, which lacks the capabilities of `without`
profile    a system call profile in the engines' format, by its path in this checkout; put on by our own compiler
masked     parts of /proc are covered, as every engine does unless told not to
without    numbers of capabilities that are taken away
open_files how many it may have at most

Must be run as root, and becomes the command.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import resource
import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drydock.box.seccomp import bpf, policy
from drydock.box.seccomp.compiler import compile_policy

CHECKOUT = Path(__file__).parents[2]
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 0x20000, 4096, 16384, 1 << 18, 2
PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 24, 38, 2
PYTHON = "/usr/bin/python3"
_libc = ctypes.CDLL(None, use_errno=True)
_libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4


@dataclass(frozen=True, slots=True)
class Contained:
    """A server of ours started so: see tests/attacks/started.py."""

    uid: int
    open_files: int = 0

    def command(self, serve: Sequence[str], environ: Mapping[str, str]) -> list[str]:
        order = {"uid": self.uid, "profile": "deploy/seccomp.json", "open_files": self.open_files}
        return [sys.executable, "-m", "tests.standins.engine", json.dumps(order), *serve, "--python", PYTHON]


def check(result: int, what: str) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(source: str, target: Path, kind: str | None, flags: int, options: str | None = None) -> None:
    given = (None if each is None else each.encode() for each in (source, str(target), kind))
    data = None if options is None else options.encode()
    check(_libc.mount(*given, ctypes.c_ulong(flags), data), f"mount {target}")


def compiled(profile: Mapping[str, Any]) -> bytes:
    """As an engine reads it: the first rule that names a call decides."""
    otherwise = bpf.ERRNO | profile["defaultErrnoRet"]
    rules, numbers = policy.load()
    calls = dict.fromkeys(rules.calls, policy.Verdict(otherwise))
    for rule in reversed(profile["syscalls"]):
        answer = bpf.ALLOW if rule["action"] == "SCMP_ACT_ALLOW" else bpf.ERRNO | rule["errnoRet"]
        calls |= dict.fromkeys(rule["names"], policy.Verdict(answer))
    machine = platform.machine()
    whole = policy.Policy(calls, otherwise, bpf.KILL_PROCESS)
    return bpf.pack(compile_policy(whole, numbers[machine], machine))


def put_on(program: bytes) -> None:
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    buffer = ctypes.create_string_buffer(head, len(head))
    check(_libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(buffer), 0, 0), "seccomp")


def mask() -> None:
    """Any other /proc that this machine has mounted would let the kernel allow one more."""
    for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
        place, kind = line.split()[4], line.partition(" - ")[2].split()[0]
        if kind == "proc" and place != "/proc":
            check(_libc.umount2(place.encode(), MNT_DETACH), f"umount {place}")
    mount("/proc/sys", Path("/proc/sys"), None, MS_BIND | MS_REC)


def uncover() -> None:
    """Let another user reach this checkout and its Python, which may lie in a folder that is root's alone."""
    wanted = [Path(each).resolve() for each in (CHECKOUT, sys.prefix, sys.base_prefix)]
    closed = {path: _closed_parent(path) for path in wanted}
    held = {path: os.open(path, os.O_PATH) for path, parent in closed.items() if parent is not None}
    for parent in {parent for parent in closed.values() if parent is not None}:
        mount("tmpfs", parent, "tmpfs", 0, "mode=0755")
    for path, fd in held.items():
        path.mkdir(parents=True, exist_ok=True)
        mount(f"/proc/self/fd/{fd}", path, None, MS_BIND | MS_REC)


def _closed_parent(path: Path) -> Path | None:
    return next((parent for parent in reversed(path.parents) if not parent.stat().st_mode & 0o001), None)


def main() -> None:
    order = json.loads(sys.argv[1])
    program = compiled(json.loads((CHECKOUT / order["profile"]).read_text())) if "profile" in order else b""
    check(_libc.unshare(CLONE_NEWNS), "unshare")
    mount("none", Path("/"), None, MS_REC | MS_PRIVATE)
    uncover()
    if order.get("masked"):
        mask()
    for capability in order.get("without", ()):
        check(_libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0), "prctl")
    if most := order.get("open_files"):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(order["uid"], order["uid"], order["uid"])
    check(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    if program:
        put_on(program)
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
