"""How a program ended, told by the supervisor alone. The same object under every door."""

from __future__ import annotations

import signal as signals
from dataclasses import dataclass
from typing import Literal

Reason = Literal[
    "completed",
    "exit_nonzero",
    "signal",
    "timeout",
    "memory_limit",
    "process_limit",
    "disk_limit",
    "cancelled",
    "server_shutdown",
    "start_failed",
    "install_failed",
    "box_failed",
]


@dataclass(frozen=True, slots=True)
class Ended:
    reason: Reason
    exit_code: int | None = None
    """0..255 as the program gave it; None when it did not exit by itself."""
    signal: str | None = None
    """Name of the signal that ended it, `SIGSEGV`, whoever sent it."""
    wall_ms: int = 0
    cpu_ms: int = 0
    peak_memory_bytes: int = 0
    stdout_bytes: int = 0
    """Written by the program; more than was kept when the stream was cut."""
    stderr_bytes: int = 0
    stdout_cut: bool = False
    stderr_cut: bool = False
    survivors: int = 0
    """Processes of the program that were alive after the box was emptied, counted: anything but 0 is a defect."""
    detail: str | None = None
    """One sentence for start_failed, install_failed and box_failed."""

    @property
    def retryable(self) -> bool:
        """The program was not the cause, so the same request may well succeed."""
        return self.reason in ("box_failed", "server_shutdown")


def signal_name(number: int) -> str:
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"SIG{number}"
