"""All executions of this process. Every door orders here; nothing else calls the executor."""

from __future__ import annotations

import asyncio
import uuid

from drydock.api.executions.archive import Archive
from drydock.api.executions.live import Live, Order
from drydock.api.executions.places import Places
from drydock.box.ended import Ended
from drydock.box.stop import StopReason
from drydock.code.executor import Executor
from drydock.code.request import ExecutionResult
from drydock.errors import AtCapacity, Conflict, Draining, DrydockError
from drydock.observe.log import Log
from drydock.observe.metrics import Metrics
from drydock.store.execution import Execution

AFTER_STOP = 1.5
"""Seconds for stopped programs to be gone and told about."""


class Desk:
    def __init__(
        self, executor: Executor, archive: Archive, log: Log, metrics: Metrics, *, queue: int, output_bytes: int
    ) -> None:
        self.places = Places(executor.capacity, queue)
        self.draining = False
        self._executor = executor
        self._archive = archive
        self._log = log
        self._metrics = metrics
        self._output_bytes = output_bytes
        self._lives: dict[str, Live] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._promised: dict[tuple[str, str], asyncio.Future[Live | Execution]] = {}

    def order(self, order: Order) -> Live:
        """Start it, or have it wait for its place. AtCapacity or Draining at once when there is no room."""
        self._admit(order)
        live = self._new(order)
        self._begin(live)
        return live

    async def order_reserved(self, order: Order) -> tuple[Live | Execution, bool]:
        """The same with its record written first. With an idempotency key: the earlier execution and True, if any."""
        if order.idempotency_key is None:
            return await self._reserve(order)
        name = (order.caller, order.idempotency_key)
        promised = self._promised.get(name)
        if promised is not None:
            return _same(await asyncio.shield(promised), order), True
        promised = asyncio.get_running_loop().create_future()
        self._promised[name] = promised
        try:
            found, earlier = await self._reserve(order)
            promised.set_result(found)
        except BaseException as wrong:
            promised.set_exception(wrong if isinstance(wrong, DrydockError) else Draining("the request was given up"))
            promised.exception()  # seen, also when nobody else waits for it
            raise
        finally:
            del self._promised[name]
        return found, earlier

    def find(self, caller: str, execution_id: str) -> Live | None:
        live = self._lives.get(execution_id)
        return live if live is not None and live.order.caller == caller else None

    def all_of(self, caller: str) -> list[Live]:
        """What has not ended, or has just ended and is not kept yet."""
        return [live for live in self._lives.values() if live.order.caller == caller]

    async def drain(self, grace: float) -> None:
        """No new work; what runs or waits gets its grace and is then stopped. Returns when all has ended."""
        self.draining = True
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace)
        self.stop_all("server_shutdown")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=AFTER_STOP)

    def stop_all(self, reason: StopReason) -> None:
        for live in list(self._lives.values()):
            live.stop(reason)

    def _admit(self, order: Order) -> None:
        if self.draining:
            raise Draining("server is shutting down")
        try:
            if order.queue:
                self.places.check_queue()
            else:
                self.places.take()
        except AtCapacity:
            self._metrics.refused.add(order.dialect)
            raise

    def _new(self, order: Order) -> Live:
        live = Live(str(uuid.uuid4()), order, self._output_bytes)
        self._lives[live.id] = live
        return live

    async def _reserve(self, order: Order) -> tuple[Live | Execution, bool]:
        self._admit(order)
        live = self._new(order)
        try:
            row = await self._archive.reserve(live.record())
        except BaseException:
            del self._lives[live.id]
            raise
        if row.id == live.id:
            self._begin(live)
            return live, False
        del self._lives[live.id]
        return _same(self.find(order.caller, row.id) or row, order), True

    def _begin(self, live: Live) -> None:
        task = asyncio.get_running_loop().create_task(self._run(live))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, live: Live) -> None:
        placed = not live.order.queue or await self._place(live)
        try:
            result = await self._execute(live) if placed else ExecutionResult(Ended(live.stop.reason or "cancelled"))
            if placed and not self._archive.crowded:
                placed = False
                self.places.give_back()
            live.end(result)
            self._metrics.executions.add(live.order.dialect, result.ended.reason)
            await asyncio.sleep(0)  # the answer goes out first
            await self._archive.keep(live.record(), result.files)
        except AtCapacity as full:
            live.refuse(full)
        except DrydockError as wrong:
            self._log.error("not_kept", wrong, execution=live.id)
        finally:
            if placed:
                self.places.give_back()
            del self._lives[live.id]

    async def _place(self, live: Live) -> bool:
        """Wait for a place; False when it was stopped before it got one."""
        turn = asyncio.ensure_future(self.places.wait())

        def give_up(_: StopReason) -> None:
            turn.cancel()

        live.stop.then(give_up)
        try:
            await turn
        except asyncio.CancelledError:
            if live.stop.reason is None:
                raise
            return False
        return True

    async def _execute(self, live: Live) -> ExecutionResult:
        live.start()
        try:
            # The place is ours: `queue` gives the executor the moment that it may need to make the next box ready.
            return await self._executor.execute(
                live.order.request,
                stop=live.stop,
                on_output=live.output.add if live.order.streamed else None,
                queue=True,
            )
        except AtCapacity:
            raise
        except DrydockError as broken:
            self._log.error("box_failed", broken, execution=live.id)
            return ExecutionResult(Ended("box_failed", detail=broken.message))
        except Exception as unforeseen:  # noqa: BLE001 - an execution must have an ending, whatever happened
            self._log.error("internal", unforeseen, execution=live.id)
            return ExecutionResult(Ended("box_failed", detail="the server made a mistake"))


def _same(found: Live | Execution, order: Order) -> Live | Execution:
    body_hash = found.order.body_hash if isinstance(found, Live) else found.body_hash
    if body_hash != order.body_hash:
        raise Conflict("the Idempotency-Key was used before with another body", where="Idempotency-Key")
    return found
