"""Rooms of runs over real databases and the real engine, driven from plain test functions."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
import uvloop
from sqlalchemy import URL

from drydock.egress.grants import PackagesGrant
from drydock.observe.log import Log
from drydock.run.admission import Asked
from drydock.run.berth import Guard
from drydock.run.ending import TERMINAL
from drydock.run.engine import DbosEngine
from drydock.run.records import Records
from drydock.run.room import RunRoom, folder_of
from drydock.run.spec import Spec
from drydock.run.workspace import Workspace
from drydock.store.database import connect
from drydock.store.migrations import migrate
from drydock.store.objects import MemoryObjects
from drydock.store.run import Event, Run
from tests.standins.agent import Work, scripted, spec
from tests.standins.postgres import PostgreSQL

T = TypeVar("T")
ME = "local"
SOON = 30.0


class House:
    """One data folder; rooms are opened over it one after the other, as a server's lives are."""

    def __init__(self, runner: asyncio.Runner, data: Path, database: str) -> None:
        self._runner, self._data = runner, data
        self.said = io.StringIO()
        self.objects = MemoryObjects()
        self.database = connect(database, data)
        migrate(self.database)
        self.room: RunRoom | None = None

    def run(self, work: Awaitable[T]) -> T:
        async def wait() -> T:
            return await asyncio.wait_for(work, SOON)

        return self._runner.run(wait())

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._runner.get_loop()

    def open(self, work: Work, *, at_once: int = 4, durable: type[DbosEngine] = DbosEngine, **told: Any) -> RunRoom:
        async def make() -> RunRoom:
            beside = URL.create("sqlite", database=str(self._data / "engine.db"))
            address = beside if self.database.is_sqlite else self.database.engine.url
            engine = durable(address, "worker-1", at_once)
            log = Log("debug", self.said)
            room = RunRoom(
                "worker-1", self.database, self.objects, engine, scripted(work), self._workspace, log, **told
            )
            await room.open()
            return room

        self.room = self.run(make())
        return self.room

    def _workspace(self, run: Run, guard: Guard) -> Workspace:
        async def no_box(home: Path, restore: Path | None, doors: Any) -> Any:
            raise AssertionError("this run needs no box")

        async def nothing_granted() -> Sequence[PackagesGrant]:
            return []

        folder = folder_of(self._data, run)
        return Workspace(
            run.id,
            run.epoch,
            folder,
            self.objects,
            no_box,
            most_bytes=1 << 30,
            may_freeze=lambda: True,
            guard=guard,
            grants=nothing_granted,
        )

    def leave(self) -> None:
        """As a server ends that is told to."""
        if self.room is not None:
            self.run(self.room.close())
            self.room = None

    @property
    def living_room(self) -> RunRoom:
        assert self.room is not None
        return self.room

    @property
    def records(self) -> Records:
        return self.living_room.records

    def start(self, asked: Spec | None = None, **told: Any) -> Run:
        started = self.run(self.living_room.admission.start(Asked(asked or spec(), ME, "native", **told)))
        return started.run

    def until(self, run: Run, seen: Callable[[Event], bool]) -> list[Event]:
        """Its events up to the one that is waited for."""

        async def follow() -> list[Event]:
            told = []
            async for event in self.records.followers.follow(run.id):
                told.append(event)
                if seen(event):
                    return told
            raise AssertionError("the stream ended")

        return self.run(follow())

    def until_ended(self, run: Run) -> list[Event]:
        return self.until(run, lambda event: event.type in TERMINAL)

    def until_so(self, so: Callable[[], bool]) -> None:
        """For what no event tells of."""

        async def look() -> None:
            tick = asyncio.Event()
            while not so():
                asyncio.get_running_loop().call_later(0.02, tick.set)
                await tick.wait()
                tick.clear()

        self.run(look())

    def record(self, run: Run) -> Run:
        found = self.records.runs.get(run.id)
        assert found is not None
        return found

    def close(self) -> None:
        self.leave()
        self.database.close()


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgreSQL]:
    with PostgreSQL(tmp_path_factory.mktemp("postgresql")) as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def database(request: pytest.FixtureRequest) -> str:
    """URL of an empty database of each kind; empty is SQLite in the data folder."""
    return "" if request.param == "sqlite" else request.getfixturevalue("postgresql").new_database()


@pytest.fixture
def house(tmp_path: Path, database: str) -> Iterator[House]:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        house = House(runner, tmp_path / "data", database)
        yield house
        house.close()


def kinds(events: list[Event]) -> list[str]:
    return [event.type for event in events]
