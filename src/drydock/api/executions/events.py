"""An execution as server-sent events: `started`, `stdout` and `stderr` as they come, `ended`.

`progress` comes before the output while packages are installed, live only and without a number.

The numbers are the same live and from the record: 1 is `started`, the pieces of output follow, the last is `ended`.
Whoever comes back with the number of the last event that was seen gets the next one, whether or not the execution has
ended or the server was restarted meanwhile.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Literal

from drydock.api.executions.live import Live
from drydock.api.executions.render import ended, files, moment, skipped
from drydock.api.text import write
from drydock.code.executor import StreamName
from drydock.store.execution import Execution

PING = 15.0
"""Seconds of silence after which a comment shows that the connection lives."""

Piece = tuple[StreamName, bytes]
Kind = Literal["started", "progress", "stdout", "stderr", "ended"]
"""Each has its line in docs/reference/routes.md."""


def last_number(row: Execution) -> int:
    return 2 + (len(row.output.chunks) if row.output else 0)


def of_record(row: Execution, after: int) -> Iterator[bytes]:
    """All events of an ended execution that come after the number."""
    yield from _started(row, after)
    pieces = _pieces(row)
    for number, piece in enumerate(pieces, start=2):
        if number > after:
            yield _piece(number, piece)
    if len(pieces) + 2 > after:
        yield _ended(len(pieces) + 2, row)


async def of_live(live: Live, after: int, ping: float = PING) -> AsyncIterator[bytes]:
    """All events after the number, as they happen, until the end."""
    watcher = live.watch()
    try:
        announced = False
        sent = after
        told = 0
        while True:
            watcher.clear()
            if live.started_at is not None and not announced:
                announced = True
                for event in _started(live.record(), after):
                    yield event
                sent = max(sent, 1)
            while told < len(live.preparing):
                told += 1
                yield _progress(live.preparing[told - 1])
            pieces = live.output.pieces
            while sent <= len(pieces):
                sent += 1
                if sent > 1:
                    yield _piece(sent, pieces[sent - 2])
            if live.state == "ended":
                if len(pieces) + 2 > after:
                    yield _ended(len(pieces) + 2, live.record())
                return
            if live.refused is not None:
                raise live.refused
            try:
                await asyncio.wait_for(watcher.wait(), ping)
            except TimeoutError:
                yield b": ping\n\n"
    finally:
        live.unwatch(watcher)


def _pieces(row: Execution) -> Sequence[Piece]:
    if row.output is None:
        return []
    whole = {"stdout": row.output.stdout, "stderr": row.output.stderr}
    seen = {"stdout": 0, "stderr": 0}
    pieces: list[Piece] = []
    for chunk in row.output.chunks:
        start = seen[chunk.stream]
        seen[chunk.stream] += chunk.length
        pieces.append((chunk.stream, whole[chunk.stream][start : start + chunk.length]))
    return pieces


def _started(row: Execution, after: int) -> Iterator[bytes]:
    if after < 1 and row.started_at is not None:
        yield event(1, "started", {"id": row.id, "language": row.language, "started_at": moment(row.started_at)})


def _piece(number: int, piece: Piece) -> bytes:
    stream, data = piece
    try:
        return event(number, stream, {"text": data.decode()})
    except UnicodeDecodeError:
        shown = {"text": data.decode("utf-8", "replace"), "base64": base64.b64encode(data).decode()}
        return event(number, stream, shown)


def _ended(number: int, row: Execution) -> bytes:
    told = {"id": row.id, "ended_at": moment(row.ended_at), "ended": ended(row)}
    return event(number, "ended", told | {"files": files(row), "skipped": skipped(row)})


def _progress(line: str) -> bytes:
    """Without a number: it is not recorded, so a later reading has none, and the numbers of the others stay."""
    return event(None, "progress", {"text": line})


def event(number: int | None, kind: Kind, data: dict[str, Any]) -> bytes:
    # JSON holds no line break, so one `data:` line is enough.
    head = b"" if number is None else b"id: %d\n" % number
    return b"%sevent: %s\ndata: %s\n\n" % (head, kind.encode(), write(data))
