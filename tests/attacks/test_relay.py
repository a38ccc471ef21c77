"""Attacks on the way out of a box: against the relay, a plain proxy that must lose, and the relay without a defence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.families.relay import KNOCKS, index_pages
from tests.attacks.knockouts import Edit, Knockout, copy_without
from tests.attacks.relay import Knock, RelayHost, Way
from tests.egress.world import OTHER, PUBLIC, Authority, World
from tests.standins.index import redirect

BY_NAME = {knock.name: knock for knock in KNOCKS}
DIAL, UPSTREAM, WEB, PACKAGES = "egress/dial.py", "egress/upstream.py", "egress/web.py", "egress/packages.py"
INSIDE = {"inside.example": "127.0.0.1", "private.example": "10.0.0.1", "metadata.example": "169.254.169.254"}

KNOCKOUTS = (
    Knockout(
        "the judgement of addresses",
        [Edit(DIAL, "            if kind > furthest:\n", "            if False:\n")],
        [
            "loopback, private nets and metadata, by name and by number",
            "a name of which one address is public and does not answer",
            "a page that leads inside",
        ],
    ),
    Knockout(
        "the address that was judged is the one that is dialled",
        [
            Edit(
                DIAL,
                "        for address in await self.addresses(url, furthest):\n",
                "        await self.addresses(url, furthest)\n        for address in await self._look_up(url):\n",
            )
        ],
        ["a name that is bound to another address once it was judged"],
    ),
    Knockout(
        "the judgement of every address of a name",
        [Edit(DIAL, "        for address in found:\n", "        for address in found[:1]:\n")],
        ["a name of which one address is public and does not answer"],
    ),
    Knockout(
        "the address of a later hop",
        [
            Edit(
                UPSTREAM,
                "line = await self._dial(url, furthest)",
                "line = await self._dial(url, furthest if len(hops) < 2 else Kind.NEVER)",
            )
        ],
        ["a page that leads inside"],
    ),
    Knockout(
        "the judgement of a later hop",
        [Edit(UPSTREAM, "            judge(url)\n            hops", "            hops")],
        ["a page that leads to another port", "what lies beside the index"],
    ),
    Knockout(
        "https alone, on its own port",
        [
            Edit(WEB, 'if url.scheme != "https":', "if False:"),
            Edit(WEB, "if url.port != 443:", "if False:"),
        ],
        ["http without TLS", "a page that leads to another port"],
    ),
    Knockout(
        "the certificate",
        [Edit(DIAL, "tls = self._tls() if", "tls = ssl._create_unverified_context() if")],
        ["a certificate for somebody else"],
    ),
    Knockout(
        "GET and HEAD alone",
        [Edit("egress/head.py", 'if method not in ("GET", "HEAD"):', "if False:")],
        ["methods that change what is there"],
    ),
    Knockout(
        "headers of our own making",
        [Edit(WEB, '{"Accept": "*/*"}', '{**head.headers, "Accept": "*/*"}')],
        ["what was stolen, in headers"],
    ),
    Knockout(
        "the form of a page's path",
        [
            Edit(
                PACKAGES,
                'r"/pypi/simple/([A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?)/?"',
                'r"/pypi/simple/(.+?)/?"',
            )
        ],
        ["what lies beside the index"],
    ),
    Knockout(
        "the web, which has a grant of its own",
        [Edit("egress/relay.py", "granted = any(isinstance(one, WebGrant) for one in grants)", "granted = True")],
        ["the web, where the index alone was granted"],
    ),
    Knockout(
        "the login, which goes to its own host",
        [Edit(PACKAGES, "return secret if all(hop.origin == own for hop in hops) else None", "return secret")],
        ["the login of the index, at the host that a file has moved to"],
    ),
    Knockout(
        "the bound on bytes",
        [Edit("egress/meter.py", "if count > self._bytes:", "if False:")],
        ["a file without end"],
    ),
    Knockout(
        "the bound on a reply's time",
        [Edit("egress/relay.py", "min(self._meter.seconds, self._bounds.reply_seconds)", "600.0")],
        ["a file that drips"],
    ),
    Knockout(
        "the bound on connections",
        [Edit("egress/relay.py", "if len(self._serving) <= most:", "if True:")],
        ["more connections than it may hold"],
    ),
)


SERIAL = [
    pytest.param(knock, id=knock.name, marks=[pytest.mark.serial] * ("reply_seconds" in knock.bounds))
    for knock in KNOCKS
]


@pytest.fixture(scope="module")
def trusting() -> Authority:
    return Authority()


@pytest.fixture
def internet(trusting: Authority) -> Iterator[World]:
    """Hosts outside, hosts inside, and names that an attacker gives to either."""
    world = World(trusting)
    docs = world.host("docs.example")
    docs.behave("/inside", redirect("https://private.example/"))
    docs.behave("/port", redirect("https://docs.example:8443/"))
    world.host("docs-too.example", port=80)
    index_pages(world.host("index.example", at="151.101.129.223"))
    world.host("new.example", at=OTHER)
    world.host("middle.example", at="151.101.193.223", certified="other.example")
    for name, address in INSIDE.items():
        world.host(name, at=address)
    world.names["rebound.example"] = [[PUBLIC], ["127.0.0.1"]]
    world.names["mixed.example"] = ["151.101.65.223", "10.0.0.1"]
    yield world
    world.close()


@pytest.fixture(scope="module")
def relay() -> Iterator[RelayHost]:
    with RelayHost() as host:
        yield host


def play(host: RelayHost, world: World, authority: Authority, knock: Knock, *, withstood: bool) -> None:
    knock.twin(Way(host, world, knock, authority.pem))
    way = Way(host, world, knock, authority.pem)
    for each in world.hosts.values():
        each.asked.clear()
    if withstood:
        knock.attack(way)
        return
    with pytest.raises(AssertionError):
        knock.attack(way)


@pytest.mark.parametrize("knock", SERIAL)
def test_the_relay_withstands(knock: Knock, relay: RelayHost, internet: World, trusting: Authority) -> None:
    play(relay, internet, trusting, knock, withstood=True)


@pytest.mark.long
@pytest.mark.parametrize("knock", KNOCKS, ids=lambda knock: knock.name)
def test_a_plain_proxy_does_not(knock: Knock, internet: World, trusting: Authority) -> None:
    with RelayHost(plain=True) as plain:
        play(plain, internet, trusting, knock, withstood=False)


@pytest.mark.long
@pytest.mark.parametrize(
    ("defence", "name"),
    [pytest.param(defence, name, id=f"{defence.name}: {name}") for defence in KNOCKOUTS for name in defence.noticed_by],
)
def test_the_attack_notices_that_a_defence_is_gone(
    defence: Knockout, name: str, internet: World, trusting: Authority, tmp_path: Path
) -> None:
    with RelayHost(copy_without(defence, tmp_path)) as weakened:
        play(weakened, internet, trusting, BY_NAME[name], withstood=False)


def test_every_attack_is_noticed_by_a_knock_out() -> None:
    assert {name for defence in KNOCKOUTS for name in defence.noticed_by} == set(BY_NAME)
