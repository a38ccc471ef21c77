"""The gate of a run: its checks on clean folders of what was cloned and of what the work has made of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drydock.agent.gate.gate import Gate
from drydock.agent.site import Site
from drydock.agent.task import READ_ONLY
from drydock.run.parts import Job, Prepared, Verdict
from drydock.run.phases.agency import task_of
from drydock.run.phases.change import Change, Changes
from drydock.run.phases.grounds import CleanGrounds


class Judging:
    """One for each play of a run."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._gate: Gate | None = None
        self._grounds: CleanGrounds | None = None
        self.judged: Change | None = None
        """What the last checks ran on."""

    async def judge(self, job: Job, prepared: Prepared, plans: Sequence[str], round: int) -> Verdict:
        async def take() -> dict[str, Any]:
            return (await self._changes.take(await job.workspace.main.box())).to_json()

        self.judged = Change(**await job.desk.once(f"change-{round}", take))
        untouched = Change(str(prepared.fields["base"]), "")
        self._grounds = CleanGrounds(job, prepared, self._changes, untouched, self.judged)
        if self._gate is None:
            self._gate = Gate(task_of(job.spec), job.desk, self)
        try:
            outcome = await self._gate.examine(plans, job.site, round=round)
        finally:
            await self.close()
        said, self._gate.heard = tuple(self._gate.heard), []
        account = {"summary": outcome.summary, "checks": [check.to_json() for check in outcome.checks]}
        mends = job.spec.task_type not in READ_ONLY or job.spec.generate_tests
        repair = outcome.repair() if mends and not (outcome.passed or outcome.skipped) else ""
        return Verdict(outcome.passed, outcome.skipped, outcome.summary, account, repair, said)

    async def base(self) -> Site:
        assert self._grounds is not None
        return await self._grounds.base()

    async def change(self, round: int) -> Site:
        assert self._grounds is not None
        return await self._grounds.change(round)

    async def close(self) -> None:
        if self._grounds is not None:
            await self._grounds.close()
