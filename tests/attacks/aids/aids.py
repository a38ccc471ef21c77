"""What the hostile programs share; it is sent along with each as an input file."""

from __future__ import annotations

import ctypes
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {
    "x86_64": {"keyctl": 250, "add_key": 248, "perf": 298, "userfaultfd": 323, "ptrace": 101, "readv": 310},
    "aarch64": {"keyctl": 219, "add_key": 217, "perf": 241, "userfaultfd": 282, "ptrace": 117, "readv": 270},
}[os.uname().machine]
SECRET = ("le" + "ak-").encode()


def breach(what: str) -> None:
    """It worked: the attacker has what he wanted."""
    print("BREACH", what, flush=True)


def attempt(what: str, work: Callable[..., Any], *arguments: Any) -> None:
    """Something that must be refused."""
    try:
        result = work(*arguments)
    except (OSError, ValueError, MemoryError, ImportError) as wrong:
        # Not its text: that holds the path that was asked for, and the paths themselves are secrets.
        print("refused:", what, type(wrong).__name__, getattr(wrong, "errno", None), flush=True)
    else:
        breach(f"{what}: {result!r:.200}")


def call(number: int, *arguments: Any) -> int:
    """A raw system call; OSError when the kernel refuses it."""
    result: int = libc.syscall(ctypes.c_long(number), *map(as_c, arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def as_c(value: Any) -> Any:
    return ctypes.c_long(value) if isinstance(value, int) else value


def checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def search(text: bytes) -> None:
    """Every secret in these bytes, printed: whoever reads the reply knows them then."""
    at = text.find(SECRET)
    while at >= 0:
        sys.stdout.write("found " + bytes(b for b in text[at : at + 48] if 32 <= b < 127).decode() + "\n")
        at = text.find(SECRET, at + 1)
    sys.stdout.flush()


def read(path: str, most: int = 1 << 20) -> bytes:
    with open(path, "rb") as file:
        return file.read(most)


def parents() -> list[int]:
    """Pids that stand above this program, as far as it can see."""
    return [pid for pid in {1, os.getppid()} if pid > 0]


def others() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
