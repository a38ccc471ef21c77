"""What a program has written so far, in order, cut into pieces that keep their numbers for ever.

The pieces are the events that a watcher sees, so a piece that has been cut never changes: whoever comes back with a
number gets what follows it, no gap and no repeat. Bytes are gathered for a moment before they are cut, longer the
more pieces there are, so a program that writes single bytes for an hour makes thousands of events and not millions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from drydock.code.executor import StreamName
from drydock.store.execution import Chunk

MOMENT = 0.01
LONGEST_MOMENT = 1.0
PIECES_BEFORE_SLOWER = 100
LONGEST_PIECE = 64 * 1024
GATHERED_RUNS = 64


class Growing:
    """The output of a running program."""

    def __init__(self, keep: int, changed: Callable[[], None]) -> None:
        self.pieces: list[tuple[StreamName, bytes]] = []
        self._keep = {"stdout": keep, "stderr": keep}
        self._changed = changed
        self._gathered: list[tuple[StreamName, bytearray]] = []
        self._timer: asyncio.TimerHandle | None = None

    def add(self, stream: StreamName, data: bytes) -> None:
        data = data[: self._keep[stream]]
        if not data:
            return
        self._keep[stream] -= len(data)
        if self._gathered and self._gathered[-1][0] == stream:
            self._gathered[-1][1].extend(data)
        else:
            self._gathered.append((stream, bytearray(data)))
            if len(self._gathered) > GATHERED_RUNS:
                self._sort_out()
        if self._timer is None:
            moment = MOMENT * (1 + len(self.pieces) / PIECES_BEFORE_SLOWER)
            self._timer = asyncio.get_running_loop().call_later(min(moment, LONGEST_MOMENT), self._cut)

    def end(self, stdout: bytes, stderr: bytes) -> None:
        """The supervisor's account of both streams is the true one: what was not seen of it yet is added."""
        self._stop_timer()
        self._cut(last=True)
        for name, whole in (("stdout", stdout), ("stderr", stderr)):
            stream: StreamName = "stdout" if name == "stdout" else "stderr"
            seen = sum(len(data) for known, data in self.pieces if known == stream)
            self._append(stream, whole[seen:])

    def chunks(self) -> Sequence[Chunk]:
        return [Chunk(stream, len(data)) for stream, data in self.pieces]

    def _cut(self, last: bool = False) -> None:
        self._timer = None
        gathered, self._gathered = self._gathered, []
        begun: dict[StreamName, bytearray] = {}
        for stream, data in gathered:
            data = begun.pop(stream, bytearray()) + data
            rest = unfinished(data)
            self._append(stream, data[: len(data) - rest])
            if rest:
                begun[stream] = data[len(data) - rest :]
        if last:
            for stream, data in begun.items():
                self._append(stream, data)
        else:
            self._gathered = list(begun.items())
        if gathered:
            self._changed()

    def _append(self, stream: StreamName, data: bytes | bytearray) -> None:
        for start in range(0, len(data), LONGEST_PIECE):
            self.pieces.append((stream, bytes(data[start : start + LONGEST_PIECE])))

    def _sort_out(self) -> None:
        """Too many changes between the streams within a moment: within it, each stream keeps its own order only."""
        streams: dict[StreamName, bytearray] = {}
        for stream, data in self._gathered:
            streams.setdefault(stream, bytearray()).extend(data)
        self._gathered = list(streams.items())

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def unfinished(data: bytes | bytearray) -> int:
    """How many bytes at the end are the beginning of a UTF-8 character whose rest has not come."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if 0xC2 <= byte <= 0xF4:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < needed else 0
        if not 0x80 <= byte <= 0xBF:
            return 0
    return 0
