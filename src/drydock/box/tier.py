"""The ways of walling a program in, by name and in order of strength, and what all of them do."""

from __future__ import annotations

from typing import Literal, Protocol

from drydock.box.limits import Limits
from drydock.box.program import Program
from drydock.box.running import Collect, OnOutput, Outcome
from drydock.box.stop import Stop

Isolation = Literal["process", "box", "gvisor"]
STRENGTH: tuple[Isolation, ...] = ("process", "box", "gvisor")


class Tier(Protocol):
    @property
    def working(self) -> int:
        """Places in which a program can be run."""
        ...

    async def start(self) -> None:
        """BoxFailed with the host's own words when no program can be run."""
        ...

    async def run(
        self,
        program: Program,
        limits: Limits,
        *,
        stop: Stop | None = None,
        on_output: OnOutput | None = None,
        collect: Collect | None = None,
    ) -> Outcome:
        """Run it behind walls of its own. `collect` gets its folder /box once nothing in it can change any more."""
        ...

    async def close(self) -> None: ...
