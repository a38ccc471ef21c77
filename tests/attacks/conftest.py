from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attacks.arena import Drydock


@pytest.fixture(scope="session")
def dock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drydock]:
    arena = Drydock(tmp_path_factory.mktemp("attacked"))
    try:
        yield arena
    finally:
        arena.close()


@pytest.fixture(scope="session")
def second_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drydock]:
    arena = Drydock(tmp_path_factory.mktemp("gvisor"), isolation="gvisor")
    try:
        yield arena
    finally:
        arena.close()


@pytest.fixture(scope="session")
def single(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drydock]:
    """With one place, so that whoever comes next gets the one that was attacked."""
    arena = Drydock(tmp_path_factory.mktemp("single"), max_concurrent=1)
    try:
        yield arena
    finally:
        arena.close()
