"""The journal of every run: numbered without a gap, each event chained to the one before, none told twice.

An event is committed before anybody is told of it, and every view of a run is a projection of its record and this.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, and_, insert, select, update

from drydock.errors import NotFound
from drydock.store.database import Database
from drydock.store.notices import notify
from drydock.store.run import FIRST_HASH, Event
from drydock.store.tables import events, runs

MOST_READ = 1000
Publish = Callable[[str, Sequence[Event]], None]


class StaleEpoch(Exception):
    """The writer has lost the run to another worker: whatever it does must have no effect any more."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An event on its way into the journal."""

    type: str
    key: str
    """Unique in its run: says where it was told, so that whoever goes there again finds it told already."""
    data: Mapping[str, Any] = field(default_factory=dict)


class Journal:
    def __init__(self, database: Database, publish: Publish) -> None:
        """`publish` is called with what was committed, from the thread that committed it."""
        self._database = database
        self._publish = publish

    def append(self, run: str, entries: Sequence[Entry], *, epoch: int | None = None) -> Sequence[Event]:
        """All of them or none. An entry whose key is known stays as it was told first. Without `epoch` no fence is
        asked: for the doors, which no worker's death concerns."""
        with self._database.write() as connection:
            told, fresh = self.write(connection, run, entries, epoch=epoch)
        if fresh:
            self._publish(run, fresh)
        return told

    def publish(self, run: str, fresh: Sequence[Event]) -> None:
        """Tell what `write` gave back as new, once its transaction is committed."""
        if fresh:
            self._publish(run, fresh)

    def write(
        self, connection: Connection, run: str, entries: Sequence[Entry], *, epoch: int | None
    ) -> tuple[Sequence[Event], Sequence[Event]]:
        """Within the caller's transaction. All events of `entries`, and those of them that are new."""
        head = fence(connection, run, epoch)
        known = _known(connection, run, [entry.key for entry in entries])
        seq, last, now = head.last_seq, head.last_hash, _now()
        fresh: list[Event] = []
        for entry in entries:
            if entry.key in known:
                continue
            seq += 1
            last = chain(last, run, seq, entry.type, entry.data)
            known[entry.key] = Event(run, seq, entry.type, dict(entry.data), entry.key, now, last)
            fresh.append(known[entry.key])
        if fresh:
            connection.execute(insert(events), [_row(event) for event in fresh])
            connection.execute(
                update(runs).where(runs.c.id == run).values(last_seq=seq, last_hash=last, updated_at=now)
            )
            notify(connection, "told", run, seq)
        return [known[entry.key] for entry in entries], fresh

    def read(self, run: str, after: int = 0, limit: int = MOST_READ) -> Sequence[Event]:
        query = select(events).where(events.c.run == run, events.c.seq > after).order_by(events.c.seq).limit(limit)
        with self._database.read() as connection:
            return [_event(row) for row in connection.execute(query)]

    def all(self, run: str) -> Iterator[Event]:
        after = 0
        while page := self.read(run, after):
            yield from page
            after = page[-1].seq

    def keys(self, run: str) -> Sequence[str]:
        """Of all events, in their order."""
        with self._database.read() as connection:
            return list(connection.scalars(select(events.c.key).where(events.c.run == run).order_by(events.c.seq)))

    def last(self, run: str, limit: int) -> Sequence[Event]:
        """The newest ones, oldest of them first."""
        query = select(events).where(events.c.run == run).order_by(events.c.seq.desc()).limit(limit)
        with self._database.read() as connection:
            return [_event(row) for row in connection.execute(query)][::-1]

    def search(
        self, run: str, *, kinds: Sequence[str] = (), text: str = "", before: int | None = None, limit: int = 100
    ) -> Sequence[Event]:
        """Newest first: what a reader of a long run asks for."""
        wanted = [events.c.run == run]
        if kinds:
            wanted.append(events.c.type.in_(kinds))
        if before is not None:
            wanted.append(events.c.seq < before)
        found: list[Event] = []
        query = select(events).where(and_(*wanted)).order_by(events.c.seq.desc())
        with self._database.read() as connection:
            for row in connection.execute(query.execution_options(yield_per=200)):
                event = _event(row)
                if not text or _holds(event, text.casefold()):
                    found.append(event)
                    if len(found) == limit:
                        break
        return found

    def broken_at(self, run: str) -> int | None:
        """Number of the first event that does not follow from those before it; None when the chain is whole."""
        last, expected, after = FIRST_HASH, 1, 0
        while page := self.read(run, after):
            for event in page:
                last = chain(last, run, event.seq, event.type, event.data)
                if event.seq != expected or event.hash != last:
                    return expected
                expected += 1
            after = page[-1].seq
        return None


def fence(connection: Connection, run: str, epoch: int | None) -> Row[Any]:
    """The run's row, held until the transaction ends; StaleEpoch when a newer worker has it."""
    query = select(runs.c.epoch, runs.c.last_seq, runs.c.last_hash, runs.c.status).where(runs.c.id == run)
    head = connection.execute(query.with_for_update()).one_or_none()
    if head is None:
        raise NotFound("there is no such run", where="id")
    if epoch is not None and head.epoch != epoch:
        raise StaleEpoch(f"run {run} is at epoch {head.epoch}, not {epoch}")
    return head  # type: ignore[return-value]


def chain(before: str, run: str, seq: int, kind: str, data: Mapping[str, Any]) -> str:
    """Over the data as the database gives it back, so that a reader can check it."""
    text = json.dumps([before, run, seq, kind, data], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _known(connection: Connection, run: str, keys: Sequence[str]) -> dict[str, Event]:
    query = select(events).where(events.c.run == run, events.c.key.in_(keys))
    return {row.key: _event(row) for row in connection.execute(query)}


def _holds(event: Event, folded: str) -> bool:
    return folded in event.type.casefold() or folded in json.dumps(event.data, ensure_ascii=False).casefold()


def _row(event: Event) -> dict[str, Any]:
    return {
        "run": event.run,
        "seq": event.seq,
        "type": event.type,
        "key": event.key,
        "data": dict(event.data),
        "recorded_at": event.recorded_at,
        "hash": event.hash,
    }


def _event(row: Row[Any]) -> Event:
    return Event(row.run, row.seq, row.type, row.data, row.key, row.recorded_at, row.hash)


def _now() -> datetime:
    return datetime.now(UTC)
