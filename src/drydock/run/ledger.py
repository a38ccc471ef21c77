"""The records of one run that is being carried, each write fenced by its epoch: who has lost the run writes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from drydock.agent.desk import Stopped
from drydock.errors import Unavailable
from drydock.run.records import Records
from drydock.store.inbox import Letter
from drydock.store.journal import Entry, StaleEpoch, fence
from drydock.store.run import Run, Status

T = TypeVar("T")
PATIENCE = 60.0
"""Seconds that a run bears a database which does not answer before it is handed back to whoever can reach it."""
LONGEST_PAUSE = 2.0


class Leave(Stopped):
    """This process leaves the run, and the run goes on: somebody else has it, or it is parked, or the server stops."""

    def __init__(self, message: str) -> None:
        super().__init__("cancelled", message)


class Lost(Leave):
    """Another worker has it: nothing that is done here may have any effect from now on."""


class Ledger:
    def __init__(self, records: Records, run: Run) -> None:
        self.records = records
        self.run = run
        """As it was claimed."""
        self.epoch = run.epoch

    async def tell(self, key: str, type: str, data: Mapping[str, Any]) -> None:
        await self._do(lambda: self.records.journal.append(self.run.id, [Entry(type, key, data)], epoch=self.epoch))

    async def begin(self, step: str) -> bool:
        """Whether it is begun for the first time."""
        return await self._do(lambda: self.records.steps.begin(self.run.id, self.epoch, step)) is None

    async def end(self, step: str, record: Mapping[str, Any], entries: Sequence[Entry] = ()) -> None:
        await self._do(lambda: self.records.steps.end(self.run.id, self.epoch, step, dict(record), entries))

    async def take(self, step: str, kinds: Sequence[str]) -> Sequence[Letter]:
        return await self._do(lambda: self.records.inbox.take(self.run.id, self.epoch, step, kinds))

    async def letters(self, after: int = 0) -> Sequence[Letter]:
        return await self._do(lambda: self.records.inbox.read(self.run.id, after))

    async def ask(self, key: str, body: Mapping[str, Any]) -> Letter:
        """A question in the inbox, once by its key, and in the record, where lists of what waits look."""

        def put() -> Letter:
            with self.records.database.write() as connection:
                letter, _ = self.records.inbox.write(connection, self.run.id, "approval_request", body, key=key)
                waiting = {"number": letter.number, **letter.body}
                self.records.runs.change(
                    self.run.id, epoch=self.epoch, control={"waiting": waiting}, connection=connection
                )
                return letter

        return await self._do(put)

    async def amend(self, number: int, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Letter | None:
        def write() -> Letter | None:
            with self.records.database.write() as connection:
                fence(connection, self.run.id, self.epoch)
                return self.records.inbox.amend(connection, self.run.id, number, change)

        return await self._do(write)

    async def current(self) -> Run:
        run = await self._do(lambda: self.records.runs.get(self.run.id))
        if run is None or run.epoch != self.epoch:
            raise Lost(f"run {self.run.id} is no longer at epoch {self.epoch}")
        return run

    async def change(
        self,
        *,
        only_if: Sequence[Status] | None = None,
        control: Mapping[str, Any] | None = None,
        entries: Sequence[Entry] = (),
        still: Callable[[Run], bool] | None = None,
        **fields: Any,
    ) -> Run | None:
        """Fields and events in one transaction; neither when its status is not one of `only_if`, or not `still` so."""

        def write() -> Run | None:
            with self.records.database.write() as connection:
                journal, runs = self.records.journal, self.records.runs
                if still is not None:
                    now = runs.hold(connection, self.run.id)
                    if now is None or not still(now):
                        return None
                changed = runs.change(
                    self.run.id, epoch=self.epoch, only_if=only_if, control=control, connection=connection, **fields
                )
                if changed is None:
                    return None
                _, fresh = journal.write(connection, self.run.id, entries, epoch=self.epoch) if entries else ((), ())
            journal.publish(self.run.id, fresh)
            return changed

        return await self._do(write)

    async def _do(self, work: Callable[[], T]) -> T:
        """In a thread; again while the database does not answer: every write here says the same the second time."""
        loop = asyncio.get_running_loop()
        pause, until = 0.1, loop.time() + PATIENCE
        while True:
            try:
                return await asyncio.to_thread(work)
            except StaleEpoch as wrong:
                raise Lost(str(wrong)) from None
            except Unavailable:
                if loop.time() > until:
                    raise Leave("the database does not answer") from None
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
