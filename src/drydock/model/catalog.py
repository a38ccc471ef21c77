"""`[models]` of drydock.toml, read: each alias a model, where it is, what it costs, who stands in for it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from drydock.errors import BadSetting, Invalid, ModelMissing
from drydock.model.name import PROVIDERS, ModelName, parse

_ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_SECRET = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
Price = Annotated[Decimal, Field(ge=0, lt=100_000)]


class Entry(BaseModel):
    """One line of the table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    address: str = ""
    """Base URL in place of the provider's own."""
    key: str = ""
    """Name of the sealed secret that opens `address`."""
    fallback: tuple[str, ...] = ()
    tools: bool = True
    """Whether it calls tools natively."""
    input_price: Price | None = None
    """US dollars for a million tokens; so are the other prices."""
    output_price: Price | None = None
    cache_read_price: Price | None = None
    cache_write_price: Price | None = None

    @field_validator("model")
    @classmethod
    def _full_name(cls, value: str) -> str:
        if parse(value) is None:
            raise ValueError(f"must be PROVIDER:NAME, with one of {', '.join(PROVIDERS)} before the colon")
        return value

    @field_validator("address")
    @classmethod
    def _plain_url(cls, value: str) -> str:
        url = urlsplit(value)
        plain = url.scheme in ("http", "https") and url.hostname and not (url.username or url.query or url.fragment)
        if value and not plain:
            raise ValueError("must be an http or https address, with no credential, query or fragment in it")
        return value

    @field_validator("key")
    @classmethod
    def _a_name_not_a_key(cls, value: str) -> str:
        if value and not _SECRET.fullmatch(value):
            raise ValueError("must be the name of a secret, which `drydock secrets set NAME` seals, not the key itself")
        return value


@dataclass(frozen=True, slots=True)
class Model:
    """One that can be asked."""

    name: ModelName
    entry: Entry

    def __str__(self) -> str:
        return str(self.name)


class Catalog:
    def __init__(self, table: Mapping[str, Any], default: str = "") -> None:
        self._entries = {alias: _entry(alias, told) for alias, told in table.items()}
        self.default = default
        for alias in self._entries:
            for _ in self._chain(alias, f"fallback of {alias} in [models]"):
                pass
        if default:
            for _ in self._chain(default, "model"):
                pass

    @property
    def aliases(self) -> Mapping[str, Entry]:
        return self._entries

    def chain(self, name: str = "") -> tuple[Model, ...]:
        """The model of that alias or full name (empty: the default) and those that stand in for it, in order."""
        name = name or self.default
        if not name:
            raise ModelMissing("No model was named, and the server has no default one; nothing was asked.")
        try:
            return tuple(self._chain(name, "model"))
        except BadSetting as wrong:
            raise Invalid(wrong.message, where="model", hint=wrong.remedy) from None

    def _chain(self, name: str, where: str) -> Iterator[Model]:
        """Depth first, each once: fallbacks may name each other."""
        waiting, seen = [name], set[str]()
        while waiting:
            each = waiting.pop(0)
            if each in seen:
                continue
            seen.add(each)
            model = self._one(each, where)
            yield model
            waiting = [*model.entry.fallback, *waiting]

    def _one(self, name: str, where: str) -> Model:
        entry = self._entries.get(name)
        full = parse(entry.model if entry else name)
        if full is None:
            raise BadSetting(f"{where}: {name[:200]!r} is no model", where=where, hint=self._remedy(name))
        return Model(full, entry or Entry(model=name))

    def _remedy(self, name: str) -> str:
        near = difflib.get_close_matches(name, self._entries, n=1)
        meant = f"Did you mean {near[0]}? " if near else ""
        return f"{meant}Write PROVIDER:NAME with one of {', '.join(PROVIDERS)}, or an alias of [models]."


def _entry(alias: str, told: Any) -> Entry:
    """`fast = "openai:..."` is short for a table with that `model` alone."""
    where = f"{alias[:80]} in [models]"
    if not _ALIAS.fullmatch(alias):
        raise BadSetting(f"{where}: an alias is letters, digits, `.`, `_` and `-`, at most 63", where=where)
    try:
        return Entry.model_validate({"model": told} if isinstance(told, str) else told)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False, include_input=False)[0]
        place = ".".join([alias, *map(str, first["loc"])])
        reason = first["msg"].removeprefix("Value error, ")
        raise BadSetting(f"{place} in [models]: {reason}", where=f"{place} in [models]") from None
