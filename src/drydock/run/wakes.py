"""Who is told that a run's record or inbox has changed, so that nobody has to ask again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Wakes:
    """Made on the event loop that the sleepers run on; `wake` may be called from any thread, after the commit."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._sleepers: dict[str, set[Callable[[], None]]] = {}

    def wake(self, run: str) -> None:
        self._loop.call_soon_threadsafe(self._tell, run)

    def wake_all(self) -> None:
        """Something may have changed that nobody heard of. From any thread."""
        self._loop.call_soon_threadsafe(self._tell_all)

    def _tell_all(self) -> None:
        for run in list(self._sleepers):
            self._tell(run)

    def _tell(self, run: str) -> None:
        for sleeper in list(self._sleepers.get(run, ())):
            sleeper()

    def sleep(self, run: str, tell: Callable[[], None]) -> Callable[[], None]:
        """Call `tell` whenever the run has changed, until what this returns is called."""
        self._sleepers.setdefault(run, set()).add(tell)

        def end() -> None:
            waiting = self._sleepers.get(run, set())
            waiting.discard(tell)
            if not waiting:
                self._sleepers.pop(run, None)

        return end
