"""Credentials that callers lend to one run: sealed at rest beside the operator's secrets, gone with the run's end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, exists, select

from drydock.errors import Invalid
from drydock.store.database import Database
from drydock.store.sealing import Sealer
from drydock.store.secrets import LONGEST, put_sealed
from drydock.store.tables import runs, secrets

PREFIX = "run:"
"""No name of a secret can begin so: neither list nor `drydock secrets` can reach them."""
YOUNG = timedelta(seconds=60)
"""A credential is kept right before its run is recorded."""


class Lent:
    """For worker threads."""

    def __init__(self, database: Database, sealer: Callable[[], Sealer]) -> None:
        """`sealer` is asked for when the first credential is: a server that is lent none makes no key."""
        self._database, self._sealer = database, sealer

    def keep(self, run: str, token: str) -> None:
        if not token or len(token) > LONGEST:
            raise Invalid("the credential is empty or too long", where="credential")
        envelope = self._sealer().seal(PREFIX + run, token.encode())
        with self._database.write() as connection:
            put_sealed(connection, PREFIX + run, envelope)

    def of(self, run: str) -> str | None:
        """What the run was lent, as long as it lives. CannotOpen when it was sealed under a key that is not here."""
        with self._database.read() as connection:
            envelope = connection.scalar(select(secrets.c.sealed).where(secrets.c.name == PREFIX + run))
        return None if envelope is None else self._sealer().open(PREFIX + run, envelope).decode()

    def forget(self, run: str) -> None:
        with self._database.write() as connection:
            connection.execute(delete(secrets).where(secrets.c.name == PREFIX + run))

    def sweep(self) -> int:
        """Forget those whose runs have ended, or never came to be; how many."""
        living = exists().where(PREFIX + runs.c.id == secrets.c.name, runs.c.ended_at.is_(None))
        old = secrets.c.updated_at < datetime.now(UTC) - YOUNG
        done_with = (secrets.c.name.like(PREFIX + "%"), old, ~living)
        with self._database.read() as connection:
            if connection.scalar(select(secrets.c.name).where(*done_with).limit(1)) is None:
                return 0
        with self._database.write() as connection:
            return connection.execute(delete(secrets).where(*done_with)).rowcount
