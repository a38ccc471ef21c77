"""What the compiler must get right whatever the policy is: distances beyond 8 bits, both halves of an argument."""

from __future__ import annotations

import pytest

from drydock.box.seccomp import bpf
from drydock.box.seccomp.compiler import compile_policy
from drydock.box.seccomp.interpreter import BadProgram, check, run
from drydock.box.seccomp.policy import LOW, Case, Condition, Policy, PolicyError, Verdict

ARCH = 0xC000003E
REFUSED = bpf.ERRNO | 1


def _one_rule(*cases: Case, otherwise: int = REFUSED) -> list[bpf.Instruction]:
    policy = Policy({"call": Verdict(otherwise, cases)}, bpf.ERRNO | 38, bpf.KILL_PROCESS)
    program = compile_policy(policy, {"call": 7}, "x86_64")
    check(program)
    return program


def _condition(argument: int, *values: int, negated: bool = False, wide: bool = False) -> Condition:
    return Condition(argument, LOW, values, negated, wide)


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3, 100, 257, 700])
def test_a_long_list_of_values_is_searched_rightly(count: int, negated: bool) -> None:
    values = tuple(range(10, 10 + 3 * count, 3))
    program = _one_rule(Case((_condition(0, *values, negated=negated),), bpf.ALLOW))
    for number in range(3 * count + 20):
        wanted = bpf.ALLOW if (number in values) != negated else REFUSED
        assert run(program, 7, ARCH, [number])[0] == wanted, number


def test_a_condition_before_a_long_one_jumps_past_all_of_it() -> None:
    values = tuple(range(0, 1400, 2))
    first = Case((_condition(1, 5), _condition(0, *values)), bpf.ALLOW)
    program = _one_rule(first, Case((_condition(1, 6),), bpf.ERRNO | 2))
    assert run(program, 7, ARCH, [4, 5])[0] == bpf.ALLOW
    assert run(program, 7, ARCH, [3, 5])[0] == REFUSED
    assert run(program, 7, ARCH, [4, 6])[0] == bpf.ERRNO | 2
    assert run(program, 7, ARCH, [4, 7])[0] == REFUSED


def test_the_first_case_that_holds_decides() -> None:
    program = _one_rule(Case((_condition(0, 1),), bpf.ERRNO | 2), Case((_condition(0, 1, 2),), bpf.ALLOW))
    assert [run(program, 7, ARCH, [number])[0] for number in (1, 2, 3)] == [bpf.ERRNO | 2, bpf.ALLOW, REFUSED]


def test_a_long_argument_is_compared_in_both_halves_and_an_int_in_its_lower_one() -> None:
    wide = _one_rule(Case((_condition(0, *range(300), wide=True),), bpf.ALLOW))
    narrow = _one_rule(Case((_condition(0, 5),), bpf.ALLOW))
    for high in (1 << 32, 1 << 63, 0xFFFFFFFF << 32):
        assert run(wide, 7, ARCH, [5 | high])[0] == REFUSED
        assert run(narrow, 7, ARCH, [5 | high])[0] == bpf.ALLOW
    assert run(wide, 7, ARCH, [5])[0] == bpf.ALLOW


def test_every_argument_is_read_from_its_own_place() -> None:
    for index in range(6):
        program = _one_rule(Case((_condition(index, 5),), bpf.ALLOW))
        arguments = [0] * 6
        arguments[index] = 5
        assert run(program, 7, ARCH, arguments)[0] == bpf.ALLOW
        assert run(program, 7, ARCH, [5 - argument for argument in arguments])[0] == REFUSED


def test_numbers_far_apart_with_long_rules_between_are_all_found() -> None:
    rule = Verdict(REFUSED, (Case((_condition(0, *range(0, 500, 2)),), bpf.ALLOW),))
    numbers = {f"call{number}": number for number in (3, 9, 100, 101, 400)}
    policy = Policy(dict.fromkeys(numbers, rule), bpf.ERRNO | 38, bpf.KILL_PROCESS)
    program = compile_policy(policy, numbers, "aarch64")
    check(program)
    for number in range(420):
        known = number in numbers.values()
        assert run(program, number, 0xC00000B7, [4])[0] == (bpf.ALLOW if known else bpf.ERRNO | 38), number
        assert run(program, number, 0xC00000B7, [5])[0] == (REFUSED if known else bpf.ERRNO | 38), number


def test_a_program_that_the_kernel_would_not_take_is_not_made() -> None:
    with pytest.raises(PolicyError, match="4096"):
        _one_rule(Case((_condition(0, *range(0, 10000, 2)),), bpf.ALLOW))


@pytest.mark.parametrize(
    "program",
    [
        [],
        [bpf.Instruction(bpf.LOAD, 0, 0, 0)],
        [bpf.Instruction(bpf.IF_EQUAL, 1, 0, 0), bpf.Instruction(bpf.RETURN, 0, 0, 0)],
        [bpf.Instruction(bpf.JUMP, 0, 0, 1), bpf.Instruction(bpf.RETURN, 0, 0, 0)],
        [bpf.Instruction(bpf.LOAD, 0, 0, 2), bpf.Instruction(bpf.RETURN, 0, 0, 0)],
        [bpf.Instruction(bpf.LOAD, 0, 0, 64), bpf.Instruction(bpf.RETURN, 0, 0, 0)],
        [bpf.Instruction(0x1D, 0, 0, 0), bpf.Instruction(bpf.RETURN, 0, 0, 0)],
    ],
)
def test_the_interpreter_refuses_what_the_kernel_refuses(program: list[bpf.Instruction]) -> None:
    with pytest.raises(BadProgram):
        check(program)
