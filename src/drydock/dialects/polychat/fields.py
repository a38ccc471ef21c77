"""Fields of a JSON object, read one by one. What is wrong is noted and not raised: a caller is told all of it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drydock.api.text import has_surrogate, type_name
from drydock.errors import Invalid


@dataclass(frozen=True, slots=True)
class Problem:
    path: str
    message: str


class BadFields(Invalid):
    """A body whose fields break the contract."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        first = problems[0]
        super().__init__(f"{first.path}: {first.message}", where=first.path)
        self.problems = problems


class Fields:
    """Unknown keys are ignored, and null counts as absent: both are the contract's."""

    def __init__(self, *objects: Mapping[str, Any], path: str = "") -> None:
        """A field that one object lacks is looked for in the next."""
        self._objects, self._path = objects, path
        self.problems: list[Problem] = []

    @property
    def body(self) -> Mapping[str, Any]:
        """The first object as it came."""
        return self._objects[0]

    def done(self) -> None:
        if self.problems:
            raise BadFields(self.problems)

    def note(self, name: str, message: str) -> None:
        self.problems.append(Problem(f"{self._path}{name}", message))

    def raw(self, name: str) -> Any:
        for each in self._objects:
            if each.get(name) is not None:
                return each[name]
        return None

    def text(self, name: str, longest: int, *, required: bool = False, trim: bool = True) -> str:
        """Empty when it is absent; never empty when it is there, unless it is noted."""
        value = self.raw(name)
        if value is None:
            if required:
                self.note(name, "is required")
            return ""
        if not isinstance(value, str):
            self.note(name, f"must be a string, not {type_name(value)}")
            return ""
        value = value.strip() if trim else value
        if not value.strip():
            self.note(name, "must not be empty")
        elif len(value) > longest:
            self.note(name, f"must have at most {longest} characters")
        elif "\0" in value or has_surrogate(value):
            self.note(name, "holds what is no character")
        return value

    def matching(self, name: str, pattern: re.Pattern[str], what: str, *, required: bool = False) -> str:
        value = self.text(name, 512, required=required)
        if value and not pattern.fullmatch(value):
            self.note(name, f"must be {what}")
        return value

    def whole(self, name: str, least: int, most: int = 1 << 62, *, required: bool = False) -> int | None:
        value = self.raw(name)
        if value is None:
            if required:
                self.note(name, "is required")
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON has one kind of number: 30.0 is 30
        if isinstance(value, bool) or not isinstance(value, int):
            self.note(name, f"must be an integer, not {type_name(value)}")
            return None
        if not least <= value <= most:
            self.note(name, f"must be at least {least}" if most == 1 << 62 else f"must be from {least} to {most}")
            return None
        return value

    def number(self, name: str) -> float | None:
        value = self.raw(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(float_of(value)):
            self.note(name, f"must be a number, not {type_name(value)}")
            return None
        return value

    def flag(self, name: str) -> bool:
        value = self.raw(name)
        if value is not None and not isinstance(value, bool):
            self.note(name, f"must be a boolean, not {type_name(value)}")
        return value is True

    def one_of(self, name: str, known: Sequence[Any], default: Any) -> Any:
        value = self.raw(name)
        if value is None:
            return default
        if not isinstance(value, str) or value not in known:
            self.note(name, f"must be one of {', '.join(known)}")
            return default
        return value

    def table(self, name: str) -> Mapping[str, Any] | None:
        value = self.raw(name)
        if value is not None and not isinstance(value, dict):
            self.note(name, f"must be an object, not {type_name(value)}")
            return None
        return value


def float_of(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def object_of(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise BadFields([Problem("body", f"must be an object, not {type_name(value)}")])
    return value
