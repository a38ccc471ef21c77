"""What people say to a run while it lives: messages, approvals and their answers, each taken once and in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from drydock.store.database import Database
from drydock.store.journal import fence
from drydock.store.tables import inbox


@dataclass(frozen=True, slots=True)
class Letter:
    run: str
    number: int
    kind: str
    body: Mapping[str, Any]
    recorded_at: datetime
    key: str | None = None
    taken_by: str | None = None


class Inbox:
    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, run: str, kind: str, body: Mapping[str, Any], *, key: str | None = None) -> tuple[Letter, bool]:
        """The letter, and whether it is new: the same key gives the one that came first."""
        with self._database.write() as connection:
            return self.write(connection, run, kind, body, key=key)

    def write(
        self, connection: Connection, run: str, kind: str, body: Mapping[str, Any], *, key: str | None = None
    ) -> tuple[Letter, bool]:
        """The same within the caller's transaction."""
        fence(connection, run, None)
        if key is not None:
            known = connection.execute(select(inbox).where(inbox.c.run == run, inbox.c.key == key)).one_or_none()
            if known is not None:
                return _letter(known), False
        last = connection.scalar(select(func.max(inbox.c.number)).where(inbox.c.run == run)) or 0
        letter = Letter(run, last + 1, kind, dict(body), datetime.now(UTC), key)
        connection.execute(
            insert(inbox).values(
                run=run, number=letter.number, kind=kind, key=key, body=dict(body), recorded_at=letter.recorded_at
            )
        )
        return letter, True

    def change(self, run: str, number: int, body: Mapping[str, Any]) -> None:
        """An approval changes in place, under its old number."""
        with self._database.write() as connection:
            fence(connection, run, None)
            connection.execute(
                update(inbox).where(inbox.c.run == run, inbox.c.number == number).values(body=dict(body))
            )

    def amend(
        self, connection: Connection, run: str, number: int, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    ) -> Letter | None:
        """The letter with its body changed, read and written under the run's lock; None when there is none."""
        fence(connection, run, None)
        row = connection.execute(select(inbox).where(inbox.c.run == run, inbox.c.number == number)).one_or_none()
        if row is None:
            return None
        body = dict(change(row.body))
        connection.execute(update(inbox).where(inbox.c.run == run, inbox.c.number == number).values(body=body))
        return replace(_letter(row), body=body)

    def read(self, run: str, after: int = 0, limit: int = 500) -> Sequence[Letter]:
        query = select(inbox).where(inbox.c.run == run, inbox.c.number > after).order_by(inbox.c.number).limit(limit)
        with self._database.read() as connection:
            return [_letter(row) for row in connection.execute(query)]

    def take(self, run: str, epoch: int, step: str, kinds: Sequence[str]) -> Sequence[Letter]:
        """What nobody has taken yet, for this step alone: the same step asked again gets the same letters."""
        with self._database.write() as connection:
            fence(connection, run, epoch)
            mine = (inbox.c.run == run, inbox.c.kind.in_(kinds))
            taken = connection.execute(select(inbox).where(*mine, inbox.c.taken_by == step)).first()
            if taken is None:
                connection.execute(update(inbox).where(*mine, inbox.c.taken_by.is_(None)).values(taken_by=step))
            query = select(inbox).where(*mine, inbox.c.taken_by == step).order_by(inbox.c.number)
            return [_letter(row) for row in connection.execute(query)]


def _letter(row: Row[Any]) -> Letter:
    return Letter(row.run, row.number, row.kind, row.body, row.recorded_at, row.key, row.taken_by)
