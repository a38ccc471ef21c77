"""What an agent is, whoever thinks in it: our loop over any model, or Claude Code.

One is made for one run with its task, and keeps its conversation. A run that is played again makes a new one and calls
it in the same order, so that what it keeps comes out of the same records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from drydock.agent.desk import Desk, Instruction
from drydock.agent.plan import Plan
from drydock.agent.site import Site
from drydock.model.conversation import Message
from drydock.model.usage import Usage


@dataclass(frozen=True, slots=True)
class Finish:
    summary: str
    plan: Plan
    """As it stood at the end."""
    steps: int
    commands: int
    usage: Usage = field(default_factory=Usage)
    conversation: tuple[Message, ...] = ()
    """What a run that follows begins with, as `Task.earlier`."""


class Agent(Protocol):
    @property
    def conversation(self) -> Sequence[Message]:
        """So far, without what the agent itself was told to be."""

    async def plan(self, desk: Desk, site: Site) -> Plan:
        """Read the repository and plan. Events: repo_context_collected to planning_completed."""

    async def work(
        self, plan: Plan, desk: Desk, site: Site, *, repair: str = "", said: Sequence[Instruction] = ()
    ) -> Finish:
        """Work until it finishes. Events: command_batch_ready to agent_finished. With `repair`, what the gate found,
        it is called again and goes on where it had finished, with what is left of its budgets. `said` is what others
        heard at their checkpoints and the agent has not. AgentFailed when it comes to no finish."""
