"""A run as its user sees it: the record with its last events, and what a worker asks of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from drydock.api.executions.render import moment
from drydock.dialects.polychat.events import shown_id, told
from drydock.dialects.polychat.result import result_of
from drydock.run.records import Records
from drydock.run.spec import Spec
from drydock.store.run import Event, Run

MOST_EVENTS = 500
SELECTED = "prompt_strategy_selected"
PHASES = {"queued": "queued", "deliver": "finalizing"}


def record_of(records: Records, run: Run) -> dict[str, Any]:
    """Reads the journal: for worker threads."""
    events = records.journal.last(run.id, MOST_EVENTS)
    spec, control = Spec.from_json(run.spec), run.control
    shown = {
        "runId": shown_id(run),
        "installationId": run.installation,
        "repo": spec.repo,
        "task": spec.task,
        "taskType": spec.task_type,
        "model": spec.model,
        "promptStrategy": _strategy(records, run, spec, events),
        "shouldCommit": spec.commits,
        "trustLevel": spec.trust,
        "status": run.status,
        "workflowPhase": _phase(run),
        "origin": spec.extra.get("origin", run.dialect),
        "startedAt": moment(run.created_at),
        "processingStartedAt": moment(run.started_at),
        "updatedAt": moment(run.updated_at),
        "completedAt": moment(run.ended_at),
        "error": control.get("error") if run.status == "failed" else None,
        "events": [told(run, event) for event in events],
        "result": None if run.result is None else result_of(run.result),
        "cancelRequestedAt": control.get("cancel_requested_at"),
        "cancellationReason": control.get("cancellation_reason"),
        "timeoutSeconds": spec.timeout_ms // 1000,
        "timeoutAt": moment(timeout_at(run, spec)),
        "pausedAt": control.get("paused_at"),
        "resumedAt": control.get("resumed_at"),
        "pauseReason": control.get("pause_reason"),
        "resumeReason": control.get("resume_reason"),
        "followUpOf": spec.follow_up_of,
        "usage": (run.result or {}).get("usage"),
    }
    return {name: value for name, value in shown.items() if value is not None}


def control_of(run: Run) -> dict[str, Any]:
    """Three states, as the contract's first clients know no other."""
    paused = run.status == "paused"
    state = "cancelled" if run.ended else "paused" if paused else "running"
    shown = {
        "runId": shown_id(run),
        "state": state,
        "updatedAt": moment(run.updated_at),
        "cancellationReason": run.control.get("cancellation_reason"),
        "pauseReason": run.control.get("pause_reason") if paused else None,
        "timeoutSeconds": run.spec["timeout_ms"] // 1000,
        "timeoutAt": moment(timeout_at(run, Spec.from_json(run.spec))),
    }
    return {name: value for name, value in shown.items() if value is not None}


def timeout_at(run: Run, spec: Spec) -> datetime:
    """When its time is up: later by every second that it did not run."""
    left = timedelta(milliseconds=int(run.control.get("left_ms", spec.timeout_ms)))
    since = run.control.get("ticking_since")
    if since is not None:
        return datetime.fromisoformat(since) + left
    return (run.ended_at or run.updated_at) + left


def _strategy(records: Records, run: Run, spec: Spec, events: Sequence[Event]) -> str:
    """The one that was selected, once it is; `auto` until then."""
    if spec.strategy != "auto":
        return spec.strategy
    found = [event for event in events if event.type == SELECTED]
    if not found and len(events) == MOST_EVENTS:
        found = list(records.journal.search(run.id, kinds=[SELECTED], limit=1))
    return str(found[-1].data["promptStrategy"]) if found else "auto"


def _phase(run: Run) -> str:
    return run.status if run.ended else PHASES.get(run.phase, "executing")
