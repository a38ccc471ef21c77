"""Who calls, and which doors that opens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from drydock.errors import Forbidden

ALL = "*"
SCOPES: Mapping[str, str] = {
    ALL: "every door",
    "code": "the code dialect: POST /execute and all under /code",
    "native": "the native API: all under /v1",
    "polychat": "the polychat dialect: all under /polychat, /apps/sandbox and /sandbox",
}
"""What a key may be made for. A door asks for one of them; a scope that no door asks for opens nothing."""


@dataclass(frozen=True, slots=True)
class Caller:
    id: str
    """Whose things these are in the store: `local`, `token`, `key:ID` or `user:NUMBER`."""
    name: str
    kind: Literal["local", "key", "token", "user"]
    scopes: Sequence[str] = (ALL,)
    plan: str = ""
    """What a user's token says that he pays for."""

    @property
    def key_id(self) -> str | None:
        return self.id.removeprefix("key:") if self.kind == "key" else None

    def require(self, scope: str) -> None:
        """Forbidden when the caller's key was not made for this door."""
        if ALL not in self.scopes and scope not in self.scopes:
            raise Forbidden(
                f"This key does not reach this door; it needs the scope {scope}.",
                hint=f"An operator makes one with `drydock keys add NAME --scope {scope}`.",
            )
