"""Who listens to a run's journal in this process: told what was committed, without asking the database again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

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
        async with aclosing(self.pages(run, after)) as pages:
            async for page in pages:
                for event in page:
                    yield event

    async def pages(
        self, run: str, after: int = 0, idle_s: float | None = None
    ) -> AsyncGenerator[Sequence[Event], None]:
        """The same, as many at once as there are; none after so many seconds in which nothing was told."""
        listener = _Listener(after)
        self._waiting.setdefault(run, set()).add(listener)
        try:
            # Attached first, read second: what is committed in between comes both ways and is passed on once.
            while page := await asyncio.to_thread(self._read, run, listener.seen):
                if fresh := listener.pass_on(page):
                    yield fresh
                if len(page) < MOST_READ:
                    break
            while True:
                news = await listener.news(idle_s)
                if fresh := listener.pass_on(news):
                    yield fresh
                elif not news and not listener.reminded:
                    yield ()
                # Another worker's events, which were not published here: the journal has them.
                while listener.behind() and (page := await asyncio.to_thread(self._read, run, listener.seen)):
                    if fresh := listener.pass_on(page):
                        yield fresh
        finally:
            self._waiting[run].discard(listener)
            if not self._waiting[run]:
                del self._waiting[run]


class _Listener:
    def __init__(self, after: int) -> None:
        self.seen = after
        self.reminded = 0
        """There are events up to this number."""
        self._events: list[Event] = []
        self._dropped = False
        self._news = asyncio.Event()

    def remind(self, seq: int) -> None:
        self.reminded = max(self.reminded, seq)
        self._news.set()

    def behind(self) -> bool:
        """There is more in the journal than was passed on; asked once for each reminder of everything."""
        reminded = self.reminded
        if reminded == EVERYTHING or reminded <= self.seen:
            self.reminded = 0
        return reminded > self.seen

    def take(self, fresh: Sequence[Event]) -> None:
        if len(self._events) + len(fresh) > MOST_WAITING:
            self._dropped = True
            self._events.clear()
        elif not self._dropped:
            self._events.extend(fresh)
        self._news.set()

    async def news(self, idle_s: float | None) -> Sequence[Event]:
        """What was taken since; nothing when only a reminder came, or nothing at all within the time."""
        timer = None if idle_s is None else asyncio.get_running_loop().call_later(idle_s, self._news.set)
        try:
            await self._news.wait()
        finally:
            if timer is not None:
                timer.cancel()
        self._news.clear()
        if self._dropped:
            raise TooSlow
        fresh, self._events = self._events, []
        return fresh

    def pass_on(self, events: Sequence[Event]) -> Sequence[Event]:
        """Those of them that follow on what was passed on; what a gap hides is left for the journal to tell."""
        fresh: list[Event] = []
        for event in events:
            if event.seq == self.seen + 1:
                self.seen = event.seq
                fresh.append(event)
            elif event.seq > self.seen:
                self.reminded = max(self.reminded, event.seq)
        return fresh
