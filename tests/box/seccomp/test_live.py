"""Every number in the real kernel, on the machine that the tests run on.

Twice: under a marked filter, whose answers no kernel gives and which makes no call at all, and under the filter as it
is shipped, where what is allowed is really called, with arguments that can do no harm.
"""

from __future__ import annotations

import errno
import signal
from functools import cache

import pytest

from drydock.box.seccomp import program_bytes
from tests.box.seccomp.probe import MACHINE, MARK, PASSED, Call, Outcome, Probe, marked
from tests.box.seccomp.reading import NUMBERS, RULES, answer

HIGHEST = 512
ALL_ONES = (1 << 64) - 1

# The kernel makes these without asking a filter, since 6.14 and 6.18. Called by anything but a planted probe they end
# in SIGILL or, on a kernel that has no such call, in ENOSYS.
UNASKED = {"uretprobe", "uprobe"}
UNASKED_NUMBERS = {NUMBERS[MACHINE][name] for name in UNASKED if name in NUMBERS[MACHINE]}


@cache
def shipped() -> bytes:
    return program_bytes(MACHINE)


def says(word: str) -> int:
    return 0 if word == "OK" else int(getattr(errno, word))


@pytest.mark.parametrize("argument", [0, 1, 0xFFFFFFFF, ALL_ONES])
def test_the_filter_itself_answers_every_number_as_the_policy_says(under_filter: Probe, argument: int) -> None:
    arguments = [argument] * 6
    numbers = [number for number in range(HIGHEST) if number not in UNASKED_NUMBERS]
    outcomes = under_filter.calls(marked(shipped()), [Call(number, arguments) for number in numbers])
    for number, outcome in zip(numbers, outcomes, strict=True):
        word = answer(MACHINE, number, arguments)
        assert outcome == ("result", -PASSED if word == "ALLOW" else -MARK - says(word)), number


@pytest.mark.parametrize("argument", [0, ALL_ONES])
def test_as_shipped_every_refusal_is_the_one_that_the_policy_says(under_filter: Probe, argument: int) -> None:
    arguments = [argument] * 6
    outcomes = under_filter.calls(shipped(), [Call(number, arguments) for number in range(HIGHEST)])
    for number, outcome in enumerate(outcomes):
        word = answer(MACHINE, number, arguments)
        if word != "ALLOW":
            assert outcome == ("result", -says(word)), number
        else:
            # The call was made: any answer is the kernel's, and so is a death or a wait, except by the filter.
            assert outcome != ("signal", signal.SIGSYS), number


def test_calls_that_are_allowed_reach_the_kernel(under_filter: Probe) -> None:
    numbers = NUMBERS[MACHINE]
    wanted: dict[str, tuple[tuple[int, ...], Outcome]] = {
        "getpid": ((), ("result", 0)),  # any pid
        "close": ((999,), ("result", -errno.EBADF)),
        "exit": ((7,), ("exited", 7)),
        "exit_group": ((8,), ("exited", 8)),
        "rt_sigsuspend": ((0, 3), ("result", -errno.EINVAL)),
        "read": ((999, 0, 0), ("result", -errno.EBADF)),
        "kill": ((0, signal.SIGTERM), ("signal", signal.SIGTERM)),
        "ppoll": ((0, 0, 0, 0), ("blocked", 0)),
        "futex_waitv": ((0, 0, 0, 0), ("result", -errno.EINVAL)),
        "personality": ((0xFFFFFFFF,), ("result", 0)),
        "sync": ((), ("result", 0)),
        "syncfs": ((999,), ("result", 0)),
    }
    outcomes = under_filter.calls(shipped(), [Call(numbers[name], wanted[name][0]) for name in wanted])
    seen = dict(zip(wanted, outcomes, strict=True))
    kind, pid = seen.pop("getpid")
    assert kind == "result"
    assert pid > 0
    assert seen == {name: outcome for name, (_, outcome) in wanted.items() if name != "getpid"}


@pytest.mark.parametrize("name", sorted(name for name in RULES if name in NUMBERS[MACHINE]))
def test_the_upper_half_of_an_int_argument_changes_no_answer(under_filter: Probe, name: str) -> None:
    """The kernel cuts it off, so the filter must as well: the two have to look at the same number."""
    number = NUMBERS[MACHINE][name]
    low = [tuple(1 << bit for _ in range(6)) for bit in range(32)]
    high = [tuple(argument | (0xABCD << 32) for argument in arguments) for arguments in low]
    outcomes = under_filter.calls(marked(shipped()), [Call(number, arguments) for arguments in [*low, *high]])
    assert outcomes[: len(low)] == outcomes[len(low) :]


def test_other_entries_of_the_kernel_are_death(under_filter: Probe) -> None:
    assert MACHINE == "x86_64", "the other machine has no second entry that a 64-bit program could take"
    getpid_i386 = 20
    outcomes = under_filter.calls(
        shipped(),
        [
            Call(getpid_i386, abi=32),
            Call(0x40000000 + NUMBERS["x86_64"]["getpid"]),
            Call(0x40000000 + 520),  # execve of x32
            Call(0xC0000000),
        ],
    )
    assert outcomes == [("signal", signal.SIGSYS)] * 4


def test_a_number_below_zero_is_only_not_there(under_filter: Probe) -> None:
    assert under_filter.calls(shipped(), [Call(-1), Call(0x3FFFFFFF)]) == [("result", -errno.ENOSYS)] * 2
