"""What is said of each kind of event: a mark and a text. Kinds that are not named here are not shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Data = Mapping[str, Any]
Said = tuple[str, str]
"""The mark that stands at the left, and what follows it."""
OUTPUT = ("command_output", "quality_gate_output")


def said(kind: str, data: Data) -> Said | None:
    words = WORDS.get(kind)
    return None if words is None else words(data)


def _field(mark: str, *names: str, before: str = "") -> Callable[[Data], Said]:
    """The first of these fields that there is."""

    def words(data: Data) -> Said:
        return mark, before + next((str(data[name]) for name in names if data.get(name)), "")

    return words


def _decision(data: Data) -> Said:
    reasoning = str(data.get("reasoning") or "")
    return f"step {data.get('agentStep', '')}".rstrip(), f"{data.get('action')}: {reasoning}".rstrip(": ")


def _failed(data: Data) -> Said:
    if isinstance(data.get("exitCode"), int):
        return "", f"exit {data['exitCode']}"
    return "", f"failed: {_last_line(data.get('error'))}"


def _check(data: Data) -> Said:
    before = ", as it does without the change too" if data.get("failedBefore") else ""
    ended = f" (exit {data['exitCode']})" if isinstance(data.get("exitCode"), int) else ""
    return "gate", f"failed: {data.get('command')}{ended}{before}"


def _chosen(data: Data) -> Said:
    return "gate", "checks: " + (", ".join(map(str, data.get("commands") or ())) or "none")


def _read(data: Data) -> Said:
    error = f": {data['error']}" if data.get("error") else ""
    return "", f"read {data.get('path')}{error}"


def _question(data: Data) -> Said:
    return "waits", f"{data.get('message')}\n{data.get('command')}"


def _commit(data: Data) -> Said:
    sha, branch = str(data.get("commitSha") or ""), data.get("branchName")
    return "commit", sha[:12] + (f" on {branch}" if branch else "")


def _last_line(text: object) -> str:
    lines = str(text or "").strip().splitlines()
    return lines[-1] if lines else "no reason was given"


WORDS: Mapping[str, Callable[[Data], Said]] = {
    "run_queued": lambda data: ("run", f"queued; its time limit is {data.get('timeoutSeconds')} s"),
    "run_started": _field("run", before="started"),
    "run_paused": _field("run", "message", before="paused: "),
    "run_resumed": _field("run", "message", before="goes on: "),
    "run_instruction_submitted": _field("you", "instructionContent", "instructionKind"),
    "run_instruction_received": _field("you", before="the agent has read it"),
    "repo_clone_started": _field("prepare", "repo", before="clones "),
    "repo_clone_completed": _field("prepare", before="cloned"),
    "repo_context_collected": _field("prepare", "message"),
    "prompt_strategy_selected": _field("plan", "promptStrategy", before="strategy: "),
    "planning_completed": _field("plan", "plan"),
    "plan_updated": _field("plan", "plan", before="changed:\n"),
    "story_tracker_selected": _field("story", "message"),
    "agent_decision": _decision,
    "agent_turn_invalid": _field("agent", "error"),
    "agent_turn_failed": _field("agent", "error"),
    "agent_repetition_detected": _field("agent", "message"),
    "agent_step_budget_extended": _field("agent", "message"),
    "agent_step_budget_exhausted": _field("agent", "error"),
    "agent_finish_rejected": _field("agent", "reason"),
    "agent_finished": _field("agent", "summary", before="finished: "),
    "command_started": _field("$", "command"),
    "command_completed": lambda data: ("", f"exit {data.get('exitCode', 0)}"),
    "command_failed": _failed,
    "script_started": _field(">", "code"),
    "script_completed": lambda data: ("", f"exit {data.get('exitCode', 0)}"),
    "script_failed": _failed,
    "file_read": _read,
    "file_changed": lambda data: ("", f"{data.get('changeType', 'changed')} {data.get('path')}"),
    "command_approval_requested": _question,
    "command_approval_escalated": _field("waits", before="still waits for an answer"),
    "command_approval_resolved": _field("waits", "approvalStatus"),
    "command_approval_timed_out": _field("waits", before="nobody answered in time: not run"),
    "quality_gate_commands_selected": _chosen,
    "quality_gate_check_started": _field("gate", "command", before="$ "),
    "quality_gate_check_passed": _field("gate", "command", before="passed: "),
    "quality_gate_check_failed": _check,
    "quality_gate_completed": _field("gate", "message"),
    "quality_gate_skipped": _field("gate", "message"),
    "git_branch_created": _field("prepare", "branchName", before="branch "),
    "commit_created": _commit,
    "commit_skipped": _field("commit", "message", "reason", before="withheld: "),
    "commit_pushed": _field("deliver", "branchName", before="pushed "),
    "delivery_completed": _field("deliver", "pullRequestUrl", "branchName"),
    "delivery_failed": _field("deliver", "error", "message"),
    "delivery_skipped": _field("deliver", "message", "error"),
}
