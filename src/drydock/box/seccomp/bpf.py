"""The instructions of classic BPF that a filter of ours is made of, and their bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

LOAD = 0x20
"""A = the 32-bit word of struct seccomp_data at offset k."""
AND = 0x54
"""A = A & k"""
JUMP = 0x05
"""Skip k instructions. The only jump whose distance has 32 bits; those of the others have 8."""
IF_EQUAL = 0x15
IF_GREATER = 0x25
IF_AT_LEAST = 0x35
IF_ANY_BIT = 0x45
"""Compare A with k, unsigned: skip jt instructions if it holds, else jf."""
RETURN = 0x06
"""k is the answer."""

# The kernel answers calls whose way through a filter reads only the number and the architecture from a bitmap, without
# running the filter (since 5.11), but only if that way has none but the instructions above.

NUMBER, ARCHITECTURE = 0, 4
"""Offsets in struct seccomp_data { int nr; u32 arch; u64 instruction_pointer; u64 args[6]; }"""
DATA_BYTES = 64

ALLOW = 0x7FFF0000
KILL_PROCESS = 0x80000000
ERRNO = 0x00050000
"""The errno stands in the lower 16 bits; 0 makes the call succeed without being made."""

MOST_INSTRUCTIONS = 4096
FURTHEST = 255
"""How far a conditional jump can reach."""

_FORM = struct.Struct("=HBBI")


class Instruction(NamedTuple):
    code: int
    jt: int
    jf: int
    k: int


def argument(index: int, *, high: bool = False) -> int:
    """Offset of half an argument. Both machines are little-endian: the lower half comes first."""
    return 16 + 8 * index + (4 if high else 0)


def pack(program: Iterable[Instruction]) -> bytes:
    """As struct sock_filter[], which prctl(PR_SET_SECCOMP) takes."""
    return b"".join(_FORM.pack(*instruction) for instruction in program)


def unpack(raw: bytes) -> list[Instruction]:
    return [Instruction(*fields) for fields in _FORM.iter_unpack(raw)]
