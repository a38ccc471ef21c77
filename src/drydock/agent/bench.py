"""What a tool works with: the task, desk and site of its run, and the state that all tools share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from drydock.agent.desk import Desk, Instruction
from drydock.agent.ledger import Ledger
from drydock.agent.plan import Plan
from drydock.agent.policy.judge import Rules
from drydock.agent.site import Site
from drydock.agent.task import READ_ONLY, Task


@dataclass(frozen=True, slots=True)
class Observation:
    """What the model is told of what came of its decision."""

    text: str
    finished: bool = False


@dataclass(slots=True)
class Bench:
    task: Task
    desk: Desk
    site: Site
    plan: Plan
    ledger: Ledger
    step: int = 0
    heard: list[Instruction] = field(default_factory=list)
    """What a person said at a checkpoint within a step; the model hears it before its next answer."""
    processes: dict[int, Process] = field(default_factory=dict)
    acts: int = 0

    @property
    def rules(self) -> Rules:
        return Rules.of(self.task)

    @property
    def read_only(self) -> bool:
        return self.task.type in READ_ONLY

    def name(self, kind: str) -> str:
        """A step's name that no other has: acts come in the same order whenever the run is played."""
        self.acts += 1
        return f"{kind}-{self.acts}"

    async def checkpoint(self, phase: str) -> None:
        self.heard.extend(await self.desk.checkpoint(phase))

    async def emit(self, type: str, **data: Any) -> None:
        await self.desk.emit(type, agentStep=self.step, **data)


@dataclass(slots=True)
class Process:
    """A started program, as far as it was listened to."""

    command: str
    index: int
    """Among the run's commands."""
    at_site: int = 0
    """Its number there; the model's number of it is its place in the bench."""
    cursor: int = 0
    ended: bool = False
