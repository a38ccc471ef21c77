"""Clones by https from hosts with names: certificates are checked, and addresses are judged once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from drydock.egress.dial import Dialer
from drydock.errors import RepositoryFailed
from drydock.forge.git.repository import Repository, Terms
from drydock.forge.git.source import Sources
from tests.egress.world import PUBLIC, Authority, World
from tests.forge.git.conftest import FILES, Bench, replace
from tests.standins.forge import Forge, faults

HOST = "forge.example"
URL = f"https://{HOST}/acme/demo.git"
REFS = "/acme/demo.git/info/refs"
QUERY = "?service=git-upload-pack"


class Net:
    """Forges behind names, on a small internet of the test's own."""

    def __init__(self) -> None:
        self.authority = Authority()
        self.world = World(self.authority)
        self._forges: list[Forge] = []

    def forge(self, name: str = HOST, *, at: str = PUBLIC, certified: str | None = None) -> Forge:
        made = Forge(tls=self.authority.context(certified or name))
        made.create("acme/demo", FILES, private=True)
        self.world.names[name] = [at]
        self.world.place(made, at, 443)
        self._forges.append(made)
        return made

    def terms(self, bench: Bench) -> Terms:
        return replace(bench.terms, dialer=lambda: Dialer(**self.world.parts))

    def close(self) -> None:
        for each in self._forges:
            each.close()


@pytest.fixture
def net() -> Iterator[Net]:
    made = Net()
    yield made
    made.close()


def test_a_repository_is_cloned_by_https(bench: Bench, net: Net) -> None:
    forge = net.forge()
    repository = bench.clone(url=URL, token=forge.tokens.issue(), terms=net.terms(bench))
    assert repository.base == forge.repositories["acme/demo"].find("main")
    assert {address for address, _ in net.world.dialled} == {PUBLIC}


def test_a_certificate_for_another_name_gets_no_credential(bench: Bench, net: Net) -> None:
    forge = net.forge(certified="other.example")
    with pytest.raises(RepositoryFailed, match="cannot be reached"):
        bench.clone(url=URL, token=forge.tokens.issue(), terms=net.terms(bench))
    assert forge.asked == []


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "0.0.0.0"])
def test_a_public_name_for_an_inner_address_is_not_dialled(bench: Bench, net: Net, address: str) -> None:
    net.forge(at=address)
    with pytest.raises(RepositoryFailed, match="not public"):
        bench.clone(url=URL, terms=net.terms(bench))
    assert net.world.dialled == []


def test_a_name_that_changes_its_address_is_judged_each_time(bench: Bench, net: Net) -> None:
    """Rebinding: what is dialled is what was judged, so the second answer leads nowhere."""
    forge = net.forge()
    net.world.names[HOST] = [[PUBLIC], ["127.0.0.1"]]
    with pytest.raises(RepositoryFailed, match="not public"):
        bench.clone(url=URL, token=forge.tokens.issue(), terms=net.terms(bench))
    assert {address for address, _ in net.world.dialled} == {PUBLIC}


def test_a_redirect_from_https_to_http_is_not_followed(bench: Bench, net: Net) -> None:
    forge = net.forge()
    forge.behave(REFS, faults.redirect(f"http://{HOST}{REFS}{QUERY}"))
    with pytest.raises(RepositoryFailed, match="from https to http"):
        bench.clone(url=URL, terms=net.terms(bench))


def test_a_redirect_to_an_inner_address_is_not_followed(bench: Bench, net: Net) -> None:
    forge = net.forge()
    net.forge("inner.example", at="10.0.0.1")
    forge.behave(REFS, faults.redirect(f"https://inner.example{REFS}{QUERY}"))
    with pytest.raises(RepositoryFailed, match="not public"):
        bench.clone(url=URL, terms=net.terms(bench))


def test_a_redirect_to_another_name_takes_no_credential_along(bench: Bench, net: Net) -> None:
    forge, other = net.forge(), net.forge("other.example", at="151.101.1.223")
    other.private.clear()
    forge.behave(REFS, faults.redirect(f"https://other.example{REFS}{QUERY}"))
    bench.clone(url=URL, token=forge.tokens.issue(), terms=net.terms(bench))
    assert other.asked
    assert not any("authorization" in asked.headers for asked in other.asked)


def test_an_allowed_host_is_allowed_no_metadata_address(bench: Bench, net: Net) -> None:
    net.forge(at="169.254.169.254")
    sources = Sources([HOST], [])
    assert str(sources.read(URL)) == URL
    with pytest.raises(RepositoryFailed, match="not public"):
        bench.run(Repository.clone(net.terms(bench), bench.folder / "metadata", sources.read(URL)))
    assert net.world.dialled == []
