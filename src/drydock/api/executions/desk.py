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
from drydock.errors import AtCapacity, BoxFailed, Conflict, Draining, DrydockError, Unavailable
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
        live = self._admit(order)
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
        promised = self._promised[name] = asyncio.get_running_loop().create_future()
        try:
            found, earlier = await self._reserve(order)
        except BaseException as wrong:
            del self._promised[name]
            promised.set_exception(wrong if isinstance(wrong, DrydockError) else Draining("the request was given up"))
            promised.exception()  # seen, also when nobody else waits for it
            raise
        promised.set_result(found)
        if earlier:
            del self._promised[name]  # else it stays as long as the execution runs, and spares the store a question
        return _same(found, order), earlier

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

    def _admit(self, order: Order) -> Live:
        if self.draining:
            raise Draining("server is shutting down")
        turn = None
        try:
            if order.queue:
                turn = self.places.queue_up()
            else:
                self.places.take()
        except AtCapacity:
            self._metrics.refused.add(order.dialect)
            raise
        live = Live(str(uuid.uuid4()), order, turn, self._output_bytes)
        self._lives[live.id] = live
        return live

    def _give_up(self, live: Live) -> None:
        del self._lives[live.id]
        if live.turn is None:
            self.places.give_back()
        else:
            self.places.leave(live.turn)

    async def _reserve(self, order: Order) -> tuple[Live | Execution, bool]:
        live = self._admit(order)
        try:
            row = await self._archive.reserve(live.record())
        except BaseException:
            self._give_up(live)
            raise
        if row.id == live.id:
            self._begin(live)
            return live, False
        self._give_up(live)
        # The row may have been read before its execution ended; one that runs no longer is known to the archive.
        found = self.find(order.caller, row.id) or await self._archive.get(order.caller, row.id)
        return found or row, True

    def _begin(self, live: Live) -> None:
        task = asyncio.get_running_loop().create_task(self._run(live))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, live: Live) -> None:
        placed = live.turn is None or await self._place(live, live.turn)
        try:
            result = await self._execute(live) if placed else ExecutionResult(Ended(live.stop.reason or "cancelled"))
            if placed and not self._archive.crowded:
                placed = False
                self.places.give_back()
            live.end(result)
            self._metrics.executions.add(live.order.dialect, result.ended.reason)
            await asyncio.sleep(0)  # the answer goes out first
            await self._archive.keep(live.record(), result.files)
        except (AtCapacity, Unavailable) as never_started:
            live.refuse(never_started)
        except DrydockError as wrong:
            self._log.error("not_kept", wrong, execution=live.id)
        except Exception as unforeseen:  # noqa: BLE001 - whoever waits for it must hear something
            self._log.error("internal", unforeseen, execution=live.id)
            live.refuse(BoxFailed("the server made a mistake; what the program did is not known"))
        finally:
            if placed:
                self.places.give_back()
            del self._lives[live.id]
            if live.order.idempotency_key is not None:
                del self._promised[live.order.caller, live.order.idempotency_key]

    async def _place(self, live: Live, turn: asyncio.Future[None]) -> bool:
        """Wait for its turn; False when it was stopped before that."""

        def give_up(_: StopReason) -> None:
            if not turn.done():
                self.places.leave(turn)

        live.stop.then(give_up)
        await asyncio.wait([turn])
        return not turn.cancelled()

    async def _execute(self, live: Live) -> ExecutionResult:
        live.start()
        try:
            # The place is ours: `queue` gives the executor the moment that it may need to make the next box ready.
            return await self._executor.execute(
                live.order.request,
                stop=live.stop,
                on_output=live.output.add if live.order.streamed else None,
                on_progress=live.progress if live.order.streamed else None,
                queue=True,
            )
        except (AtCapacity, Unavailable):
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
