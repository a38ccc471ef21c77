"""What one box may still use of its relay."""

from __future__ import annotations

import time

from drydock.egress.denial import Refused
from drydock.egress.grants import Bounds
from drydock.egress.url import URL


class Meter:
    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._bytes = bounds.bytes
        self._requests = bounds.requests
        self._until: float | None = None

    def begin(self) -> None:
        """The first connection starts the clock."""
        if self._until is None:
            self._until = time.monotonic() + self.bounds.seconds

    @property
    def seconds(self) -> float:
        """Left, and not below zero."""
        return self.bounds.seconds if self._until is None else max(0.0, self._until - time.monotonic())

    def request(self) -> None:
        if not self.seconds:
            raise Refused(
                "seconds", f"this box may use its relay for {self.bounds.seconds:g} s; start a new run", status=429
            )
        if not self._requests:
            raise Refused("requests", f"this box may make {self.bounds.requests} requests; ask for less", status=429)
        self._requests -= 1

    def take(self, count: int, url: URL) -> None:
        """Bytes as they came, heads and framing included."""
        self.expect(count, url)
        self._bytes -= count

    def expect(self, count: int, url: URL) -> None:
        if count > self._bytes:
            raise Refused(
                "bytes",
                f"this box may receive {self.bounds.bytes} bytes in all and this would be more; ask for less",
                host=url.host,
                path=url.path,
            )
