"""The record of one run, and one event of its journal, as they are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Status = Literal["queued", "running", "paused", "completed", "failed", "cancelled"]
ENDED: frozenset[Status] = frozenset({"completed", "failed", "cancelled"})
FIRST_HASH = "0" * 64
"""What the first event of a journal is chained to."""


@dataclass(frozen=True, slots=True)
class Run:
    id: str
    dialect: str
    caller: str
    """`Caller.id` of who asked for it; nobody else may see it."""
    spec: Mapping[str, Any]
    """What was asked, in plain JSON. Never a credential."""
    created_at: datetime
    updated_at: datetime
    status: Status = "queued"
    phase: str = "queued"
    client_id: str | None = None
    idempotency_key: str | None = None
    body_hash: str | None = None
    repo: str | None = None
    """In lower case, for the lists that ask for one."""
    installation: int | None = None
    epoch: int = 0
    worker: str | None = None
    """Who carries it, or carried it last."""
    segment: int = 0
    """Workflows that were enqueued for it: more than one when it was parked and went on."""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    expires_at: datetime | None = None
    last_seq: int = 0
    last_hash: str = FIRST_HASH
    control: Mapping[str, Any] = field(default_factory=dict)
    """When and why it was paused, resumed or cancelled; the time that is spent."""
    usage: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] | None = None

    @property
    def ended(self) -> bool:
        return self.status in ENDED


@dataclass(frozen=True, slots=True)
class Event:
    run: str
    seq: int
    """1, 2, 3 ... without a gap."""
    type: str
    data: Mapping[str, Any]
    key: str
    recorded_at: datetime
    hash: str
