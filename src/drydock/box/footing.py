"""What a box asks of the kernel, tried step by step: a program of its own, since its process is not to be used again.

    python3 -I -S footing.py      ->  {"step": "proc", "errno": 1}, or {} when nothing is in the way

obstacle.py runs it once boxes could not be made, and turns the answer into words.
"""

import ctypes
import json
import os
import sys

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x20000, 0x10000000, 0x20000000
CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWNET = 0x4000000, 0x8000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = 2, 4, 8, 16384, 1 << 18
MNT_DETACH = 2
FSOPEN = 430  # on every architecture
STAGE = b"/tmp"  # any folder that every host has; covered in our own mount namespace only
_libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: "int | bytes | None") -> int:
    given = [ctypes.c_ulong(each) if isinstance(each, int) else ctypes.c_char_p(each) for each in arguments]
    result: int = getattr(_libc, name)(*given)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def user() -> None:
    call("unshare", CLONE_NEWUSER)


def uid() -> None:
    """Mapping the one that we have asks for no privilege outside, but for rights in the new namespace."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"1000 {OUTSIDE[0]} 1"), ("gid_map", f"1000 {OUTSIDE[1]} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def namespaces() -> None:
    call("unshare", CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)
    call("sethostname", b"sandbox", 7)  # podman's own profile allows all else, but not this


def mount() -> None:
    call("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    call("mount", b"tmpfs", STAGE, b"tmpfs", MS_NOSUID | MS_NODEV, None)


def proc() -> None:
    """Only a process of the new pid namespace can mount its /proc. The kernel refuses that to a user namespace while
    any part of the /proc that is there already is covered, since a new one would show what is under it."""
    child = os.fork()
    if child == 0:
        try:
            os.mkdir(STAGE + b"/proc")
            call("mount", b"proc", STAGE + b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, None)
        except OSError as wrong:
            os._exit(wrong.errno or 255)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise OSError(code, os.strerror(code))


def enter() -> None:
    with open("/proc/self/ns/mnt") as own:
        call("setns", own.fileno(), CLONE_NEWNS)


def layer() -> None:
    os.close(call("syscall", FSOPEN, b"overlay", 1))


def root() -> None:
    os.chdir(STAGE)
    call("syscall", PIVOT_ROOT[os.uname().machine], b".", b".")
    call("umount2", b".", MNT_DETACH)


PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
OUTSIDE = (os.getuid(), os.getgid())
STEPS = (user, uid, namespaces, mount, proc, enter, layer, root)


def main() -> None:
    for step in STEPS:
        try:
            step()
        except OSError as wrong:
            json.dump({"step": step.__name__, "errno": wrong.errno}, sys.stdout)
            return
    json.dump({}, sys.stdout)


if __name__ == "__main__":
    main()
