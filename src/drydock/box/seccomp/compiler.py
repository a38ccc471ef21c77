"""From the policy to a program of classic BPF for one machine.

A fragment is a list of instructions that is entered at its first one and never jumps backwards. Fragments are put
together by how far behind their end a jump goes, so none needs labels, and each can stand anywhere:

    architecture -> (x86-64: x32 numbers) -> binary search over the numbers -> answer, or the cases of a rule
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from drydock.box.seccomp import bpf
from drydock.box.seccomp.bpf import Instruction
from drydock.box.seccomp.policy import LOW, Case, Condition, Policy, PolicyError, Verdict, load

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""AUDIT_ARCH_* by the name that os.uname().machine gives."""

X32_BIT = 0x40000000

MAKES_BOXES = frozenset(
    {"clone", "fsconfig", "fsmount", "fsopen", "mount", "move_mount", "setns", "umount2", "unshare"}
)
"""What the zygote needs beyond what a tenant may do."""

Fragment = list[Instruction]
Span = tuple[int, Verdict]
"""A number, and what holds from it up to the next span's."""


@cache
def program_bytes(machine: str) -> bytes:
    """The program for a machine, `x86_64` or `aarch64`, as prctl(PR_SET_SECCOMP) takes it."""
    policy, numbers = load()
    return bpf.pack(compile_policy(policy, numbers[machine], machine))


@cache
def layer_bytes(machine: str) -> tuple[bytes, bytes]:
    """The same policy as two programs: one that the zygote takes on for itself and all it will ever fork, and the rest.

    Every filter of a process is asked and the strictest answer wins, so the two together answer as `program_bytes`
    does. The kernel compiles a filter anew at each installation, which for the whole policy costs a quarter of a
    millisecond: so a box pays for the second, small one alone.
    """
    policy, numbers = load()
    first, second = split(policy)
    own = numbers[machine]
    return bpf.pack(compile_policy(first, own, machine)), bpf.pack(compile_policy(second, own, machine))


def split(policy: Policy) -> tuple[Policy, Policy]:
    """What makes a box is allowed by the first layer and judged by the second; all else the other way round."""
    allowed = Verdict(bpf.ALLOW)
    first = {name: allowed if name in MAKES_BOXES else verdict for name, verdict in policy.calls.items()}
    second = {name: verdict if name in MAKES_BOXES else allowed for name, verdict in policy.calls.items()}
    return replace(policy, calls=first), replace(policy, calls=second, unknown=bpf.ALLOW)


def compile_policy(policy: Policy, numbers: Mapping[str, int], machine: str) -> list[Instruction]:
    # Another architecture's table would give these numbers other meanings: on x86-64, `int 0x80` is i386.
    program = [
        Instruction(bpf.LOAD, 0, 0, bpf.ARCHITECTURE),
        Instruction(bpf.IF_EQUAL, 1, 0, ARCHITECTURES[machine]),
        _give(policy.foreign),
        Instruction(bpf.LOAD, 0, 0, bpf.NUMBER),
    ]
    if machine == "x86_64":
        # Shares the architecture of x86-64, but reaches the calls by other numbers. -1 has this bit too; it is what
        # a program asks for to see ENOSYS, and no table has it.
        program += [
            Instruction(bpf.IF_ANY_BIT, 0, 3, X32_BIT),
            Instruction(bpf.IF_EQUAL, 0, 1, LOW),
            _give(policy.unknown),
            _give(policy.foreign),
        ]
    program += _search(_spans(policy, numbers))
    if len(program) > bpf.MOST_INSTRUCTIONS:
        raise PolicyError(f"{len(program)} instructions; the kernel takes {bpf.MOST_INSTRUCTIONS}")
    return program


def _spans(policy: Policy, numbers: Mapping[str, int]) -> list[Span]:
    """Every number from 0 on, neighbours with the same verdict as one."""
    by_number = {number: policy.calls[name] for name, number in numbers.items()}
    unknown = Verdict(policy.unknown)
    spans: list[Span] = []
    for number in range(max(by_number) + 2):
        verdict = by_number.get(number, unknown)
        if not spans or spans[-1][1] != verdict:
            spans.append((number, verdict))
    return spans


def _search(spans: list[Span]) -> Fragment:
    """A holds the number."""
    if len(spans) == 1:
        return _verdict(spans[0][1])
    middle = len(spans) // 2
    below, above = _search(spans[:middle]), _search(spans[middle:])
    return [*_branch(bpf.IF_AT_LEAST, spans[middle][0], len(below), 0), *below, *above]


def _verdict(verdict: Verdict) -> Fragment:
    fragment = [_give(verdict.otherwise)]
    for case in reversed(verdict.cases):
        fragment = [*_case(case), *fragment]
    return fragment


def _case(case: Case) -> Fragment:
    """Falls out at its end when a condition does not hold."""
    fragment = [_give(case.answer)]
    for condition in reversed(case.conditions):
        fragment = [*_condition(condition, len(fragment)), *fragment]
    return fragment


def _condition(condition: Condition, otherwise: int) -> Fragment:
    """Falls through when it holds, else jumps `otherwise` behind its end."""
    held, failed = (otherwise, 0) if condition.negated else (0, otherwise)
    fragment = _member(condition.values, held, failed)
    if condition.mask != LOW:
        fragment = [Instruction(bpf.AND, 0, 0, condition.mask), *fragment]
    fragment = [Instruction(bpf.LOAD, 0, 0, bpf.argument(condition.argument)), *fragment]
    if condition.wide:
        upper = Instruction(bpf.LOAD, 0, 0, bpf.argument(condition.argument, high=True))
        fragment = [upper, *_branch(bpf.IF_EQUAL, 0, 0, len(fragment) + failed), *fragment]
    return fragment


def _member(values: tuple[int, ...], held: int, failed: int) -> Fragment:
    """Binary search for A in sorted values; jumps `held` or `failed` behind its end."""
    if len(values) == 1:
        return _branch(bpf.IF_EQUAL, values[0], held, failed)
    middle = len(values) // 2
    above = _member(values[middle:], held, failed)
    below = _member(values[:middle], held + len(above), failed + len(above))
    return [*_branch(bpf.IF_AT_LEAST, values[middle], len(below), 0), *below, *above]


def _branch(test: int, value: int, held: int, failed: int) -> Fragment:
    """A conditional jump to any distance: where 8 bits do not suffice, by way of an unconditional one."""
    if held <= bpf.FURTHEST and failed <= bpf.FURTHEST:
        return [Instruction(test, held, failed, value)]
    return [
        Instruction(test, 0, 1, value),
        Instruction(bpf.JUMP, 0, 0, held + 1),
        Instruction(bpf.JUMP, 0, 0, failed),
    ]


def _give(answer: int) -> Instruction:
    return Instruction(bpf.RETURN, 0, 0, answer)
