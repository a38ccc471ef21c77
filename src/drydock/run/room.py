"""The room put together: admission, control, the worker and what keeps them honest, over one database."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from drydock.observe.log import Log
from drydock.run.admission import Admission
from drydock.run.berth import Guard
from drydock.run.control import Control
from drydock.run.engine import DurableEngine
from drydock.run.fence import Fence
from drydock.run.keeper import Keeper, workflow_of
from drydock.run.parts import Makes
from drydock.run.records import Records, no_sealer
from drydock.run.steering import PARK_AFTER
from drydock.run.wakes import Wakes
from drydock.run.worker import Worker
from drydock.run.workspace import Workspace
from drydock.store.database import Database
from drydock.store.objects import ObjectStore
from drydock.store.run import Run
from drydock.store.runs import Runs
from drydock.store.sealing import Sealer

PutsUp = Callable[[Run, Guard], Workspace]
"""A workspace for a run, whose box is guarded from the moment that it is opened."""


class RunRoom:
    """Made and opened on the event loop that the boxes live on; `close` leaves every run so that it goes on later."""

    def __init__(
        self,
        name: str,
        database: Database,
        objects: ObjectStore,
        engine: DurableEngine,
        makes: Makes,
        workspaces: PutsUp,
        log: Log,
        *,
        sealer: Callable[[], Sealer] = no_sealer,
        carries: bool = True,
        park_after: float = PARK_AFTER,
        tidy: Callable[[Runs], None] = lambda runs: None,
    ) -> None:
        """`tidy` removes what lies here of runs that have ended, from a thread."""
        self._engine = engine
        self._opening: asyncio.Future[None] | None = None
        self._carries = carries
        self.records = Records.open(database, objects, sealer)
        self.wakes = Wakes()
        self.worker = Worker(
            name,
            self.records,
            self.wakes,
            makes,
            lambda run: workspaces(run, self._guard),
            log,
            on_parked=lambda run, when: self._keeper.look_at(run, when),
            holds=lambda: self._fence is None or self._fence.held,
            park_after=park_after,
        )
        self.admission = Admission(self.records, self._enqueue)
        self.control = Control(self.records, self.wakes, self._enqueue)
        self._keeper = Keeper(self.records, self._engine_open, self.worker.carried.__contains__, log)
        self._tidy = tidy
        self._fence: Fence | None = None
        if not database.is_sqlite:
            self._fence = Fence(
                name,
                self.records,
                self.wakes,
                carries=carries,
                lose=self.worker.lose,
                regained=self._keeper.sweep_soon,
                recover=self._recover,
            )

    async def open(self) -> None:
        """What was under way when the server ended is taken up from here on."""
        await asyncio.to_thread(self._tidy, self.records.runs)
        if self._fence is not None:
            await self._fence.open()
        self._keeper.open(at_once=self._fence is not None and self._carries)

    async def drain(self) -> None:
        self.admission.draining = True
        await self._keeper.close()
        await self.worker.close()

    async def close(self) -> None:
        await self.drain()
        if self._opening is not None:
            # Whoever asked for it may have been cancelled; it opens in a thread, which nothing can call back.
            await asyncio.wait([self._opening])
            await self._engine.close()
        if self._fence is not None:
            await self._fence.close()

    def _guard(self, ends: Mapping[str, int]) -> Callable[[], None]:
        return (lambda: None) if self._fence is None else self._fence.guard(ends)

    async def _recover(self, workers: Sequence[str]) -> None:
        await (await self._engine_open()).recover(workers)

    async def _enqueue(self, run: Run) -> None:
        await (await self._engine_open()).enqueue(workflow_of(run), run.id)

    async def _engine_open(self) -> DurableEngine:
        """Opened when there is a run: a server that only runs code does without it."""
        if self._opening is None or (self._opening.done() and self._opening.exception() is not None):
            self._opening = asyncio.ensure_future(self._engine.open(self.worker.carry))
        await asyncio.shield(self._opening)
        return self._engine


def tidy(data: Path, runs: Runs) -> None:
    """Remove the folders of runs that have ended: their server died before it could, or another one ended them."""
    folder = data / "runs"
    if folder.is_dir():
        there = os.listdir(folder)  # before the runs are: a folder is made for a run that is there
        living = {run.id for run in runs.living()}
        for name in set(there) - living:
            shutil.rmtree(folder / name, ignore_errors=True)


def folder_of(data: Path, run: Run) -> Path:
    """Of this run alone."""
    folder = data / "runs" / run.id
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
