"""The compiled programs of both machines, call by call, against the policy as a second reader has it."""

from __future__ import annotations

import errno
import itertools
from collections.abc import Iterator
from functools import cache

import pytest

from drydock.box.seccomp import bpf, program_bytes
from drydock.box.seccomp.interpreter import check, run
from tests.box.seccomp.reading import AUDIT_ARCH, MACHINES, NUMBERS, RULES, answer, value

KILLED, ALLOWED = 0x80000000, 0x7FFF0000
HIGH_HALVES = [1 << 32, 0xFFFFFFFF << 32]

# Every foreign table that a kernel of either machine can be entered by, and some that it cannot: i386, arm, aarch64 on
# x86-64 and the reverse, big-endian aarch64, riscv64, none.
FOREIGN = {0x40000003, 0x40000028, 0xC000003E, 0xC00000B7, 0x800000B7, 0xC00000F3, 0}


@cache
def program(machine: str) -> list[bpf.Instruction]:
    return bpf.unpack(program_bytes(machine))


def said(machine: str, number: int, arguments: list[int] | tuple[int, ...] = (), arch: int | None = None) -> int:
    return run(program(machine), number, AUDIT_ARCH[machine] if arch is None else arch, arguments)[0]


def meant(word: str) -> int:
    match word:
        case "ALLOW":
            return ALLOWED
        case "KILL_PROCESS":
            return KILLED
        case "OK":
            return 0x00050000
        case _:
            return 0x00050000 + int(getattr(errno, word))


@pytest.mark.parametrize("machine", MACHINES)
def test_the_kernel_would_take_the_program(machine: str) -> None:
    check(program(machine))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("argument", [0, 1, 0xFFFFFFFF, 0x7FFFFFFF, 0xFFFFFFFFFFFFFFFF, 1 << 32])
def test_every_number_is_answered_as_the_policy_says(machine: str, argument: int) -> None:
    arguments = [argument] * 6
    for number in range(1024):
        assert said(machine, number, arguments) == meant(answer(machine, number, arguments)), number


@pytest.mark.parametrize("machine", MACHINES)
def test_every_number_of_another_architecture_kills(machine: str) -> None:
    for arch in FOREIGN - {AUDIT_ARCH[machine]}:
        for number in range(1024):
            assert said(machine, number, arch=arch) == KILLED


def test_every_x32_number_kills_on_x86_64() -> None:
    for number in range(1024):
        assert said("x86_64", 0x40000000 + number) == KILLED
        assert said("x86_64", 0xC0000000 + number) == KILLED


@pytest.mark.parametrize("machine", MACHINES)
def test_a_number_out_of_any_table_is_not_there(machine: str) -> None:
    for number in (-1, 0x3FFFFFFF, 0x80000000, 0x80000000 + NUMBERS[machine]["read"], 0xFFFF):
        assert said(machine, number) == meant("ENOSYS")


def test_on_aarch64_the_x32_bit_is_only_a_large_number() -> None:
    assert said("aarch64", 0x40000000) == meant("ENOSYS")


def _borders(name: str) -> Iterator[tuple[int, ...]]:
    """Arguments of a call around everything that its rule compares them with."""
    around: dict[int, set[int]] = {}
    for case in RULES[name]["case"]:
        for key, condition in case.items():
            if not key.startswith("arg"):
                continue
            values = around.setdefault(int(key[3:]), {0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF})
            named = [value(word) for kind in ("in", "not_in", "without") for word in condition.get(kind, [])]
            flags = [value(word) for kind in ("mask", "ignore", "without") for word in condition.get(kind, [])]
            for number in named:
                values |= {number, (number - 1) % 2**32, (number + 1) % 2**32}
                values |= {number | flag for flag in flags} | {number | sum(flags)}
            if flags:
                values |= {1 << bit for bit in range(32)}
    used = sorted(around)
    for combination in itertools.product(*(sorted(around[index]) for index in used)):
        arguments = [0x5A5A5A5A5A5A5A5A] * 6  # in what the rule must not look at
        for index, number in zip(used, combination, strict=True):
            arguments[index] = number
        yield tuple(arguments)
        for index in used:
            for high in HIGH_HALVES if len(used) == 1 else HIGH_HALVES[:1]:
                yield (*arguments[:index], arguments[index] | high, *arguments[index + 1 :])


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", sorted(RULES))
def test_arguments_at_every_border_are_answered_as_the_policy_says(machine: str, name: str) -> None:
    number = NUMBERS[machine].get(name)
    if number is None:
        assert name in {"arch_prctl", "mknod"}, "only on x86-64"
        return
    for arguments in _borders(name):
        assert said(machine, number, arguments) == meant(answer(machine, number, arguments)), arguments


@pytest.mark.parametrize("machine", MACHINES)
def test_every_family_type_and_protocol_of_a_socket(machine: str) -> None:
    # Written from what may be made, not from the policy.
    unix = {(1, kind, 0) for kind in (1, 2, 5)}
    inet = {(family, kind, protocol) for family in (2, 10) for kind, protocol in ((1, 0), (1, 6), (2, 0), (2, 17))}
    netlink = {(16, kind, 0) for kind in (2, 3)}
    protocols = [*range(24), 33, 58, 89, 103, 108, 115, 132, 136, 137, 143, 255, 256, 262, 263, 0xFFFFFFFF]
    number = NUMBERS[machine]["socket"]
    for family, kind, protocol in itertools.product(range(48), range(12), protocols):
        wanted = (family, kind, protocol) in unix | inet | netlink
        assert (said(machine, number, (family, kind, protocol)) == ALLOWED) == wanted, (family, kind, protocol)
    for flags in (0o4000, 0o2000000, 0o2004000):
        assert said(machine, number, (2, 1 | flags, 0)) == ALLOWED
        assert said(machine, number, (2, 3 | flags, 0)) != ALLOWED
        assert said(machine, number, (2, 1 | flags, 262)) != ALLOWED


@pytest.mark.parametrize("machine", MACHINES)
def test_of_the_terminal_requests_only_the_listed_ones_pass(machine: str) -> None:
    passing = {low for low in range(0x100) if said(machine, NUMBERS[machine]["ioctl"], (0, 0x5400 + low)) == ALLOWED}
    assert passing == {
        *range(0x01, 0x12),
        0x13,
        0x14,
        0x1B,
        *range(0x20, 0x23),
        0x24,
        0x25,
        0x29,
        0x41,
        *range(0x50, 0x53),
        0x60,
    }
    assert not passing & {0x12, 0x1C, 0x1D, 0x23, 0x37}, "TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD, TIOCVHANGUP"


@pytest.mark.parametrize("machine", MACHINES)
def test_a_call_costs_few_instructions(machine: str) -> None:
    """Only calls with a rule are ever interpreted: for the rest the kernel keeps a bitmap."""
    steps = {name: run(program(machine), number, AUDIT_ARCH[machine])[1] for name, number in NUMBERS[machine].items()}
    assert max(steps[name] for name in ("mmap", "futex", "fcntl", "sendto", "madvise")) <= 20
    assert max(steps.values()) <= 40


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_without_a_rule_are_decided_by_their_number_alone(machine: str) -> None:
    """Else the kernel could not keep them in its bitmap, and each read() would run the program."""
    for name, number in NUMBERS[machine].items():
        if name in RULES:
            continue
        at = 0
        while (instruction := program(machine)[at]).code != bpf.RETURN:
            assert instruction.code != bpf.LOAD or instruction.k in (bpf.NUMBER, bpf.ARCHITECTURE), name
            accumulator = number if at >= 3 else AUDIT_ARCH[machine]
            at += 1 + _taken(instruction, accumulator)


def _taken(instruction: bpf.Instruction, a: int) -> int:
    code, jt, jf, k = instruction
    match code:
        case bpf.JUMP:
            return k
        case bpf.IF_EQUAL:
            return jt if a == k else jf
        case bpf.IF_AT_LEAST:
            return jt if a >= k else jf
        case bpf.IF_ANY_BIT:
            return jt if a & k else jf
    return 0
