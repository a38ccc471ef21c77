"""Who listens to a run's journal in this process: told what was committed, without asking the database again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence

from drydock.store.journal import MOST_READ
from drydock.store.run import Event

MOST_WAITING = 2000
"""Events that one slow listener may leave untaken; past that it is dropped and may come back by its last number."""

EVERYTHING = 1 << 62


class TooSlow(Exception):
    """The listener did not keep up; it can attach again after the last event that it has seen."""


class Followers:
    """Made on the event loop that its listeners run on; `publish` may be called from any thread."""

    def __init__(self, read: Callable[[str, int], Sequence[Event]]) -> None:
        """`read(run, after)` gives up to MOST_READ committed events; it is called in a worker thread."""
        self._read = read
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[str, set[_Listener]] = {}
        self._watchers: set[asyncio.Event] = set()

    def publish(self, run: str, fresh: Sequence[Event]) -> None:
        self._loop.call_soon_threadsafe(self._tell, run, fresh)

    def watch(self) -> asyncio.Event:
        """Set whenever any run has told something; give it back with `unwatch`."""
        watcher = asyncio.Event()
        self._watchers.add(watcher)
        return watcher

    def unwatch(self, watcher: asyncio.Event) -> None:
        self._watchers.discard(watcher)

    def _tell(self, run: str, fresh: Sequence[Event]) -> None:
        for watcher in self._watchers:
            watcher.set()
        for listener in self._waiting.get(run, ()):
            listener.take(fresh)

    def stir(self, run: str, seq: int) -> None:
        """Another process has told events of this run, up to this number. From any thread."""
        self._loop.call_soon_threadsafe(self._remind, [run], seq)

    def stir_all(self) -> None:
        """Something may have been told that nobody heard of. From any thread."""
        self._loop.call_soon_threadsafe(self._remind, None, EVERYTHING)

    def _remind(self, runs: Sequence[str] | None, seq: int) -> None:
        for watcher in self._watchers:
            watcher.set()
        for run in list(self._waiting) if runs is None else runs:
            for listener in self._waiting.get(run, ()):
                listener.remind(seq)

    async def follow(self, run: str, after: int = 0) -> AsyncGenerator[Event, None]:
        """Every event after that number, those to come included, each once and in order. Ends never by itself: whoever
        follows knows which event is the last. TooSlow when too many wait."""
        listener = _Listener(after)
        self._waiting.setdefault(run, set()).add(listener)
        try:
            # Attached first, read second: what is committed in between comes both ways and is passed on once.
            while page := await asyncio.to_thread(self._read, run, listener.seen):
                for event in page:
                    if listener.pass_on(event):
                        yield event
                if len(page) < MOST_READ:
                    break
            while True:
                for event in await listener.news():
                    if event.seq > listener.seen + 1:
                        listener.remind(event.seq)
                    elif listener.pass_on(event):
                        yield event
                # Another worker's events, which were not published here: the journal has them.
                while listener.behind() and (page := await asyncio.to_thread(self._read, run, listener.seen)):
                    for event in page:
                        if listener.pass_on(event):
                            yield event
        finally:
            self._waiting[run].discard(listener)
            if not self._waiting[run]:
                del self._waiting[run]


class _Listener:
    def __init__(self, after: int) -> None:
        self.seen = after
        self._events: list[Event] = []
        self._dropped = False
        self._news = asyncio.Event()
        self._reminded = 0

    def remind(self, seq: int) -> None:
        self._reminded = max(self._reminded, seq)
        self._news.set()

    def behind(self) -> bool:
        """There is more in the journal than was passed on; asked once for each reminder of everything."""
        reminded = self._reminded
        if reminded == EVERYTHING:
            self._reminded = 0
        return reminded > self.seen

    def take(self, fresh: Sequence[Event]) -> None:
        if len(self._events) + len(fresh) > MOST_WAITING:
            self._dropped = True
            self._events.clear()
        elif not self._dropped:
            self._events.extend(fresh)
        self._news.set()

    async def news(self) -> Sequence[Event]:
        await self._news.wait()
        self._news.clear()
        if self._dropped:
            raise TooSlow
        fresh, self._events = self._events, []
        return fresh

    def pass_on(self, event: Event) -> bool:
        if event.seq <= self.seen:
            return False
        self.seen = event.seq
        return True
