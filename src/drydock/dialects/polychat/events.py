"""An event of the journal in this contract's words: its fields in the contract's order, with what its doors know."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from drydock.api.executions.render import moment
from drydock.api.text import write
from drydock.dialects.polychat.result import result_of
from drydock.store.run import Event, Run

STEP = "agentStep"
ABOUT = "command commandIndex commandTotal"
COMMAND = f"{ABOUT} {STEP}"
STORY = "storyId storyTitle"
SAID = "instructionId instructionKind instructionContent"
ASKED = f"command {STEP} message approvalId approvalStatus approvalExpiresAt approvalEscalatedAt approvalTimedOutAt"
DELIVERY = "branchName commitSha targetBranch deliveryAction pullRequestUrl"
ORDER: Mapping[str, str] = {
    "run_queued": "repo installationId timeoutSeconds timeoutAt message",
    "run_started": "repo installationId startedAt timeoutSeconds",
    "task_started": "task repo model polychatUri trustLevel",
    "repo_clone_started": "repo installationId",
    "repo_clone_completed": "repo targetDir",
    "repo_context_collected": "message taskInstructionSource hasTaskInstructions hasPrdInstructions",
    "prompt_strategy_selected": "message promptStrategy",
    "command_batch_ready": "commandTotal message",
    "agent_step_started": f"{STEP} commandCount",
    "agent_decision": f"{STEP} action reasoning",
    "plan_updated": f"{STEP} plan",
    "file_read": f"{STEP} path startLine endLine truncated error",
    "command_started": COMMAND,
    "command_completed": f"{COMMAND} exitCode",
    "command_failed": f"{COMMAND} exitCode error",
    "command_output": f"{ABOUT} stream output",
    "agent_finished": f"{STEP} commandCount plan summary",
    "quality_gate_commands_selected": "commandTotal commands",
    "quality_gate_started": "commandTotal message",
    "quality_gate_check_started": ABOUT,
    "quality_gate_check_passed": f"{ABOUT} exitCode",
    "quality_gate_check_failed": f"{ABOUT} exitCode error",
    "quality_gate_output": f"{ABOUT} stream output",
    "story_tracker_selected": f"{STORY} message",
    "story_tracker_prd_updated": f"{STORY} updated message path",
    "story_tracker_progress_updated": f"{STORY} updated message path",
    "commit_created": "branchName commitSha",
    "task_failed": "error errorType retryable",
    "task_cancelled": "error errorType retryable",
    "run_completed": "completedAt result",
    "run_failed": "completedAt error errorType result",
    "run_cancelled": "completedAt message result",
    "run_instruction_submitted": f"{SAID} command approvalStatus approvalId",
    "run_instruction_received": f"{STEP} {SAID}",
    **{f"command_approval_{state}": ASKED for state in ("requested", "escalated", "resolved", "timed_out")},
    **{f"delivery_{state}": f"{DELIVERY} error message" for state in ("started", "completed", "failed", "skipped")},
}
"""Fields of each event in the order in which they are told; what is not named here comes after."""
WITH_INSTALLATION = ("run_queued", "run_started", "repo_clone_started")
"""As in the contract's example; in `task_started` it is optional, and the example goes without."""


def shown_id(run: Run) -> str:
    """A client's own id is the run's id to that client."""
    return run.client_id or run.id


def told(run: Run, event: Event) -> dict[str, Any]:
    data = {name: _instant(name, value) for name, value in event.data.items() if value is not None}
    data |= _known_here(run, event.type)
    if isinstance(data.get("result"), Mapping):
        data["result"] = result_of(data["result"])
    first = [name for name in ORDER.get(event.type, "").split() if name in data]
    ordered = {name: data[name] for name in (*first, *(name for name in data if name not in first))}
    return {"type": event.type, "runId": shown_id(run), **ordered, "timestamp": moment(event.recorded_at)}


def envelope(run: Run, event: Event) -> dict[str, Any]:
    return {"index": event.seq, "event": told(run, event), "recordedAt": moment(event.recorded_at)}


def frame(run: Run, event: Event) -> bytes:
    return b"id: %d\n%s" % (event.seq, bare_frame(run, event))


def bare_frame(run: Run, event: Event) -> bytes:
    return b"data: %s\n\n" % write(told(run, event))


def _known_here(run: Run, kind: str) -> dict[str, Any]:
    """What the run's door knows of it and whoever told the event did not."""
    known: dict[str, Any] = {}
    if kind in WITH_INSTALLATION and run.installation is not None:
        known["installationId"] = run.installation
    if kind == "run_queued":
        known["timeoutAt"] = moment(run.created_at + timedelta(milliseconds=run.spec["timeout_ms"]))
    if kind == "task_started":
        known["trustLevel"] = run.spec["trust"]
        if callback := run.spec["extra"].get("callback"):
            known["polychatUri"] = callback
    return known


def _instant(name: str, value: Any) -> Any:
    """The records' own times have microseconds and an offset."""
    if name.endswith("At") and isinstance(value, str) and value.endswith("+00:00"):
        return moment(datetime.fromisoformat(value))
    return value
