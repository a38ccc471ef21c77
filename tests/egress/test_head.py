"""Heads of requests as an attacker writes them: refused, with not a byte to anybody outside."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator

import h11
import pytest

from drydock.egress.grants import Bounds, PackagesGrant, WebGrant
from tests.egress.door import Door, everything, request
from tests.egress.raw import Raw, answer
from tests.egress.world import World

PAGE = "/pypi/simple/alpha/"
GOOD = f"GET {PAGE} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
HEAD = f"GET {PAGE} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
PATIENT = Bounds(requests=1_000_000, seconds=3600, refusal_seconds=0)


@pytest.fixture
def raw() -> Iterator[Raw]:
    with Raw() as made:
        yield made


@pytest.mark.parametrize(
    "said",
    [
        "GET " + PAGE + "\r\n",
        "GET " + PAGE + "\r\n\r\n",
        HEAD.replace("1.1", "1.0", 1) + "\r\n",
        HEAD.replace("1.1", "2.0", 1) + "\r\n",
        HEAD.replace("HTTP", "http", 1) + "\r\n",
        HEAD.replace("GET", "get", 1) + "\r\n",
        HEAD.replace("GET ", "GET  ", 1) + "\r\n",
        HEAD.replace("GET ", "GET\t", 1) + "\r\n",
        HEAD.replace(" HTTP/1.1", " HTTP/1.1 ", 1) + "\r\n",
        "\r\n" + HEAD + "\r\n",
        " " + HEAD + "\r\n",
        HEAD.replace("\r\n", "\n") + "\n",
        HEAD.replace("\r\n", "\r") + "\r",
        HEAD + " folded: x\r\n\r\n",
        HEAD + "X: a\r\n\tb\r\n\r\n",
        HEAD + "X : a\r\n\r\n",
        HEAD + ": a\r\n\r\n",
        HEAD + "X\r\n\r\n",
        HEAD + "X: a\0b\r\n\r\n",
        HEAD + "X: a\rb\r\n\r\n",
        HEAD + "X: \x7f\r\n\r\n",
        HEAD + "X\xe9: a\r\n\r\n",
        HEAD + "Host: 127.0.0.1\r\n\r\n",
        HEAD + "Host: inside.example\r\n\r\n",
        HEAD.replace("Host", "Hos", 1) + "\r\n",
        HEAD + "Content-Length: 0\r\n\r\n",
        HEAD + "Content-Length: 4\r\nContent-Length: 0\r\n\r\nGET ",
        HEAD + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        HEAD + "transfer-encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
        HEAD + "Expect: 100-continue\r\n\r\n",
        HEAD + "Upgrade: h2c\r\nConnection: upgrade\r\n\r\n",
        HEAD.replace(PAGE, PAGE + "\0") + "\r\n",
        HEAD.replace(PAGE, PAGE + "\xa0") + "\r\n",
        HEAD.replace(PAGE, PAGE + "%00") + "\r\n",
        HEAD.replace(PAGE, PAGE + "?x=y") + "\r\n",
        HEAD.replace(PAGE, PAGE + "#x") + "\r\n",
        HEAD.replace(PAGE, "/pypi/simple/../simple/alpha/") + "\r\n",
        HEAD.replace(PAGE, "/pypi/simple/%2e%2e/alpha/") + "\r\n",
        HEAD.replace(PAGE, "/pypi/simple/al%70ha/") + "\r\n",
        HEAD.replace(PAGE, "//pypi/simple/alpha/") + "\r\n",
        HEAD.replace(PAGE, "http://127.0.0.1" + PAGE) + "\r\n",
        HEAD.replace(PAGE, "*") + "\r\n",
        HEAD.replace("127.0.0.1", "127.0.0.1, inside.example") + "\r\n",
        HEAD.replace("127.0.0.1", "inside.example") + "\r\n",
        HEAD.replace("127.0.0.1", "127.0.0.1@inside.example") + "\r\n",
        HEAD + "X: 1\r\n" * 64 + "\r\n",
        HEAD + f"X: {'a' * 20_000}\r\n\r\n",
        HEAD + f"X: {'a' * 200_000}\r\n\r\n",
        HEAD + f"{'X' * 65}: a\r\n\r\n",
    ],
)
def test_a_head_that_can_be_read_in_two_ways_reaches_nobody(raw: Raw, said: str) -> None:
    with Door(PackagesGrant.of("pypi", raw.index)) as door:
        with door.connect() as line:
            line.sendall(said.encode("latin-1"))
            line.shutdown(1)
            heard = everything(line)
        assert raw.asked == []
        assert heard.startswith(b"HTTP/1.1 4") or not heard
        assert heard.count(b"HTTP/1.1 4") <= 1
        assert len(door.denied) == (1 if heard else 0)


def test_blanks_before_a_bad_byte_take_no_time(raw: Raw) -> None:
    """A pattern with several runs of blanks takes time cubic to their number, and no other box is served meanwhile."""
    with Door(PackagesGrant.of("pypi", raw.index)) as door:
        began = time.monotonic()
        assert door.say(HEAD.encode() + b"X:" + b" " * 15_000 + b"\x01\r\n\r\n").startswith(b"HTTP/1.1 400 ")
        assert time.monotonic() - began < 5
        assert raw.asked == []


def test_a_second_request_on_a_kept_connection_is_judged_as_the_first(raw: Raw, world: World) -> None:
    world.host("docs.example")
    with Door(PackagesGrant.of("pypi", raw.index), WebGrant(), **world.parts) as door:
        first = b"GET https://docs.example/ HTTP/1.1\r\nHost: docs.example\r\n\r\n"
        for second, status in (
            (request("/", "docs.example"), b"400"),
            (request("https://inside.example/", "docs.example"), b"400"),
            (request("https://inside.example/", "inside.example"), b"502"),
            (request("/pypi/simple/alpha/", "docs.example"), b"400"),
        ):
            replies = door.say(first + second).split(b"HTTP/1.1 ")
            assert [reply[:3] for reply in replies[1:]] == [b"200", status]
    assert raw.asked == []
    assert len(world.dialled) == 4


def test_pipelined_requests_are_answered_in_order_and_end_at_the_first_that_is_odd(raw: Raw) -> None:
    raw.page("beta", {})
    beta = GOOD.replace(b"alpha", b"beta")
    with Door(PackagesGrant.of("pypi", raw.index)) as door:
        heard = door.say(GOOD + beta + b"GARBAGE\r\n\r\n" + GOOD + GOOD)
        statuses = [reply[:3] for reply in heard.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"200", b"400"]
    assert [head.split(b" ")[1] for head in raw.asked] == [b"/simple/alpha/", b"/simple/beta/"]


def test_a_refused_post_hears_why_although_its_body_is_never_read(raw: Raw) -> None:
    with Door(PackagesGrant.of("pypi", raw.index)) as door:
        said = f"POST {PAGE} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n".encode() + b"x" * 100_000
        assert b"POST is not granted" in door.say(said)
        assert door.denied == ["method"]


PIECES = (
    *("GET", "HEAD", "POST", "get", "G ET", "", "CONNECT"),
    *(" ", "  ", "\t", "\r\n", "\n", "\r", "\0", ":", ": ", " :", ","),
    *(PAGE, "/", "*", "http://127.0.0.1/pypi/simple/alpha/", "//x/y", "https://docs.example/", "docs.example:443"),
    *("HTTP/1.1", "HTTP/1.0", "HTTP/2", "HTTP/1.1 ", "http/1.1"),
    *("Host", "host", "Content-Length", "Transfer-Encoding", "Connection", "Range", "Expect", "X", "\xe9"),
    *("127.0.0.1", "localhost:80", "docs.example", "0", "5", "chunked", "close", "keep-alive", "bytes=0-1", "\x01"),
    GOOD.decode(),
)


def heads(seed: int, count: int) -> Iterator[bytes]:
    """One to three requests in a row with some pieces of them changed, doubled, lost or made up."""
    choose = random.Random(seed)
    for _ in range(count):
        lines = "".join(choose.choice((GOOD.decode(), HEAD + "X: y\r\n\r\n")) for _ in range(choose.randint(1, 3)))
        for _ in range(choose.choice((0, 1, 1, 2, 3))):
            at = choose.randint(0, len(lines))
            lines = (
                lines[:at] + choose.choice(("", choose.choice(PIECES))) + lines[at + choose.choice((0, 0, 1, 4, 9)) :]
            )
        yield lines.encode("latin-1")


def as_others_read(said: bytes) -> int:
    """How many requests another server sees in these bytes before it gives up."""
    http, seen = h11.Connection(h11.SERVER), 0
    http.receive_data(said)
    http.receive_data(b"")
    try:
        while not isinstance(event := http.next_event(), h11.ConnectionClosed | h11.NEED_DATA.__class__):
            seen += isinstance(event, h11.Request)
            if isinstance(event, h11.EndOfMessage):
                http.send(h11.Response(status_code=200, headers=[("Content-Length", "0")]))
                http.send(h11.EndOfMessage())
                if http.our_state is not h11.DONE:
                    break
                http.start_next_cycle()
    except (h11.RemoteProtocolError, h11.LocalProtocolError):
        pass
    return seen


@pytest.mark.parametrize(
    ("seed", "count"),
    [
        pytest.param(1, 3_000, id="a slice"),
        pytest.param(2, 60_000, id="many", marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
    ],
)
def test_no_mutation_of_a_head_crashes_the_relay_or_gets_out_unread(raw: Raw, seed: int, count: int) -> None:
    """Every request that goes out is one that was answered with its page, and one that another server sees too."""
    with Door(PackagesGrant.of("pypi", raw.index), bounds=PATIENT) as door:
        for said in heads(seed, count):
            before = len(raw.asked)
            with door.connect() as line:
                line.sendall(said)
                line.shutdown(1)
                heard = everything(line)
            went_out = len(raw.asked) - before
            assert heard.count(b"HTTP/1.1 200 ") + heard.count(b"HTTP/1.1 404 ") == went_out, said
            assert went_out <= as_others_read(said), said
            assert heard.count(b"connection: close") <= 1, said
        assert len(raw.asked) > count / 2
        assert all(re.match(rb"GET /simple/[a-z0-9-]+/ HTTP/1\.1\r\nHost: 127", head) for head in raw.asked)


def test_what_goes_out_is_of_our_own_making(raw: Raw) -> None:
    raw.says["/f/x"] = answer(b"x")
    with Door(PackagesGrant.of("pypi", raw.index)) as door:
        door.get(PAGE, headers={"X-A": "stolen", "Cookie": "stolen", "Accept": "stolen", "Range": "bytes=stolen"})
    assert b"stolen" not in raw.asked[0]
    assert raw.asked[0].count(b"\r\n") == 6
