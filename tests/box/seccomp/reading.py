"""policy.toml read a second time, word by word and without the compiler, so that the two can be compared."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import drydock.box.seccomp

FOLDER = Path(drydock.box.seccomp.__file__).parent
POLICY: dict[str, Any] = tomllib.loads((FOLDER / "policy.toml").read_text())
NUMBERS: dict[str, dict[str, int]] = tomllib.loads((FOLDER / "numbers.toml").read_text())
MACHINES = sorted(NUMBERS)
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
RULES: dict[str, dict[str, Any]] = {name: rule for rule in POLICY["rule"] for name in rule["calls"]}

_ALLOWED = {name for group in POLICY["allow"] for name in group["calls"]}
_REFUSED = {name: group.get("answer", "EPERM") for group in POLICY["refuse"] for name in group["calls"]}
_NAMES = {machine: {number: name for name, number in table.items()} for machine, table in NUMBERS.items()}


def answer(machine: str, number: int, arguments: Sequence[int] = ()) -> str:
    """What the policy says, in its own words."""
    name = _NAMES[machine].get(number)
    if name is None:
        return "ENOSYS"
    if name in _ALLOWED:
        return "ALLOW"
    if name in _REFUSED:
        return str(_REFUSED[name])
    rule = RULES[name]
    for case in rule["case"]:
        if all(_holds(case[key], int(key[3:]), arguments) for key in case if key.startswith("arg")):
            return str(case.get("answer", "ALLOW"))
    return str(rule["otherwise"])


def value(word: int | str) -> int:
    return word if isinstance(word, int) else int(POLICY["constants"][word])


def _holds(condition: dict[str, Any], index: int, arguments: Sequence[int]) -> bool:
    whole = arguments[index] % 2**64 if index < len(arguments) else 0
    seen = whole if condition.get("bits") == 64 else whole % 2**32
    if "mask" in condition:
        seen &= sum(value(word) for word in condition["mask"])
    for word in condition.get("ignore", []):
        seen &= ~value(word)
    if "in" in condition:
        return seen in [value(word) for word in condition["in"]]
    if "not_in" in condition:
        return seen not in [value(word) for word in condition["not_in"]]
    return not any(seen & value(word) for word in condition["without"])
