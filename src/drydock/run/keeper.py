"""Keeps what was promised while nobody looks: runs that nothing carries are taken up, and questions that nobody
answers come to their end though their runs are parked."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from drydock.observe.log import Log
from drydock.run.admission import queued
from drydock.run.desk import next_moment
from drydock.run.engine import DurableEngine
from drydock.run.records import Records
from drydock.store.run import Run

EVERY = 30.0
AGAIN = 0.5
"""Seconds after a round that failed, doubled by each that fails after it: runs wait for the next one."""


class Keeper:
    def __init__(
        self,
        records: Records,
        engine: Callable[[], Awaitable[DurableEngine]],
        carried: Callable[[str], bool],
        log: Log,
        *,
        every: float = EVERY,
    ) -> None:
        """`engine` opens it when it is first needed; `carried` says whether this process carries a run."""
        self._records, self._engine, self._carried = records, engine, carried
        self._log, self._every = log, every
        self._due: list[tuple[datetime, str]] = []
        self._sooner = asyncio.Event()
        self._sweep_now = False
        self._task: asyncio.Task[None] | None = None

    def open(self, *, at_once: bool = False) -> None:
        """`at_once` opens the engine though no run is known yet: others may enqueue some."""
        self._task = asyncio.ensure_future(self._keep(at_once))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def look_at(self, run: str, when: datetime) -> None:
        """A run was parked here, and time alone will bring it on then."""
        heapq.heappush(self._due, (when, run))
        self._sooner.set()

    def sweep_soon(self) -> None:
        self._sweep_now = True
        self._sooner.set()

    async def _keep(self, at_once: bool) -> None:
        failures = 0
        while True:
            try:
                if at_once:
                    await self._engine()
                await self._sweep()
                failures = 0
                await self._wait(self._every)
            except Exception as wrong:  # noqa: BLE001 - the next round finds what this one could not
                self._log.error("keeper_failed", wrong)
                await asyncio.sleep(min(self._every, AGAIN * 2**failures))
                failures = min(failures + 1, 10)

    async def _wait(self, within_s: float) -> None:
        """Until the next sweep; questions that fall due meanwhile are seen to in time."""
        loop = asyncio.get_running_loop()
        until = loop.time() + within_s
        self._sweep_now = False
        while (left := until - loop.time()) > 0 and not self._sweep_now:
            self._sooner.clear()
            now = datetime.now(UTC)
            while self._due and self._due[0][0] <= now:
                await self._unpark(heapq.heappop(self._due)[1])
            if self._due:
                left = min(left, (self._due[0][0] - now).total_seconds())
            try:
                await asyncio.wait_for(self._sooner.wait(), max(0.01, left))
            except TimeoutError:
                continue

    async def _sweep(self) -> None:
        await asyncio.to_thread(self._records.lent.sweep)
        living = [run for run in await asyncio.to_thread(self._records.runs.living) if not self._carried(run.id)]
        self._due = [(next_moment(run.control["waiting"]), run.id) for run in living if _asks(run)]
        heapq.heapify(self._due)
        wanted = [run for run in living if not run.control.get("parked")]
        if not wanted:
            return
        engine = await self._engine()
        active = await engine.active()
        for run in wanted:
            if workflow_of(run) not in active and not self._carried(run.id):
                await self._take_up(engine, run)

    async def _take_up(self, engine: DurableEngine, run: Run) -> None:
        """It has no workflow: the server died between its record and the queue, or its workflow ended without it."""
        await asyncio.to_thread(self._records.journal.append, run.id, queued(run))
        if run.worker is not None:
            # Carried once: a workflow of the same name has ended and would not be carried again.
            again = await asyncio.to_thread(self._next_segment, run)
            if again is None:
                return
            run = again
        await engine.enqueue(workflow_of(run), run.id)

    def _next_segment(self, run: Run) -> Run | None:
        with self._records.database.write() as connection:
            now = self._records.runs.hold(connection, run.id)
            if now is None or now.ended or now.segment != run.segment or now.epoch != run.epoch:
                return None
            return self._records.runs.change(run.id, segment=now.segment + 1, connection=connection)

    async def _unpark(self, run_id: str) -> None:
        """Its question has come to a moment: whoever carries it tells of it."""

        def write() -> Run | None:
            with self._records.database.write() as connection:
                now = self._records.runs.hold(connection, run_id)
                if now is None or now.ended or not _asks(now) or now.status == "paused":
                    return None
                return self._records.runs.change(
                    run_id, control={"parked": False}, segment=now.segment + 1, connection=connection
                )

        run = await asyncio.to_thread(write)
        if run is not None:
            await (await self._engine()).enqueue(workflow_of(run), run.id)


def workflow_of(run: Run) -> str:
    """A run that was parked, or handed back, goes on in a workflow of its own."""
    return run.id if run.segment == 0 else f"{run.id}:{run.segment}"


def _asks(run: Run) -> bool:
    return bool(run.control.get("parked")) and run.control.get("waiting") is not None
