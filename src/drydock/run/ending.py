"""How a run ends: once, truthfully, its record and its last event in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from drydock.agent.desk import Stopped
from drydock.agent.failed import AgentFailed
from drydock.errors import (
    BoxFailed,
    DrydockError,
    Invalid,
    ModelBadAnswer,
    ModelFailed,
    PushRefused,
    RepositoryFailed,
    RepositoryRefused,
)
from drydock.run.ledger import Ledger
from drydock.run.parts import RunFailed
from drydock.store.journal import Entry
from drydock.store.run import Run, Status

LIVING: tuple[Status, ...] = ("queued", "running", "paused")
LONGEST_ERROR = 1000
TERMINAL = ("run_completed", "run_failed", "run_cancelled")


@dataclass(frozen=True, slots=True)
class Ending:
    status: Status
    error: str = ""
    error_type: str = ""
    retryable: bool = False

    @property
    def failed(self) -> bool:
        return self.status != "completed"


COMPLETED = Ending("completed")


def of_error(wrong: BaseException) -> Ending:
    """What an error that ended the walk means to the run's owner. The whole of it is in the server's log."""
    if isinstance(wrong, Stopped):
        status: Status = "cancelled" if wrong.reason == "cancelled" else "failed"
        return Ending(status, wrong.message, wrong.reason)
    if isinstance(wrong, RunFailed):
        return Ending("failed", wrong.message, wrong.error_type, wrong.retryable)
    if isinstance(wrong, AgentFailed):
        return Ending("failed", wrong.message, wrong.error_type)
    if isinstance(wrong, ModelFailed):
        error_type = "model_response_error" if isinstance(wrong, ModelBadAnswer) else "model_request_error"
        return Ending("failed", wrong.message, error_type, wrong.retryable)
    if isinstance(wrong, RepositoryFailed):
        return Ending("failed", wrong.message, "repository_error", wrong.retryable)
    if isinstance(wrong, RepositoryRefused | PushRefused):
        return Ending("failed", wrong.message, "repository_error")
    if isinstance(wrong, BoxFailed):
        return Ending("failed", wrong.message, "sandbox_transport_error", retryable=True)
    if isinstance(wrong, Invalid) and wrong.where == "model":
        return Ending("failed", f"{wrong.message} {wrong.remedy}", "model_request_error")
    if isinstance(wrong, DrydockError):
        return Ending("failed", wrong.message, "unknown_error")
    return Ending("failed", "the server made a mistake; its log has the cause under the run's id", "unknown_error")


async def end(ledger: Ledger, ending: Ending, result: Mapping[str, Any]) -> Run | None:
    """None when it was cancelled meanwhile: that beats every other outcome, and is told with the same result."""
    now = datetime.now(UTC)
    if ending.status != "cancelled":
        return await ledger.change(
            only_if=LIVING,
            control={"waiting": None, **_error_fields(ending)},
            status=ending.status,
            phase=ending.status,
            ended_at=now,
            result=dict(result),
            entries=_entries(ending, result, now),
        )
    return await ledger.change(result=dict(result), phase="cancelled", entries=_entries(ending, result, now))


def cancelled_entries(reason: str, result: Mapping[str, Any], now: datetime) -> list[Entry]:
    return _entries(Ending("cancelled", reason, "cancelled"), result, now)


def _entries(ending: Ending, result: Mapping[str, Any], now: datetime) -> list[Entry]:
    """The keys are the same however often it is tried, and whoever tries: a run has one terminal event."""
    at = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    told: list[Entry] = []
    if ending.failed:
        kind = "task_cancelled" if ending.status == "cancelled" else "task_failed"
        why = {"error": ending.error, "errorType": ending.error_type, "retryable": ending.retryable}
        told.append(Entry(kind, "end:task", why))
    data: dict[str, Any] = {"completedAt": at, "result": dict(result)}
    if ending.status == "failed":
        data |= {"error": ending.error, "errorType": ending.error_type}
    if ending.status == "cancelled":
        data["message"] = ending.error
    told.append(Entry(f"run_{ending.status}", "end", data))
    return told


def _error_fields(ending: Ending) -> dict[str, Any]:
    if not ending.failed:
        return {}
    return {
        "error": ending.error[:LONGEST_ERROR],
        "error_type": ending.error_type,
        "retryable": ending.retryable,
    }
