"""Packages beside the tiers of isolation: what is there is mounted in any, and none is built behind a weaker wall."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.packages.shop import Shop
from tests.packages.test_hostile import IN_TARGET, scripted
from tests.standins.index import Index
from tests.standins.wheels import Package, sdist, tarball, wheel

ALPHA = {"code": "import alpha; print(alpha.__version__)", "requirements": ["alpha"]}


def tells_its_kernel() -> Package:
    """Its build notes in the package which kernel it ran on."""
    return sdist("mallory", script="entries['mallory/kernel'] = open('/proc/version', 'rb').read()")


READ = {"code": "print(open('/packages/mallory/kernel').read())", "requirements": ["mallory"]}


@pytest.mark.long
def test_what_a_request_wants_behind_a_second_kernel_is_installed_there(shop: Shop, index: Index) -> None:
    index.publish(tells_its_kernel(), wheel("alpha", "1.5"))
    told = shop.post("/v1/executions", {**READ, "isolation": "gvisor"}).json()
    assert (told["isolation"], told["packages"]["cache"]) == ("gvisor", "miss"), told
    assert told["stdout"].startswith("Linux version 4.4.0")
    assert Path("/proc/version").read_text() not in told["stdout"]
    assert shop.post("/v1/executions", ALPHA).json()["stdout"] == "1.5\n"
    there = shop.post("/v1/executions", {**ALPHA, "isolation": "gvisor"}).json()
    assert (there["stdout"], there["isolation"], there["packages"]["cache"]) == ("1.5\n", "gvisor", "hit")
    assert shop.remains() == []


def test_a_server_of_another_tier_installs_nothing_behind_a_weaker_wall(
    make_shop: Callable[..., Shop], index: Index
) -> None:
    index.publish(tells_its_kernel(), tarball("beta"))
    shop = make_shop(isolation="gvisor")
    made = shop.post("/code/envs", {"name": "mine", "requirements": ["mallory"]})
    assert made.status_code == 201, made.text
    told = shop.post("/v1/executions", {**READ, "requirements": [], "environment": "mine"}).json()
    assert told["stdout"].startswith("Linux version 4.4.0"), told
    beta = {"code": "console.log(require('beta').version)", "requirements": ["beta"], "language": "node"}
    assert shop.post("/v1/executions", beta).json()["stdout"] == "1.0.0\n"
    assert shop.remains() == []


@pytest.mark.long
def test_in_gvisor_too_a_build_leaves_plain_files_alone_and_ends_in_time(
    make_shop: Callable[..., Shop], index: Index
) -> None:
    index.publish(scripted(IN_TARGET + "os.symlink('/etc', 'evil')"), sdist("endless", script="while True: pass"))
    shop = make_shop(isolation="gvisor")
    told = shop.code("print('ran')", "mallory")
    assert "what evil left is not taken: 'evil' is a symbolic link" in told["stderr"], told
    slow = shop.ask("print('ran')", "endless", timeout_seconds=2)
    assert slow.json()["stderr"].startswith("package installation failed: timed out after 2 seconds")
    shop.until(lambda: shop.remains() == [])
    assert shop.layers() == []


def test_without_walls_packages_are_refused_by_name(make_shop: Callable[..., Shop], index: Index) -> None:
    index.publish(wheel("alpha"))
    reply = make_shop(isolation="process").post("/v1/executions", ALPHA)
    assert reply.status_code == 503
    assert "isolation `process` has none" in reply.text
