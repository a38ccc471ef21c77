"""One program from its start to its end, as a durable step: its record, and its output told while it comes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from drydock.agent.desk import Desk
from drydock.agent.site import Done, Stream
from drydock.agent.texts import cut, fenced

MOST_RECORDED = 20_000
"""Characters of each stream in a step's record; all that is told is in the journal."""
MOST_OBSERVED = 5_000
FRAME = 5_000
TELL_EVERY_S = 0.1
MOST_TOLD = 8 << 20
_REASONS = {
    "timeout": "It was stopped at its time limit.",
    "memory_limit": "It was stopped: it wanted more memory than the box has.",
    "process_limit": "It wanted more processes than the box allows.",
    "disk_limit": "The workspace's disk is full.",
    "cancelled": "It was stopped from outside before it had ended.",
    "interrupted": "The server restarted while it ran: it was interrupted, and what it had changed is undone.",
    "start_failed": "It could not be started.",
}


@dataclass(frozen=True, slots=True)
class Record:
    """A program's end as its step records it."""

    reason: str
    exit_code: int | None
    signal: str | None
    stdout: str
    stderr: str
    wall_ms: int

    @classmethod
    def of(cls, done: Done) -> Record:
        stdout, stderr = (
            cut(stream.decode("utf-8", "replace"), MOST_RECORDED) for stream in (done.stdout, done.stderr)
        )
        return cls(done.reason, done.exit_code, done.signal, stdout, stderr, done.wall_ms)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Record:
        return cls(**data)

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @property
    def ok(self) -> bool:
        return self.reason == "completed"

    @property
    def why(self) -> str:
        """What stopped it, when it was not its own exit."""
        if self.reason == "signal":
            return f"It was killed by {self.signal}."
        return _REASONS.get(self.reason, "")

    @property
    def error(self) -> str:
        said = (self.stderr or self.stdout)[:MOST_OBSERVED]
        return "\n".join(part for part in (self.why, said) if part) or f"exit code {self.exit_code}"

    def observed(self, command: str) -> str:
        """As the model is told of it: contract polychat, 4.3."""
        lines = [f"Command: {command}", f"Success: {'yes' if self.ok else 'no'}"]
        lines.append(f"Exit code: {self.exit_code if self.exit_code is not None else 'none'}")
        if self.why:
            lines.append(self.why)
        for name, text in (("stdout", self.stdout), ("stderr", self.stderr)):
            lines.append(f"{name}:\n{fenced(cut(text, MOST_OBSERVED))}" if text.strip() else f"{name}: empty")
        return "\n".join(lines)


INTERRUPTED = Record("interrupted", None, None, "", "", 0)


class Telling:
    """Tells a program's output as events, at once and then ten times a second, in frames of bounded size."""

    def __init__(self, desk: Desk, type: str, **about: Any) -> None:
        self._desk, self._type, self._about = desk, type, about
        self._waiting: list[tuple[Stream, str]] = []
        self._told = 0
        self._news, self._closing = asyncio.Event(), asyncio.Event()
        self._teller: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Telling:
        self._teller = asyncio.create_task(self._tell_on())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._teller is not None
        self._closing.set()
        self._news.set()
        if wrong is not None:
            self._teller.cancel()
            await asyncio.wait([self._teller])
        else:
            await self._teller
            await self._flush()

    async def hear(self, stream: Stream, text: str) -> None:
        room = MOST_TOLD - self._told
        self._told += len(text)
        if room <= 0:
            return
        self._waiting.append((stream, text[:room]))
        self._news.set()

    async def _tell_on(self) -> None:
        while not self._closing.is_set():
            await self._news.wait()
            await self._flush()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), TELL_EVERY_S)

    async def _flush(self) -> None:
        self._news.clear()
        waiting, self._waiting = self._waiting, []
        for stream, text in _joined(waiting):
            for at in range(0, len(text), FRAME):
                await self._desk.emit(self._type, **self._about, stream=stream, output=text[at : at + FRAME])


def _joined(pieces: list[tuple[Stream, str]]) -> list[tuple[Stream, str]]:
    """Pieces of one stream that follow each other made one."""
    joined: list[tuple[Stream, list[str]]] = []
    for stream, text in pieces:
        if joined and joined[-1][0] == stream:
            joined[-1][1].append(text)
        else:
            joined.append((stream, [text]))
    return [(stream, "".join(texts)) for stream, texts in joined]
