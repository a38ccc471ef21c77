"""What a model may decide: the tools' names and fields, and one decision of them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from drydock.model.conversation import Tool

DATA = Path(__file__).parent / "prompts" / "tools.toml"
FieldType = Literal["text", "line", "number", "flag", "lines", "files"]
_MOST_TEXT = 50_000
_SCHEMAS: Mapping[FieldType, Mapping[str, Any]] = {
    "text": {"type": "string"},
    "line": {"type": "string"},
    "number": {"type": "integer"},
    "flag": {"type": "boolean"},
    "lines": {"type": "array", "items": {"type": "string"}},
    "files": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "object"}]}},
}


class NotAnAction(Exception):
    """What the model gave is no valid action; the message tells it why."""


@dataclass(frozen=True, slots=True)
class Action:
    name: str
    arguments: Mapping[str, Any]
    reasoning: str = ""
    call_id: str = ""
    """The native call that it came by."""

    def normal(self) -> str:
        """As the contract's JSON form has it."""
        shown = {"action": self.name, **self.arguments}
        return json.dumps({**shown, "reasoning": self.reasoning} if self.reasoning else shown, ensure_ascii=False)

    def text(self, name: str) -> str:
        value = self.arguments.get(name, "")
        return value if isinstance(value, str) else ""

    def number(self, name: str, default: int) -> int:
        value = self.arguments.get(name)
        return value if isinstance(value, int) else default

    def flag(self, name: str) -> bool:
        return self.arguments.get(name) is True


@dataclass(frozen=True, slots=True)
class Field:
    type: FieldType
    told: str
    required: bool = False
    empty: bool = False
    """Required, and may be an empty text all the same."""
    most: int = _MOST_TEXT
    """Characters, or entries of a list; what a list has beyond them is dropped."""
    aliases: tuple[str, ...] = ()

    def fit(self, value: Any) -> Any:
        """The value in its type; None when it has no such value."""
        if self.type in ("text", "line"):
            return self._text(value)
        if self.type == "number":
            return _number(value)
        if self.type == "flag":
            return value is True or (isinstance(value, str) and value.strip().lower() == "true")
        return self._list(value)

    def _text(self, value: Any) -> str | None:
        if not isinstance(value, str):
            return None
        if len(value) > self.most:
            raise NotAnAction(f"it has a text of {len(value)} characters where {self.most} are allowed")
        return value.strip() if self.type == "line" else value

    def _list(self, value: Any) -> list[Any] | None:
        if not isinstance(value, list):
            return None
        fitting = [_entry(entry) for entry in value if isinstance(entry, str) or self.type == "files"]
        return [entry for entry in fitting if entry][: self.most]


def _number(value: Any) -> int | None:
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value.strip()[:9])
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _entry(value: Any) -> Any:
    if isinstance(value, str):
        return value.strip()
    return value if isinstance(value, dict) else None


@dataclass(frozen=True, slots=True)
class Form:
    """A tool's name and fields, as its model is told of them."""

    name: str
    told: str
    fields: Mapping[str, Field]
    aliases: tuple[str, ...] = ()
    writes: bool = field(default=False)
    """It changes the workspace whatever its arguments are, so a task that only reads is not offered it."""

    def fit(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The known fields in their types. NotAnAction when a required one is missing or empty."""
        fitting: dict[str, Any] = {}
        for name, one in self.fields.items():
            source = next((alias for alias in (name, *one.aliases) if alias in given), None)
            value = one.fit(given[source]) if source is not None else None
            if value is not None and (one.empty or not _is_blank(value)):
                fitting[name] = value
            elif one.required:
                raise NotAnAction(f"{self.name} needs `{name}`: {one.told}")
        return fitting

    def schema(self) -> dict[str, Any]:
        shown = {name: {**_SCHEMAS[one.type], "description": one.told} for name, one in self.fields.items()}
        shown["reasoning"] = {"type": "string", "description": "Why, in one sentence."}
        required = [name for name, one in self.fields.items() if one.required]
        return {"type": "object", "properties": shown, "required": required}

    def tool(self) -> Tool:
        return Tool(self.name, self.told, self.schema())


def _is_blank(value: Any) -> bool:
    return not value.strip() if isinstance(value, str) else value == []


@cache
def forms() -> Mapping[str, Form]:
    """By name, in the order of the file."""
    data = tomllib.loads(DATA.read_text("utf-8"))
    return {name: _form(name, row) for name, row in data.items()}


def _form(name: str, row: dict[str, Any]) -> Form:
    fields = {key: Field(**{**one, "aliases": tuple(one.get("aliases", ()))}) for key, one in row["fields"].items()}
    return Form(name, row["told"], fields, tuple(row.get("aliases", ())), row.get("writes", False))


@cache
def by_any_name() -> Mapping[str, Form]:
    named = {alias: form for form in forms().values() for alias in form.aliases}
    return {**named, **forms()}


def action(name: str, given: Mapping[str, Any], *, call_id: str = "") -> Action:
    """A decision by a tool's name or alias. NotAnAction when there is no such tool or a field is missing."""
    form = by_any_name().get(name.strip().lower())
    if form is None:
        raise NotAnAction(f"there is no action `{name.strip()[:60]}`; there are {', '.join(forms())}")
    why = given.get("reasoning")
    return Action(form.name, form.fit(given), why.strip()[:4000] if isinstance(why, str) else "", call_id)
