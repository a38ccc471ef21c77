"""What a held box's program has written so far, to be read from any point and followed to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal

StreamName = Literal["stdout", "stderr"]


@dataclass(frozen=True, slots=True)
class Piece:
    cursor: int
    """Pass it to `follow` to go on after this piece."""
    stream: StreamName
    data: bytes


class Transcript:
    """Pieces in the order in which they were read; how much is kept is bounded by whoever adds them."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        self._ended = False
        self._news = asyncio.Event()

    @property
    def cursor(self) -> int:
        """Of the newest piece."""
        return len(self._pieces)

    def add(self, stream: StreamName, data: bytes) -> None:
        self._pieces.append(Piece(len(self._pieces) + 1, stream, data))
        self._wake()

    def end(self) -> None:
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def follow(self, after: int = 0) -> AsyncIterator[Piece]:
        """Every piece after the cursor, those to come included, until the program has ended."""
        while True:
            while after < len(self._pieces):
                after += 1
                yield self._pieces[after - 1]
            if self._ended:
                return
            await self._news.wait()
