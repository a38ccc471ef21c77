"""An agent of plain code, and the parts around it: for tests of how a run is carried, not of who thinks in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from drydock.agent.agent import Finish
from drydock.agent.desk import Instruction
from drydock.agent.plan import Plan
from drydock.run.parts import Job, Makes, Parts, Prepared, Verdict
from drydock.run.spec import Spec
from drydock.store.run import Run

PATCH = """diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -1 +1 @@
-one
+two
diff --git a/b c.txt b/b c.txt
old mode 100644
new mode 100755
"""
Work = Callable[[Job], Awaitable[str]]
"""What the agent does; its summary."""


class ScriptedParts:
    def __init__(self, work: Work) -> None:
        self._work = work

    async def prepare(self, job: Job) -> Prepared:
        await job.desk.emit("repo_clone_started", repo=job.spec.repo)
        return Prepared()

    async def plan(self, job: Job, prepared: Prepared) -> Plan:
        return Plan("do it")

    async def work(self, job: Job, plan: Plan, *, repair: str = "", said: Sequence[Instruction] = ()) -> Finish:
        return Finish(await self._work(job), plan, steps=1, commands=0)

    async def judge(self, job: Job, prepared: Prepared, plans: Sequence[str], round: int) -> Verdict:
        return Verdict(passed=True, skipped=True, summary="")

    async def deliver(self, job: Job, prepared: Prepared, finish: Finish, verdict: Verdict) -> Mapping[str, Any]:
        await job.desk.emit("diff_generated", hasChanges=False)
        return {"logs": "", "diff": PATCH}

    async def salvage(self, job: Job) -> Mapping[str, Any]:
        return {"logs": "what was kept"}


def scripted(work: Work) -> Makes:
    def make(run: Run, spec: Spec) -> Parts:
        parts = ScriptedParts(work)
        return Parts(parts, parts, parts, parts)

    return make


async def nothing(job: Job) -> str:
    return "done"


def spec(task: str = "mend it", **told: Any) -> Spec:
    return replace(Spec(task), **told)
