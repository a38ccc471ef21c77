"""What one box may use of its relay, each bound from the attack on it."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from drydock.egress import dial
from drydock.egress.grants import Bounds, PackagesGrant, WebGrant
from tests.egress.door import Door, everything, request
from tests.egress.raw import Raw, answer
from tests.egress.world import PUBLIC, World

FILE = "file-1.0.tar.gz"
LARGE = 40 * 1024 * 1024


@pytest.fixture
def raw() -> Iterator[Raw]:
    with Raw(file=answer(b"x" * 1000)) as made:
        yield made


def door_to(raw: Raw, bounds: Bounds) -> Door:
    return Door(PackagesGrant.of("pypi", raw.index), bounds=bounds)


def link(door: Door, name: str = "alpha") -> str:
    """The path of the file that this project's page links to."""
    page = door.get(f"/pypi/simple/{name}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"}).json()
    return str(page["files"][0]["url"]).removeprefix(door.url)


def silent(raw: Raw) -> Callable[[socket.socket], None]:
    return lambda line: void(raw.closing.wait(60))


def dripping(raw: Raw) -> Callable[[socket.socket], None]:
    def drip(line: socket.socket) -> None:
        line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not raw.closing.wait(0.02):
            line.sendall(b"x")

    return drip


def void(_: object) -> None:
    pass


def test_bytes_are_counted_over_all_files(raw: Raw) -> None:
    with door_to(raw, Bounds(bytes=4500)) as door:
        file = link(door)
        statuses = [door.get(file).status_code for _ in range(6)]
        assert statuses[:3] == [200] * 3
        assert statuses[3:] == [403] * 3
        assert set(door.denied) == {"bytes"}


def test_a_file_larger_than_what_is_left_is_refused_before_its_first_byte(raw: Raw) -> None:
    raw.says["/f/file"] = answer(b"x" * 100_000)
    with door_to(raw, Bounds(bytes=90_000)) as door:
        assert "ask for less" in door.get(link(door)).text
        assert door.denied == ["bytes"]


def test_requests_are_counted_the_refused_ones_too(raw: Raw) -> None:
    with door_to(raw, Bounds(requests=3)) as door:
        file = link(door)
        assert [door.get(path).status_code for path in (file, "/odd", file)] == [200, 403, 429]
        assert door.denied == ["path", "requests"]


def test_after_its_time_nothing_is_done_any_more(raw: Raw) -> None:
    raw.says["/f/file"] = silent(raw)
    with door_to(raw, Bounds(seconds=0.5)) as door:
        file = link(door)
        assert door.get(file).status_code == 504
        assert door.get("/pypi/simple/alpha/").status_code == 429
        assert door.denied == ["seconds", "seconds"]


def test_one_connection_too_many_is_told_so_and_the_others_go_on(raw: Raw) -> None:
    with door_to(raw, Bounds(connections=3)) as door:
        held = [door.connect() for _ in range(3)]
        for line in held:
            line.sendall(request("/pypi/simple/alpha/").replace(b"close", b"keep-alive"))
            assert line.recv(12) == b"HTTP/1.1 200"
        with door.connect() as line:
            assert b"at once" in everything(line)
        held[0].sendall(request("/odd"))
        assert b"no page of a package index" in everything(held[0])
        assert door.denied == ["connections", "path"]
        for line in held:
            line.close()


def test_a_flood_of_refusals_is_slowed_down_and_recorded_up_to_a_hundred(raw: Raw) -> None:
    with door_to(raw, Bounds(refusal_seconds=0.05)) as door:
        for _ in range(100):
            door.get("/odd")
        began = time.monotonic()
        for _ in range(10):
            door.get("/odd")
        assert time.monotonic() - began >= 0.5
        assert len(door.relay.denials) == 100
        assert door.relay.denied == 110


def test_a_head_that_comes_too_slowly_ends_the_connection(raw: Raw) -> None:
    with door_to(raw, Bounds(head_seconds=0.2)) as door, door.connect() as line:
        line.sendall(b"GET / HT")
        assert everything(line).startswith(b"HTTP/1.1 408 ")
        assert door.denied == ["slow"]


def test_an_idle_connection_is_ended_without_a_word(raw: Raw) -> None:
    with door_to(raw, Bounds(idle_seconds=0.2)) as door, door.connect() as line:
        assert everything(line) == b""
        assert door.denied == []


def test_a_silent_host_is_left(raw: Raw) -> None:
    with door_to(raw, Bounds(upstream_seconds=0.2)) as door:
        file = link(door)
        raw.says["/f/file"] = silent(raw)
        reply = door.get(file)
        assert (reply.status_code, door.denied) == (504, ["slow"])
        assert "said nothing for 0.2 s" in reply.text


@pytest.mark.parametrize("where", ["/f/file", "/simple/alpha/"])
def test_a_host_that_drips_is_left_when_the_replys_time_is_over(raw: Raw, where: str) -> None:
    with door_to(raw, Bounds(reply_seconds=0.5)) as door:
        file = link(door)
        raw.says[where] = dripping(raw)
        with door.connect() as line:
            line.sendall(request(file if where == "/f/file" else "/pypi/simple/alpha/"))
            heard = everything(line)
        assert len(heard) < 1000
        assert door.denied == ["slow"]


def test_a_program_that_does_not_read_is_cut_off_and_holds_little_of_our_memory(raw: Raw) -> None:
    """The file is larger than the sockets' buffers; its host sees the end of the connection."""
    cut = threading.Event()

    def pour(line: socket.socket) -> None:
        line.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {LARGE}\r\n\r\n".encode())
        try:
            for _ in range(LARGE // 65536):
                line.sendall(b"x" * 65536)
        except OSError:
            cut.set()

    raw.says["/f/file"] = pour
    with door_to(raw, Bounds(upstream_seconds=0.5)) as door:
        file = link(door)
        with door.connect() as line:
            line.sendall(request(file))
            assert cut.wait(20)
            assert door.denied == ["slow"]


def test_a_program_that_reads_a_byte_at_a_time_is_cut_off_too(raw: Raw) -> None:
    raw.says["/f/file"] = answer(b"x" * LARGE)
    with door_to(raw, Bounds(reply_seconds=1)) as door:
        file = link(door)
        with door.connect() as line:
            line.sendall(request(file))
            while not door.denied:
                assert line.recv(1)
        assert door.denied == ["slow"]


def test_a_page_may_have_so_many_bytes_told_or_not(raw: Raw) -> None:
    raw.says["/simple/beta/"] = answer(b"<a" * 5000, "Content-Type: text/html")
    raw.says["/simple/gamma/"] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + b"<a" * 5000
    with door_to(raw, Bounds(page_bytes=9999)) as door:
        assert [door.get(f"/pypi/simple/{name}/").status_code for name in ("beta", "gamma")] == [502, 502]
        assert door.denied == ["page", "page"]


def test_a_box_may_know_so_many_files(raw: Raw) -> None:
    raw.page("beta", {f"beta-1.{number}.tar.gz": f"/f/{number}" for number in range(9)})
    with door_to(raw, Bounds(links=9)) as door:
        assert door.get("/pypi/simple/beta/").status_code == 200
        assert door.get("/pypi/simple/beta/").status_code == 200
        assert door.get("/pypi/simple/alpha/").status_code == 429
        assert door.denied == ["links"]


def test_large_pages_are_held_one_at_a_time(raw: Raw) -> None:
    """One client asks for it and does not read; another one has it only when the first was cut off."""
    entry = {"filename": "beta-1.0.tar.gz", "url": "/f/beta", "hashes": {}, "requires-python": "9" * 500}
    page = json.dumps({"files": [entry] * 20_000}).encode()
    raw.says["/simple/beta/"] = answer(page, "Content-Type: application/vnd.pypi.simple.v1+json")
    with door_to(raw, Bounds(upstream_seconds=1)) as door, door.connect() as unread:
        unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        unread.sendall(request("/pypi/simple/beta/"))
        while not raw.asked:
            assert not door.crashed
        assert door.get("/pypi/simple/alpha/").status_code == 200
        assert door.denied == []
        assert door.get("/pypi/simple/beta/").status_code == 200
        assert door.denied == ["slow"]


def test_a_host_that_does_not_answer_the_phone_is_left_and_so_is_its_name_server(world: World) -> None:
    world.names["docs.example"] = [PUBLIC]

    async def hanging(*_: object) -> socket.socket:
        await asyncio.Event().wait()
        raise AssertionError

    async def hanging_lookup(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        raise AssertionError

    for parts in ({"connect": hanging}, {"resolve": hanging_lookup}):
        with Door(WebGrant(), bounds=Bounds(connect_seconds=0.2), **{**world.parts, **parts}) as door:
            assert b" 504 " in door.say(request("https://docs.example/", "docs.example"))
            assert door.denied == ["slow"]


def test_names_are_looked_up_a_few_at_a_time_also_when_nobody_waits_any_more() -> None:
    asked: list[str] = []

    async def hanging(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        await asyncio.Event().wait()
        raise AssertionError

    with Door(WebGrant(), bounds=Bounds(connect_seconds=0.1, refusal_seconds=0), resolve=hanging) as door:
        for number in range(20):
            door.say(request(f"https://n{number}.example/", f"n{number}.example"))
        assert len(asked) == dial.LOOKUPS
        assert set(door.denied) == {"slow"}


def test_the_systems_resolver_is_asked_in_a_thread_of_its_own(world: World) -> None:
    parts = {name: part for name, part in world.parts.items() if name != "resolve"}
    with Door(WebGrant(), **parts) as door:
        assert b"loopback" in door.say(request("https://localhost/", "localhost"))
        assert b"no usable addresses" in door.say(request("https://nobody.invalid/", "nobody.invalid"))
        assert door.denied == ["address", "upstream"]


def test_redirects_are_followed_a_few_times(raw: Raw) -> None:
    for number in range(9):
        raw.says[f"/f/{number}"] = answer(b"", f"Location: /f/{number + 1}", status="302 Found")
    raw.says["/f/5"] = answer(b"there")
    raw.page("beta", {"beta-1.0.tar.gz": "/f/0"})
    with door_to(raw, Bounds()) as door:
        assert door.get(link(door, "beta")).text == "there"
        raw.says["/f/5"] = answer(b"", "Location: /f/6", status="302 Found")
        assert door.get(link(door, "beta")).status_code == 403
        assert door.denied == ["redirect"]


def test_a_closed_relay_has_nothing_running(raw: Raw) -> None:
    raw.says["/f/file"] = silent(raw)
    with door_to(raw, Bounds()) as door:
        file = link(door)
        with door.connect() as line:
            line.sendall(request(file))
            while len(raw.asked) < 2:
                assert not door.crashed
            door.run(door.relay.close())
            assert everything(line) == b""
        assert door.say(request("/pypi/simple/alpha/")) == b""


def test_another_address_of_a_host_is_tried_when_one_is_silent(world: World) -> None:
    site = world.host("docs.example")
    world.names["docs.example"] = ["151.101.65.223", PUBLIC]
    with Door(WebGrant(), **world.parts) as door:
        assert b" 200 " in door.say(request("https://docs.example/", "docs.example"))
    assert [address for address, _ in world.dialled] == ["151.101.65.223", PUBLIC]
    assert len(site.asked) == 1
