"""Where several workers share a database: the lease of this one, its watchdog, and word from the others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from drydock.errors import BoxFailed
from drydock.run.lease import LOST_S, Lease
from drydock.run.records import Records
from drydock.run.wakes import Wakes
from drydock.run.watchdog import Watchdog
from drydock.store.notices import Notices
from drydock.store.workers import Workers


class Fence:
    """Opened before the engine is: no run is carried without it."""

    def __init__(
        self,
        worker: str,
        records: Records,
        wakes: Wakes,
        *,
        carries: bool,
        lose: Callable[[], None],
        regained: Callable[[], None],
        recover: Callable[[Sequence[str]], Awaitable[None]],
    ) -> None:
        """The three are called on the event loop: leave all runs; look for runs that nobody carries; take over."""
        self._loop = asyncio.get_running_loop()
        self._lose, self._regained, self._recover = lose, regained, recover
        self._records, self._wakes = records, wakes
        self._watchdog = Watchdog(LOST_S) if carries else None
        self._was_lost = False
        workers = Workers(records.database)
        self._lease = Lease(workers, worker, on_renewed=self._on_renewed, on_lost=self._on_lost, on_dead=self._on_dead)
        self._carries = carries
        self._notices: Notices | None = None

    async def open(self) -> None:
        self._notices = Notices(self._records.database, self._hear, self._missed)
        if self._carries:
            await asyncio.to_thread(self._lease.open)

    @property
    def held(self) -> bool:
        return self._lease.held

    def guard(self, ends: Mapping[str, int]) -> Callable[[], None]:
        """Have the watchdog kill this box with the lease; what this returns makes it forget the box."""
        assert self._watchdog is not None
        watchdog = self._watchdog
        name = watchdog.guard(ends)
        return lambda: watchdog.forget(name)

    async def close(self) -> None:
        if self._carries:
            await asyncio.to_thread(self._lease.close)
        if self._notices is not None:
            await asyncio.to_thread(self._notices.close)
        if self._watchdog is not None:
            await asyncio.to_thread(self._watchdog.close)

    def _on_renewed(self) -> None:
        if self._watchdog is not None:
            try:
                self._watchdog.renew()
            except BoxFailed:
                # Somebody killed it: nothing guards the boxes, so they end, and later ones get a new one.
                self._on_lost()
                self._watchdog.close()
                self._watchdog = Watchdog(LOST_S)
        if self._was_lost:
            self._was_lost = False
            self._loop.call_soon_threadsafe(self._regained)

    def _on_lost(self) -> None:
        self._was_lost = True
        self._loop.call_soon_threadsafe(self._lose)

    def _on_dead(self, workers: Sequence[str]) -> None:
        async def recover() -> None:
            await self._recover(workers)

        asyncio.run_coroutine_threadsafe(recover(), self._loop).result()

    def _hear(self, kind: str, run: str, number: int) -> None:
        if kind == "told":
            self._records.followers.stir(run, number)
        else:
            self._wakes.wake(run)

    def _missed(self) -> None:
        self._records.followers.stir_all()
        self._wakes.wake_all()
