"""The host that was decided on is the host that is dialled, however it is spelled, and never one that is not public."""

from __future__ import annotations

import asyncio
import hashlib
import socket
from collections.abc import Iterator, Sequence
from itertools import islice

import h11
import pytest

from drydock.egress.address import Address, Kind, kind_of
from drydock.egress.grants import Bounds, PackagesGrant, WebGrant
from drydock.egress.url import URL, BadURL, join, parse
from drydock.errors import Invalid
from tests.egress.door import Door
from tests.egress.readings import Place, browser, canonical, numeric, python
from tests.egress.spellings import references, spellings

SEED = 20_260_101
BATCH = 20_000
BASE = "https://index.example/simple/alpha/"
SLICE = pytest.param(SEED, 20_000, id="a slice")
MILLION = pytest.param(SEED + 1, 1_000_000, id="a million", marks=[pytest.mark.long, pytest.mark.timeout(2400)])
ANSWERS = (
    ["93.184.215.14"],
    ["93.184.215.14", "10.0.0.1"],
    ["127.0.0.1"],
    ["2606:2800:21f:cb07::1"],
    ["::ffff:7f00:1"],
)


class Ledger:
    """A resolver and a network that write down what they are asked for; every name has addresses of its own."""

    def __init__(self) -> None:
        self.looked_up: list[str] = []
        self.dialled: list[tuple[Address, int]] = []

    def addresses(self, host: str) -> list[str]:
        return ANSWERS[hashlib.blake2b(host.encode()).digest()[0] % len(ANSWERS)]

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.looked_up.append(host)
        return self.addresses(host)

    async def connect(self, address: Address, port: int) -> socket.socket:
        self.dialled.append((address, port))
        raise ConnectionRefusedError(111, "Connection refused")

    def check(self, text: str, read: Place | None) -> bool:
        """Whether it was dialled at all, and then the host that everybody reads in it; forgets it."""
        looked_up, dialled = self.looked_up, self.dialled
        self.looked_up, self.dialled = [], []
        assert len(looked_up) <= 1, (text, looked_up)
        assert all(port == 443 and kind_of(address) is Kind.PUBLIC for address, port in dialled), (text, dialled)
        if not looked_up and not dialled:
            return False
        decided = looked_up[0] if looked_up else str(dialled[0][0])
        readings = {one for one in (read, *python(text)) if one is not None}
        assert readings == {Place("https", decided, 443)}, (text, looked_up, dialled, readings)
        assert numeric(decided) == (None if looked_up else decided), (text, looked_up)
        may = set(self.addresses(decided)) if looked_up else {decided}
        assert {str(address) for address, _ in dialled} <= may, (text, dialled)
        return bool(dialled)


class Speaker:
    """Says request after request on one connection as long as the relay keeps it, and waits for each answer."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._line: socket.socket | None = None

    def ask(self, text: str) -> int:
        """The answer's status."""
        authority = text.partition("//")[2].partition("/")[0].partition("?")[0]
        written = f"GET {text} HTTP/1.1\r\nHost: {authority.rpartition('@')[2]}\r\n\r\n"
        line = self._line = self._line or self._door.connect()
        line.sendall(written.encode("utf-8", "surrogatepass"))
        http = h11.Connection(h11.CLIENT)
        http.send(h11.Request(method="GET", target="/", headers=[("Host", "x")]))
        http.send(h11.EndOfMessage())
        status = 0
        while not isinstance(event := http.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                http.receive_data(line.recv(65536))
            elif isinstance(event, h11.Response):
                status = event.status_code
                if (b"connection", b"close") in event.headers:
                    self.close()
        return status

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None


def batches(found: Iterator[str], base: str = "") -> Iterator[tuple[str, Place | None]]:
    while texts := list(islice(found, BATCH)):
        yield from zip(texts, browser(texts, base), strict=True)


@pytest.mark.parametrize(("seed", "count"), [SLICE, MILLION])
def test_what_a_program_spells_is_dialled_as_decided_or_not_at_all(seed: int, count: int) -> None:
    ledger = Ledger()
    bounds = Bounds(requests=count, seconds=3600, refusal_seconds=0)
    dialled = 0
    with Door(WebGrant(), bounds=bounds, resolve=ledger.resolve, connect=ledger.connect) as door:
        speaker = Speaker(door)
        for text, read in batches(spellings(seed, count)):
            status = speaker.ask(text)
            assert status >= 400, (text, status)
            dialled += ledger.check(text, read)
        speaker.close()
        assert door.relay.denied == count
    assert dialled > count / 50, "the grammar makes too few URLs that are taken"


@pytest.mark.parametrize(("seed", "count"), [SLICE, MILLION])
def test_what_is_taken_for_a_url_is_read_alike_by_everybody(seed: int, count: int) -> None:
    taken = 0
    for text, read in batches(spellings(seed + 7, count)):
        try:
            url = parse(text)
        except BadURL:
            continue
        taken += 1
        agreed(text, url, [read, *python(text)])
        assert parse(str(url)) == url
    assert taken > count / 50


@pytest.mark.parametrize(("seed", "count"), [SLICE, MILLION])
def test_a_link_and_a_redirect_lead_where_a_browser_would_go(seed: int, count: int) -> None:
    base = parse(BASE)
    taken = 0
    for text, read in batches(references(seed + 9, count), BASE):
        try:
            url, _ = join(base, text)
        except BadURL:
            continue
        taken += 1
        agreed(text, url, [read])
    assert taken > count / 50


def agreed(text: str, url: URL, readings: Sequence[Place | None]) -> None:
    """A reader that refuses it has no other host in mind."""
    mine = Place(url.scheme, canonical(url.host), url.port)
    assert {one for one in readings if one is not None} <= {mine}, (text, mine, readings)
    number = numeric(url.host)
    assert number in (None, mine.host), (text, url, number)


def test_a_refused_lookup_of_a_million_names_leaves_no_task_behind() -> None:
    ledger = Ledger()

    async def count() -> int:
        return len(asyncio.all_tasks())

    with Door(WebGrant(), bounds=Bounds(refusal_seconds=0), resolve=ledger.resolve, connect=ledger.connect) as door:
        speaker = Speaker(door)
        for number in range(200):
            speaker.ask(f"https://n{number}.example/")
        speaker.close()
        assert door.run(count()) <= 4


@pytest.mark.parametrize(("seed", "count"), [SLICE, MILLION])
def test_an_index_setting_names_the_host_that_everybody_reads_in_it(seed: int, count: int) -> None:
    """Callers may name an index too: what is judged must be what is dialled, whatever stands before an `@`."""
    taken = 0
    for text, read in batches(spellings(seed + 11, count)):
        try:
            index = PackagesGrant.of("pypi", text).index
        except Invalid:
            continue
        taken += 1
        agreed(text, index, [read, *python(text)])
    assert taken > count / 50
