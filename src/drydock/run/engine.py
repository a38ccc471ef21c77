"""The durable engine: which runs are to be carried, how many at once, and by whom after a crash.

DBOS behind four verbs. What a run has done stands in our own tables, so that result, events and fence are one
transaction; DBOS keeps the queue and knows which worker holds what. All that is private to it is used here only, and
its version is pinned exactly.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from sqlalchemy import URL, Engine, create_engine, event

QUEUE = "runs"
WORKFLOW = "drydock_run"
VERSION = "1"
"""Constant: by default DBOS pins a workflow to the hash of the source, and an update would orphan every run. The shape
of a run is versioned by what its steps are called."""
POLL_S = 0.5
"""How often a worker looks for queued runs. DBOS offers no wake-up; 0.05 s costs a core with many waiting."""
Carry = Callable[[str], Awaitable[None]]


class DurableEngine(Protocol):
    async def open(self, carry: Carry) -> None:
        """Take up the runs that this worker held when it died, and then whatever is enqueued."""
        ...

    async def enqueue(self, workflow: str, run: str) -> None:
        """Once for each workflow id, however often it is asked for."""
        ...

    async def active(self) -> set[str]:
        """Workflows that wait or are carried somewhere."""
        ...

    async def recover(self, workers: Sequence[str]) -> None:
        """Put back into the queue what these dead workers held."""
        ...

    async def close(self) -> None: ...


class DbosEngine:
    """One to a process, since DBOS is."""

    def __init__(self, address: URL, worker: str, at_once: int, *, carries: bool = True) -> None:
        self._address, self._worker, self._at_once, self._carries = address, worker, at_once, carries
        self._engine: Engine | None = None
        self._client: Any = None

    async def open(self, carry: Carry) -> None:
        try:
            await asyncio.to_thread(self._open, carry, asyncio.get_running_loop())
        except BaseException:
            await self.close()  # DBOS is one to a process: half of one would be in the way of the next
            raise

    def _open(self, carry: Carry, loop: asyncio.AbstractEventLoop) -> None:
        # Imported here: code alone never needs it, and it costs 20 MB and half a second.
        from dbos import DBOS, DBOSClient

        global _carry
        self._engine = _connect(self._address)
        url = self._address.render_as_string(hide_password=False)
        if not self._carries:
            DBOS.migrate(url)  # a client does not, and this one may be there before the first worker is
            self._client = DBOSClient(
                system_database_url=url, system_database_engine=self._engine, serializer=_serializer()
            )
            return
        _carry = (carry, loop)
        _workflow()
        DBOS(
            config={
                "name": "drydock",
                "system_database_url": url,
                "system_database_engine": self._engine,
                "executor_id": self._worker,
                "application_version": VERSION,
                "serializer": _serializer(),
                "log_level": "ERROR",
                "notification_listener_polling_interval_sec": 1.0,
                "scheduler_polling_interval_sec": 3600.0,
            }
        )
        DBOS.launch()
        DBOS.register_queue(QUEUE, worker_concurrency=self._at_once, polling_interval_sec=POLL_S)

    async def enqueue(self, workflow: str, run: str) -> None:
        await asyncio.to_thread(self._enqueue, workflow, run)

    def _enqueue(self, workflow: str, run: str) -> None:
        if self._client is not None:
            self._client.enqueue(
                {"queue_name": QUEUE, "workflow_name": WORKFLOW, "workflow_id": workflow, "app_version": VERSION}, run
            )
            return
        from dbos import DBOS, SetWorkflowID

        with SetWorkflowID(workflow):
            DBOS.enqueue_workflow(QUEUE, _workflow(), run)

    async def active(self) -> set[str]:
        return await asyncio.to_thread(self._active)

    def _active(self) -> set[str]:
        from dbos import DBOS

        source = self._client or DBOS
        found = source.list_workflows(
            status=["ENQUEUED", "PENDING", "DELAYED"], queue_name=QUEUE, load_input=False, load_output=False
        )
        return {each.workflow_id for each in found}

    async def recover(self, workers: Sequence[str]) -> None:
        from dbos import DBOS

        # Private: it asks the row whether its executor is still the dead one, so two that recover at once do no harm.
        await asyncio.to_thread(DBOS._recover_pending_workflows, list(workers))

    async def close(self) -> None:
        if self._engine is not None:
            await asyncio.to_thread(self._close, self._engine)
            self._engine = None

    def _close(self, engine: Engine) -> None:
        if self._client is not None:
            self._client.destroy()
        else:
            from dbos import DBOS

            DBOS.destroy()
        engine.dispose()


_carry: tuple[Carry, asyncio.AbstractEventLoop] | None = None
"""Of the one engine that is open: DBOS finds a workflow by its name, in a registry of the process."""


@functools.cache
def _workflow() -> Any:
    from dbos import DBOS

    @DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)
    async def carry_on(run: str) -> None:
        """Runs on DBOS' own loop and waits there for what happens on ours."""
        assert _carry is not None
        carry, loop = _carry

        async def carried() -> None:
            await carry(run)

        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(carried(), loop))

    return carry_on


@functools.cache
def _serializer() -> Any:
    from dbos import Serializer

    class Json(Serializer):
        """Its default is pickle, and nothing that a box had a hand in may ever be unpickled."""

        def serialize(self, data: Any) -> str:
            return json.dumps(data, default=str)

        def deserialize(cls, serialized_data: str) -> Any:
            return json.loads(serialized_data)

        def name(self) -> str:
            return "drydock_json"

    return Json()


def _connect(address: URL) -> Engine:
    if address.get_backend_name() != "sqlite":
        return create_engine(address, pool_size=5, max_overflow=5, pool_pre_ping=True)
    engine = create_engine(address, pool_size=5, max_overflow=0)
    event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _prepare_sqlite(raw: Any, _record: Any) -> None:
    raw.isolation_level = "IMMEDIATE"
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=10000", "foreign_keys=ON"):
        raw.execute(f"PRAGMA {pragma}")
