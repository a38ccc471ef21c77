"""What the walk needs of other rooms, one small Protocol for each. `app.py` joins them; tests bring plain code.

Each part gets the job and does its work through the desk, so that a run which is played again finds all of it done.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from drydock.agent.agent import Finish
from drydock.agent.desk import Desk, Instruction
from drydock.agent.plan import Plan
from drydock.agent.site import Site
from drydock.run.spec import Spec
from drydock.run.workspace import Workspace
from drydock.store.run import Run


class RunFailed(Exception):
    """The run ends as failed, for a reason that its owner can be told."""

    def __init__(self, error_type: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.error_type = error_type
        """One of the contract's error types."""
        self.message = message
        self.retryable = retryable


@dataclass(frozen=True, slots=True)
class Job:
    """One run, as its parts see it."""

    id: str
    caller: str
    spec: Spec
    desk: Desk
    site: Site
    workspace: Workspace
    """Its box and others beside it. Its folder is this run's alone, on this machine: what is kept there is gone after a
    take-over."""
    still_ours: Callable[[], Awaitable[None]]
    """Asked right before anything that cannot be taken back leaves the machine (a push, a callback): raises when
    another worker has the run."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The repository is in the workspace."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    """For the parts that come later: base commit, branch and so on, in plain JSON."""
    said: Sequence[Instruction] = ()
    """What a person said meanwhile: the agent hears it with its first step."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate found."""

    passed: bool
    skipped: bool
    summary: str
    account: Mapping[str, Any] = field(default_factory=dict)
    """For the result: each check's command, exit, output's tail and time, on base and on the change."""
    repair: str = ""
    """What the agent is told when it shall mend it."""
    said: Sequence[Instruction] = ()
    """What a person said meanwhile: for the round of repair, if one follows."""


class Prepare(Protocol):
    async def prepare(self, job: Job) -> Prepared: ...


class Agency(Protocol):
    """The agent of one run."""

    async def plan(self, job: Job, prepared: Prepared) -> Plan: ...

    async def work(self, job: Job, plan: Plan, *, repair: str = "", said: Sequence[Instruction] = ()) -> Finish: ...


class Gate(Protocol):
    async def judge(self, job: Job, prepared: Prepared, plans: Sequence[str], round: int) -> Verdict:
        """`plans` as they stood at the end and at first."""
        ...


class Deliver(Protocol):
    async def deliver(self, job: Job, prepared: Prepared, finish: Finish, verdict: Verdict) -> Mapping[str, Any]:
        """Stories, diff, commit and what follows it. Fields of the result."""
        ...

    async def salvage(self, job: Job) -> Mapping[str, Any]:
        """Fields of the result of a run that was ended early: the diff of what was last kept. Changes nothing."""
        ...


async def _nothing() -> None:
    """Parts that open nothing have nothing to close."""


@dataclass(frozen=True, slots=True)
class Parts:
    prepare: Prepare
    agency: Agency
    gate: Gate
    deliver: Deliver
    close: Callable[[], Awaitable[None]] = _nothing
    """Ends what they have opened; what they wrote to the run's folder stays for the next play."""


class Makes(Protocol):
    def __call__(self, run: Run, spec: Spec) -> Parts:
        """Fresh ones for each play of a run: an agent keeps its conversation."""
        ...
