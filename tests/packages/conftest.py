"""A server whose only index is a stand-in on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.packages.shop import Shop
from tests.standins.index import Index


@pytest.fixture
def index() -> Iterator[Index]:
    with Index() as made:
        yield made


@pytest.fixture
def make_shop(tmp_path: Path, index: Index) -> Iterator[Callable[..., Shop]]:
    with ExitStack() as open_shops:

        def make(**told: Any) -> Shop:
            urls = {"python_index": index.pypi, "npm_index": index.npm}
            return open_shops.enter_context(Shop(tmp_path / "data", **{**urls, **told}))

        yield make


@pytest.fixture
def shop(make_shop: Callable[..., Shop]) -> Shop:
    return make_shop()
