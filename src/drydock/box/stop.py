"""A word from outside that ends a running program: cancel, shutdown. The first word counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

StopReason = Literal["cancelled", "server_shutdown"]


class Stop:
    def __init__(self) -> None:
        self.reason: StopReason | None = None
        self._waiting: list[Callable[[StopReason], None]] = []

    def __call__(self, reason: StopReason) -> None:
        if self.reason is None:
            self.reason = reason
            for tell in self._waiting:
                tell(reason)

    def then(self, tell: Callable[[StopReason], None]) -> None:
        """Call `tell` once, now if the word has been given already. Same thread as the caller of the stop."""
        if self.reason is not None:
            tell(self.reason)
        else:
            self._waiting.append(tell)
