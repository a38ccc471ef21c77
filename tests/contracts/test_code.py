"""Contract `code`, section 13: its table of probes, row by row, against `drydock serve` as users start it.

Here stand the rows that a request and its answer show. What each defect of the original looks like from inside is in
tests/dialects, hostile programs are in tests/attacks, rows 41 and 42 in tests/api/test_lifecycle.py, and the rows that
install packages (43, 44, 48) in tests/packages.
"""

from __future__ import annotations

import base64
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.attacks.started import Started

PATH = "/code/execute"
SIX = {"status", "stdout", "stderr", "exit_code", "execution_time_ms", "files_produced"}
CAPACITY = 3
MIB = 1 << 20
Judge = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    with Started(tmp_path_factory.mktemp("contract"), {"SECRET_X": "leak"}) as running:
        yield running


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def told(**wanted: Any) -> Judge:
    def judge(reply: dict[str, Any]) -> None:
        assert {name: reply.get(name) for name in wanted} == wanted

    return judge


def timed_out(**wanted: Any) -> Judge:
    return told(status="error", exit_code=-1, end_reason="timeout", **wanted)


def failed_with(code: int, words: str) -> Judge:
    def judge(reply: dict[str, Any]) -> None:
        assert (reply["status"], reply["exit_code"]) == ("error", code)
        assert words in reply["stderr"]

    return judge


HOLDS_STDOUT = "import subprocess, time\nsubprocess.Popen(['sleep', '60'])\n"
DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            open("beat", "a").write("x")
    os._exit(0)
os.wait()
"""
IGNORES = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(10)"
ENVIRONMENTS = """
import glob, os
print(dict(os.environ))
for path in glob.glob("/proc/[0-9]*/environ"):
    try:
        print(open(path, "rb").read())
    except OSError:
        pass
"""
LEAVES = "import os\nos.makedirs('output/sub')\nopen('output/sub/x', 'w').write('x')\nopen('output/e', 'w').close()\n"
LINKS = "import os\nos.symlink('/etc/hostname', 'output/l')\nos.symlink('/etc', 'output/d')\n"
NETWORK = """
import socket
for address in (("1.1.1.1", 80), ("10.0.0.1", 80), ("169.254.169.254", 80)):
    try:
        socket.create_connection(address)
    except OSError:
        print("refused")
try:
    socket.getaddrinfo("example.com", 80)
except OSError:
    print("refused")
"""
PRINT_1: dict[str, Any] = {"code": "print(1)"}
WRITES = "open('output/f', 'w').write('kept')\n"

ANSWERS: list[tuple[str, dict[str, Any], Judge, float]] = [
    ("1", {"code": 'print("hi")'}, told(status="success", stdout="hi\n", stderr="", exit_code=0), 1),
    ("4", {"code": "   "}, told(status="success", stdout="", stderr=""), 1),
    ("6 zero", PRINT_1 | {"timeout_seconds": 0}, told(status="success", timeout_seconds=None), 1),
    ("6 negative", PRINT_1 | {"timeout_seconds": -5}, told(status="success", timeout_seconds=None), 1),
    ("6 null", PRINT_1 | {"timeout_seconds": None}, told(status="success", timeout_seconds=None), 1),
    ("7", PRINT_1 | {"timeout_seconds": 10_000_000_000}, told(status="success", timeout_seconds=3600), 1),
    (
        "9",
        {"code": "import sys\nprint('o')\nprint('e', file=sys.stderr)\nsys.exit(3)"},
        told(status="error", exit_code=3, stdout="o\n", stderr="e\n"),
        1,
    ),
    ("10", {"code": "'<&>'\n1/0"}, failed_with(1, "ZeroDivisionError: division by zero"), 1),
    ("11 segv", {"code": "import os; os.kill(os.getpid(), 11)"}, told(exit_code=-1, signal="SIGSEGV"), 1),
    ("11 kill", {"code": "import os; os.kill(os.getpid(), 9)"}, told(exit_code=-1, signal="SIGKILL"), 1),
    (
        "12",
        {"code": "import time; print('a', flush=True); time.sleep(10)", "timeout_seconds": 1},
        timed_out(stdout="a\n", stderr="execution timed out after 1 seconds"),
        2,
    ),
    (
        "13",
        {"code": "import sys, time; print('e', file=sys.stderr); time.sleep(10)", "timeout_seconds": 1},
        timed_out(stderr="e\n"),
        2,
    ),
    (
        "14",
        {"code": "import subprocess\nsubprocess.Popen(['sleep', '6'])\nprint('kept')", "timeout_seconds": 1},
        told(status="success", stdout="kept\n"),
        2,
    ),
    ("15", {"code": HOLDS_STDOUT + "time.sleep(60)", "timeout_seconds": 1}, timed_out(), 2),
    ("16", {"code": "sleep 5; echo late", "language": "shell", "timeout_seconds": 1}, timed_out(stdout=""), 2),
    ("17", {"code": DAEMON, "timeout_seconds": 1}, told(status="success"), 2),
    ("18", {"code": IGNORES, "timeout_seconds": 1}, timed_out(), 2),
    ("20", {"code": "held = bytearray(2 << 30)"}, told(status="error", exit_code=-1, end_reason="memory_limit"), 5),
    ("21", {"code": "import os; print(os.getuid() > 0)"}, told(stdout="True\n"), 1),
    (
        "23",
        {"code": "print(open('script.py').read())", "files": {"script.py": b64(b"mine")}},
        told(stdout="mine\n"),
        1,
    ),
    (
        "24",
        {"code": "import os; print(os.listdir('data'))", "files": {"data/a.csv": ""}},
        told(stdout="['a.csv']\n"),
        1,
    ),
    ("26", {"code": "print(open('a').read())", "files": {"a": "aG\nk="}}, told(stdout="hi\n"), 1),
    (
        "27",
        {"code": "open('output/b.bin', 'wb').write(bytes(range(256)))"},
        told(files_produced={"b.bin": b64(bytes(range(256)))}),
        1,
    ),
    ("28", {"code": LEAVES}, told(files_produced={"sub/x": b64(b"x"), "e": ""}, files_skipped=None), 1),
    (
        "29",
        {"code": LINKS},
        told(
            files_produced=None,
            files_skipped=[{"name": "d", "reason": "symlink"}, {"name": "l", "reason": "symlink"}],
        ),
        1,
    ),
    (
        "30",
        {"code": "import os; os.mkfifo('output/f')"},
        told(status="success", files_skipped=[{"name": "f", "reason": "not_a_file"}]),
        2,
    ),
    ("31 failed", {"code": WRITES + "1/0"}, told(exit_code=1, files_produced={"f": b64(b"kept")}), 1),
    (
        "31 timed out",
        {"code": WRITES + "while True: pass", "timeout_seconds": 1},
        timed_out(files_produced={"f": b64(b"kept")}),
        2,
    ),
    (
        "32",
        {"code": "import sys; sys.stdout.buffer.write(bytes([0x61, 0xFF, 0xFE, 0x62, 0xC3]))"},
        told(stdout="a\ufffd\ufffdb\ufffd", stdout_base64=b64(bytes([0x61, 0xFF, 0xFE, 0x62, 0xC3]))),
        1,
    ),
    (
        "34",
        {"code": "while True: print('x' * 1000)", "timeout_seconds": 2},
        timed_out(stdout_truncated=True),
        3,
    ),
    ("35", {"code": "import sys; print(repr(sys.stdin.read()))"}, told(stdout="''\n"), 1),
    ("45", {"code": "echo 1", "language": "shell", "requirements": ["x"]}, told(status="success", stdout="1\n"), 1),
    ("47", {"code": NETWORK}, told(stdout="refused\n" * 4), 2),
]


@pytest.mark.serial
@pytest.mark.parametrize(("body", "judge", "within"), [pytest.param(*row[1:], id=row[0]) for row in ANSWERS])
def test_a_probe_is_answered_as_the_table_says(
    server: Started, body: dict[str, Any], judge: Judge, within: float
) -> None:
    began = time.monotonic()
    reply = server.post(PATH, body)
    seconds = time.monotonic() - began
    assert reply.status_code == 200, reply.text
    judge(reply.json())
    assert seconds <= within
    server.await_load(0, 1)
    server.await_idle_processes(4 * CAPACITY)


def test_1_an_ordinary_reply_has_no_more_than_the_six_fields(server: Started) -> None:
    assert set(server.run('print("hi")')) <= SIX


@pytest.mark.parametrize(
    ("body", "begins"),
    [
        (b"", "invalid request: "),
        (b"{", "invalid request: "),
        (b"[]", "invalid request: "),
        (b'{"code":5}', "invalid request: "),
        (b"{}", "code is required"),
        (b"null", "code is required"),
        (b'{"code":""}', "code is required"),
        (b'{"code":null}', "code is required"),
        (b"x" * (11 * MIB), "invalid request: http: request body too large"),
        (b'{"code":"1","timeout_seconds":"5"}', "invalid request: timeout_seconds"),
        (b'{"code":"1","timeout_seconds":1.5}', "invalid request: timeout_seconds"),
        (b'{"code":"1","timeout_seconds":true}', "invalid request: timeout_seconds"),
        *((b'{"code":"1","files":{"%s":""}}' % name, f'invalid file name "{name.decode()}"')
          for name in (b"../x", b"/x", b"", b"..", b"a/../../x", b"output")),
        *((b'{"code":"1","files":{"a.txt":"%s"}}' % text, 'failed to decode file "a.txt": ')
          for text in (b"@@", b"aGk", b"_-8=")),
    ],
)  # fmt: skip
def test_2_3_5_8_25_26_a_bad_request_is_told_in_the_words_of_the_table(
    server: Started, body: bytes, begins: str
) -> None:
    reply = server.post(PATH, body)
    assert reply.status_code == 400
    assert list(reply.json()) == ["error"]
    assert reply.json()["error"].startswith(begins)


def test_22_nothing_of_the_servers_environment_is_in_any_environment(server: Started) -> None:
    assert "leak" not in server.run(ENVIRONMENTS)["stdout"]


def resident(server: Started) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


@pytest.mark.serial
def test_33_fifty_megabytes_of_output_are_cut_and_cost_no_memory_to_speak_of(server: Started) -> None:
    before, began = resident(server), time.monotonic()
    reply = server.run("import sys\nfor _ in range(50): sys.stdout.write('x' * 1_000_000)")
    assert time.monotonic() - began <= 5
    assert (reply["status"], len(reply["stdout"]), reply["stdout_truncated"]) == ("success", 10 * MIB, True)
    assert resident(server) - before < 100 * MIB


def post_at_once(server: Started, bodies: list[dict[str, Any]]) -> list[tuple[httpx.Response, float]]:
    replies: list[tuple[httpx.Response, float]] = []

    def post(body: dict[str, Any]) -> None:
        began = time.monotonic()
        reply = httpx.post(server.url + PATH, json=body, timeout=60)
        replies.append((reply, time.monotonic() - began))

    clients = [threading.Thread(target=post, args=(body,)) for body in bodies]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return replies


@pytest.mark.serial
def test_36_who_finds_no_place_is_told_at_once_with_load_and_capacity(server: Started) -> None:
    replies = post_at_once(server, [{"code": "import time; time.sleep(2)"}] * (CAPACITY + 2))
    refused = [(reply, took) for reply, took in replies if reply.status_code == 429]
    assert sorted(reply.status_code for reply, _ in replies) == [200] * CAPACITY + [429] * 2
    for reply, took in refused:
        assert reply.json() == {"error": f"at capacity ({CAPACITY + 1}/{CAPACITY} concurrent executions)"}
        assert reply.headers["retry-after"] == "1"
        assert took < 0.5
    assert max(took for _, took in replies) < 3, "side by side, not one after the other"


@pytest.mark.serial
def test_37_a_malformed_body_is_told_as_such_also_at_full_load_and_health_answers(server: Started) -> None:
    load = threading.Thread(target=post_at_once, args=(server, [{"code": "import time; time.sleep(1.5)"}] * CAPACITY))
    load.start()
    try:
        server.await_load(CAPACITY, 2)
        assert server.post(PATH, b"{").status_code == 400
        began = time.monotonic()
        health = server.get("/code/health")
        assert time.monotonic() - began < 0.1
        assert (health.status_code, health.json()["current_load"]) == (200, CAPACITY)
        ready = server.get("/code/ready")
        assert (ready.status_code, ready.json()) == (503, {"ready": False, "reason": "at capacity"})
    finally:
        load.join()


def unfinished(server: Started, head: bytes, body: bytes) -> socket.socket:
    connection = socket.create_connection((server.host, server.port), timeout=40)
    connection.sendall(b"POST /code/execute HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n\r\n" + body)
    return connection


@pytest.mark.serial
def test_38_a_client_that_leaves_takes_its_program_along(server: Started) -> None:
    body = b'{"code":"import time; time.sleep(30)"}'
    with unfinished(server, b"Content-Length: %d" % len(body), body):
        server.await_load(1, 2)
    server.await_load(0, 1)
    server.await_idle_processes(4 * CAPACITY)


@pytest.mark.long
@pytest.mark.serial
def test_39_half_a_body_and_then_silence_holds_no_place_and_is_cut_off_after_30_s(server: Started) -> None:
    began = time.monotonic()
    silent = [unfinished(server, b"Content-Length: 100", b'{"code":') for _ in range(CAPACITY)]
    try:
        assert server.run("print(1)")["stdout"] == "1\n"
        for connection in silent:
            assert connection.recv(1) == b""
        assert 29 <= time.monotonic() - began <= 31
    finally:
        for connection in silent:
            connection.close()


@pytest.mark.long
@pytest.mark.timeout(200)
def test_6_and_40_a_program_may_use_all_of_its_time_however_long(server: Started) -> None:
    bodies = [
        {"code": "import time; time.sleep(29)", "timeout_seconds": 0},
        {"code": "import time; time.sleep(125)", "timeout_seconds": 200},
    ]
    clients = httpx.Client(timeout=150)
    with clients:
        replies: list[httpx.Response] = []
        threads = [
            threading.Thread(target=lambda body=body: replies.append(clients.post(server.url + PATH, json=body)))
            for body in bodies
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [reply.json()["status"] for reply in replies] == ["success", "success"]


@pytest.mark.parametrize(
    ("method", "path", "status", "allow", "body"),
    [
        ("GET", "/code/execute", 405, "POST", "Method Not Allowed\n"),
        ("OPTIONS", "/code/execute", 405, "POST", "Method Not Allowed\n"),
        ("POST", "/code/health", 405, "GET, HEAD", "Method Not Allowed\n"),
        ("DELETE", "/code/health", 405, "GET, HEAD", "Method Not Allowed\n"),
        ("GET", "/code/nope", 404, None, "404 page not found\n"),
        ("POST", "/code/execute/", 404, None, "404 page not found\n"),
        ("GET", "/code", 404, None, "404 page not found\n"),
    ],
)
def test_46_a_wrong_path_or_method_is_told_in_plain_text(
    server: Started, method: str, path: str, status: int, allow: str | None, body: str
) -> None:
    reply = server.client.request(method, path)
    assert (reply.status_code, reply.headers.get("allow"), reply.text) == (status, allow, body)
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"


def test_sc_001_fifty_snippets_give_the_output_that_is_known(server: Started) -> None:
    for number in range(50):
        code = f"total = sum(n ** 2 for n in range({number}))\nprint(total, {'x' * number!r}.upper(), end='!')"
        known = f"{sum(n**2 for n in range(number))} {'X' * number}!"
        assert server.run(code)["stdout"] == known


def test_fr_003_a_program_that_dies_badly_takes_nobody_along(server: Started) -> None:
    mine = server.run("import os; print(os.getpid(), os.readlink('/proc/self/ns/pid'))")["stdout"]
    assert os_namespace() not in mine
    assert server.run("import os; os._exit(9)")["exit_code"] == 9
    assert server.run("import ctypes; ctypes.string_at(0)")["signal"] == "SIGSEGV"
    assert server.get("/code/health").json()["status"] == "healthy"


def os_namespace() -> str:
    return str(Path("/proc/self/ns/pid").readlink())


@pytest.mark.serial
def test_sc_004_three_at_once_take_the_time_of_one(server: Started) -> None:
    began = time.monotonic()
    replies = post_at_once(server, [{"code": "import time; time.sleep(1); print(1)"}] * CAPACITY)
    assert [reply.json()["stdout"] for reply, _ in replies] == ["1\n"] * CAPACITY
    assert time.monotonic() - began < 1.5
