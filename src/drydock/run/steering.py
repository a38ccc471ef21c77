"""Control of a run that is being carried here: its record is read when something has changed, and takes effect."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from drydock.agent.desk import Stopped
from drydock.run.clock import Clock, left_of
from drydock.run.ledger import Leave, Ledger
from drydock.run.spec import Spec
from drydock.run.wakes import Wakes
from drydock.store.run import Run

T = TypeVar("T")
PARK_AFTER = 60.0
"""Seconds of pausing or waiting, with nothing at work, after which a run holds nothing of this process any more."""


class Parked(Leave):
    """It waits for a person; whoever answers enqueues its next segment."""


class Freezer(Protocol):
    """What is stopped in the middle of whatever it does."""

    @property
    def busy(self) -> bool:
        """A program runs in it, frozen or not."""
        ...

    def interrupt(self) -> None:
        """End every program in it."""
        ...

    async def freeze(self) -> None: ...

    async def thaw(self) -> None: ...


class Steering:
    """Made when a run is claimed; `open` reads its record first and then whenever it is woken, until `close`."""

    def __init__(self, ledger: Ledger, spec: Spec, freezer: Freezer, wakes: Wakes, park_after: float) -> None:
        self._ledger, self._freezer, self.park_after = ledger, freezer, park_after
        left_ms = left_of(ledger.run.control, spec.timeout_ms, ledger.run.updated_at)
        self.clock = Clock(left_ms, lambda: self.stop(_too_late(spec)))
        self._wakes = wakes
        self._stop: asyncio.Future[Stopped] = asyncio.get_running_loop().create_future()
        self._going = asyncio.Event()
        self._news = asyncio.Event()
        self._reading: asyncio.Task[None] | None = None
        self._again = False
        self._awake: Callable[[], None] | None = None
        self._stopped_commands = int(ledger.run.control.get("stopped_commands", 0))
        self.mail = True
        """There may be letters that nobody has taken."""

    @property
    def paused(self) -> bool:
        return not self._going.is_set()

    @property
    def stopping(self) -> Stopped | None:
        return self._stop.result() if self._stop.done() else None

    async def open(self) -> None:
        self._going.set()
        self._awake = self._wakes.sleep(self._ledger.run.id, self._woken)
        self.clock.go()
        await self._read()
        await self._ledger.change(control=self.clock.kept())

    async def close(self) -> None:
        self.clock.close()
        if self._awake is not None:
            self._awake()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])

    def stop(self, why: Stopped) -> None:
        """The first word counts."""
        if not self._stop.done():
            self._stop.set_result(why)

    async def until_stopped(self) -> None:
        await asyncio.wait([self._stop])

    async def gate(self) -> None:
        """Passed at once, or when the run goes on after a pause. Stopped; Parked when the pause is long."""
        if self._reading is not None and not self._reading.done():
            await asyncio.wait([self._reading])  # what has just been said may be a pause
        if self.paused:
            await self.unless_stopped(self._until_going())
        if (why := self.stopping) is not None:
            raise why

    async def news(self, within_s: float) -> None:
        """Until the run's record or inbox may have changed, or the time has passed."""
        with contextlib.suppress(TimeoutError):
            await self.unless_stopped(asyncio.wait_for(self._news.wait(), within_s))
        self._news.clear()

    async def unless_stopped(self, work: Awaitable[T]) -> T:
        """Its result; when the run is stopped meanwhile the work is cancelled and waited for, and Stopped raised."""
        task = asyncio.ensure_future(work)
        try:
            waited: list[asyncio.Future[Any]] = [task, self._stop]
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
        raise self._stop.result()

    async def _until_going(self) -> None:
        while not self._going.is_set():
            try:
                await asyncio.wait_for(self._going.wait(), self.park_after)
            except TimeoutError:
                if not self._freezer.busy:
                    raise Parked("it has been paused for long") from None

    def _woken(self) -> None:
        self.mail = True
        self._news.set()
        if self._reading is not None and not self._reading.done():
            self._again = True
            return
        self._reading = asyncio.ensure_future(self._read_all())

    async def _read_all(self) -> None:
        self._again = True
        while self._again:
            self._again = False
            try:
                await self._read()
            except Stopped as why:
                self.stop(why)

    async def _read(self) -> None:
        """Make what happens here follow what the record says."""
        run = await self._ledger.current()
        if run.status == "cancelled":
            self.stop(Stopped("cancelled", str(run.control.get("cancellation_reason", "Cancelled by user request"))))
        elif run.status == "paused" and not self.paused:
            await self._pause(run)
        elif run.status in ("queued", "running") and self.paused:
            await self._resume(run)
        if (asked := int(run.control.get("stopped_commands", 0))) > self._stopped_commands:
            self._stopped_commands = asked
            self._freezer.interrupt()

    async def _pause(self, run: Run) -> None:
        self._going.clear()
        self.clock.stand("paused")
        await self._freezer.freeze()
        await self._ledger.change(control=self.clock.kept())
        await self._ledger.tell(f"pause:{run.control.get('pauses', 0)}", "run_paused", _message(run, "pause_reason"))

    async def _resume(self, run: Run) -> None:
        await self._freezer.thaw()
        self.clock.go("paused")
        self._going.set()
        await self._ledger.change(control=self.clock.kept())
        await self._ledger.tell(f"resume:{run.control.get('pauses', 0)}", "run_resumed", _message(run, "resume_reason"))


def _message(run: Run, name: str) -> dict[str, str]:
    return {"message": str(run.control.get(name, ""))}


def _too_late(spec: Spec) -> Stopped:
    return Stopped("timeout", f"Sandbox run timed out after {spec.timeout_ms // 1000} seconds")
