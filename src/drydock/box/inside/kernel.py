"""The system calls that the standard library lacks, through the C library, so any architecture."""

from __future__ import annotations

import ctypes
import os
import signal
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal

CLONE_VM = 0x00000100
CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

# Younger than some C libraries; their numbers are the same on every architecture, as all since Linux 5.1.
_MOVE_MOUNT, _FSOPEN, _FSCONFIG, _FSMOUNT = 429, 430, 431, 432
_FSCONFIG_SET_STRING, _FSCONFIG_CMD_CREATE, _CLOEXEC, _AT_FDCWD, _EMPTY_SOURCE = 1, 6, 1, -100, 4
_MOUNT_ATTR_RDONLY_NOSUID_NODEV = 1 | 2 | 4

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 32, 4096

PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_SECUREBITS = 4, 22, 24, 28
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2
# NOROOT, NO_SETUID_FIXUP and KEEP_CAPS off, each locked; NO_CAP_AMBIENT_RAISE on and locked.
SECUREBITS = 0x01 | 0x02 | 0x04 | 0x08 | 0x20 | 0x40 | 0x80
CAPABILITY_VERSION_3 = 0x20080522
LAST_CAPABILITY_EVER = 63
_NO_CAPABILITIES_HEAD = struct.pack("<Ii", CAPABILITY_VERSION_3, 0)
_NO_CAPABILITIES = bytes(24)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
]  # fmt: skip
_libc.clone.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
_libc.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]
_libc.umount2.argtypes = [ctypes.c_char_p, ctypes.c_int]
_libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
_libc.setns.argtypes = [ctypes.c_int, ctypes.c_int]
_libc.unshare.argtypes = [ctypes.c_int]
_libc.capset.argtypes = [ctypes.c_char_p, ctypes.c_char_p]

_STACK_BYTES = 65536
# By the module beneath `signal`, which makes an enum of each signal in a mask: 49 us a box instead of 2.
_SETMASK, _SIGCHLD, _IGNORE = int(signal.SIG_SETMASK), int(signal.SIGCHLD), int(signal.SIG_IGN)
_EVERY_SIGNAL = {int(each) for each in signal.valid_signals()}
_PROT_READ_WRITE, _MAP_PRIVATE_ANONYMOUS = 3, 0x22
_stack_top = None


def _check(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def mount(source: bytes, target: bytes, kind: bytes, flags: int, data: bytes = b"") -> None:
    if _libc.mount(source, target, kind, flags, data or None) < 0:
        _check(-1, f"mount {os.fsdecode(target)}")


def umount(target: bytes) -> None:
    _check(_libc.umount2(target, 0), f"umount {os.fsdecode(target)}")


def overlay(lower: bytes) -> int:
    """A read-only union of folders as this mount namespace sees them, mounted nowhere yet: a descriptor of it."""
    made = _call("fsopen", _FSOPEN, b"overlay", _CLOEXEC)
    try:
        _call("fsconfig", _FSCONFIG, made, _FSCONFIG_SET_STRING, b"lowerdir", lower, 0)
        _call("mount overlay", _FSCONFIG, made, _FSCONFIG_CMD_CREATE, None, None, 0)
        return _call("fsmount", _FSMOUNT, made, _CLOEXEC, _MOUNT_ATTR_RDONLY_NOSUID_NODEV)
    finally:
        os.close(made)


def attach(mount: int, target: bytes) -> None:
    """Put what `overlay` made in its place in this mount namespace."""
    _call("move_mount", _MOVE_MOUNT, mount, b"", _AT_FDCWD, target, _EMPTY_SOURCE)


def _call(what: str, number: int, *arguments: int | bytes | None) -> int:
    given = [ctypes.c_long(each) if isinstance(each, int) else ctypes.c_char_p(each) for each in arguments]
    return _check(_libc.syscall(ctypes.c_long(number), *given), what)


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


def setns(fd: int, kind: int) -> None:
    _check(_libc.setns(fd, kind), "setns")


def clone_sleeper() -> int:
    """Make a pid namespace and a first process in it that does nothing but hold it; return that process's pid.

    The child shares our memory (CLONE_VM), so nothing is copied, and its whole life is the C library's pause():
    no Python runs in it. It ignores SIGCHLD, by which the kernel reaps orphans of the namespace by itself, and
    as a namespace's first process it can be killed from outside only. Every other signal stays blocked in it: one
    that the tenant sent would run the interpreter's handler in memory that is also ours. When it dies, the kernel
    kills every other process of the namespace and does not let it be reaped before all of them are gone.
    """
    global _stack_top
    if _stack_top is None:
        base = _libc.mmap(None, _STACK_BYTES, _PROT_READ_WRITE, _MAP_PRIVATE_ANONYMOUS, -1, 0)
        if base in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "mmap")
        _stack_top = ctypes.c_void_p(base + _STACK_BYTES - 64)
    mask = _signal.pthread_sigmask(_SETMASK, _EVERY_SIGNAL)
    former = _signal.signal(_SIGCHLD, _IGNORE)
    try:
        pause = ctypes.cast(_libc.pause, ctypes.c_void_p)
        return _check(_libc.clone(pause, _stack_top, CLONE_VM | CLONE_NEWPID | _SIGCHLD, None), "clone")
    finally:
        _signal.signal(_SIGCHLD, former)
        _signal.pthread_sigmask(_SETMASK, mask)


def set_dumpable(value: bool) -> None:
    _check(_libc.prctl(PR_SET_DUMPABLE, int(value), 0, 0, 0), "prctl(PR_SET_DUMPABLE)")


def no_new_privileges() -> None:
    _check(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)")


def never_regain() -> None:
    """Once for the zygote and all that it forks: what is dropped from here on cannot come back, not even by exec."""
    no_new_privileges()
    _check(_libc.prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0), "prctl(PR_SET_SECUREBITS)")
    drop_bounding()


def drop_bounding() -> None:
    for capability in range(LAST_CAPABILITY_EVER + 1):
        if _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break  # EINVAL: past the last capability that this kernel knows


def drop_capabilities() -> None:
    """Give up every capability, the ambient ones with them; `never_regain` has seen to the bounding set."""
    _check(_libc.capset(_NO_CAPABILITIES_HEAD, _NO_CAPABILITIES), "capset")


class SeccompFilter:
    """A compiled program, kept in memory so that installing it allocates nothing."""

    def __init__(self, program: bytes) -> None:
        self._program = ctypes.create_string_buffer(program, len(program))
        # struct sock_fprog { unsigned short len; struct sock_filter *filter; }
        self._head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(self._program))
        self._buffer = ctypes.create_string_buffer(self._head, len(self._head))

    def install(self) -> None:
        where = ctypes.addressof(self._buffer)
        _check(_libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, where, 0, 0), "prctl(PR_SET_SECCOMP)")
