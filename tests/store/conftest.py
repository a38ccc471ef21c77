from collections.abc import Iterator
from pathlib import Path

import pytest

from drydock.store.database import Database, connect
from drydock.store.executions import Executions
from drydock.store.journal import Journal
from drydock.store.migrations import migrate
from drydock.store.objects import MemoryObjects
from drydock.store.run import Event
from drydock.store.runs import Runs
from tests.standins.postgres import PostgreSQL


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = connect("", tmp_path / "data", busy_seconds=0.2)
    migrate(database)
    yield database
    database.close()


@pytest.fixture
def objects() -> MemoryObjects:
    return MemoryObjects()


@pytest.fixture
def executions(database: Database, objects: MemoryObjects) -> Iterator[Executions]:
    executions = Executions(database, objects, retention=3600)
    yield executions
    executions.close()


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgreSQL]:
    with PostgreSQL(tmp_path_factory.mktemp("postgresql")) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database of each kind, brought up to date."""
    url = "" if request.param == "sqlite" else request.getfixturevalue("postgresql").new_database()
    database = connect(url, tmp_path / "data")
    migrate(database)
    yield database
    database.close()


@pytest.fixture
def told() -> list[Event]:
    """What the journal has published."""
    return []


@pytest.fixture
def journal(either: Database, told: list[Event]) -> Journal:
    return Journal(either, lambda run, fresh: told.extend(fresh))


@pytest.fixture
def runs(either: Database) -> Runs:
    return Runs(either)
