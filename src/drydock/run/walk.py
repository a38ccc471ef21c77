"""A run from its beginning to its result: prepare, plan, work, gate, deliver.

Played from the start each time that somebody takes the run up; what was done before comes from the steps' records.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from drydock.agent.agent import Finish
from drydock.agent.plan import Plan
from drydock.run.parts import Job, Parts, Prepared, Verdict

OnPhase = Callable[[str], Awaitable[None]]


async def walk(job: Job, parts: Parts, on_phase: OnPhase) -> dict[str, Any]:
    """Fields of the result of a run that came to its end."""
    await on_phase("prepare")
    prepared = await parts.prepare.prepare(job)
    await on_phase("plan")
    plan = await parts.agency.plan(job, prepared)
    await on_phase("work")
    finish, verdict = await _work(job, parts, prepared, plan, on_phase)
    await on_phase("deliver")
    delivered = await parts.deliver.deliver(job, prepared, finish, verdict)
    usage = finish.usage
    return {
        "success": True,
        "summary": " ".join(part for part in (finish.summary, verdict.summary, delivered.get("note")) if part),
        "gate": {"passed": verdict.passed, "skipped": verdict.skipped, **verdict.account},
        "usage": {
            "steps": finish.steps,
            "commands": finish.commands,
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "cachedTokens": usage.cache_read_tokens,
            "costUsd": None if usage.cost_usd is None else float(usage.cost_usd),
        },
        **{name: value for name, value in delivered.items() if name != "note"},
    }


async def _work(job: Job, parts: Parts, prepared: Prepared, plan: Plan, on_phase: OnPhase) -> tuple[Finish, Verdict]:
    """Work and gate, and again while the gate fails and there are rounds left."""
    first, repair, said = plan.text, "", prepared.said
    for round in range(job.spec.repair_rounds + 1):
        finish = await parts.agency.work(job, plan, repair=repair, said=said)
        plan = finish.plan
        await on_phase("gate")
        verdict = await parts.gate.judge(job, prepared, [plan.text, first], round)
        if verdict.passed or verdict.skipped or not verdict.repair:
            break
        if round < job.spec.repair_rounds:
            await on_phase("work")
        repair, said = verdict.repair, verdict.said
    return finish, verdict
