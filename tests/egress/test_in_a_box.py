"""Hostile programs in real boxes, with a relay on their one door."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from drydock.box.limits import Limits
from drydock.box.pool import Pool
from drydock.egress.grants import Bounds, Grant, PackagesGrant, WebGrant
from drydock.egress.relay import Relay
from tests.attacks.listeners import Listeners
from tests.box.conftest import Fleet, python
from tests.egress.raw import Raw, answer
from tests.egress.world import World

PORT = 8377
ASK = f"""
import socket, sys
def ask(said, wait=20):
    with socket.create_connection(("127.0.0.1", {PORT}), wait) as line:
        line.sendall(said.encode("latin-1"))
        got = b""
        try:
            while piece := line.recv(65536):
                got += piece
        except OSError:
            pass
        return got
def connect():
    return socket.create_connection(("127.0.0.1", {PORT}), 10)
def get(target, host="127.0.0.1"):
    return ask(f"GET {{target}} HTTP/1.1\\r\\nHost: {{host}}\\r\\nConnection: close\\r\\n\\r\\n")
"""
FINE = b"FINE\n"


@pytest.fixture
def raw() -> Iterator[Raw]:
    with Raw(file=answer(b"FINE")) as made:
        yield made


class InABox:
    """Runs programs in a box that has a relay on its door; `denied` are the classes of the last one's refusals."""

    def __init__(self, fleet: Fleet, pool: Pool) -> None:
        self._fleet = fleet
        self._pool = pool
        self.denied: list[str] = []
        self.relay: Relay | None = None

    def run(self, program: str, *grants: Grant, bounds: Bounds = Bounds(), **parts: Any) -> bytes:  # noqa: B008 - frozen
        return self._fleet.run(self._run(program, grants, bounds, parts))

    async def _run(self, program: str, grants: tuple[Grant, ...], bounds: Bounds, parts: dict[str, Any]) -> bytes:
        relay = self.relay = Relay(grants, bounds, **parts)
        outcome = await self._pool.run(python(ASK + program), Limits(wall_ms=30_000), doors={PORT: relay.handler})
        await relay.close()
        self.denied = [denial.kind for denial in relay.denials]
        assert not outcome.stderr, outcome.stderr
        return outcome.stdout


@pytest.fixture
def box(fleet: Fleet, pool: Pool) -> InABox:
    return InABox(fleet, pool)


def test_a_box_with_packages_gets_a_file_that_its_index_links_to(box: InABox, raw: Raw) -> None:
    twin = """
import re
page = get("/pypi/simple/alpha/").decode()
path = re.search(r'href="http://127.0.0.1(/files/[^"]+)"', page)[1]
print(get(path).decode().rpartition("\\r\\n")[2])
"""
    assert box.run(twin, PackagesGrant.of("pypi", raw.index)) == FINE
    assert box.denied == []


def test_the_door_of_one_box_leads_to_no_service_of_the_host(box: InABox, raw: Raw, tmp_path: Any) -> None:
    listeners = Listeners(tmp_path / "listening.sock")
    attack = f"""
ports = {[int(listeners.places()[name]) for name in ("TCP", "TCP6")]}
for port in ports:
    for host in ("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "127.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"):
        for scheme in ("http", "https"):
            for target in (f"{{scheme}}://{{host}}:{{port}}/", f"//{{host}}:{{port}}/", f"/@{{host}}:{{port}}/"):
                if b"welcome" in get(target, f"{{host}}:{{port}}"):
                    print("BREACH", target)
        if b"welcome" in ask(f"CONNECT {{host}}:{{port}} HTTP/1.1\\r\\nHost: {{host}}:{{port}}\\r\\n\\r\\n"):
            print("BREACH by CONNECT", host)
        if b"welcome" in ask(f"\\x05\\x01\\x00\\x05\\x01\\x00\\x03{{chr(len(host))}}{{host}}\\x00\\x50\\r\\n\\r\\n"):
            print("BREACH by SOCKS", host)
print("FINE")
"""
    try:
        grants = PackagesGrant.of("pypi", raw.index), WebGrant()
        assert box.run(attack, *grants, bounds=Bounds(refusal_seconds=0)) == FINE
        assert listeners.heard() == b""
    finally:
        listeners.close()
    assert box.relay is not None
    assert box.relay.denied == 128
    assert raw.asked == []


def test_nothing_but_a_name_leaves_a_box_that_has_packages_alone(box: InABox, raw: Raw) -> None:
    attack = """
secret = "stolen" * 10
get("/pypi/simple/alpha/?" + secret)
get("/pypi/simple/alpha/#" + secret)
get("/pypi/simple/../" + secret)
ask(f"GET /pypi/simple/alpha/ HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nCookie: {secret}\\r\\nX: {secret}\\r\\n"
    f"If-None-Match: {secret}\\r\\nRange: {secret}\\r\\nAccept: {secret}\\r\\nConnection: close\\r\\n\\r\\n")
ask(f"PUT /pypi/simple/alpha/ HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nContent-Length: 60\\r\\n\\r\\n{secret}")
print("FINE")
"""
    assert box.run(attack, PackagesGrant.of("pypi", raw.index)) == FINE
    assert len(raw.asked) == 1
    assert b"stolen" not in raw.asked[0]
    assert box.denied == ["path", "path", "path", "method"]


def test_a_flood_of_connections_stays_in_the_box(box: InABox, raw: Raw) -> None:
    attack = """
held, refused = [], 0
for _ in range(150):
    held.append(connect())
for line in held:
    line.settimeout(0.05)
    try:
        refused += not line.recv(1) or 1
    except OSError:
        pass
print("FINE" if refused == 134 else refused)
"""
    assert box.run(attack, PackagesGrant.of("pypi", raw.index), bounds=Bounds(connections=16)) == FINE
    assert set(box.denied) == {"connections"}


def test_a_box_that_knocks_as_fast_as_it_can_is_let_in_slowly(fleet: Fleet, pool: Pool, raw: Raw) -> None:
    """Else what it costs the server, which serves every tenant from one thread, is not bounded by the box's CPU."""
    came = 0
    relay = Relay([PackagesGrant.of("pypi", raw.index)])

    async def counted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal came
        came += 1
        await relay.handler(reader, writer)

    attack = """
import time
until = time.monotonic() + 2
tried = 0
while time.monotonic() < until:
    line = socket.socket()
    line.setblocking(False)
    line.connect_ex(("127.0.0.1", 8377))
    line.close()
    tried += 1
print("FINE" if tried > 5000 else tried)
"""
    assert fleet.run(pool.run(python(ASK + attack), Limits(), doors={PORT: counted})).stdout == FINE
    fleet.run(relay.close())
    assert came < 2500


def test_the_door_of_one_box_is_no_door_of_its_neighbour(fleet: Fleet) -> None:
    neighbour = """
for host in ("127.0.0.1", "0.0.0.0", "::1"):
    try:
        print("BREACH", socket.create_connection((host, 8377), 2))
    except OSError:
        pass
print("FINE")
"""

    async def together() -> tuple[bytes, bytes]:
        came, over = asyncio.Event(), asyncio.Event()

        async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            came.set()
            await over.wait()
            writer.write(FINE)

        two = Pool(fleet.yard, 2)
        await two.start()
        mine = asyncio.create_task(
            two.run(python(ASK + "print(ask('').decode(), end='')"), Limits(), doors={PORT: wait})
        )
        await came.wait()
        theirs = await two.run(python(ASK + neighbour), Limits())
        over.set()
        outcome = await mine
        await two.close()
        return outcome.stdout, theirs.stdout

    assert fleet.run(together()) == (FINE, FINE)


def test_a_box_that_has_the_web_reads_a_page_and_no_neighbour(box: InABox, world: World) -> None:
    world.host("docs.example")
    world.names["inside.example"] = ["10.0.0.1"]
    attack = """
for host in ("inside.example", "169.254.169.254", "[fd00:ec2::254]", "metadata.google.internal", "10.0.0.1"):
    if b" 200 " in get(f"https://{host}/", host):
        print("BREACH", host)
print("FINE" if b" 200 " in get("https://docs.example/", "docs.example") else "cut off")
"""
    assert box.run(attack, WebGrant(), **world.parts) == FINE
    assert box.denied == ["address", "address", "address", "upstream", "address"]
    assert len(world.dialled) == 1


def test_a_box_that_ends_takes_its_connections_along(box: InABox, raw: Raw) -> None:
    raw.says["/simple/alpha/"] = lambda line: void(raw.closing.wait(30))
    attack = """
lines = [connect() for _ in range(8)]
for line in lines:
    line.sendall(b"GET /pypi/simple/alpha/ HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n\\r\\n")
print("FINE")
"""
    assert box.run(attack, PackagesGrant.of("pypi", raw.index)) == FINE


def void(_: object) -> None:
    pass
