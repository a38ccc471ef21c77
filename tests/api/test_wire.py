"""The connection's own rules, tried from outside with plain sockets."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable

import pytest

from tests.standins.server import Server, read_to_end

pytestmark = pytest.mark.serial

SHORT = 0.5
HEAD = b"POST /code/execute HTTP/1.1\r\nHost: 127.0.0.1\r\n"
BODY = b'{"code":"print(1)"}'


@pytest.fixture
def hasty(make_server: Callable[..., Server]) -> Server:
    """Gives heads and bodies half a second each."""
    return make_server(receive_timeout=SHORT)


def drip(connection: socket.socket, data: bytes, every: float) -> float:
    """Send a byte at a time until the other end closes; how long that took."""
    began = time.monotonic()
    connection.settimeout(every)
    for byte in data:
        try:
            connection.sendall(bytes([byte]))
            if connection.recv(1) == b"":
                break
        except TimeoutError:
            continue
        except (ConnectionResetError, BrokenPipeError):
            break
    return time.monotonic() - began


def test_a_head_that_comes_a_byte_at_a_time_is_cut_off(hasty: Server) -> None:
    with hasty.connect() as connection:
        assert SHORT - 0.1 < drip(connection, HEAD * 10, 0.05) < SHORT + 1


def test_a_connection_that_says_nothing_is_closed(hasty: Server) -> None:
    with hasty.connect() as connection:
        began = time.monotonic()
        assert connection.recv(1) == b""
        assert SHORT - 0.1 < time.monotonic() - began < SHORT + 1


def test_empty_lines_before_a_request_do_not_hold_a_connection(hasty: Server) -> None:
    with hasty.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        assert drip(connection, b"\r\n" * 100, 0.05) < SHORT + 1


def test_a_body_that_comes_a_byte_at_a_time_is_cut_off(hasty: Server) -> None:
    with hasty.connect() as connection:
        connection.sendall(HEAD + b"Content-Length: 1000\r\n\r\n")
        assert SHORT - 0.1 < drip(connection, b" " * 1000, 0.05) < SHORT + 1
    assert hasty.started == 0


def test_a_chunked_body_that_comes_a_byte_at_a_time_is_cut_off(hasty: Server) -> None:
    with hasty.connect() as connection:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        assert drip(connection, b"1\r\n \r\n" * 200, 0.05) < SHORT + 1


def test_bodies_that_never_end_hold_no_place(hasty: Server) -> None:
    held = [hasty.connect() for _ in range(hasty.settings.max_concurrent * 2)]
    for connection in held:
        connection.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
    assert hasty.post("/code/execute", {"code": "print(1)"}).json()["stdout"] == "1\n"
    for connection in held:
        assert read_to_end(connection) == b""
        connection.close()


def test_a_program_may_run_longer_than_a_request_may_take_to_arrive(hasty: Server) -> None:
    reply = hasty.post("/code/execute", {"code": f"import time; time.sleep({SHORT * 3}); print(1)"})
    assert reply.json()["stdout"] == "1\n"


def test_a_request_that_waits_behind_a_running_one_is_not_taken_for_slow(hasty: Server) -> None:
    slow = json.dumps({"code": f"import time; time.sleep({SHORT * 3})"}).encode()
    with hasty.connect() as connection:
        for body in (slow, BODY):
            connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        text = b""
        while text.count(b"HTTP/1.1 200") < 2:
            part = connection.recv(65536)
            assert part, text
            text += part


@pytest.mark.parametrize("shape", ["many headers", "one header", "a long path"])
def test_a_head_over_64_kib_is_refused(server: Server, shape: str) -> None:
    head = {
        "many headers": HEAD + b"X-A: aaaaaaaaaaaaaaaaaaaa\r\n" * 3000,
        "one header": HEAD + b"X-A: " + b"a" * 70_000,
        "a long path": b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n",
    }[shape]
    reply = server.raw(head + b"\r\n\r\n")
    assert reply == b"" or reply.startswith(b"HTTP/1.1 431 ")
    assert server.get("/health").status_code == 200


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 19\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 19\r\n\r\n0\r\n\r\n",
        b"Content-Length: 19\r\nContent-Length: 19\r\n\r\n" + BODY,
        b"Content-Length: 19\r\nContent-Length: 20\r\n\r\n" + BODY,
        b"Content-Length: +19\r\n\r\n" + BODY,
        b"Content-Length: 19, 19\r\n\r\n" + BODY,
        b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        b"Host: elsewhere\r\nContent-Length: 19\r\n\r\n" + BODY,
    ],
)
def test_a_request_that_two_readers_could_frame_differently_is_refused_and_the_connection_closed(
    server: Server, framing: bytes
) -> None:
    before = server.started
    reply = server.raw(HEAD + framing + b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 400 ")
    assert b"x-request-id: " in reply
    assert reply.count(b"HTTP/1.1") == 1
    assert server.started == before


def test_a_request_without_host_is_refused(server: Server) -> None:
    assert server.raw(b"GET /health HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 400 ")


def test_what_is_not_http_gets_a_reply_with_an_id(server: Server) -> None:
    reply = server.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")
    head, _, body = reply.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["error"]["request_id"].encode() in head


def test_a_trailer_is_not_taken_for_a_header(make_server: Callable[..., Server]) -> None:
    closed = make_server(server_auth_token="a-long-enough-token")
    chunked = b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n13\r\n" + BODY + b"\r\n0\r\n"
    reply = closed.raw(HEAD + chunked + b"Authorization: Bearer a-long-enough-token\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 19\r\n\r\n" + BODY,
        b"Transfer-Encoding: chunked\r\n\r\n13\r\n" + BODY + b"\r\n0\r\n\r\n",
    ],
)
@pytest.mark.parametrize("split", [False, True])
def test_a_wish_for_another_protocol_is_passed_over_and_the_body_read(
    server: Server, framing: bytes, split: bool
) -> None:
    head = HEAD + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAE\r\n"
    with server.connect() as connection:
        connection.sendall(head + framing[: 30 if split else len(framing)])
        if split:
            time.sleep(0.05)  # so that the two parts come in two segments
            connection.sendall(framing[30:])
        assert b'"stdout":"1\\n"' in connection.recv(65536)
        connection.sendall(b"GET /code/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert read_to_end(connection).startswith(b"HTTP/1.1 200 ")


def test_a_client_that_pipelines_and_leaves_is_seen_to_leave(server: Server) -> None:
    slow = json.dumps({"code": "import time; time.sleep(30)"}).encode()
    with server.connect() as connection:
        for _ in range(3):
            connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(slow) + slow)
        wait_for_load(server, 1)
    wait_for_load(server, 0)


def wait_for_load(server: Server, load: int, within: float = 1.0) -> None:
    deadline = time.monotonic() + within
    while server.get("/code/health").json()["current_load"] != load:
        assert time.monotonic() < deadline, f"the load did not come to {load}"


def test_one_connection_serves_many_requests(server: Server) -> None:
    with server.connect() as connection:
        for _ in range(3):
            connection.sendall(b"GET /code/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")


def test_no_reply_names_the_software_behind_it(server: Server) -> None:
    for path in ("/health", "/code/nope", "/v1/executions", "/docs"):
        assert "server" not in server.get(path).headers


def test_expect_100_continue_is_answered(server: Server) -> None:
    with server.connect() as connection:
        connection.sendall(HEAD + b"Expect: 100-continue\r\nContent-Length: 19\r\n\r\n")
        assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(BODY)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")


def test_the_body_of_a_refused_request_does_not_become_the_next_request(server: Server) -> None:
    inner = b"GET /code/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with server.connect() as connection:
        connection.sendall(
            b"POST /code/nope HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(inner) + inner
        )
        connection.sendall(b"GET /code/envs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        text = read_to_end(connection)
    assert text.count(b"HTTP/1.1 ") == 2
    assert b"environments" in text.split(b"HTTP/1.1 ")[2]
    assert b"current_load" not in text
