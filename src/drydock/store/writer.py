"""The one thread that writes records behind the answers, in batches.

Back-pressure: at most ROWS records or BYTES of output wait. Then `offer` says no at once (for an event loop) and `put`
blocks (for a worker thread) until the database has caught up, so a slow database slows its clients down and never
fills the memory. A batch that the database does not take is tried again until it does; only a record that it refuses
for itself, or one still waiting when `close` runs out of time, is given up, and then its id is logged as an error.
A killed process loses what waited: LINGER seconds of records that no one had reserved.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from drydock.errors import Unavailable
from drydock.store.execution import Execution

log = logging.getLogger(__name__)

LINGER = 0.5
BATCH = 500
ROWS = 5000
BYTES = 64 << 20
LONGEST_PAUSE = 2.0


class _Waiting(NamedTuple):
    ticket: int
    row: Execution


class Writer:
    def __init__(
        self,
        write: Callable[[Sequence[Execution]], None],
        *,
        linger: float = LINGER,
        batch: int = BATCH,
        rows: int = ROWS,
        size: int = BYTES,
    ) -> None:
        self._write = write
        self._linger, self._batch, self._rows, self._size = linger, batch, rows, size
        self._changed = threading.Condition()
        # By id, oldest first: a newer record of the same execution takes the older one's place.
        self._waiting: dict[str, _Waiting] = {}
        self._writing: dict[str, _Waiting] = {}
        self._bytes = 0
        self._ticket = 0
        self._flushing = 0
        self._closing = False
        self._given_up = threading.Event()
        self.lost = 0
        self._thread = threading.Thread(target=self._run, name="drydock-writer", daemon=True)
        self._thread.start()

    def offer(self, row: Execution) -> bool:
        """Take the record if there is room. Never blocks; fit for an event loop."""
        with self._changed:
            if self._closing or self._full():
                return False
            self._add(row)
            return True

    def put(self, row: Execution) -> None:
        """Take the record, after waiting for room if need be. After `close` it is written before this returns."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing or not self._full())
            if not self._closing:
                self._add(row)
                return
        self._write([row])

    def pending(self, execution_id: str) -> Execution | None:
        """The newest record of it that is not in the database yet."""
        with self._changed:
            found = self._waiting.get(execution_id) or self._writing.get(execution_id)
            return found.row if found else None

    def flush(self, timeout: float) -> bool:
        """Wait until all that was taken before this call is in the database; False when time ran out first."""
        with self._changed:
            ticket = self._ticket
            self._flushing += 1
            self._changed.notify_all()
            try:
                return self._changed.wait_for(lambda: self._oldest() > ticket, timeout)
            finally:
                self._flushing -= 1

    def close(self, timeout: float = 5.0) -> None:
        """Write all that waits, then end the thread. What cannot be written in time is logged, id by id."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(timeout)
        if self._thread.is_alive():
            self._given_up.set()
            self._thread.join(1.0)
            with self._changed:
                for execution_id in {**self._writing, **self._waiting}:
                    self._lose(execution_id, "the database was still silent when the server had to end")
                self._waiting.clear()

    def _full(self) -> bool:
        return len(self._waiting) + len(self._writing) >= self._rows or self._bytes >= self._size

    def _add(self, row: Execution) -> None:
        self._ticket += 1
        older = self._waiting.get(row.id)
        self._waiting[row.id] = _Waiting(older.ticket if older else self._ticket, row)
        self._bytes += _size(row) - (_size(older.row) if older else 0)
        # The first record starts the thread's wait for more; of those between, waking it would tell it nothing.
        if len(self._waiting) == 1 or self._ripe():
            self._changed.notify_all()

    def _oldest(self) -> int:
        for group in (self._writing, self._waiting):
            for first in group.values():
                return first.ticket
        return self._ticket + 1

    def _run(self) -> None:
        while batch := self._take():
            self._deliver(batch)
            with self._changed:
                self._writing = {}
                self._bytes = sum(_size(waiting.row) for waiting in self._waiting.values())
                self._changed.notify_all()

    def _take(self) -> list[Execution]:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            self._changed.wait_for(self._ripe, self._linger)
            ids = list(self._waiting)[: self._batch]
            self._writing = {execution_id: self._waiting.pop(execution_id) for execution_id in ids}
            return [waiting.row for waiting in self._writing.values()]

    def _ripe(self) -> bool:
        return self._closing or self._flushing > 0 or len(self._waiting) >= self._batch or self._full()

    def _deliver(self, rows: Sequence[Execution]) -> None:
        pause = 0.05
        while not self._given_up.is_set():
            try:
                return self._write(rows)
            except Unavailable as wrong:
                log.warning("%d records wait for the database: %s", len(rows), wrong.__cause__ or wrong)
                self._given_up.wait(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            except Exception as wrong:
                if len(rows) == 1:
                    log.exception("The record of an execution was refused")
                    return self._lose(rows[0].id, f"the database refused it: {type(wrong).__name__}")
                # One of them is bad; alone it cannot hold up the others.
                for row in rows:
                    self._deliver([row])
                return None
        for row in rows:
            self._lose(row.id, "the database did not answer before the server had to end")
        return None

    def _lose(self, execution_id: str, why: str) -> None:
        self.lost += 1
        log.error("The record of execution %s is lost: %s", execution_id, why)


def _size(row: Execution) -> int:
    return len(row.output) if row.output else 0
