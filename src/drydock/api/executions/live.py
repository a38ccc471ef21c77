"""One execution of this process, from its order to its end."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any

from drydock.api.executions.output import Growing
from drydock.box.ended import Ended
from drydock.box.stop import Stop
from drydock.code.request import ExecutionRequest, ExecutionResult
from drydock.errors import DrydockError
from drydock.store.execution import Execution, Output, SkippedFile, State, StoredFile, object_key

_ENDED = tuple(each.name for each in fields(Ended))


@dataclass(frozen=True, slots=True)
class Order:
    """What a door asks of the desk."""

    request: ExecutionRequest
    dialect: str
    caller: str
    queue: bool = False
    """Wait for a place instead of being refused at once."""
    streamed: bool = False
    """Somebody may watch the output while it comes."""
    idempotency_key: str | None = None
    body_hash: str | None = None
    label: str | None = None
    summary: Mapping[str, Any] = field(default_factory=dict)
    """Of the request, for the record: limits and the like, nothing that could be a secret."""


class Live:
    def __init__(self, execution_id: str, order: Order, turn: asyncio.Future[None] | None, keep: int) -> None:
        self.id = execution_id
        self.order = order
        self.turn = turn
        """Done when it has a place; None when it got one at once."""
        self.stop = Stop()
        self.state: State = "queued"
        self.created_at = datetime.now(UTC)
        self.started_at: datetime | None = None
        self.ended_at: datetime | None = None
        self.result: ExecutionResult | None = None
        self.refused: DrydockError | None = None
        """It was never started, and there is no execution to speak of."""
        self.output = Growing(keep, self.tell)
        self.preparing: list[str] = []
        """Lines about what is being installed; of interest while it is, and not recorded."""
        self._files: Sequence[StoredFile] = ()
        self._watchers: set[asyncio.Event] = set()
        self._over = asyncio.Event()

    def start(self) -> None:
        self.state = "running"
        self.started_at = datetime.now(UTC)
        self.tell()

    def progress(self, line: str) -> None:
        self.preparing.append(line)
        self.tell()

    def end(self, result: ExecutionResult) -> None:
        self.output.end(result.stdout, result.stderr)
        self._files = [
            StoredFile(name, len(data), hashlib.sha256(data).hexdigest(), object_key(self.id, number))
            for number, (name, data) in enumerate(result.files.items())
        ]
        self.result = result
        self.state = "ended"
        self.ended_at = datetime.now(UTC)
        self._over.set()
        self.tell()

    def refuse(self, error: DrydockError) -> None:
        self.refused = error
        self._over.set()
        self.tell()

    async def over(self) -> ExecutionResult:
        """Its result, or the error for which it was never started."""
        await self._over.wait()
        if self.result is not None:
            return self.result
        assert self.refused is not None
        raise self.refused

    def watch(self) -> asyncio.Event:
        """Set whenever something has changed; give it back with `unwatch`."""
        watcher = asyncio.Event()
        self._watchers.add(watcher)
        return watcher

    def unwatch(self, watcher: asyncio.Event) -> None:
        self._watchers.discard(watcher)

    def tell(self) -> None:
        for watcher in self._watchers:
            watcher.set()

    def record(self) -> Execution:
        """As it is kept."""
        result = self.result
        return Execution(
            id=self.id,
            dialect=self.order.dialect,
            caller=self.order.caller,
            language=self.order.request.language,
            created_at=self.created_at,
            state=self.state,
            label=self.order.label,
            request=self.order.summary,
            idempotency_key=self.order.idempotency_key,
            body_hash=self.order.body_hash,
            started_at=self.started_at,
            ended_at=self.ended_at,
            reason=result.ended.reason if result else None,
            exit_code=result.ended.exit_code if result else None,
            result=_result_fields(result) if result else None,
            files=self._files,
            skipped=[SkippedFile(skipped.name, skipped.reason) for skipped in result.skipped] if result else (),
            output=Output(result.stdout, result.stderr, self.output.chunks()) if result else None,
        )


def _result_fields(result: ExecutionResult) -> dict[str, Any]:
    packages = {} if result.packages is None else {"packages": result.packages.as_dict()}
    return ended_fields(result.ended) | packages


def ended_fields(ended: Ended) -> dict[str, Any]:
    told = {name: getattr(ended, name) for name in _ENDED}
    told["retryable"] = ended.retryable
    if told["detail"] is None:
        del told["detail"]
    return told
