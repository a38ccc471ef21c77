"""What a caller asks of one execution, and what comes back. Every door speaks these two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from drydock.box.ended import Ended
from drydock.box.tier import Isolation
from drydock.packages.report import Report
from drydock.packages.wanted import Wanted


@dataclass(frozen=True, slots=True)
class ExecutionRequest:
    language: str
    """python, node, shell or golang, already known to be available."""
    code: str | None = None
    argv: Sequence[str] | None = None
    """A program and its arguments instead of code; exactly one of the two is given."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Relative POSIX paths, checked by `files.check_name` before they come here."""
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    timeout_ms: int = 30_000
    memory_bytes: int | None = None
    processes: int | None = None
    cpus: float | None = None
    packages: Wanted | None = None
    """Requirements and environments; installed before the program starts, if they are not there."""
    isolation: Isolation | None = None
    """None is the tier in force; another one has been checked to be there, and no weaker."""
    outputs: Sequence[str] | None = None
    """Glob patterns over paths in the output folder; None is every file."""


@dataclass(frozen=True, slots=True)
class Skipped:
    name: str
    reason: str
    """symlink, not_a_file, bad_name, limit or unreadable."""


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    ended: Ended
    stdout: bytes = b""
    stderr: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    skipped: Sequence[Skipped] = ()
    packages: Report | None = None
    """How it came by what it required."""
