from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.standins.server import Server


@pytest.fixture(
    scope="module", params=["box", *(pytest.param(tier, marks=pytest.mark.long) for tier in ("gvisor", "process"))]
)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("data"), max_concurrent=8, isolation=request.param) as running:
        yield running


@pytest.fixture
def make_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Servers with settings of their own; each closed at the test's end."""
    with ExitStack() as running:

        def make(name: str = "data", **told: Any) -> Server:
            return running.enter_context(Server(tmp_path / name, **told))

        yield make
