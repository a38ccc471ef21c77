"""The record of one execution, as it is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

State = Literal["queued", "running", "ended"]


class StoredFile(NamedTuple):
    name: str
    size: int
    sha256: str
    key: str
    """Where its bytes are in the object store; never made from the name, which the tenant chose."""


class SkippedFile(NamedTuple):
    name: str
    reason: str


class Chunk(NamedTuple):
    stream: Literal["stdout", "stderr"]
    length: int


@dataclass(frozen=True, slots=True)
class Output:
    stdout: bytes = b""
    stderr: bytes = b""
    chunks: Sequence[Chunk] = ()
    """The order in which the two streams came, so that a replay has the same events under the same ids."""

    def __len__(self) -> int:
        return len(self.stdout) + len(self.stderr)


@dataclass(frozen=True, slots=True)
class Execution:
    id: str
    dialect: str
    caller: str
    """`Caller.id` of who asked for it, and the only one who may see it."""
    language: str
    created_at: datetime
    state: State = "queued"
    label: str | None = None
    request: Mapping[str, Any] = field(default_factory=dict)
    """A summary in plain JSON. No code, no environment, no input: a record may not hold what could be a secret."""
    idempotency_key: str | None = None
    body_hash: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    expires_at: datetime | None = None
    """Filled in by `Executions` from its retention when the execution has ended."""
    reason: str | None = None
    exit_code: int | None = None
    result: Mapping[str, Any] | None = None
    """The fields of `Ended` in plain JSON; None until there was one, and for ever after a crash."""
    files: Sequence[StoredFile] = ()
    skipped: Sequence[SkippedFile] = ()
    output: Output | None = None
    """None while there is none, and in lists, which do not read it."""


def object_key(execution_id: str, number: int) -> str:
    """Where the bytes of an execution's file go; `number` counts its files."""
    return f"executions/{execution_id}/{number}"
