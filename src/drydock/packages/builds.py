"""Each installation once at a time: who asks for one that is under way waits for it, and the last to leave ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from drydock.box.stop import Stop, StopReason
from drydock.packages.failed import InstallFailed
from drydock.packages.installer import OnLine
from drydock.packages.layers import Layers, Tree

LINES = 40
"""Of the installer's words, for those whom it took too long."""


class Stopped(Exception):
    """Whoever waited was told to stop."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason)
        self.reason: StopReason = reason


class Building:
    """One of them, and who waits for it."""

    def __init__(self, work: Callable[[OnLine], Coroutine[Any, Any, Tree]]) -> None:
        self.waiting: list[OnLine] = []
        self.said: list[str] = []
        self.task = asyncio.get_running_loop().create_task(work(self._say))

    def _say(self, line: str) -> None:
        self.said.append(line)
        del self.said[:-LINES]
        for tell in self.waiting:
            tell(line)


class Builds:
    def __init__(self, layers: Layers) -> None:
        self._layers = layers
        self._under_way: dict[str, Building] = {}
        self._tasks: set[asyncio.Task[Tree]] = set()

    async def wait(
        self,
        key: str,
        work: Callable[[OnLine], Coroutine[Any, Any, Tree]],
        *,
        within_s: float,
        stop: Stop,
        on_line: OnLine,
    ) -> Tree:
        """The layer, taken for the caller. InstallFailed, or Stopped when `stop` came first."""
        building = self._under_way.get(key) or self._begin(key, work)
        building.waiting.append(on_line)
        stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        stop.then(lambda _: None if stopped.done() else stopped.set_result(None))
        try:
            ends: list[asyncio.Future[Any]] = [building.task, stopped]
            await asyncio.wait(ends, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
            if building.task.cancelled():
                raise Stopped("server_shutdown")
            if building.task.done():
                return self._layers.take(building.task.result())
            if stop.reason is not None:
                raise Stopped(stop.reason)
            raise InstallFailed(f"timed out after {within_s:g} seconds", "\n".join(building.said))
        finally:
            stopped.cancel()
            building.waiting.remove(on_line)
            if not building.waiting:
                self._leave(key, building)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, key: str, work: Callable[[OnLine], Coroutine[Any, Any, Tree]]) -> Building:
        building = self._under_way[key] = Building(work)
        self._tasks.add(building.task)
        building.task.add_done_callback(self._tasks.discard)
        return building

    def _leave(self, key: str, building: Building) -> None:
        """Nobody waits any more: what is not done is ended, what is done need no longer be held for anybody."""
        if self._under_way.get(key) is building:
            del self._under_way[key]
        if not building.task.done():
            building.task.cancel()
            building.task.add_done_callback(self._release)
        else:
            self._release(building.task)

    def _release(self, task: asyncio.Task[Tree]) -> None:
        if not task.cancelled() and task.exception() is None:
            self._layers.give_back(task.result())
