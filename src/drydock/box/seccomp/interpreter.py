"""Runs a program on one call as the kernel would, so that any machine's filter can be looked at on any machine."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from drydock.box.seccomp import bpf
from drydock.box.seccomp.bpf import Instruction

_CALL = struct.Struct("<IIQ6Q")


class BadProgram(Exception):
    """The kernel would refuse it, or it uses an instruction that ours never do."""


def check(program: Sequence[Instruction]) -> None:
    """What the kernel demands before it takes a program: every way through it stays inside and ends in an answer."""
    if not 0 < len(program) <= bpf.MOST_INSTRUCTIONS:
        raise BadProgram(f"{len(program)} instructions")
    if program[-1].code != bpf.RETURN:
        raise BadProgram("its last instruction gives no answer")
    for at, (code, jt, jf, k) in enumerate(program):
        match code:
            case bpf.LOAD if k % 4 or k >= bpf.DATA_BYTES:
                raise BadProgram(f"instruction {at} reads outside of the call")
            case bpf.LOAD | bpf.AND | bpf.RETURN:
                continue
            case bpf.JUMP:
                furthest = k
            case bpf.IF_EQUAL | bpf.IF_GREATER | bpf.IF_AT_LEAST | bpf.IF_ANY_BIT:
                furthest = max(jt, jf)
            case _:
                raise BadProgram(f"instruction {at} is of a kind unknown here: {code:#x}")
        if at + 1 + furthest >= len(program):
            raise BadProgram(f"instruction {at} jumps out of the program")


def run(
    program: Sequence[Instruction], number: int, architecture: int, arguments: Sequence[int] = ()
) -> tuple[int, int]:
    """The answer to a call, and how many instructions it took. Numbers and arguments may be negative, as C has them."""
    padded = [argument & 0xFFFFFFFFFFFFFFFF for argument in arguments] + [0] * (6 - len(arguments))
    call = _CALL.pack(number & 0xFFFFFFFF, architecture, 0, *padded)
    a = at = steps = 0
    while True:
        code, jt, jf, k = program[at]
        at += 1
        steps += 1
        match code:
            case bpf.LOAD:
                (a,) = struct.unpack_from("<I", call, k)
            case bpf.AND:
                a &= k
            case bpf.JUMP:
                at += k
            case bpf.IF_EQUAL:
                at += jt if a == k else jf
            case bpf.IF_GREATER:
                at += jt if a > k else jf
            case bpf.IF_AT_LEAST:
                at += jt if a >= k else jf
            case bpf.IF_ANY_BIT:
                at += jt if a & k else jf
            case bpf.RETURN:
                return k, steps
            case _:
                raise BadProgram(f"instruction {at - 1} is of a kind unknown here: {code:#x}")
