"""Who calls: what the doors need from the room `access`, stated as they need it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Caller(Protocol):
    @property
    def id(self) -> str:
        """Whose executions these are; callers with equal ids see each other's."""
        ...


class Gate(Protocol):
    def __call__(self, headers: Sequence[tuple[bytes, bytes]], peer: str | None) -> Caller:
        """The caller, or Unauthorized or Forbidden. `peer` is the address at the other end, None if unknown."""
        ...
