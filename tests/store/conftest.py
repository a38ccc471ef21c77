from collections.abc import Iterator
from pathlib import Path

import pytest

from drydock.store.database import Database, connect
from drydock.store.executions import Executions
from drydock.store.migrations import migrate
from drydock.store.objects import MemoryObjects


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
