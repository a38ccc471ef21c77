"""A run's journal as server-sent events: what was, then what comes, each once and in order, until the last one."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

from drydock.api.call import Call
from drydock.api.executions.events import PING
from drydock.api.executions.render import moment
from drydock.api.text import write
from drydock.run.ending import TERMINAL
from drydock.run.records import Records
from drydock.store.followers import Followers, TooSlow
from drydock.store.run import Event, Run

REMEMBERED = 2048
STREAM = "text/event-stream"
Frame = Callable[[Event], bytes]


class _Shared:
    """An event by its place, so that it is written once for all who watch it."""

    __slots__ = ("event",)

    def __init__(self, event: Event) -> None:
        self.event = event

    def __hash__(self) -> int:
        return hash((self.event.run, self.event.seq))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Shared) and (self.event.run, self.event.seq) == (other.event.run, other.event.seq)


@functools.lru_cache(REMEMBERED)
def _written(shared: _Shared) -> bytes:
    event = shared.event
    data = {**event.data, "timestamp": moment(event.recorded_at)}
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.seq, event.type.encode(), write(data))


def native_frame(event: Event) -> bytes:
    return _written(_Shared(event))


async def frames(
    followers: Followers, run: str, after: int, frame: Frame = native_frame, ping: float = PING
) -> AsyncIterator[bytes]:
    """Ends with the terminal event, or when its reader was too slow and may come back."""
    async with aclosing(followers.pages(run, after, ping)) as following:
        try:
            async for page in following:
                yield b"".join(map(frame, page)) or b": ping\n\n"
                if any(event.type in TERMINAL for event in page):
                    return
        except TooSlow:
            return


async def send(call: Call, events: AsyncIterator[bytes]) -> None:
    """Write them as they come, until their end or until the client hangs up, which stops no run."""
    writing = asyncio.ensure_future(_write(call, events))
    await until_gone(call, writing)
    if not writing.cancelled():
        writing.result()


async def until_ended(call: Call, records: Records, run: Run) -> Run:
    """As it has ended. A caller who hangs up stops nothing."""
    await until_gone(call, asyncio.ensure_future(_to_the_end(records, run)))
    return await asyncio.to_thread(records.runs.get, run.id) or run


async def _to_the_end(records: Records, run: Run) -> None:
    async for _ in frames(records.followers, run.id, 0):
        pass


async def until_gone(call: Call, task: asyncio.Future[Any]) -> None:
    """To the task's end; it is cancelled when the client hangs up, or whoever waits here is."""

    def leave() -> None:
        task.cancel()

    try:
        with call.if_gone(leave):
            await asyncio.wait([task])
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _write(call: Call, events: AsyncIterator[bytes]) -> None:
    async for event in events:
        await call.write(event)
    await call.write(b"", more=False)
