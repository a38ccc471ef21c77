"""The agent of a run: our loop over the model that was asked for, made from what the run's record says."""

from __future__ import annotations

from collections.abc import Sequence

from drydock.agent.agent import Agent, Finish
from drydock.agent.desk import Instruction
from drydock.agent.loop import Loop
from drydock.agent.mind import NamedMind
from drydock.agent.plan import Plan
from drydock.agent.task import Budget, Task
from drydock.model.conversation import Message
from drydock.model.models import Models
from drydock.run.parts import Job, Prepared
from drydock.run.spec import Spec


class LoopAgency:
    """One for each play of a run. `earlier` is the conversation of the run that this one follows."""

    def __init__(self, models: Models, spec: Spec, earlier: Sequence[Message] = ()) -> None:
        self._models, self._task = models, task_of(spec, earlier)
        self._model = spec.model
        self._agent: Agent | None = None

    async def plan(self, job: Job, prepared: Prepared) -> Plan:
        return await self._made().plan(job.desk, job.site)

    async def work(self, job: Job, plan: Plan, *, repair: str = "", said: Sequence[Instruction] = ()) -> Finish:
        return await self._made().work(plan, job.desk, job.site, repair=repair, said=said)

    def _made(self) -> Agent:
        """Late: an unknown model is the run's failure, told where runs' failures are."""
        if self._agent is None:
            self._agent = Loop(NamedMind(self._models, self._model), self._task)
        return self._agent


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
            tokens=limits.tokens,
            usd=limits.usd,
            command_s=limits.command_s,
            ask=spec.ask_for_more,
        ),
        earlier=tuple(earlier),
    )
