"""One box of a run: opened when it is first needed, guarded, and interrupted or ended from outside."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping

from drydock.agent.desk import Stopped
from drydock.box.doors import Handler
from drydock.box.held import HeldBox
from drydock.errors import BoxFailed
from drydock.run.way_out import PORT, Grants, WayOut

Guard = Callable[[Mapping[str, int]], Callable[[], None]]
"""Has somebody end a box when this worker is no longer able to, and gives back what makes an end of that."""
Opens = Callable[[Mapping[int, Handler]], Awaitable[HeldBox]]


class Berth:
    def __init__(self, opens: Opens, guard: Guard, grants: Grants, going: asyncio.Event) -> None:
        """Nothing is begun in it while `going` is not set: then the run is paused."""
        self._opens, self._guard, self._going = opens, guard, going
        self.way_out = WayOut(grants)
        self._unguard: Callable[[], None] = lambda: None
        self._opening = asyncio.Lock()
        self._closing: asyncio.Task[None] | None = None
        self.held: HeldBox | None = None
        """Once it is open."""
        self.interrupts = 0
        """How often what runs was ended from outside: who is about to start a program sees that it was meant too."""

    @property
    def busy(self) -> bool:
        return self.held is not None and self.held.busy

    @property
    def closed(self) -> bool:
        return self._closing is not None

    @property
    def gone(self) -> bool:
        return self._closing is not None and self._closing.done()

    async def box(self) -> HeldBox:
        """Not while the run is paused: then this waits."""
        async with self._opening:
            if self.closed:
                raise Stopped("cancelled", "the run's box is closed")
            if self.held is None:
                self.held = await self._opened()
                self._unguard = self._guarded(self.held)
        await self._going.wait()
        return self.held

    async def _opened(self) -> HeldBox:
        """Once more, when a machine under load was too slow to make one: the run is worth a second try."""
        doors = {PORT: self.way_out.handler}
        try:
            return await self._opens(doors)
        except BoxFailed:
            return await self._opens(doors)

    def _guarded(self, box: HeldBox) -> Callable[[], None]:
        ends = box.ends()
        try:
            return self._guard(ends)
        finally:
            for fd in ends.values():
                os.close(fd)

    def interrupt(self) -> None:
        """End every program in it."""
        self.interrupts += 1
        if self.held is not None:
            self.held.stop_all("cancelled")

    async def close(self) -> None:
        """No process of it is left when this returns, and no disk."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        async with self._opening:
            box, self.held = self.held, None
        if box is not None:
            await box.discard()
            self._unguard()
