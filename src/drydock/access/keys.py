"""API keys, `ddk_<id>_<secret>`. The secret has 256 random bits, so a plain SHA-256 of it is all that need be kept."""

from __future__ import annotations

import difflib
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import and_, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from drydock.access.caller import ALL, SCOPES
from drydock.errors import Conflict, Invalid, NotFound
from drydock.store.database import Database
from drydock.store.tables import keys

_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
_KEY = re.compile(r"ddk_([a-z0-9]{8})_([A-Za-z0-9_-]{43})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_NOBODY = bytes(32)


@dataclass(frozen=True, slots=True)
class Key:
    id: str
    name: str
    digest: bytes = field(repr=False)
    scopes: Sequence[str]
    created_at: datetime
    last_used_at: datetime | None = field(default=None, compare=False)
    revoked_at: datetime | None = None


class NewKey(NamedTuple):
    key: Key
    text: str
    """The key itself. Shown once; it cannot be had again."""


class Snapshot:
    """The living keys at one moment."""

    def __init__(self, living: Iterable[Key]) -> None:
        self._by_id: Mapping[str, Key] = {key.id: key for key in living}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self._by_id == other._by_id

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self._by_id)

    def find(self, text: str) -> Key | None:
        """The living key that this text is. An unknown id costs the same digest and compare as a wrong secret."""
        parts = _KEY.fullmatch(text)
        key_id, secret = parts.groups() if parts else ("", "")
        key = self._by_id.get(key_id)
        same = hmac.compare_digest(digest_of(secret), key.digest if key else _NOBODY)
        return key if same else None


class Keys:
    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, name: str, scopes: Sequence[str] = (ALL,)) -> NewKey:
        """Conflict when a living key has this name."""
        if not _NAME.fullmatch(name):
            raise Invalid(
                "That is not a key's name.",
                where="name",
                hint="Use letters, digits and `._@-`, a letter or digit first, at most 64.",
            )
        for scope in scopes:
            _check_scope(scope)
        key_id = "".join(secrets.choice(_ALPHABET) for _ in range(8))
        secret = secrets.token_urlsafe(32)
        key = Key(key_id, name, digest_of(secret), tuple(dict.fromkeys(scopes)) or (ALL,), datetime.now(UTC))
        try:
            with self._database.write() as connection:
                connection.execute(
                    insert(keys).values(
                        id=key.id,
                        name=key.name,
                        digest=key.digest,
                        scopes=list(key.scopes),
                        created_at=key.created_at,
                    )
                )
        except IntegrityError:
            raise Conflict(
                f"A key named {name} exists.",
                where="name",
                hint=f"Take another name, or revoke it first: `drydock keys revoke {name}`.",
            ) from None
        return NewKey(key, f"ddk_{key_id}_{secret}")

    def list(self) -> Sequence[Key]:
        """All of them, the revoked ones too, oldest first."""
        with self._database.read() as connection:
            rows = connection.execute(select(keys).order_by(keys.c.created_at, keys.c.id)).mappings()
            return [_key(row) for row in rows]

    def revoke(self, id_or_name: str) -> Key:
        """The living key with this id, else the one with this name. NotFound when there is neither."""
        living = keys.c.revoked_at.is_(None)
        query = select(keys).where(and_(living, or_(keys.c.id == id_or_name, keys.c.name == id_or_name)))
        with self._database.write() as connection:
            found = [_key(row) for row in connection.execute(query).mappings()]
            if not found:
                raise NotFound("No living key has this id or name.", hint="`drydock keys list` shows them.")
            key = min(found, key=lambda key: key.id != id_or_name)
            connection.execute(update(keys).where(keys.c.id == key.id).values(revoked_at=datetime.now(UTC)))
        return key

    def snapshot(self) -> Snapshot:
        with self._database.read() as connection:
            rows = connection.execute(select(keys).where(keys.c.revoked_at.is_(None))).mappings()
            return Snapshot([_key(row) for row in rows])

    def touch(self, used: Mapping[str, datetime]) -> None:
        """Note when each of these keys was used last."""
        with self._database.write() as connection:
            for key_id, moment in used.items():
                connection.execute(update(keys).where(keys.c.id == key_id).values(last_used_at=moment))


def _key(row: Mapping[Any, Any]) -> Key:
    return Key(**{**row, "digest": bytes(row["digest"]), "scopes": tuple(row["scopes"])})


def digest_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _check_scope(scope: str) -> None:
    if scope not in SCOPES:
        near = difflib.get_close_matches(scope, SCOPES, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]}?" if near else f"Scopes are {', '.join(SCOPES)}."
        raise Invalid("There is no such scope.", where="scope", hint=hint)
