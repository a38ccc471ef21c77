"""A real server in a process of its own, whose runs are done by plain code, and which can be made to die at any write.

    python -m tests.standins.run_server DATA EFFECTS [--die-at N] [--database URL] [--objects URL] [--role ROLE]

It does what a run's agent would: decides, runs commands in a real box, commits. Each time that one of these is really
done, its name goes into the file EFFECTS, whatever the server's records say of it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, event

from drydock import app
from drydock.run.parts import Job
from drydock.settings import Settings
from tests.standins.agent import scripted

COMMANDS = 4
SLOWLY = {"slowly": "sleep 0.2;", "stand still": "sleep 27.27;"}


class Doing:
    def __init__(self, effects: Path, die_at: int | None) -> None:
        self._effects, self._die_at = effects, die_at
        self._writes = 0
        self._armed = False

    def note(self, what: str) -> None:
        with self._effects.open("a") as file:
            file.write(what + "\n")

    def before_commit(self, connection: Connection) -> None:
        """Right before each write of ours becomes true, counted from the first one of a run's work."""
        if self._armed and connection.get_execution_options().get("drydock_writes"):
            self._writes += 1
            if self._writes == self._die_at:
                os.kill(os.getpid(), signal.SIGKILL)

    async def work(self, job: Job) -> str:
        self._armed = True
        told: list[str] = []
        for number in range(COMMANDS):
            await job.desk.checkpoint("step")
            await self._decide(job, number)
            told.append(await self._command(job, number))
        left = await job.desk.once("read", lambda: self._read(job))
        sha = await job.desk.once("commit", lambda: self._commit(job, left))
        await job.desk.emit("commit_created", commitSha=sha)
        return f"{' '.join(told)} | {left}"

    async def _decide(self, job: Job, number: int) -> None:
        async def act() -> str:
            self.note(f"turn-{number}")
            if job.spec.task == "fatal":
                os.kill(os.getpid(), signal.SIGKILL)
            return "run_command"

        action = await job.desk.once(f"turn-{number}", act)
        await job.desk.emit("agent_decision", agentStep=number, action=action)

    async def _command(self, job: Job, number: int) -> str:
        async def act() -> str:
            self.note(f"command-{number}")
            slow = SLOWLY.get(job.spec.task, "") if number == 0 or job.spec.task == "slowly" else ""
            done = await job.site.run(["/bin/sh", "-c", f"{slow} echo {number} >> done"], timeout_s=30)
            await job.desk.changed()
            return done.reason

        told = str(await job.desk.once(f"command-{number}", act, interrupted=lambda: "interrupted"))
        await job.desk.emit("command_completed", commandIndex=number, error=told)
        return told

    async def _read(self, job: Job) -> str:
        done = await job.site.run(["/bin/cat", "done"], timeout_s=30)
        return ",".join(done.stdout.decode().split())

    async def _commit(self, job: Job, left: Any) -> str:
        sha = hashlib.sha256(str(left).encode()).hexdigest()
        self.note(f"commit {sha}")
        return sha


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("effects", type=Path)
    parser.add_argument("--die-at", type=int)
    parser.add_argument("--database", default="")
    parser.add_argument("--objects", default="")
    parser.add_argument("--role", default="all")
    told = parser.parse_args()
    doing = Doing(told.effects, told.die_at)
    event.listen(Engine, "commit", doing.before_commit)
    settings = Settings(
        data=told.data,
        port=0,
        database=told.database,
        objects=told.objects,
        role=told.role,
        max_concurrent=1,
        max_runs=20,
        log_level="debug",
    )
    return app.serve(settings, makes=scripted(doing.work))


if __name__ == "__main__":
    sys.exit(main())
