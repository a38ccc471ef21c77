"""Whatever is sent: no 5xx, no answer of an unknown form, and a server that goes on as if nothing had been."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.standins.agent import nothing, scripted
from tests.standins.server import Server, read_to_end

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
VALID: dict[str, dict[str, Any]] = {
    "/code/execute": {
        "code": "print(1)",
        "timeout_seconds": 1,
        "files": {"a/b": "aGk="},
        "language": "shell",
        "requirements": [],
        "env_name": None,
        "python_index": None,
        "tool_name": "t",
    },
    "/v1/executions": {
        "language": "python",
        "code": "print(1)",
        "argv": ["/bin/true"],
        "files": {"a/b": "hi", "c": {"base64": "aGk="}},
        "env": {"A": "b"},
        "stdin": {"base64": "aGk="},
        "requirements": [],
        "limits": {"timeout_ms": 500, "memory_bytes": 1 << 26, "processes": 8, "cpus": 0.5},
        "isolation": "box",
        "outputs": ["*"],
        "wait": True,
        "label": "l",
    },
    "/code/envs": {"name": "ds", "requirements": ["x"], "python_index": "https://h.example/simple"},
    "/execute": {
        "code": "print(1)",
        "task": "t",
        "params": {"task_id": "x"},
        "repo": "o/r",
        "model": "m",
        "options": {},
        "timeout": 1,
        "timeout_seconds": 1,
        "shouldCommit": True,
    },
}
NO_SECRET = {"error": "Sandbox authentication secret is not configured"}
KEY = "a-token-of-the-operator"
SAME_DOORS = "^(/polychat)?/(sandbox|webhooks)/|^/apps/"
"""Those that are under /polychat by other paths, and a second one that starts what /polychat/execute starts."""
TEXT = st.text(alphabet=st.characters(codec=None), max_size=20)
ODD = st.sampled_from(["", "\0", "\ud800", "../x", "/", ".", "a" * 2000, "python", "-r x", "{", "é" * 300, "\u202e"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([0, -1, 2**63, 10**40, 0.5]) | TEXT | ODD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT | ODD, inner, max_size=3),
    max_leaves=5,
)
METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"])
WORDS = """code execute v1 executions envs environments health tasks result files events docs metrics apps sandbox ; ..
%00 %2e%2e %ff %F0%9F%98%80 %0d%0aX:1 x?cursor=%00 ?limit=1e9 ?after=-1 00000000-0000-0000-0000-000000000000"""
SEGMENTS = st.sampled_from([*WORDS.split(), "", "a" * 300])
KEYS = st.sampled_from([b"k", b"", b"a b", b"\xc3\xa9", b"k" * 300, b"x,y", b'"q"'])
MANY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Looked at when all is over: every surprise is in its log."""
    with Server(tmp_path_factory.mktemp("fuzzed"), code_max_timeout=1, offline=True) as server:
        yield server
        give_up = time.monotonic() + 5
        while server.get("/code/health").json()["current_load"]:
            assert time.monotonic() < give_up, "a program outlives its client and its limit"
        assert server.post("/code/execute", {"code": "print(1)"}).json()["stdout"] == "1\n"
        assert '"event": "internal"' not in server.log.getvalue()
        assert "box_broke" not in server.log.getvalue()


@pytest.mark.long
@pytest.mark.timeout(170)
def test_no_request_that_the_document_allows_or_forbids_breaks_the_server(
    make_server: Callable[..., Server], tmp_path: Path
) -> None:
    closed = {"server_auth_token": KEY, "jwt_secret": "a-secret-of-tests"}
    server = make_server(code_max_timeout=1, offline=True, makes=scripted(nothing), **closed)
    schemathesis = Path(sys.executable).with_name("schemathesis")
    options = ["--max-examples", "15", "--checks", CHECKS, "--workers", "1", "--no-color"]
    options += ["--header", f"Authorization: Bearer {KEY}", "--exclude-path-regex", SAME_DOORS]
    done = subprocess.run(
        [schemathesis, "run", f"{server.url}/openapi.json", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert done.returncode == 0, done.stdout[-12000:]
    selected = re.search(r"([0-9]+) selected / ([0-9]+) total", done.stdout)
    assert selected, done.stdout
    same = [path for path in server.get("/openapi.json", Authorization=f"Bearer {KEY}").json()["paths"].items()]
    left_out = sum(len(methods) for path, methods in same if re.match(SAME_DOORS, path))
    assert int(selected[1]) + left_out == int(selected[2])
    assert '"event": "internal"' not in server.log.getvalue()


def judge(path: str, reply: httpx.Response) -> None:
    if reply.headers.get("x-drydock-dialect") == "polychat" and reply.status_code == 503:
        assert reply.json() == NO_SECRET  # the contract's own answer, before it looks at anything
        return
    assert reply.status_code < 500, (reply.status_code, reply.text)
    assert len(reply.headers.get_list("x-request-id")) == 1
    if reply.status_code < 400:
        return
    if reply.headers["content-type"] == "text/plain; charset=utf-8":
        assert reply.status_code in (404, 405)
        return
    told = reply.json()["error"]
    if path.startswith("/v1"):
        assert {"code", "message", "hint", "request_id"} <= told.keys()
        assert told["request_id"] == reply.headers["x-request-id"]
    else:
        assert isinstance(told, str)
        assert told


@pytest.mark.parametrize("path", list(VALID))
def test_no_body_that_is_nearly_right_breaks_a_door(fuzzed: Server, path: str) -> None:
    valid = VALID[path]
    keys = st.sampled_from([*valid, "x", ""])
    changes = st.dictionaries(keys, VALUES, min_size=1, max_size=3)

    @MANY
    @given(kept=st.sets(keys), changes=changes, key=st.none() | KEYS)
    def attack(kept: set[str], changes: dict[str, Any], key: bytes | None) -> None:
        body = {name: value for name, value in valid.items() if name in kept} | changes
        headers = {} if key is None else {b"Idempotency-Key": key}
        judge(path, fuzzed.client.post(path, content=json.dumps(body).encode(), headers=headers))

    attack()


@pytest.mark.parametrize("path", list(VALID))
def test_no_bytes_in_place_of_a_body_break_a_door(fuzzed: Server, path: str) -> None:
    right = json.dumps(VALID[path]).encode()

    @MANY
    @given(at=st.integers(0, len(right)), cut=st.integers(0, 40), put=st.binary(max_size=12))
    def attack(at: int, cut: int, put: bytes) -> None:
        judge(path, fuzzed.client.post(path, content=right[:at] + put + right[at + cut :]))

    attack()


def test_no_path_and_method_break_the_server(fuzzed: Server) -> None:
    @MANY
    @given(method=METHODS, segments=st.lists(SEGMENTS, max_size=5))
    def attack(method: str, segments: list[str]) -> None:
        reply = fuzzed.client.request(method, f"{fuzzed.url}/" + "/".join(segments))
        assert reply.status_code < 500, (reply.status_code, reply.text)
        assert reply.headers.get("x-request-id") or method == "OPTIONS"

    attack()


def test_no_bytes_on_a_connection_break_the_server(fuzzed: Server) -> None:
    body = b'{"code":"print(1)"}'
    right = b"POST /code/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    @MANY
    @given(at=st.integers(0, len(right)), cut=st.integers(0, 20), put=st.binary(max_size=12), times=st.integers(1, 3))
    def attack(at: int, cut: int, put: bytes, times: int) -> None:
        with fuzzed.connect() as connection:
            connection.sendall((right[:at] + put + right[at + cut :]) * times)
            connection.shutdown(1)  # nothing more will come, so it answers, or closes, or both
            answer = read_to_end(connection)
        assert not answer or answer.startswith(b"HTTP/1.1 ")
        assert b"HTTP/1.1 5" not in answer

    attack()
