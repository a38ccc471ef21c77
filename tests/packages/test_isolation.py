"""Packages beside the tiers of isolation: what is there is mounted in any, and none is built behind a weaker wall."""

from __future__ import annotations

from collections.abc import Callable

from tests.packages.shop import Shop
from tests.standins.index import Index
from tests.standins.wheels import wheel

ALPHA = {"code": "import alpha; print(alpha.__version__)", "requirements": ["alpha"]}


def test_a_layer_that_is_there_is_mounted_in_gvisor_and_a_missing_one_is_not_installed(
    shop: Shop, index: Index
) -> None:
    index.publish(wheel("alpha", "1.5"))
    missing = shop.post("/v1/executions", {**ALPHA, "isolation": "gvisor"}).json()
    assert missing["ended"]["reason"] == "install_failed"
    assert "there is no layer of alpha" in missing["stderr"]
    assert shop.layers() == []
    assert shop.post("/v1/executions", ALPHA).json()["stdout"] == "1.5\n"
    there = shop.post("/v1/executions", {**ALPHA, "isolation": "gvisor"}).json()
    assert (there["stdout"], there["isolation"], there["packages"]["cache"]) == ("1.5\n", "gvisor", "hit")


def test_a_server_of_another_tier_installs_nothing_behind_a_weaker_wall(
    make_shop: Callable[..., Shop], index: Index
) -> None:
    index.publish(wheel("alpha"))
    shop = make_shop(isolation="gvisor")
    assert shop.post("/v1/executions", ALPHA).json()["ended"]["reason"] == "install_failed"
    made = shop.post("/code/envs", {"name": "mine", "requirements": ["alpha"]})
    assert made.status_code == 400
    assert "installers run in plain boxes" in made.text
    assert shop.layers() == []


def test_without_walls_packages_are_refused_by_name(make_shop: Callable[..., Shop], index: Index) -> None:
    index.publish(wheel("alpha"))
    reply = make_shop(isolation="process").post("/v1/executions", ALPHA)
    assert reply.status_code == 503
    assert "isolation `process` has none" in reply.text
