"""Installations that several wait for, and layers that come and go while boxes use them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.packages.shop import Shop
from tests.standins.index import Exchange, Index, Page, slow
from tests.standins.wheels import wheel


class Gate:
    """A page that comes once it is opened."""

    def __init__(self) -> None:
        self.reached, self.open = threading.Event(), threading.Event()

    def __call__(self, exchange: Exchange, page: Page) -> None:
        self.reached.set()
        self.open.wait(20)
        exchange.send(page)


@pytest.fixture
def gate(index: Index) -> Gate:
    index.publish(wheel("alpha", "1.5"))
    made = Gate()
    index.behave("/simple/alpha/", made)
    return made


def together(*calls: Callable[[], dict[str, Any]]) -> tuple[list[threading.Thread], list[dict[str, Any]]]:
    told: list[dict[str, Any]] = [{} for _ in calls]

    def run(place: int, call: Callable[[], dict[str, Any]]) -> None:
        told[place] = call()

    threads = [threading.Thread(target=run, args=(place, call)) for place, call in enumerate(calls)]
    for thread in threads:
        thread.start()
    return threads, told


def load(shop: Shop) -> int:
    return int(shop.get("/health").json()["current_load"])


CODE = "import alpha; print(alpha.__version__)"


def test_two_that_need_the_same_layer_at_once_install_it_once(shop: Shop, index: Index, gate: Gate) -> None:
    threads, told = together(lambda: shop.native(CODE, "alpha"), lambda: shop.native(CODE, " alpha "))
    shop.until(lambda: load(shop) == 2)
    gate.open.set()
    for thread in threads:
        thread.join()
    assert [each["stdout"] for each in told] == ["1.5\n", "1.5\n"]
    assert len(shop.logged("layer_built")) == 1
    assert len([path for path in index.files.paths() if path.endswith(".whl")]) == 1
    assert told[0]["packages"]["layer"] == told[1]["packages"]["layer"]


def test_one_who_runs_out_of_time_does_not_end_it_for_another(shop: Shop, gate: Gate) -> None:
    threads, told = together(
        lambda: shop.code(CODE, "alpha", timeout_seconds=1), lambda: shop.code(CODE, "alpha", timeout_seconds=20)
    )
    threads[0].join()
    assert told[0]["stderr"].startswith("package installation failed: timed out after 1 seconds")
    gate.open.set()
    threads[1].join()
    assert told[1]["stdout"] == "1.5\n"


def test_when_the_last_has_hung_up_nothing_of_it_goes_on(shop: Shop, index: Index) -> None:
    index.publish(wheel("alpha"))
    index.behave("/simple/alpha/", slow)
    with pytest.raises(httpx.ReadTimeout):
        shop.client.post("/code/execute", json={"code": CODE, "requirements": ["alpha"]}, timeout=1.0)
    shop.until(lambda: load(shop) == 0, within=1.0)
    shop.until(lambda: shop.remains() == [])
    assert shop.layers() == []


def test_an_installation_holds_its_place(make_shop: Callable[..., Shop], gate: Gate) -> None:
    shop = make_shop(max_concurrent=1)
    threads, told = together(lambda: shop.code(CODE, "alpha"))
    assert gate.reached.wait(5)
    assert load(shop) == 1
    assert shop.ask("print(1)").status_code == 429
    assert shop.post("/code/envs", {"name": "ds", "requirements": ["alpha"]}).status_code == 429
    gate.open.set()
    threads[0].join()
    assert told[0]["stdout"] == "1.5\n"


def test_a_server_that_stops_ends_installations_and_leaves_nothing(make_shop: Callable[..., Shop], gate: Gate) -> None:
    shop = make_shop()
    threads, told = together(lambda: shop.code(CODE, "alpha"))
    assert gate.reached.wait(5)
    shop._loop.call_soon_threadsafe(shop._running.stop)  # type: ignore[union-attr]
    threads[0].join()
    assert told[0]["end_reason"] == "server_shutdown"
    shop.close()
    assert shop.remains() == []


def test_layers_stay_under_their_bytes_and_the_least_recently_used_goes(
    make_shop: Callable[..., Shop], index: Index
) -> None:
    for name in ("alpha", "beta", "gamma"):
        index.publish(wheel(name, files={f"{name}/__init__.py": "", f"{name}/data": os.urandom(400_000)}))
    shop = make_shop(layers_bytes=1_048_576)
    shop.code("import alpha", "alpha")
    shop.code("import beta", "beta")
    shop.code("import alpha", "alpha")
    shop.code("import gamma", "gamma")
    shop.until(lambda: len(shop.layers()) == 2)
    assert shop.ask("import alpha", "alpha").headers["x-packages"].startswith("hit")
    assert shop.ask("import gamma", "gamma").headers["x-packages"].startswith("hit")
    assert shop.ask("import beta", "beta").headers["x-packages"].startswith("miss")


def test_the_same_list_is_a_second_from_the_code_alone(shop: Shop, index: Index) -> None:
    index.publish(wheel("alpha"))
    shop.code("import alpha", "alpha")
    reply = shop.ask("import alpha; print(1)", "alpha")
    assert reply.json()["stdout"] == "1\n"
    assert reply.elapsed.total_seconds() < 1.0
