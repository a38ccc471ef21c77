"""policy.toml and numbers.toml as typed values. What is misspelt or missing in them is an error, never a default."""

from __future__ import annotations

import errno
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from drydock.box.seccomp import bpf

LOW = 0xFFFFFFFF
_ARGUMENTS = {f"arg{index}": index for index in range(6)}


class PolicyError(Exception):
    """The policy's files contradict themselves. Ours to mend: they are part of the package."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Holds if the masked argument is one of `values`; if `negated`, if it is none of them."""

    argument: int
    mask: int
    values: tuple[int, ...]
    negated: bool
    wide: bool
    """The kernel reads 64 bits: the upper half has to be zero as well. Else it never sees it, nor do we."""


@dataclass(frozen=True, slots=True)
class Case:
    conditions: tuple[Condition, ...]
    answer: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """The first case whose every condition holds decides, else `otherwise`. Answers are as the kernel wants them."""

    otherwise: int
    cases: tuple[Case, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    calls: Mapping[str, Verdict]
    unknown: int
    foreign: int


@cache
def load() -> tuple[Policy, Mapping[str, Mapping[str, int]]]:
    """The policy, and for each machine the numbers of its calls."""
    numbers: dict[str, dict[str, int]] = _read("numbers.toml")
    policy = parse(_read("policy.toml"))
    for machine, table in numbers.items():
        if missing := table.keys() - policy.calls.keys():
            raise PolicyError(f"no word on {', '.join(sorted(missing))} of {machine}")
    if unheard := policy.calls.keys() - {name for table in numbers.values() for name in table}:
        raise PolicyError(f"no number for {', '.join(sorted(unheard))}")
    return policy, numbers


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath(name).read_text("utf-8"))


def parse(raw: dict[str, Any]) -> Policy:
    _only(raw, {"answers", "constants", "allow", "rule", "refuse"}, "policy.toml")
    answers, constants = raw["answers"], raw["constants"]
    _only(answers, {"known", "unknown", "foreign"}, "answers")
    calls: dict[str, Verdict] = {}

    def add(group: dict[str, Any], verdict: Verdict) -> None:
        if not group["why"].strip():
            raise PolicyError(f"no reason for {group['calls']}")
        for name in group["calls"]:
            if name in calls:
                raise PolicyError(f"{name} stands in two places")
            calls[name] = verdict

    for group in raw["allow"]:
        _only(group, {"group", "why", "calls"}, group["group"])
        add(group, Verdict(bpf.ALLOW))
    for group in raw["refuse"]:
        _only(group, {"group", "why", "calls", "answer"}, group["group"])
        add(group, Verdict(answer(group.get("answer", answers["known"]))))
    for rule in raw["rule"]:
        _only(rule, {"calls", "why", "otherwise", "case"}, f"the rule for {rule['calls']}")
        add(rule, Verdict(answer(rule["otherwise"]), tuple(_case(case, constants) for case in rule["case"])))
    return Policy(calls, answer(answers["unknown"]), answer(answers["foreign"]))


def answer(word: str) -> int:
    match word:
        case "ALLOW":
            return bpf.ALLOW
        case "KILL_PROCESS":
            return bpf.KILL_PROCESS
        case "OK":
            return bpf.ERRNO
    # Numbers of this machine's own errno.h: they are the same on both machines that we compile for.
    number = getattr(errno, word, None)
    if not isinstance(number, int):
        raise PolicyError(f"{word!r} is not an answer")
    return bpf.ERRNO | number


def _case(raw: dict[str, Any], constants: dict[str, int]) -> Case:
    _only(raw, {"why", "answer", *_ARGUMENTS}, "a case")
    conditions = tuple(
        _condition(index, raw[key], constants) for key, index in sorted(_ARGUMENTS.items()) if key in raw
    )
    if not conditions:
        raise PolicyError("a case without a condition")
    return Case(conditions, answer(raw.get("answer", "ALLOW")))


def _condition(argument: int, raw: dict[str, Any], constants: dict[str, int]) -> Condition:
    _only(raw, {"in", "not_in", "without", "mask", "ignore", "bits"}, "a condition")

    def numbers(key: str) -> tuple[int, ...]:
        words = raw.get(key, [])
        if unheard := [word for word in words if isinstance(word, str) and word not in constants]:
            raise PolicyError(f"no constant is named {', '.join(unheard)}")
        return tuple(sorted({word if isinstance(word, int) else constants[word] for word in words}))

    kind = raw.keys() & {"in", "not_in", "without"}
    if len(kind) != 1 or len(raw.keys() & {"mask", "ignore"}) > 1 or raw.get("bits", 32) not in (32, 64):
        raise PolicyError(f"a condition wants one of in, not_in, without, and bits 32 or 64: {raw}")
    mask = LOW
    if "mask" in raw:
        mask = _union(numbers("mask"))
    if "ignore" in raw:
        mask = LOW & ~_union(numbers("ignore"))
    values, negated = numbers("in"), False
    if "not_in" in raw:
        values, negated = numbers("not_in"), True
    if "without" in raw:
        values, mask = (0,), mask & _union(numbers("without"))
    if not values or not mask or any(value & ~mask for value in values):
        raise PolicyError(f"a condition that can never tell two calls apart: {raw}")
    wide = raw.get("bits", 32) == 64
    if wide and negated:
        raise PolicyError(f"64 bits are only for a list of what is allowed: {raw}")
    return Condition(argument, mask, values, negated, wide)


def _union(flags: tuple[int, ...]) -> int:
    union = 0
    for flag in flags:
        union |= flag
    return union


def _only(raw: dict[str, Any], known: set[str], where: str) -> None:
    if strange := raw.keys() - known:
        raise PolicyError(f"{where}: {', '.join(sorted(strange))} means nothing here")
