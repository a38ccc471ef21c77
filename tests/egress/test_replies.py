"""What hostile hosts outside answer: the program inside gets a whole reply, or a cut that looks like one, and never a
reply that another host has slipped in."""

from __future__ import annotations

import http.client
import random
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from drydock.egress.grants import Bounds, PackagesGrant
from tests.egress.door import Door
from tests.egress.raw import Raw, answer

OK = b"HTTP/1.1 200 OK\r\n"
EVIL = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL"
PATIENT = Bounds(requests=1_000_000, seconds=3600, refusal_seconds=0, upstream_seconds=5)


class Twice:
    """Asks for the hostile file and then, on the same connection if it is kept, for an honest one."""

    def __init__(self, raw: Raw, bounds: Bounds = PATIENT) -> None:
        raw.says["/f/honest"] = answer(b"HONEST")
        self._raw = raw
        self.door = Door(PackagesGrant.of("pypi", raw.index), bounds=bounds)
        page = self.door.get("/pypi/simple/alpha/", headers={"Accept": "application/vnd.pypi.simple.v1+json"}).json()
        self._paths = {entry["filename"]: entry["url"].removeprefix(self.door.url) for entry in page["files"]}
        self._line = http.client.HTTPConnection("127.0.0.1", self.door.port, timeout=20)

    def ask(self, method: str = "GET") -> tuple[int, bytes | None]:
        """Status and body of the hostile file, None for a body that was cut; AssertionError when the honest one is not
        what comes next."""
        status, body = self._get("hostile", method)
        assert self._get("honest", "GET") == (200, b"HONEST"), (status, body)
        return status, body

    def _get(self, name: str, method: str) -> tuple[int, bytes | None]:
        self._line.request(method, self._paths[f"{name}-1.0.tar.gz"])
        try:
            reply = self._line.getresponse()
            return reply.status, reply.read()
        except (http.client.HTTPException, ConnectionResetError):
            self._line.close()
            return 0, None

    def __enter__(self) -> Twice:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()
        self.door.close()


@pytest.fixture
def raw() -> Iterator[Raw]:
    with Raw(hostile=b"", honest=b"") as made:
        yield made


@pytest.mark.parametrize(
    "said",
    [
        OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n" + b"0\r\n\r\n" + EVIL,
        OK + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n2a\r\nhello" + EVIL + b"\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nContent-Length: 9\r\n\r\n",
        OK + b"Content-Length: 5\r\nContent-Length: 60\r\n\r\nhello" + EVIL,
        OK + b"Content-Length: 5, 60\r\n\r\nhello" + EVIL,
        OK + b"Content-Length: +5\r\n\r\nhello" + EVIL,
        OK + b"Content-Length: 0x5\r\n\r\nhello" + EVIL,
        OK + b"Content-Length: 99999999999999999999999\r\n\r\nhello",
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: identity\r\n\r\nhello",
        OK + b"Transfer-Encoding: \x0bchunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding : chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        OK + b"Etag: a\rb\r\nContent-Length: 5\r\n\r\nhello",
        OK + b"Etag: a\nX: b\r\nContent-Length: 5\r\n\r\nhello",
        OK + b"Etag: \"a\r\n b\"\r\nContent-Length: 5\r\n\r\nhello",
        OK + b"Etag: \"a\0b\"\r\nContent-Length: 5\r\n\r\nhello",
        OK.replace(b"1.1", b"0.9") + b"\r\nhello",
        OK.replace(b"200", b"99") + b"\r\nhello",
        OK.replace(b"200", b"101") + b"Upgrade: h2c\r\nConnection: Upgrade\r\n\r\nhello",
        b"hello, I do not speak HTTP",
        b"",
        OK,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 9 + OK + b"Content-Length: 5\r\n\r\nhello",
        OK + b"X: " + b"a" * 200_000 + b"\r\n\r\n",
        OK + b"X: y\r\n" * 20_000 + b"\r\n",
    ],
)  # fmt: skip
def test_an_answer_that_can_be_read_in_two_ways_is_no_answer(raw: Raw, said: bytes) -> None:
    raw.says["/f/hostile"] = said
    with Twice(raw) as twice:
        assert twice.ask()[0] == 502
        assert twice.door.denied == ["upstream"]


@pytest.mark.parametrize(
    ("said", "body"),
    [
        (OK + b"Content-Length: 5\r\n\r\nhello" + EVIL, b"hello"),
        (OK + b"Content-Length: 5\r\nConnection: keep-alive\r\n\r\nhello" + EVIL, b"hello"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nX: 9\r\n\r\n" + EVIL, b"hello"),
        (OK + b"\r\nhello" + EVIL, b"hello" + EVIL),
        (OK.replace(b"1.1", b"1.0") + b"\r\nhello", b"hello"),
        (b"HTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\n\r\n" + OK + b"Content-Length: 5\r\n\r\nhello", b"hello"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhello", b"hello"),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n" + EVIL, b""),
    ],
)  # fmt: skip
def test_what_follows_an_answer_is_never_taken_for_the_next_one(raw: Raw, said: bytes, body: bytes) -> None:
    raw.says["/f/hostile"] = said
    with Twice(raw) as twice:
        assert twice.ask()[1] == body
        assert twice.ask("HEAD")[1] == b""
        assert twice.door.denied == []


@pytest.mark.parametrize(
    "said",
    [
        OK + b"Content-Length: 50\r\n\r\nhello",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\n" + b"x" * 10 + b"0\r\n\r\n",
    ],
)
def test_a_body_that_breaks_off_does_not_pass_for_a_whole_one(raw: Raw, said: bytes) -> None:
    raw.says["/f/hostile"] = said
    with Twice(raw) as twice:
        status, body = twice.ask()
        assert body is None or status == 502
        assert twice.door.denied == ["upstream"]


def test_headers_that_could_harm_or_tell_stay_outside(raw: Raw) -> None:
    told = ("Set-Cookie: a=b", "Location: http://10.0.0.1/", "Etag: \xe9", "Server: inside", "Refresh: 0")
    raw.says["/f/hostile"] = answer(b"hello", *told)
    with Twice(raw) as twice:
        reply = twice.door.get(next(path for name, path in twice._paths.items() if "hostile" in name))
        assert set(reply.headers) == {"content-length", "connection"}


def chunks_of_one(line: socket.socket) -> None:
    line.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    for _ in range(40):
        line.sendall(b"1\r\nx\r\n" * 50_000)
    line.sendall(b"0\r\n\r\n")


def endless_extension(line: socket.socket) -> None:
    line.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n1;")
    while True:
        line.sendall(b"x" * 65536)


@pytest.mark.serial
def test_two_million_chunks_of_one_byte_do_not_keep_others_waiting(raw: Raw) -> None:
    raw.says["/f/hostile"] = chunks_of_one
    with Twice(raw) as twice, Twice(raw) as other:
        twice._line.request("GET", twice._paths["hostile-1.0.tar.gz"])
        slowest = 0.0
        for _ in range(50):
            began = time.monotonic()
            assert other._get("honest", "GET") == (200, b"HONEST")
            slowest = max(slowest, time.monotonic() - began)
        assert twice._line.getresponse().read() == b"x" * 2_000_000
        assert slowest < 1


def test_the_framing_counts_among_the_bytes_that_a_box_may_receive(raw: Raw) -> None:
    raw.says["/f/hostile"] = endless_extension
    with Twice(raw, Bounds(bytes=5_000_000)) as twice:
        twice._get("hostile", "GET")
        assert twice.door.denied == ["bytes"]


HEADERS = (
    *(b"Content-Length: 5", b"Content-Length: 0", b"Content-Length: 500", b"content-length:5", b"Content-Length: 5,5"),
    *(b"Transfer-Encoding: chunked", b"Transfer-Encoding: Chunked", b"Transfer-Encoding: chunked, chunked"),
    *(b"Transfer-Encoding: identity", b"Connection: close", b"Connection: keep-alive", b"Connection: Upgrade"),
    *(b"Upgrade: x", b"Content-Type: a/b", b"Etag: x", b"X: y", b" folded", b"nonsense", b": x"),
)  # fmt: skip
BODIES = (
    *(b"hello", b"", b"5\r\nhello\r\n0\r\n\r\n", b"5\r\nhello\r\n0\r\nX: y\r\n\r\n", b"5;a=b\r\nhello\r\n0\r\n\r\n"),
    *(b"5\nhello\n0\n\n", b"05\r\nhello\r\n00\r\n\r\n", b"-1\r\n", b"ffffffffffffffff\r\nx", b"\x1f\x8b\x08\0" * 9),
)
BITS = (b"\0", b"\r", b"\n", b"\r\n", b"\r\n\r\n", b" ", b"\t", b":", b"0", b"1", b"f", b"\xff", b";", EVIL)


def answers(seed: int, count: int) -> Iterator[bytes]:
    choose = random.Random(seed)
    for _ in range(count):
        status = choose.choice(
            (b"200", b"200", b"200", b"204", b"206", b"304", b"404", b"100", b"301", b"500", b"2000")
        )
        version = choose.choice((b"1.1", b"1.1", b"1.1", b"1.0", b"2.0"))
        headers = choose.sample(HEADERS, choose.choice((0, 1, 1, 2, 2, 3)))
        said = b"\r\n".join([b"HTTP/%b %b OK" % (version, status), *headers, b"", b""]) + choose.choice(BODIES)
        said += choose.choice((b"", b"", EVIL, b"\r\n" + EVIL))
        for _ in range(choose.choice((0, 0, 1, 2))):
            at = choose.randint(0, len(said))
            said = said[:at] + choose.choice(BITS) + said[at + choose.choice((0, 0, 1, 5)) :]
        yield said


@pytest.mark.parametrize(
    ("seed", "count"),
    [
        pytest.param(3, 2_000, id="a slice"),
        pytest.param(4, 60_000, id="many", marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
    ],
)
def test_no_mutation_of_an_answer_crashes_the_relay_or_changes_the_next_one(raw: Raw, seed: int, count: int) -> None:
    whole = 0
    with Twice(raw) as twice:
        for said in answers(seed, count):
            raw.says["/f/hostile"] = said
            whole += twice.ask()[0] == 200
    assert whole > count / 20


def test_an_answer_in_any_slices_is_read_alike(raw: Raw) -> None:
    said = OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"

    def sliced(size: int) -> Callable[[socket.socket], None]:
        def say(line: socket.socket) -> None:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for at in range(0, len(said), size):
                line.sendall(said[at : at + size])

        return say

    with Twice(raw) as twice:
        for size in (1, 2, 3, 7):
            raw.says["/f/hostile"] = sliced(size)
            assert twice.ask() == (200, b"hello world")
