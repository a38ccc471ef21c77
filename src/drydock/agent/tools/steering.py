"""update_plan and finish: what the model decides about its own way."""

from __future__ import annotations

from drydock.agent import plan as plans
from drydock.agent.action import Action
from drydock.agent.bench import Bench, Observation
from drydock.agent.texts import fenced
from drydock.agent.tools import processes

MOST_PLAN = 2500
MOST_TOLD_PLAN = 1000


async def update_plan(bench: Bench, action: Action) -> Observation:
    text = action.text("plan").strip()[:MOST_PLAN]
    bench.plan = plans.read(text)
    await bench.emit("plan_updated", plan=text)
    return Observation(f"The plan is updated. The current plan:\n{fenced(text)}")


async def finish(bench: Bench, action: Action) -> Observation:
    """Not before the model has heard what a person said in the meantime."""
    await bench.checkpoint("finish")
    if bench.heard:
        reason = "A person has said something that you have not read yet."
        await bench.emit("agent_finish_rejected", reason=reason)
        return Observation(f"You have not finished: {reason}")
    await processes.stop_all(bench)
    summary = action.text("summary").strip() or default_summary(bench)
    plan = bench.plan.text[:MOST_TOLD_PLAN]
    await bench.emit("agent_finished", commandCount=bench.ledger.commands, plan=plan, summary=summary)
    return Observation(summary, finished=True)


def default_summary(bench: Bench) -> str:
    task, count = bench.task, bench.ledger.commands
    return f"Finished {task.type} in {task.repo} with {count} command(s): {' '.join(task.text.split())[:200]}"
