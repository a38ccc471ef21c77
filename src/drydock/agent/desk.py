"""The desk: all that an agent, or the gate, has of the run that it works in. `run/` puts one up.

The whole of a run is code that can be played again: after a crash, a take-over or a parking it begins anew and reads
what was done from the steps' records. So between two steps nothing may decide the way but their results: no clock, no
chance, no order of a folder's listing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Asking = Literal["network", "risky", "budget", "delivery"]


@dataclass(frozen=True, slots=True)
class Instruction:
    """What a person said to a run that goes on."""

    id: str
    kind: Literal["message", "continue"]
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """Something that waits for a person's yes."""

    command: str
    """The whole command: the answer is bound to its hash. For a budget, what is asked for."""
    kind: Asking
    message: str
    step: int
    window_s: float
    escalate_s: float


@dataclass(frozen=True, slots=True)
class Answer:
    approved: bool
    reason: str


class Stopped(Exception):
    """The run ends here: raised out of any await of desk or site, and caught by nobody below the run."""

    def __init__(self, reason: Literal["cancelled", "timeout"], message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Desk(Protocol):
    async def emit(self, type: str, **data: Any) -> None:
        """One event, journalled before this returns, in the contract's words (fields in camelCase, None left out).

        Outside `once` its key is its place after the last step, so that a replay tells nothing twice. Inside `act` it
        goes out as it happens (a command's output, a model that failed) and belongs to that attempt at the step: an
        attempt that comes after a crash tells its own.
        """

    async def once(
        self, name: str, act: Callable[[], Awaitable[Any]], *, interrupted: Callable[[], Any] | None = None
    ) -> Any:
        """One durable step; `name` is unique in the run. What `act` gives is recorded, as plain JSON, and returned,
        on a replay without doing it again. An error that it raises is not recorded.

        When a worker died in it, the workspace is first put back to the last snapshot. Then what `interrupted` gives
        is the result (commands, edits), or without one `act` is done again (calls of a model, reads).
        """

    async def checkpoint(self, phase: str) -> Sequence[Instruction]:
        """Where control takes effect: waits while the run is paused, raises Stopped; gives what a person has said since
        the last one, each once, the same on a replay."""

    async def ask(self, question: Question) -> Answer:
        """A person's answer, or a refusal when the window has passed or nobody can be asked. Tells the approval's
        events itself; the run's clock stands meanwhile."""

    async def changed(self) -> None:
        """The workspace may have changed: called inside `act`, after the change, so that its snapshot is taken."""
