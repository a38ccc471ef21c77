from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.e2e.runs.world import Life, World
from tests.standins.forge import Forge
from tests.standins.index import Index
from tests.standins.model import ModelServer


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with Forge() as forge, ModelServer() as model, Index() as index, ExitStack() as owned:
        made = World(tmp_path_factory.mktemp("runs"), forge, model, index, owned)
        (made.folder / "allowed").mkdir()
        made.repository()
        yield made


@pytest.fixture(scope="session")
def life(world: World) -> Life:
    """A server for all tests that leave it as it was."""
    return world.life()
