"""Parked boxes, handed out one execution each. Never holds a program for more than its limits allow."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from drydock.box.doors import Doors, Handler
from drydock.box.limits import Limits
from drydock.box.program import Program
from drydock.box.running import Collect, OnOutput, Outcome, Running
from drydock.box.slot import Message, Parked, Slot
from drydock.box.stop import Stop
from drydock.box.yard import Yard
from drydock.errors import BoxFailed

RENEW_AFTER = 512
"""Executions that one interpreter serves under load. They share a hash seed, so the number is kept small; a renewal
costs 13 ms of processor time, here 0.025 ms for each of them."""
RENEW_IDLE_S = 0.1
"""An interpreter that has served anybody is replaced once the server is idle this long: then it costs nobody time."""
START_S = 20.0
START_TRIES = 3
"""What a host forbids it forbids each time; more tries would only put off saying so."""
NO_DOORS: Mapping[int, Handler] = {}
RESPAWN_S = (0.05, 0.2, 1.0, 5.0)


@dataclass(slots=True)
class _Place:
    """A slot and what it is doing now: being made, parked, running, or being renewed."""

    number: int
    uid: int | None
    slot: Slot | None = None
    parked: Parked | None = None
    running: Running | None = None
    served: int = 0
    failures: int = 0
    fault: str = ""
    """What its slot itself said when it failed."""
    ready: asyncio.Event = field(default_factory=asyncio.Event)


class Pool:
    def __init__(self, yard: Yard, places: int, name: str = "slot") -> None:
        """`name` is that of its control groups; pools of one yard need one each."""
        self._yard, self._log, self._name = yard, yard.log, name
        self._places = [_Place(number, yard.uids.reserve()) for number in range(places)]
        self._parked: deque[_Place] = deque()
        self._waiting: deque[asyncio.Future[_Place]] = deque()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._busy = 0
        self._news = asyncio.Event()
        self._why = ""
        """What the last box that broke said."""
        self._closing = False

    @property
    def working(self) -> int:
        """Places that are not broken."""
        return sum(place.failures == 0 for place in self._places)

    async def start(self, within_s: float = START_S) -> None:
        """All slots at once; BoxFailed with the host's own words when the first cannot be made."""
        for place in self._places:
            self._spawn(place)
        try:
            await asyncio.wait_for(self._all_ready(), within_s)
        except TimeoutError:
            raise BoxFailed(f"no box could be made on this host within {within_s:.0f} s") from None

    async def _all_ready(self) -> None:
        while not all(place.ready.is_set() for place in self._places):
            if any(place.failures >= START_TRIES for place in self._places):
                raise BoxFailed(f"no box could be made on this host: {self._why}")
            self._news.clear()
            await self._news.wait()

    async def run(
        self,
        program: Program,
        limits: Limits,
        *,
        stop: Stop | None = None,
        on_output: OnOutput | None = None,
        collect: Collect | None = None,
        doors: Mapping[int, Handler] = NO_DOORS,
    ) -> Outcome:
        """Run it in a box of its own."""
        ways_out = Doors(doors)
        running, parked = await self._begin(program, limits, stop or Stop(), on_output, ways_out)
        last: asyncio.Future[Any] = running.finished
        try:
            outcome = await asyncio.shield(running.finished)
            collecting = None if collect is None else collect(parked.root)
            if collecting is not None:
                last = asyncio.ensure_future(collecting)
                await asyncio.shield(last)
            return outcome
        except asyncio.CancelledError:
            running.kill("cancelled")
            raise
        finally:
            # Whoever gave up waiting, the folder stays open until nothing of ours can still be reading in it.
            if last.done():
                parked.close()
            else:
                last.add_done_callback(lambda _: parked.close())
            self._left()
            if doors:
                await ways_out.close()

    async def renewed(self) -> None:
        """Return once no parked interpreter has served anybody, so that the next program has a new one."""
        while any(place.served or place.parked is None for place in self._places):
            self._news.clear()
            await self._news.wait()

    async def _begin(
        self, program: Program, limits: Limits, stop: Stop, on_output: OnOutput | None, doors: Doors
    ) -> tuple[Running, Parked]:
        """A slot that turns out to be dead before it has the job is passed over: nothing has been started in it."""
        for _ in range(len(self._places) + 1):
            place = await self._take()
            slot, parked = place.slot, place.parked
            assert slot is not None
            assert parked is not None
            place.parked = None
            place.served += 1
            try:
                place.running = Running(slot, parked, program, limits, stop, on_output, doors)
            except BoxFailed:
                parked.close()
                slot.kill()  # its control socket tells us, and a new one is made
                continue
            except OSError as wrong:
                place.parked = parked
                self._offer(place)
                raise BoxFailed("the server has no descriptor or memory left for another program") from wrong
            self._busy += 1
            return place.running, parked
        raise BoxFailed("no box takes a program")

    async def close(self) -> None:
        self._closing = True
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for waiting in self._waiting:
            waiting.cancel()
        for place in self._places:
            if place.running is not None:
                place.running.on_broken("the server is closing")
            if place.parked is not None:
                place.parked.close()
                place.parked = None
            if place.slot is not None:
                await place.slot.close()
            if place.uid is not None:
                self._yard.uids.release(place.uid)
                place.uid = None

    async def _take(self) -> _Place:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        if self._parked:
            return self._parked.popleft()
        waiting: asyncio.Future[_Place] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled():
                self._offer(waiting.result())
            raise

    def _offer(self, place: _Place) -> None:
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(place)
                return
        self._parked.append(place)

    def _left(self) -> None:
        self._busy -= 1
        self._await_idleness()

    def _await_idleness(self) -> None:
        if self._busy == 0 and not self._closing and self._idle_timer is None:
            self._idle_timer = asyncio.get_running_loop().call_later(RENEW_IDLE_S, self._renew_one)

    def _renew_one(self) -> None:
        """One at a time, so that a request which comes now finds the others parked."""
        self._idle_timer = None
        place = next((place for place in self._parked if place.served), None)
        if place is not None:
            self._parked.remove(place)
            self._renew(place)

    def _renew(self, place: _Place) -> None:
        assert place.slot is not None
        assert place.parked is not None
        place.served = 0
        place.parked.close()
        place.parked = None
        try:
            place.slot.renew()
        except BoxFailed:
            place.slot.kill()

    def _spawn(self, place: _Place, after: float = 0.0) -> None:
        task = asyncio.get_running_loop().create_task(self._make(place, after))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _make(self, place: _Place, after: float) -> None:
        if after:
            await asyncio.sleep(after)
        if place.slot is not None:
            await place.slot.close()
        place.slot = Slot(
            self._yard,
            self._yard.group(f"{self._name}-{place.number}"),
            place.uid,
            self._yard.limits,
            on_message=lambda message, fds: self._on_message(place, message, fds),
            on_broken=lambda: self._on_broken(place),
        )
        place.served = 0
        try:
            await place.slot.start()
        except (BoxFailed, OSError) as wrong:
            self._log.error("box_failed", wrong, slot=place.number)
            place.fault = str(wrong)
            self._on_broken(place)

    def _on_message(self, place: _Place, message: Message, fds: list[int]) -> None:
        if "parked" in message:
            place.parked = Parked(*fds)
            place.failures = 0
            place.ready.set()
            self._news.set()
            if place.served >= RENEW_AFTER and not self._waiting:
                self._renew(place)
            else:
                self._offer(place)
                self._await_idleness()
        elif "doors" in message and place.running is not None:
            place.running.on_doors(message["doors"], fds)
        elif "ended" in message:
            running, place.running = place.running, None
            if running is not None:
                running.on_ended(message)
        elif "fault" in message and place.running is not None:
            place.running.on_fault(message["fault"])
        elif "crowded" in message and place.running is not None:
            place.running.on_crowded()
        elif "lost" in message and place.running is not None:
            self._log.warning("sandbox_lost", slot=place.number, why=message["lost"])
            place.running.on_lost(message["lost"])
        elif "unmounted" in message and place.running is not None:
            self._log.error("layer_not_mounted", slot=place.number, why=message["unmounted"])
            place.running.on_unmounted(message["unmounted"])
        elif "failed" in message:
            self._log.error("box_failed", slot=place.number, why=message["failed"])
            place.fault = message["failed"]
            if place.running is not None:
                place.running.on_broken("the box could not be made ready")
                place.running = None
            assert place.slot is not None
            place.slot.kill()

    def _on_broken(self, place: _Place) -> None:
        """The slot's process tree is gone: killed as a last resort, or by a fault of the host."""
        if self._closing:
            return
        if place in self._parked:
            self._parked.remove(place)
        if place.parked is not None:
            place.parked.close()
            place.parked = None
        running, place.running = place.running, None
        self._why = place.fault or (place.slot.last_words() if place.slot is not None else "")
        place.fault = ""
        self._log.warning("box_broke", slot=place.number, words=self._why)
        if running is not None:
            running.on_broken("the box broke")
        wait = RESPAWN_S[min(place.failures, len(RESPAWN_S) - 1)]
        place.failures += 1
        self._news.set()
        self._spawn(place, wait)
