"""How a run is carried: from its start to its one ending, through pauses, words, questions and restarts."""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest

from drydock.agent.desk import Question
from drydock.api.runs.stream import frames
from drydock.errors import Conflict, NotFound, QuotaReached
from drydock.run.engine import Carry, DbosEngine
from drydock.run.parts import Job
from drydock.store.run import Run
from drydock.store.runs import Quota
from tests.run.conftest import ME, House, kinds
from tests.standins.agent import nothing, spec


class Counted:
    """Steps of a run that count how often they are really done."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()

    async def step(self, job: Job, name: str) -> str:
        async def act() -> str:
            self.done.append(name)
            await job.desk.emit("agent_turn", toolNames=[name])
            return name.upper()

        return str(await job.desk.once(name, act))

    async def wait(self, job: Job) -> None:
        async def act() -> None:
            self.reached.set()
            await self.go_on.wait()

        await job.desk.once("wait", act)


def test_a_run_goes_from_its_start_to_its_result(house: House) -> None:
    house.open(nothing)
    run = house.start()
    events = house.until_ended(run)
    assert kinds(events) == ["run_queued", "run_started", "repo_clone_started", "diff_generated", "run_completed"]
    ended = house.record(run)
    assert (ended.status, ended.phase) == ("completed", "completed")
    assert ended.result is not None
    assert ended.result["summary"] == "done"
    assert events[-1].data["result"] == ended.result


def test_a_stream_says_in_silence_that_it_is_there(house: House) -> None:
    counted = Counted()

    async def work(job: Job) -> str:
        await counted.wait(job)
        return "done"

    house.open(work)

    async def frames_of(run: Run) -> list[bytes]:
        told: list[bytes] = []
        async for frame in frames(house.records.followers, run.id, 0, ping=0.05):
            told.append(frame)
            if told.count(b": ping\n\n") == 2:
                counted.go_on.set()
        return told

    told = house.run(frames_of(house.start()))
    assert told[-1].endswith(b"\n\n")
    assert b"event: run_completed" in told[-1]
    assert b"".join(told).replace(b": ping\n\n", b"").startswith(b"id: 1\nevent: run_queued\ndata: {")


def test_what_goes_wrong_in_a_run_ends_it_and_is_told_once(house: House) -> None:
    async def break_down(job: Job) -> str:
        raise RuntimeError("a defect with /a/path in it")

    house.open(break_down)
    run = house.start()
    events = house.until_ended(run)
    assert kinds(events)[-2:] == ["task_failed", "run_failed"]
    assert "/a/path" not in str(events[-1].data)
    assert events[-1].data["result"]["logs"] == "what was kept"
    assert "a defect with /a/path in it" in house.said.getvalue()


def test_a_server_that_stops_leaves_its_runs_and_the_next_one_ends_them(house: House) -> None:
    counted = Counted()

    async def work(job: Job) -> str:
        first = await counted.step(job, "one")
        await counted.wait(job)
        return first + await counted.step(job, "two")

    house.open(work)
    run = house.start()
    house.run(counted.reached.wait())
    house.leave()
    counted.go_on.set()
    house.open(work)
    events = house.until_ended(run)
    assert counted.done == ["one", "two"]
    assert kinds(events) == [
        "run_queued",
        "run_started",
        "repo_clone_started",
        "agent_turn",
        "agent_turn",
        "diff_generated",
        "run_completed",
    ]
    assert house.records.journal.broken_at(run.id) is None


def test_what_is_said_comes_once_and_the_same_when_it_is_played_again(house: House) -> None:
    counted = Counted()
    heard: list[list[str]] = []

    async def work(job: Job) -> str:
        heard.append([])
        for number in range(3):
            heard[-1] += [each.text for each in await job.desk.checkpoint("step")]
            await counted.step(job, f"turn-{number}")
            if number == 1:
                await counted.wait(job)
        return "done"

    room = house.open(work)
    run = house.start()
    house.run(counted.reached.wait())
    house.run(room.control.say(run.id, ME, "look at the tests"))
    house.run(room.control.say(run.id, ME, "look at the tests", key="same"))
    house.run(room.control.say(run.id, ME, "look at the tests", key="same"))
    house.leave()
    counted.go_on.set()
    house.open(work)
    events = house.until_ended(run)
    assert heard == [[], ["look at the tests", "look at the tests"]]
    assert kinds(events).count("run_instruction_submitted") == 2


def test_a_paused_run_stands_still_and_goes_on(house: House) -> None:
    counted = Counted()

    async def work(job: Job) -> str:
        await counted.wait(job)
        return await counted.step(job, "after")

    room = house.open(work)
    run = house.start()
    house.run(counted.reached.wait())
    assert house.run(room.control.pause(run.id, ME, "lunch")).changed
    assert not house.run(room.control.pause(run.id, ME)).changed
    house.until(run, lambda event: event.type == "run_paused")
    counted.go_on.set()
    assert house.record(run).status == "paused"
    assert house.record(run).control["ticking_since"] is None
    assert house.run(room.control.resume(run.id, ME)).changed
    events = house.until_ended(run)
    assert kinds(events)[3:] == ["run_paused", "run_resumed", "agent_turn", "diff_generated", "run_completed"]
    assert events[3].data == {"message": "lunch"}


def test_a_run_that_is_paused_for_long_is_parked_and_resumed(house: House) -> None:
    counted = Counted()

    async def work(job: Job) -> str:
        await counted.step(job, "before")
        await counted.wait(job)
        return await counted.step(job, "after")

    room = house.open(work, park_after=0.05)
    run = house.start()
    house.run(counted.reached.wait())
    house.run(room.control.pause(run.id, ME))
    counted.go_on.set()

    house.until_so(lambda: bool(house.record(run).control.get("parked")))
    assert room.worker.carried == {}
    house.run(room.control.resume(run.id, ME))
    house.until_ended(run)
    assert counted.done == ["before", "after"]


def test_a_cancelled_run_ends_at_once_with_what_was_kept(house: House) -> None:
    counted = Counted()

    async def work(job: Job) -> str:
        await counted.wait(job)
        return "never"

    room = house.open(work)
    run = house.start()
    house.run(counted.reached.wait())
    done = house.run(room.control.cancel(run.id, ME, "wrong repository"))
    assert (done.was, done.run.status) == ("running", "cancelled")
    events = house.until_ended(run)
    assert kinds(events)[-2:] == ["task_cancelled", "run_cancelled"]
    assert events[-1].data["message"] == "wrong repository"
    assert house.record(run).result == events[-1].data["result"]
    assert not house.run(room.control.cancel(run.id, ME)).changed


def test_a_run_that_waits_in_the_queue_can_be_cancelled(house: House) -> None:
    counted = Counted()

    async def work(job: Job) -> str:
        await counted.wait(job)
        return "done"

    room = house.open(work, at_once=1)
    first = house.start()
    house.run(counted.reached.wait())
    second = house.start()
    house.run(room.control.cancel(second.id, ME))
    assert kinds(house.until_ended(second)) == ["run_queued", "task_cancelled", "run_cancelled"]
    counted.go_on.set()
    assert kinds(house.until_ended(first))[-1] == "run_completed"


def test_a_run_ends_when_its_time_is_up(house: House) -> None:
    counted = Counted()

    async def work(job: Job) -> str:
        await counted.wait(job)
        return "never"

    house.open(work)
    run = house.start(spec(timeout_ms=300))
    events = house.until_ended(run)
    assert kinds(events)[-2:] == ["task_failed", "run_failed"]
    assert events[-1].data["errorType"] == "timeout"
    assert house.record(run).status == "failed"


def question(**told: Any) -> Question:
    return Question(**{"command": "npm ci", "kind": "network", "message": "may it?", "step": 1, **told})


def test_a_question_waits_for_its_answer_while_the_clock_stands(house: House) -> None:
    async def work(job: Job) -> str:
        answer = await job.desk.ask(question(window_s=60, escalate_s=30))
        return f"{answer.approved} {answer.reason}"

    room = house.open(work)
    run = house.start()
    asked = house.until(run, lambda event: event.type == "command_approval_requested")[-1]
    assert house.record(run).control["ticking_since"] is None
    waiting = house.record(run).control["waiting"]
    assert waiting["command"] == "npm ci"
    with pytest.raises(Conflict):
        house.run(room.control.answer(run.id, ME, waiting["number"], approved=True, command_hash="0" * 64))
    answered = room.control.answer(
        run.id, ME, waiting["number"], approved=True, reason="fine", command_hash=asked.data["commandHash"]
    )
    house.run(answered)
    events = house.until_ended(run)
    assert "command_approval_resolved" in kinds(events)
    result = house.record(run).result
    assert result is not None
    assert result["summary"] == "True fine"
    with pytest.raises(Conflict):
        house.run(room.control.answer(run.id, ME, waiting["number"], approved=False))


def test_a_question_that_nobody_answers_escalates_and_times_out_though_its_run_is_parked(house: House) -> None:
    played: list[None] = []

    async def work(job: Job) -> str:
        played.append(None)
        answer = await job.desk.ask(question(window_s=1.4, escalate_s=0.3))
        return f"{answer.approved} {answer.reason}"

    house.open(work, park_after=0.05)
    run = house.start()
    events = house.until_ended(run)
    approvals = [kind for kind in kinds(events) if "approval" in kind]
    assert approvals == ["command_approval_requested", "command_approval_escalated", "command_approval_timed_out"]
    assert len(played) > 1
    result = house.record(run).result
    assert result is not None
    assert result["summary"] == "False Approval request timed out"


def test_a_step_in_which_a_worker_died_is_interrupted_or_done_again(house: House) -> None:
    counted = Counted()

    async def work(job: Job) -> str:
        async def never() -> str:
            raise AssertionError("a command is never run twice")

        command = await job.desk.once("command-1", never, interrupted=lambda: "interrupted")
        return f"{command} {await counted.step(job, 'turn-1')}"

    house.open(nothing)
    run = begun_by_another(house, "command-1", "turn-1")
    house.leave()
    house.open(work)
    events = house.until_ended(run)
    assert events[-1].data["result"]["summary"] == "interrupted TURN-1"
    assert counted.done == ["turn-1"]


class OpensSlowly(DbosEngine):
    """As over a database that is far away, or on a machine that is busy."""

    began: asyncio.Event
    go_on: asyncio.Event
    opened: bool

    async def open(self, carry: Carry) -> None:
        type(self).opened = False
        self.began.set()
        await self.go_on.wait()
        await super().open(carry)
        type(self).opened = True

    async def close(self) -> None:
        await super().close()
        type(self).opened = False


def test_a_room_that_is_left_while_its_engine_opens_leaves_none_open(house: House) -> None:
    OpensSlowly.began, OpensSlowly.go_on = asyncio.Event(), asyncio.Event()
    room = house.open(nothing, durable=OpensSlowly)
    asked = asyncio.ensure_future(room._engine_open(), loop=house.loop)
    house.run(OpensSlowly.began.wait())
    asked.cancel()
    house.loop.call_soon(OpensSlowly.go_on.set)
    house.leave()
    assert not OpensSlowly.opened
    house.open(nothing)
    assert kinds(house.until_ended(house.start()))[-1] == "run_completed"


def test_an_engine_that_cannot_be_opened_at_first_is_opened_soon_after(house: House) -> None:
    class FailsOnce(DbosEngine):
        failed: list[None] = []

        async def open(self, carry: Carry) -> None:
            if not self.failed:
                self.failed.append(None)
                raise ConnectionRefusedError("the database is not there yet")
            await super().open(carry)

    house.open(nothing)
    run = begun_by_another(house)
    house.leave()
    house.open(nothing, durable=FailsOnce)
    assert kinds(house.until_ended(run))[-1] == "run_completed"
    assert FailsOnce.failed == [None]
    assert "keeper_failed" in house.said.getvalue()


def begun_by_another(house: House, *steps: str) -> Run:
    """A run that a worker began and died in, and of which the engine knows nothing."""
    now = datetime.now(UTC)
    run = Run(str(uuid.uuid4()), "native", ME, spec().to_json(), now, now)
    house.records.runs.create(run)
    claimed = house.records.runs.claim(run.id, "another")
    assert claimed is not None
    for step in steps:
        house.records.steps.begin(run.id, claimed.epoch, step)
    return run


def test_a_caller_starts_no_more_than_its_quota_and_an_idempotent_start_is_one(house: House) -> None:
    counted = Counted()

    async def work(job: Job) -> str:
        await counted.wait(job)
        return "done"

    house.open(work)
    first = house.start(quota=Quota(concurrent=1), idempotency_key="a", body_hash="1")
    assert house.start(quota=Quota(concurrent=1), idempotency_key="a", body_hash="1").id == first.id
    with pytest.raises(Conflict):
        house.start(idempotency_key="a", body_hash="2")
    with pytest.raises(QuotaReached):
        house.start(quota=Quota(concurrent=1))
    counted.go_on.set()
    house.until_ended(first)


def test_another_caller_s_run_is_not_there(house: House) -> None:
    room = house.open(nothing)
    run = house.start()
    for asked in (room.control.pause, room.control.resume, room.control.cancel):
        with pytest.raises(NotFound):
            house.run(asked(run.id, "key:other"))
    house.until_ended(run)
