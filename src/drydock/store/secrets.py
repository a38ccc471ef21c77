"""Named secrets, sealed at rest. Nothing here prints, logs or returns a value but `get`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select, update

from drydock.errors import Invalid
from drydock.store.database import Database
from drydock.store.sealing import Sealer
from drydock.store.tables import secrets

LONGEST = 64 << 10
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


class SecretName(NamedTuple):
    name: str
    created_at: datetime
    updated_at: datetime


class Secrets:
    def __init__(self, database: Database, sealer: Sealer) -> None:
        self._database = database
        self._sealer = sealer

    def set(self, name: str, value: str) -> None:
        self.set_all({name: value})

    def set_all(self, values: Mapping[str, str]) -> None:
        """All of them or, when one is not allowed, none."""
        sealed = {name: self._sealer.seal(name, _bytes(name, value)) for name, value in values.items()}
        with self._database.write() as connection:
            for name, envelope in sealed.items():
                put_sealed(connection, name, envelope)

    def unset(self, name: str) -> bool:
        """False when there was none."""
        with self._database.write() as connection:
            return connection.execute(delete(secrets).where(secrets.c.name == check_name(name))).rowcount > 0

    def names(self) -> Sequence[SecretName]:
        columns = (secrets.c.name, secrets.c.created_at, secrets.c.updated_at)
        query = select(*columns).where(secrets.c.name.not_like("%:%")).order_by(secrets.c.name)
        with self._database.read() as connection:
            return [SecretName(*row) for row in connection.execute(query)]

    def get(self, name: str) -> str | None:
        """The value, or None when it is not set. CannotOpen when it is set and does not open."""
        query = select(secrets.c.sealed).where(secrets.c.name == check_name(name))
        with self._database.read() as connection:
            envelope = connection.scalar(query)
        return None if envelope is None else self._sealer.open(name, envelope).decode()

    def reseal(self) -> int:
        """Seal every value anew under the first key, in one transaction. After it the older keys may go."""
        with self._database.write() as connection:
            rows = connection.execute(select(secrets.c.name, secrets.c.sealed)).all()
            for name, envelope in rows:
                fresh = self._sealer.seal(name, self._sealer.open(name, envelope))
                connection.execute(update(secrets).where(secrets.c.name == name).values(sealed=fresh))
        return len(rows)


def check_name(name: str) -> str:
    """The name itself. The message of Invalid does not repeat it: `NAME=VALUE` in its place holds the value."""
    if not _NAME.fullmatch(name):
        raise Invalid(
            "That is not a secret's name.",
            where="name",
            hint="Use letters, digits and `_`, no digit first, at most 128.",
        )
    return name


def _bytes(name: str, value: str) -> bytes:
    content = value.encode()
    if not content:
        raise Invalid(f"The value of {check_name(name)} is empty.", where="value", hint="Unset the secret instead.")
    if len(content) > LONGEST:
        raise Invalid(
            f"The value of {check_name(name)} is over {LONGEST} bytes.", where="value", hint="Store a shorter one."
        )
    check_name(name)
    return content


def put_sealed(connection: Connection, name: str, envelope: bytes) -> None:
    """In place of what was under that name."""
    now = datetime.now(UTC)
    changed = connection.execute(update(secrets).where(secrets.c.name == name).values(sealed=envelope, updated_at=now))
    if changed.rowcount == 0:
        connection.execute(insert(secrets).values(name=name, sealed=envelope, created_at=now, updated_at=now))
