"""The site: the repository's folder in a held box, and programs that run there. `run/` puts one up over its box.

Whatever an agent does to a workspace, reading included, is a program at the site: no tool of ours touches a file of the
tenant from outside. What comes back is bounded by the box's limits and believed by nobody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from drydock.box.ended import Reason

Stream = Literal["stdout", "stderr"]
OnOutput = Callable[[Stream, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Script:
    """Python of ours, run by the box's warm interpreter: it costs a fork where a program would cost a start."""

    source: str


@dataclass(frozen=True, slots=True)
class Done:
    """How a program at the site ended. A box that broke is no such end: that is raised, as BoxFailed."""

    reason: Reason
    exit_code: int | None
    signal: str | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    cut: bool = False
    """More was written than is kept here."""
    wall_ms: int = 0

    @property
    def ok(self) -> bool:
        return self.reason == "completed"


@dataclass(frozen=True, slots=True)
class Heard:
    """What a long-running program has written after a cursor."""

    cursor: int
    """Where to read on."""
    text: str
    """Both streams, in the order in which they came."""
    done: Done | None = None
    """None while it runs. Its streams are empty here: they were heard."""


class Gone(Exception):
    """No such program: never started, or ended together with the box that it ran in."""


class Site(Protocol):
    root: str
    """The repository's folder in the box; every program starts in it."""

    async def run(
        self,
        program: Sequence[str] | Script,
        *,
        stdin: bytes = b"",
        timeout_s: float,
        read_only: bool = False,
        network: bool = False,
        on_output: OnOutput | None = None,
    ) -> Done:
        """A program from its start to its end; what it leaves in the background goes on without it.

        `read_only` mounts the workspace so for it; `network` opens the grant `packages` for as long as it runs.
        `on_output` is awaited with each piece that it writes, decoded, while it runs.
        """

    async def start(self, argv: Sequence[str], *, read_only: bool = False, network: bool = False) -> int:
        """A program that goes on beside the others; its number is never used again in the run."""

    async def send(self, number: int, data: bytes, *, close: bool = False) -> None:
        """Feed its stdin; BrokenPipeError when it reads no more, Gone when it is gone."""

    async def hear(self, number: int, after: int, *, wait_s: float) -> Heard:
        """What it wrote after the cursor `after`; waits at most `wait_s` for something new or for its end."""

    async def stop(self, number: int) -> Done:
        """Kill it with all that descends from it; its end, also when it had ended before."""
