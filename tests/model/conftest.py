from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.standins.model import ModelServer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as made:
        yield made
