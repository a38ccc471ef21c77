"""A run's events as this contract streams them: frames with their index, a marker at the end, then the close."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from drydock.api.call import Call
from drydock.api.executions.events import PING
from drydock.api.runs.stream import frames, send
from drydock.dialects.polychat.events import bare_frame, frame, shown_id
from drydock.run.ending import TERMINAL
from drydock.run.records import Records
from drydock.store.run import Event, Run

DONE = b"data: [DONE]\n\n"
AGAIN_S = 30.0
"""How often a paused run says so; only the first time has an index."""


class Telling:
    """One reader's stream: what it was told last decides what silence means."""

    def __init__(self, records: Records, run: Run, *, ping: float = PING, again: float = AGAIN_S) -> None:
        self._records, self._run, self._ping, self._again = records, run, ping, again
        self._last: Event | None = None
        self._said_at = 0.0

    async def frames(self, after: int) -> AsyncIterator[bytes]:
        """Ends after the marker, or without it when the reader was too slow and may come back."""
        if self._run.ended and await asyncio.to_thread(self._is_all_seen, after):
            yield DONE
            return
        async for each in frames(self._records.followers, self._run.id, after, self._frame, self._ping):
            yield self._repeated() or each if each.startswith(b":") else each
        if self._last is not None and self._last.type in TERMINAL:
            yield DONE

    def _frame(self, event: Event) -> bytes:
        self._last, self._said_at = event, time.monotonic()
        return frame(self._run, event)

    def _repeated(self) -> bytes:
        """In place of a comment, when it is time."""
        if self._last is None or self._last.type != "run_paused" or time.monotonic() - self._said_at < self._again:
            return b""
        self._said_at = time.monotonic()
        return bare_frame(self._run, self._last)

    def _is_all_seen(self, after: int) -> bool:
        """A run that has just been cancelled may have its last event still before it."""
        last = self._records.journal.last(self._run.id, 1)
        return bool(last) and last[0].type in TERMINAL and after >= last[0].seq


async def stream(call: Call, records: Records, run: Run, after: int = 0) -> None:
    """The whole answer. A client that hangs up stops no run."""
    call.extra.append((b"x-sandbox-run-id", shown_id(run).encode()))
    headers = [
        (b"content-type", b"text/event-stream"),
        (b"cache-control", b"no-cache, no-transform"),
        (b"connection", b"keep-alive"),
        (b"x-accel-buffering", b"no"),
    ]
    await call.begin(200, headers)
    # A number past the end would leave out the events that are still to come.
    await send(call, Telling(records, run).frames(min(after, run.last_seq)))
