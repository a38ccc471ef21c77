"""The courier's door, knocked at by a git that was taken over: it may say what it likes, and gets nothing by it."""

from __future__ import annotations

import pytest

from drydock.box.program import Program
from drydock.egress.dial import Dialer
from drydock.errors import RepositoryFailed
from drydock.forge.git.asked import ROOT
from drydock.forge.git.courier import Courier
from drydock.forge.git.credential import of_token
from drydock.forge.git.exchange import Pace
from drydock.forge.git.grant import Fetch, Grant, Push, asks_for
from drydock.forge.git.source import Remote
from tests.forge.git.conftest import ENV, FILES, Bench

ONE, TWO = "1" * 40, "2" * 40
PUSH = Push("drydock/run-1", "0" * 40, ONE)
KNOCK = """
import socket, sys
line = socket.create_connection(("127.0.0.1", 8000))
line.settimeout(5)
line.sendall(sys.stdin.buffer.read())
try:
    while data := line.recv(65536):
        sys.stdout.buffer.write(data)
except OSError:
    pass
"""


class Door:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        bench.forge.create("acme/demo", FILES)
        bench.forge.create("acme/other", FILES)
        self.repository = bench.clone()
        self.asked = len(bench.forge.asked)

    def knock(self, request: bytes, grant: Grant) -> tuple[bytes, RepositoryFailed | None]:
        """What a program in git's box hears, and what the courier says went wrong."""
        source = self.repository.source
        assert isinstance(source, Remote)
        box, credential = self.repository._box, of_token(self.bench.forge.tokens.issue())
        courier = box.courier = Courier(source, grant, Dialer(), Pace(1 << 20), credential)
        program = Program(argv=["/usr/bin/python3", "-c", KNOCK], stdin=request, env=ENV)
        held = self.bench.run(box.held.run(program))
        box.courier = None
        return held.stdout(), courier.failure

    def new(self) -> list[str]:
        """What came to the forge since the clone."""
        return [asked.target for asked in self.bench.forge.asked[self.asked :]]


@pytest.fixture
def door(bench: Bench) -> Door:
    return Door(bench)


def request(method: str, target: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: x", *headers, *([f"Content-Length: {len(body)}"] if body else [])]
    return "\r\n".join([*lines, "", ""]).encode() + body


def post(service: str, body: bytes, *more: str) -> bytes:
    return request("POST", f"{ROOT}/{service}", f"Content-Type: application/x-{service}-request", *more, body=body)


def packet(text: str) -> bytes:
    return f"{len(text) + 4:04x}{text}".encode()


REFS = f"{ROOT}/info/refs?service=git-upload-pack"


def test_what_is_granted_is_passed_on(door: Door) -> None:
    heard, failure = door.knock(request("GET", REFS), Fetch())
    assert heard.startswith(b"HTTP/1.1 200 OK\r\n")
    assert failure is None


@pytest.mark.parametrize(
    "sent",
    [
        request("GET", f"{ROOT}/info/refs?service=git-receive-pack"),
        request("GET", f"{ROOT}/info/refs"),
        request("GET", f"{ROOT}/../other.git/info/refs?service=git-upload-pack"),
        request("GET", "/acme/other.git/info/refs?service=git-upload-pack"),
        request("GET", "http://evil.example" + REFS),
        request("GET", REFS + "&x=1"),
        request("GET", f"{ROOT}/HEAD"),
        request("GET", f"{ROOT}/objects/info/packs"),
        request("DELETE", REFS),
        request("CONNECT", "evil.example:443"),
        request("POST", REFS, "Content-Type: application/x-git-upload-pack-request", body=b"0000"),
        request("POST", f"{ROOT}/git-upload-pack", body=b"0000"),
        request("POST", f"{ROOT}/git-upload-pack", "Content-Type: text/html", body=b"0000"),
        post("git-receive-pack", packet(f"{'0' * 40} {ONE} refs/heads/main\0") + b"0000"),
        post("git-upload-pack", b"0000", "Content-Encoding: br"),
        post("git-upload-pack", b"0000", "Transfer-Encoding: chunked"),
        request("GET", REFS, "Git-Protocol: version=2\x0bX-Evil: 1"),
        request("GET", REFS, "Git-Protocol: version=2", "Git-Protocol: version=1"),
        b"GET " + b"/" * 20_000,
        b"\x16\x03\x01",
    ],
    ids=range(20),
)
def test_a_fetch_fetches_and_does_nothing_else(door: Door, sent: bytes) -> None:
    heard, failure = door.knock(sent, Fetch())
    assert heard == b""
    assert failure is not None
    assert door.new() == []


@pytest.mark.parametrize(
    "body",
    [
        packet(f"{'0' * 40} {ONE} refs/heads/main\0 report-status") + b"0000",
        packet(f"{'0' * 40} {TWO} refs/heads/drydock/run-1\0") + b"0000",
        packet(f"{ONE} {'0' * 40} refs/heads/drydock/run-1\0") + b"0000",
        packet(f"{ONE} {ONE} refs/heads/drydock/run-1\0") + b"0000",
        packet(PUSH.command().decode() + "\0") + packet(f"{'0' * 40} {ONE} refs/heads/main") + b"0000",
        packet(f"{'0' * 40} {ONE} refs/heads/main") + packet(PUSH.command().decode() + "\0") + b"0000",
        packet(PUSH.command().decode() + "\0") * 2 + b"0000",
        packet("push-cert\0") + packet(PUSH.command().decode()) + b"0000",
        packet(f"shallow {ONE}") + packet(f"{'0' * 40} {ONE} refs/heads/main\0") + b"0000",
        packet(PUSH.command().decode() + "x\0") + b"0000",
        b"0001" + packet(PUSH.command().decode() + "\0") + b"0000",
        b"0004" * 4 + b"0000",
        b"zzzz",
        b"FFFF" + b"x" * 65531,
        packet(f"shallow {ONE}") * 40_000,
    ],
    ids=range(15),
)
def test_a_push_pushes_what_was_granted_and_nothing_else(door: Door, body: bytes) -> None:
    heard, failure = door.knock(post("git-receive-pack", body), PUSH)
    assert heard == b""
    assert failure is not None
    assert door.new() == []


def test_a_push_in_disguise_of_gzip_is_not_read(door: Door) -> None:
    body = packet(PUSH.command().decode() + "\0") + b"0000"
    _, failure = door.knock(post("git-receive-pack", body, "Content-Encoding: gzip"), PUSH)
    assert failure is not None
    assert door.new() == []


def test_the_granted_push_is_read_however_it_is_cut() -> None:
    body = packet(f"shallow {TWO}") + packet(PUSH.command().decode() + "\0caps") + b"0000PACK"
    whole = [f"shallow {TWO}".encode(), PUSH.command()]
    assert [asks_for(body[:at]) for at in range(len(body) - 4)] == [None] * (len(body) - 4)
    assert asks_for(body[:-4]) == asks_for(body) == whole


def test_no_header_of_gits_is_passed_on_but_its_own(door: Door) -> None:
    sent = request(
        "GET", REFS, "Git-Protocol: version=2", "Authorization: Basic xxxx", "Cookie: a", "X-Forwarded-For: 1"
    )
    door.knock(sent, Fetch())
    headers = door.bench.forge.asked[-1].headers
    assert headers["git-protocol"] == "version=2"
    assert headers["authorization"] != "Basic xxxx"
    assert not {"cookie", "x-forwarded-for"} & headers.keys()


def test_the_door_is_shut_between_commands(door: Door) -> None:
    box = door.repository._box
    program = Program(argv=["/usr/bin/python3", "-c", KNOCK], stdin=request("GET", REFS), env=ENV)
    assert door.bench.run(box.held.run(program)).stdout() == b""
    assert door.new() == []
