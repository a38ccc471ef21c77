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
        if self.taken >= self.capacity or self._waiting:
            raise AtCapacity(f"at capacity ({self.taken + 1}/{self.capacity} concurrent executions)")
        self.taken += 1

    def check_queue(self) -> None:
        """AtCapacity when nobody more may wait."""
        if self.taken >= self.capacity and len(self._waiting) >= self._longest_queue:
            raise AtCapacity(f"{len(self._waiting)} executions are waiting, which is as many as may wait")

    async def wait(self) -> None:
        """A place as soon as there is one."""
        if self.taken < self.capacity and not self._waiting:
            self.taken += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back()  # the turn came in the same moment
            elif turn in self._waiting:
                self._waiting.remove(turn)
            raise

    def give_back(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)  # the place changes hands, so nobody can slip in between
                return
        self.taken -= 1
