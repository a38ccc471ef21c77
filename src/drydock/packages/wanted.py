"""What one request asks for, and the key by which the same is known again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from drydock.egress.grants import Ecosystem, PackagesGrant

ECOSYSTEMS: Mapping[str, Ecosystem] = {"python": "pypi", "node": "npm"}
"""Languages whose requirements are installed; for the others they are accepted and ignored."""


@dataclass(frozen=True, slots=True)
class Name:
    """An environment, of the caller who made it."""

    owner: str
    name: str


@dataclass(frozen=True, slots=True)
class Wanted:
    ecosystem: Ecosystem
    requirements: tuple[str, ...]
    """Checked by specifiers.check; sorted and each once, so that their order makes no difference."""
    index: str | None = field(default=None, repr=False)
    """As the caller wrote it, and may hold his credentials; None is the server's own."""
    environment: Name | None = None

    @classmethod
    def of(
        cls,
        ecosystem: Ecosystem,
        requirements: Iterable[str],
        index: str | None = None,
        environment: Name | None = None,
    ) -> Wanted:
        return cls(ecosystem, tuple(sorted({" ".join(entry.split()) for entry in requirements})), index, environment)


def request_key(wanted: Wanted, grant: PackagesGrant, runtime: str) -> str:
    """The same for the same list, index, credential and interpreter. Whoever cannot log in to a private index has
    another key, so what it holds is never found by asking for its name."""
    login = grant.credential.authorization if grant.credential else ""
    return _digest(wanted.ecosystem, runtime, str(grant.index), login, *wanted.requirements)


def layer_key(request: str, lock: str) -> str:
    """The lock alone would not do: it was written in a box in which build scripts ran. One that forges another list's
    lock there poisons the layer of its own list, and no other."""
    return _digest(request, lock)


def _digest(*parts: str) -> str:
    told = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
