"""A run as the native API shows it: one object, the same from every route."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from drydock.api.executions.render import moment
from drydock.run.clock import deadline_of
from drydock.store.inbox import Letter
from drydock.store.run import Event, Run


def render(run: Run) -> dict[str, Any]:
    return summary(run) | {"result": run.result}


def summary(run: Run) -> dict[str, Any]:
    """As lists show it: without the result."""
    spec, control = run.spec, run.control
    shown = {
        "id": run.id,
        "client_id": run.client_id,
        "dialect": run.dialect,
        "status": run.status,
        "phase": run.phase,
        "task": spec["task"],
        "repo": spec["repo"],
        "type": spec["task_type"],
        "model": spec["model"],
        "strategy": spec["strategy"],
        "trust": spec["trust"],
        "commit": spec["commit"],
        "follow_up_of": spec["follow_up_of"],
        "created_at": moment(run.created_at),
        "updated_at": moment(run.updated_at),
        "started_at": moment(run.started_at),
        "ended_at": moment(run.ended_at),
        "timeout_ms": spec["timeout_ms"],
        "timeout_requested_ms": spec["timeout_requested_ms"],
        "timeout_at": None if run.ended else moment(deadline_of(control, spec["timeout_ms"])),
        "paused_at": control.get("paused_at"),
        "pause_reason": control.get("pause_reason"),
        "cancel_requested_at": control.get("cancel_requested_at"),
        "cancellation_reason": control.get("cancellation_reason"),
        "waiting": waiting(control.get("waiting")),
        "error": _error(control),
        "last_event": run.last_seq,
    }
    return {name: value for name, value in shown.items() if value is not None}


def waiting(body: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The question that a run stands before."""
    if body is None:
        return None
    return {
        "number": body["number"],
        "kind": body["kind"],
        "command": body["command"],
        "hash": body["hash"],
        "message": body["message"],
        "expires_at": moment(datetime.fromisoformat(body["expires_at"])),
    }


def approval(letter: Letter) -> dict[str, Any]:
    shown = waiting({**letter.body, "number": letter.number}) or {}
    return shown | {"status": letter.body["status"], "reason": letter.body.get("reason", "")}


def event(each: Event) -> dict[str, Any]:
    return {"seq": each.seq, "type": each.type, "recorded_at": moment(each.recorded_at), "data": dict(each.data)}


def _error(control: Mapping[str, Any]) -> dict[str, Any] | None:
    if not control.get("error_type"):
        return None
    return {"type": control["error_type"], "message": control["error"], "retryable": control["retryable"]}
