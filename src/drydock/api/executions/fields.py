"""Fields of a JSON object: their types and bounds, and errors that name the field."""

from __future__ import annotations

import base64
import binascii
import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from drydock.api.text import has_surrogate, type_name
from drydock.errors import Invalid


class Fields:
    """An object whose every key is known; `null` counts as absent."""

    def __init__(self, value: Any, known: Sequence[str], where: str = "") -> None:
        if not isinstance(value, dict):
            raise Invalid(f"{where or 'the body'} must be an object, not {type_name(value)}", where=where or "body")
        self._where = where
        for name in value:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
                raise Invalid(
                    f"unknown field {self.path(name)}",
                    where=self.path(name),
                    hint=f"Did you mean {near[0]}?" if near else None,
                )
        self._values: Mapping[str, Any] = {name: given for name, given in value.items() if given is not None}

    def path(self, name: str) -> str:
        return f"{self._where}.{name}" if self._where else name

    def has(self, name: str) -> bool:
        return name in self._values

    def raw(self, name: str) -> Any:
        return self._values.get(name)

    def string(self, name: str, default: str | None = None) -> str | None:
        value = self._values.get(name, default)
        return None if value is None else check_string(value, self.path(name))

    def boolean(self, name: str, default: bool) -> bool:
        value = self._values.get(name, default)
        if not isinstance(value, bool):
            raise Invalid(f"{self.path(name)} must be a boolean, not {type_name(value)}", where=self.path(name))
        return value

    def integer(self, name: str, default: int, least: int, most: int) -> int:
        """Too little is refused, too much is brought down to what this server gives."""
        value = self._values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise Invalid(f"{self.path(name)} must be an integer, not {type_name(value)}", where=self.path(name))
        if value < least:
            raise Invalid(f"{self.path(name)} must be at least {least}", where=self.path(name))
        return min(value, most)

    def number(self, name: str, default: float, least: float, most: float) -> float:
        value = self._values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Invalid(f"{self.path(name)} must be a number, not {type_name(value)}", where=self.path(name))
        if value < least:
            raise Invalid(f"{self.path(name)} must be at least {least:g}", where=self.path(name))
        return float(min(value, most))

    def strings(self, name: str, most: int) -> list[str] | None:
        value = self._values.get(name)
        if value is None:
            return None
        where = self.path(name)
        if not isinstance(value, list):
            raise Invalid(f"{where} must be an array of strings, not {type_name(value)}", where=where)
        if len(value) > most:
            raise Invalid(f"{where} holds {len(value)} entries; at most {most} are allowed", where=where)
        return [check_string(entry, f"{where}[{place}]") for place, entry in enumerate(value)]

    def mapping(self, name: str) -> Mapping[str, Any]:
        value = self._values.get(name, {})
        if not isinstance(value, dict):
            raise Invalid(f"{self.path(name)} must be an object, not {type_name(value)}", where=self.path(name))
        return value


def check_string(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise Invalid(f"{where} must be a string, not {type_name(value)}", where=where)
    if has_surrogate(value):
        raise Invalid(f"{where} holds half of a surrogate pair, which is no character", where=where)
    return value


def content(value: Any, where: str) -> bytes:
    """Text, or {"base64": "..."} for bytes."""
    if isinstance(value, str):
        return check_string(value, where).encode()
    given = Fields(value, ("base64",), where).string("base64")
    if given is None:
        raise Invalid(f'{where} must be text or {{"base64": "..."}}', where=where)
    try:
        return base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError) as wrong:
        raise Invalid(f"{where}.base64 is not base64: {wrong}", where=f"{where}.base64") from None
