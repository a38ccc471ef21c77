"""What is left of a run's time. It stands while the run is paused and while it waits for a person."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any


class Clock:
    def __init__(self, left_ms: int, ring: Callable[[], None]) -> None:
        """`ring` is called once, on the event loop, when nothing is left."""
        self._left_s = left_ms / 1000
        self._ring = ring
        self._standing: set[str] = {"not started"}
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def stand(self, why: str) -> None:
        """Reasons add up: it goes on when the last of them is gone."""
        if not self._standing:
            self._left_s -= time.monotonic() - self._since
            assert self._timer is not None
            self._timer.cancel()
        self._standing.add(why)

    def go(self, why: str = "not started") -> None:
        if why not in self._standing:
            return
        self._standing.remove(why)
        if not self._standing:
            self._since = time.monotonic()
            self._timer = asyncio.get_running_loop().call_later(max(0.0, self._left_s), self._ring)

    def close(self) -> None:
        self.stand("closed")

    def kept(self) -> dict[str, Any]:
        """As it stands in the run's record, from which `left_of` can tell what is left even after a crash."""
        going = not self._standing
        left_s = self._left_s - (time.monotonic() - self._since if going else 0)
        since = datetime.now(UTC).isoformat() if going else None
        return {"left_ms": max(0, int(left_s * 1000)), "ticking_since": since}


def left_of(control: Mapping[str, Any], timeout_ms: int, last_sign: datetime) -> int:
    """Milliseconds left to a run; time after its last sign of life, when nobody carried it, does not count."""
    left = int(control.get("left_ms", timeout_ms))
    since = control.get("ticking_since")
    if since is None:
        return left
    return max(0, left - max(0, int((last_sign - datetime.fromisoformat(since)).total_seconds() * 1000)))


def deadline_of(control: Mapping[str, Any], timeout_ms: int) -> datetime:
    """When its time will be up if it is not paused from now on."""
    since = control.get("ticking_since")
    begin = datetime.now(UTC) if since is None else datetime.fromisoformat(since)
    return begin + timedelta(milliseconds=int(control.get("left_ms", timeout_ms)))
