"""Runs of contract `polychat` done by plain code: one that tells its example, and others that do as their task says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from drydock.agent.agent import Finish
from drydock.agent.desk import Question
from drydock.run.parts import Job, Parts, Prepared, Verdict
from drydock.run.spec import Spec
from drydock.store.run import Run
from tests.standins.agent import PATCH, ScriptedParts

BRANCH = "polychat/feature-1799139601000"
COMMAND = {"command": "python tools/patch.py", "commandIndex": 1, "commandTotal": 30}
CHECK = {"command": "make test", "commandIndex": 1, "commandTotal": 1}
STORY = {"storyId": "L-2", "storyTitle": "CSV export"}
EXAMPLE: list[tuple[str, Mapping[str, Any]]] = [
    ("repo_clone_completed", {"repo": "acme/ledger", "targetDir": "ledger"}),
    ("git_branch_created", {"branchName": BRANCH}),
    (
        "repo_context_collected",
        {
            "message": "3 files",
            "taskInstructionSource": "prd",
            "hasTaskInstructions": True,
            "hasPrdInstructions": True,
        },
    ),
    (
        "prompt_strategy_selected",
        {"message": "default for feature-implementation", "promptStrategy": "feature-delivery"},
    ),
    ("planning_started", {"message": "planning"}),
    ("planning_completed", {"plan": "Story L-2 ... Validation commands ..."}),
    ("command_batch_ready", {"commandTotal": 30, "message": "budget ready"}),
    ("agent_step_started", {"agentStep": 1, "commandCount": 0}),
    ("agent_decision", {"agentStep": 1, "action": "read_file", "reasoning": "find the report writer"}),
    ("file_read", {"agentStep": 1, "path": "src/report.py", "startLine": 1, "endLine": 240, "truncated": False}),
    ("agent_step_started", {"agentStep": 2, "commandCount": 0}),
    ("agent_decision", {"agentStep": 2, "action": "run_command", "reasoning": "apply the change"}),
    ("command_started", {"agentStep": 2, **COMMAND}),
    ("command_completed", {"agentStep": 2, **COMMAND, "exitCode": 0}),
    ("agent_step_started", {"agentStep": 3, "commandCount": 1}),
    ("agent_decision", {"agentStep": 3, "action": "finish", "reasoning": None}),
    ("agent_finished", {"agentStep": 3, "commandCount": 1, "plan": "Story L-2 ...", "summary": "CSV export added."}),
    ("quality_gate_commands_selected", {"commandTotal": 1, "commands": ["make test"]}),
    ("quality_gate_started", {"commandTotal": 1, "message": "running checks"}),
    ("quality_gate_check_started", CHECK),
    ("quality_gate_check_passed", {**CHECK, "exitCode": 0}),
    ("quality_gate_completed", {"message": "Quality gate passed (1/1 checks passed)."}),
    ("story_tracker_selected", {**STORY, "message": "tracking L-2"}),
    ("story_tracker_prd_updated", {**STORY, "updated": True, "message": "set to true", "path": "prd.json"}),
    ("story_tracker_progress_updated", {**STORY, "updated": True, "message": "appended", "path": "progress.txt"}),
]


async def work(job: Job) -> str:
    """Does what its task says."""
    task = job.spec.task
    if task == "Add CSV export":
        return await _tell_the_example(job)
    if task == "ask":
        answer = await job.desk.ask(Question("npm ci", "network", "may it?", 1, 60, 30))
        return "approved" if answer.approved else f"refused: {answer.reason}"
    if task == "listen":
        return await _listen(job)
    if task.startswith("run "):
        return await _run(job, task.removeprefix("run "), 1)
    return "done"


class ExampleParts(ScriptedParts):
    async def prepare(self, job: Job) -> Prepared:
        await job.desk.emit("task_started", task=job.spec.task, repo=job.spec.repo, model=job.spec.model)
        return await super().prepare(job)

    async def deliver(self, job: Job, prepared: Prepared, finish: Finish, verdict: Verdict) -> Mapping[str, Any]:
        if job.spec.task != "Add CSV export":
            return {"diff": PATCH}
        await job.desk.emit("diff_generated", hasChanges=True)
        if not job.spec.commits:
            return {"logs": "$ git clone ...", "diff": "diff --git ..."}
        await job.desk.emit("commit_created", branchName=BRANCH, commitSha="4c1f0e9")
        return {"logs": "$ git clone ...", "diff": "diff --git ...", "branchName": BRANCH}


def makes(run: Run, spec: Spec) -> Parts:
    parts = ExampleParts(work)
    return Parts(parts, parts, parts, parts)


async def _tell_the_example(job: Job) -> str:
    for kind, data in EXAMPLE:
        if kind != "git_branch_created" or job.spec.commits:
            await job.desk.emit(kind, **data)
    return "CSV export added. Quality gate passed (1/1 checks passed)."


async def _listen(job: Job) -> str:
    heard: list[str] = []
    step = 0
    while "over" not in heard:
        step += 1
        said = await job.desk.checkpoint("step")
        for each in said:
            await job.desk.emit(
                "run_instruction_received",
                agentStep=step,
                instructionId=each.id,
                instructionKind=each.kind,
                instructionContent=each.text,
            )
        heard += [each.text for each in said]
        await _run(job, "sleep 0.05", step)
    return json.dumps(heard)


async def _run(job: Job, command: str, number: int) -> str:
    about = {"command": command, "commandIndex": number, "commandTotal": 30, "agentStep": number}

    async def tell(stream: str, text: str) -> None:
        await job.desk.emit("command_output", **about, stream=stream, output=text)

    async def act() -> str:
        await job.desk.emit("command_started", **about)
        done = await job.site.run(["/bin/sh", "-c", command], timeout_s=60, on_output=tell)
        await job.desk.changed()
        await job.desk.emit("command_completed", **about, exitCode=done.exit_code)
        return f"{done.reason} {done.stdout.decode()}".strip()

    return str(await job.desk.once(f"command-{number}", act, interrupted=lambda: "interrupted"))
