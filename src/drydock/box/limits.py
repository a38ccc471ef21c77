"""What a box may use at most. Units are in the names; the kernel counts every one of them."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    wall_ms: int = 30_000
    memory_bytes: int = 512 * MIB
    """Memory of the programs alone: the cgroup's limit is this plus `work_bytes`, since tmpfs pages count there."""
    work_bytes: int = 512 * MIB
    inodes: int = 65_536
    processes: int = 128
    file_bytes: int = 64 * MIB
    open_files: int = 256
    cpus: float = 1.0
    output_bytes: int = 10 * MIB
    """Kept of each stream; what comes after is read and counted, so the program is never blocked or killed for it."""
