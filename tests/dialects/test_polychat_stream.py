"""What a reader of contract `polychat` hears in silence, and when its run is over: section 3.1."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from drydock.dialects.polychat.stream import DONE, Telling
from drydock.run.records import Records
from drydock.store.database import connect
from drydock.store.journal import Entry
from drydock.store.migrations import migrate
from drydock.store.objects import open_objects
from drydock.store.run import Run
from tests.store.runs_rows import queued

Play = Callable[[Records, Run], Awaitable[None]]
SPEC = {"repo": "o/r", "task": "t", "timeout_ms": 900_000, "trust": "balanced", "extra": {}}
PING = b": ping\n\n"


def heard(folder: Path, play: Play, *, most: int = 1000, again: float = 30.0, ping: float = 0.02) -> list[bytes]:
    """What a reader hears who comes after that, until the end or until he has heard so much."""

    async def listen() -> list[bytes]:
        database = connect("", folder)
        migrate(database)
        records = Records.open(database, open_objects("", folder))
        run = records.runs.create(replace(queued(), spec=SPEC))
        assert isinstance(run, Run)
        await play(records, run)
        found: list[bytes] = []
        async for each in Telling(records, run, ping=ping, again=again).frames(0):
            found.append(each)
            if len(found) == most:
                break
        database.close()
        return found

    return asyncio.run(asyncio.wait_for(listen(), 20))


async def tell(records: Records, run: Run, kind: str, **data: object) -> None:
    await asyncio.to_thread(records.journal.append, run.id, [Entry(kind, kind, data)])


def test_silence_is_a_comment(tmp_path: Path) -> None:
    async def play(records: Records, run: Run) -> None:
        await tell(records, run, "run_started")

    assert heard(tmp_path, play, most=4)[1:] == [PING] * 3


def test_a_paused_run_says_so_again_without_a_number(tmp_path: Path) -> None:
    async def play(records: Records, run: Run) -> None:
        await tell(records, run, "run_paused", message="wait")

    first, *more = heard(tmp_path, play, most=4, again=0.0)
    number, frame = first.split(b"\n", 1)
    assert number == b"id: 1"
    assert more == [frame] * 3


def test_it_does_so_only_when_it_is_time_and_while_it_is_paused(tmp_path: Path) -> None:
    async def play(records: Records, run: Run) -> None:
        await tell(records, run, "run_paused", message="wait")
        await tell(records, run, "run_resumed", message="go on")

    assert heard(tmp_path, play, most=4, again=0.0)[1:] == [PING] * 3


def test_the_marker_follows_the_last_event_and_nothing_follows_the_marker(tmp_path: Path) -> None:
    async def play(records: Records, run: Run) -> None:
        for kind in ("run_started", "task_cancelled", "run_cancelled"):
            await tell(records, run, kind)

    found = b"".join(each for each in heard(tmp_path, play) if each != PING)
    assert found.endswith(b'"}\n\n' + DONE)
    assert found.count(DONE) == found.count(b"run_cancelled") == 1


def test_a_reader_that_was_dropped_gets_no_marker(tmp_path: Path) -> None:
    """He has not seen the end, and must come back for it."""

    async def play(records: Records, run: Run) -> None:
        await asyncio.sleep(0)
        entries = [Entry("command_output", str(number), {"output": "x"}) for number in range(2500)]
        await asyncio.to_thread(records.journal.append, run.id, entries)

    async def slowly(records: Records, run: Run) -> list[bytes]:
        telling = Telling(records, run).frames(0)
        await tell(records, run, "run_started")
        found = [await anext(telling)]
        await play(records, run)
        found += [each async for each in telling]
        return found

    async def listen() -> list[bytes]:
        database = connect("", tmp_path)
        migrate(database)
        records = Records.open(database, open_objects("", tmp_path))
        run = records.runs.create(replace(queued(), spec=SPEC))
        assert isinstance(run, Run)
        found = await asyncio.wait_for(slowly(records, run), 20)
        database.close()
        return found

    assert DONE not in asyncio.run(listen())
