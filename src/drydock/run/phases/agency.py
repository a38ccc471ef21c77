"""The agent of a run: our loop over the model that was asked for, made from what the run's record says."""

from __future__ import annotations

from collections.abc import Sequence

from drydock.agent.agent import Agent, Finish
from drydock.agent.desk import Instruction
from drydock.agent.loop import Loop
from drydock.agent.mind import NamedMind, message_from_json
from drydock.agent.plan import Plan
from drydock.agent.task import Budget, Task
from drydock.model.conversation import Message
from drydock.model.models import Models
from drydock.run.parts import Job, Prepared
from drydock.run.spec import Spec


class LoopAgency:
    """One for each play of a run."""

    def __init__(self, models: Models, spec: Spec) -> None:
        self._models, self._spec = models, spec
        self._agent: Agent | None = None

    @property
    def conversation(self) -> Sequence[Message]:
        """So far."""
        return () if self._agent is None else self._agent.conversation

    async def plan(self, job: Job, prepared: Prepared) -> Plan:
        """Made late: an unknown model is the run's failure, told where runs' failures are."""
        earlier = [message_from_json(each) for each in prepared.fields.get("earlier", ())]
        mind = NamedMind(self._models, self._spec.model, self._spec.model_settings)
        self._agent = Loop(mind, task_of(self._spec, earlier))
        return await self._agent.plan(job.desk, job.site)

    async def work(self, job: Job, plan: Plan, *, repair: str = "", said: Sequence[Instruction] = ()) -> Finish:
        assert self._agent is not None, "it plans before it works"
        return await self._agent.work(plan, job.desk, job.site, repair=repair, said=said)


def task_of(spec: Spec, earlier: Sequence[Message] = ()) -> Task:
    limits = spec.limits
    return Task(
        repo=spec.repo or "(an empty workspace)",
        text=spec.task,
        type=spec.task_type,
        strategy=spec.strategy,
        trust=spec.trust,
        commit=spec.commits,
        generate_tests=spec.generate_tests,
        single_commands=spec.single_commands,
        budget=Budget(
            steps=limits.steps,
            commands=limits.commands,
            wall_s=limits.wall_s,
            tokens=limits.tokens,
            usd=limits.usd,
            command_s=limits.command_s,
            ask=spec.ask_for_more,
        ),
        earlier=tuple(earlier),
    )
