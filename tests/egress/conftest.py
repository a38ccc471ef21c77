from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.box.conftest import fleet, pool, tier
from tests.egress.world import Authority, World


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def world(authority: Authority) -> Iterator[World]:
    made = World(authority)
    yield made
    made.close()


__all__ = ["fleet", "pool", "tier"]
