"""How many executions run at once, and who waits for a place. First come, first served."""

from __future__ import annotations

import asyncio
from collections import deque

from drydock.errors import AtCapacity


class Places:
    def __init__(self, capacity: int, longest_queue: int) -> None:
        self.capacity = capacity
        self.taken = 0
        self._longest_queue = longest_queue
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def queued(self) -> int:
        return len(self._waiting)

    def take(self) -> None:
        """A place at once, or AtCapacity."""
        if self.taken >= self.capacity:
            raise AtCapacity(f"at capacity ({self.taken + 1}/{self.capacity} concurrent executions)")
        self.taken += 1

    def queue_up(self) -> asyncio.Future[None]:
        """A turn, done as soon as it has a place. AtCapacity when nobody more may wait."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.taken < self.capacity:
            self.taken += 1
            turn.set_result(None)
        elif len(self._waiting) < self._longest_queue:
            self._waiting.append(turn)
        else:
            raise AtCapacity(f"{len(self._waiting)} executions are waiting, which is as many as may wait")
        return turn

    def leave(self, turn: asyncio.Future[None]) -> None:
        """Give the turn up, whether or not it has come."""
        if turn in self._waiting:
            self._waiting.remove(turn)
            turn.cancel()
        else:
            self.give_back()

    def give_back(self) -> None:
        if self._waiting:
            self._waiting.popleft().set_result(None)  # the place changes hands, so nobody can slip in between
        else:
            self.taken -= 1
