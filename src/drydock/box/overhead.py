"""What a slot takes for itself, of the memory and the processes that are counted for its tenant."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Overhead:
    """What a slot itself takes, which a tenant's limit must not pay for."""

    memory_bytes: int
    processes: int
    tasks_each: int = 1
    """Of the host, for each process of the tenant."""


SLOT = Overhead(24 << 20, 3)
"""The warm interpreter and the page tables of its forks; bubblewrap, the zygote, the sleeper."""
GVISOR = Overhead(64 << 20, 64, 6)
"""Besides those: runsc itself, its gofer and its kernel, Go programs with up to twenty threads each. Measured: 59 tasks
and 40 MB at rest; a process inside takes three to trace it and two or three threads more. There it is counted by the
kernel inside (see inside/guest.py); the host's count is the backstop."""
