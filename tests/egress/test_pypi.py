"""PyPI packages through the relay: what uv sees, and what the hosts outside see."""

from __future__ import annotations

from pathlib import Path

import pytest

from drydock.egress.grants import Credential, PackagesGrant
from drydock.packages import specifiers
from tests.egress.door import Door
from tests.egress.test_standin_index import install
from tests.egress.world import World
from tests.standins.index import SIMPLE_JSON, Index, Page
from tests.standins.wheels import sdist, wheel

LOGIN = ("buyer", "hunter2")


@pytest.mark.parametrize("json", [True, False])
@pytest.mark.parametrize("links", ["absolute", "relative", "base"])
def test_uv_installs_through_the_relay_from_two_hosts(tmp_path: Path, json: bool, links: str) -> None:
    with Index(json=json, apart=links == "absolute") as index, Door(PackagesGrant.of("pypi", index.pypi)) as door:
        index.links = links
        index.publish(
            wheel("alpha", requires=["beta>=2"]), sdist("beta", "2.1", script="entries['made.py'] = b'x = 1'")
        )
        install(door.url + "/pypi/simple/", tmp_path / "target", "alpha")
        assert door.denied == []
        assert any(path.endswith(".whl.metadata") for path in index.files.paths())
    assert {"alpha", "beta", "made.py"} <= {path.name for path in (tmp_path / "target").iterdir()}


@pytest.mark.parametrize("grant", ["in the address", "beside it"])
def test_the_credential_reaches_the_index_alone(tmp_path: Path, grant: str) -> None:
    with Index(login=LOGIN) as index:
        index.publish(wheel("alpha"))
        address = index.pypi.replace("http://", "http://buyer:hunter2@")
        given = (address, None) if grant == "in the address" else (index.pypi, Credential.basic(*LOGIN))
        with Door(PackagesGrant.of("pypi", *given)) as door:
            page = door.get("/pypi/simple/alpha/")
            install(door.url + "/pypi/simple/", tmp_path / "target", "alpha")
        assert index.asked[0].headers["authorization"].startswith("Basic ")
        assert index.files.asked
        assert all("authorization" not in asked.headers for asked in index.files.asked)
    assert "hunter2" not in page.text + str(page.headers) + repr(PackagesGrant.of("pypi", *given))
    assert index.files.origin not in page.text


def test_a_private_index_that_serves_its_own_files_gets_its_credential_for_them(tmp_path: Path) -> None:
    with Index(login=LOGIN, apart=False) as index:
        index.publish(wheel("alpha"))
        with Door(PackagesGrant.of("pypi", index.pypi, Credential.basic(*LOGIN))) as door:
            install(door.url + "/pypi/simple/", tmp_path / "target", "alpha")


@pytest.mark.parametrize("accept", [SIMPLE_JSON, "text/html"])
@pytest.mark.parametrize("json", [True, False])
def test_a_page_says_all_that_an_installer_needs(json: bool, accept: str) -> None:
    alpha = wheel("alpha", requires_python=">=3.9,<4")
    with Index(json=json) as index, Door(PackagesGrant.of("pypi", index.pypi)) as door:
        index.publish(alpha)
        index.yanked[alpha.filename] = 'broken <"on"> purpose'
        text = door.get("/pypi/simple/Alpha/", headers={"Accept": accept}).text
    assert alpha.sha256 in text
    assert "requires-python" in text
    assert "core-metadata" in text
    assert "purpose" in text


def test_uv_installs_one_file_by_its_address_from_a_public_host(tmp_path: Path, world: World) -> None:
    alpha = wheel("alpha")
    site = world.host("files.example")
    site.pages = lambda path, asked: Page(200, {"Content-Type": "application/zip"}, alpha.data)
    entry = f"alpha @ https://files.example/{alpha.filename}#sha256={alpha.sha256}"
    grant = specifiers.file(entry)
    assert grant is not None
    with Door(grant, **world.parts) as door:
        install(door.url + "/pypi/simple/", tmp_path / "target", specifiers.by_relay(entry, door.url))
        assert door.denied == []
    assert (tmp_path / "target" / "alpha" / "__init__.py").exists()
