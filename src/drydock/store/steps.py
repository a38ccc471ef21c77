"""What a run has done once and for all: each step's result, recorded together with the events that close it.

They stand beside the journal and not in the durable engine's own tables, so that result, events and fence are one
transaction, and so that a run which was parked goes on from them in another workflow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert, select, update

from drydock.store.database import Database
from drydock.store.journal import Entry, Journal, fence
from drydock.store.tables import steps


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    ended: bool
    result: Any = None


class Steps:
    def __init__(self, database: Database, journal: Journal) -> None:
        self._database = database
        self._journal = journal

    def begin(self, run: str, epoch: int, name: str) -> Step | None:
        """None: it has never been begun, and is now. Else what is known of it: ended, or begun by somebody who died."""
        with self._database.write() as connection:
            fence(connection, run, epoch)
            query = select(steps.c.ended_at, steps.c.result).where(steps.c.run == run, steps.c.name == name)
            known = connection.execute(query).one_or_none()
            if known is not None:
                return Step(name, known.ended_at is not None, known.result)
            connection.execute(insert(steps).values(run=run, name=name, began_at=datetime.now(UTC)))
            return None

    def end(self, run: str, epoch: int, name: str, result: Any, entries: Sequence[Entry] = ()) -> None:
        """Its result and the events that close it, or neither. A step that has ended keeps its first result."""
        with self._database.write() as connection:
            _, fresh = self._journal.write(connection, run, entries, epoch=epoch)
            connection.execute(
                update(steps)
                .where(steps.c.run == run, steps.c.name == name, steps.c.ended_at.is_(None))
                .values(ended_at=datetime.now(UTC), result=result)
            )
        self._journal.publish(run, fresh)

    def ended(self, run: str) -> dict[str, Any]:
        """Every result of a run, read at once by whoever goes on with it."""
        return {step.name: step.result for step in self.all(run) if step.ended}

    def all(self, run: str) -> Sequence[Step]:
        """As they were begun, those too in which somebody died."""
        query = select(steps.c.name, steps.c.ended_at, steps.c.result).where(steps.c.run == run)
        query = query.order_by(steps.c.began_at)
        with self._database.read() as connection:
            return [Step(row.name, row.ended_at is not None, row.result) for row in connection.execute(query)]
