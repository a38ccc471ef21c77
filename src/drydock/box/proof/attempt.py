"""One attempt as data: what it aims at, its program, and how to tell that it has failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from drydock.box.limits import Limits
from drydock.box.proof.planted import Planted
from drydock.box.running import Outcome

Promise = Literal["P1", "P2", "P3", "P4", "P5", "P7", "P8", "P10"]
BREACH, HELD = b"BREACH", b"HELD"


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of an attempt."""

    outcome: Outcome
    files: Mapping[str, bytes]
    """What the collector brought back from the output folder."""
    planted: Planted

    @property
    def everything(self) -> bytes:
        return b"".join([self.outcome.stdout, self.outcome.stderr, *self.files.values()])


Judge = Callable[[Seen], bool]


def held(seen: Seen) -> bool:
    """It came to its end, nothing that it tried has worked, and no canary is in what it brought back."""
    out = seen.outcome.stdout
    return (
        seen.outcome.ended.reason == "completed"
        and out.rstrip().endswith(HELD)
        and BREACH not in out
        and seen.planted.canary.encode() not in seen.everything
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    promise: Promise
    name: str
    """What holds, if it fails."""
    code: str
    """Python. Prints `BREACH what` for all that worked and HELD at its end, unless `holds` looks at something else.
    <file>, <pid>, <port>, <abstract> and <data> stand for what is planted."""
    remedy: str
    holds: Judge = held
    quick: bool = False
    """Short enough for the start of a server, and judged by `held`."""
    unwalled: bool = False
    """Promised by the tier that has no walls, too."""
    limits: Limits = field(default_factory=lambda: Limits(wall_ms=10_000))
    counted: bool = False
    """Counted by control groups, so not promised where none can be made."""

    def program(self, planted: Planted) -> str:
        code = self.code
        for name, value in planted.places().items():
            code = code.replace(f"<{name}>", repr(value))
        return code
