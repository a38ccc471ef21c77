"""A server whose runs are done by plain code that measures itself: `python -m bench.carried DATA`."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from pathlib import Path

from drydock import app
from drydock.run.parts import Job
from drydock.settings import Settings
from tests.standins.agent import scripted

STEPS = 40
EVENTS = 300
GAP_S = 0.05


class Timed:
    """What was spent in commands, which is not the server's doing."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.commands_s = 0.0

    async def step(self, number: int) -> None:
        desk = self._job.desk

        async def decide() -> str:
            return "run_command"

        async def act() -> str:
            began = time.perf_counter()
            done = await self._job.site.run(["/bin/sh", "-c", f"echo {number} >> log"], timeout_s=30)
            self.commands_s += time.perf_counter() - began
            await desk.changed()
            return done.reason

        await desk.checkpoint("step")
        await desk.emit("agent_step_started", agentStep=number)
        action = await desk.once(f"turn-{number}", decide)
        await desk.emit("agent_decision", agentStep=number, action=action)
        await desk.emit("command_started", command="echo", commandIndex=number)
        await desk.once(f"command-{number}", act, interrupted=lambda: "interrupted")
        await desk.emit("command_completed", command="echo", commandIndex=number)


async def work(job: Job) -> str:
    if job.spec.task == "steps":
        return await _steps(job)
    if job.spec.task == "events":
        for _ in range(EVENTS):
            await asyncio.sleep(GAP_S)
            await job.desk.emit("measured", at=time.monotonic())
    return "done"


async def _steps(job: Job) -> str:
    timed = Timed(job)
    await timed.step(-1)  # opens the box
    taken = []
    for number in range(STEPS):
        before, began = timed.commands_s, time.perf_counter()
        await timed.step(number)
        taken.append(time.perf_counter() - began - (timed.commands_s - before))
    return json.dumps({"median": statistics.median(taken) * 1e3, "worst": max(taken) * 1e3})


if __name__ == "__main__":
    told = Settings(data=Path(sys.argv[1]), port=0, max_concurrent=1, max_runs=8, log_level="warning")
    sys.exit(app.serve(told, makes=scripted(work)))
