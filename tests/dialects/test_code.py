"""Contract `code`, sections 1 to 6 and 8. What hostile programs try is in tests/attacks."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.standins.server import Server

PATH = "/code/execute"
SIX = ["status", "stdout", "stderr", "exit_code", "execution_time_ms", "files_produced"]


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def run(server: Server, code: str, **fields: Any) -> dict[str, Any]:
    reply = server.post(PATH, {"code": code, **fields})
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def refused(server: Server, body: Any, status: int = 400) -> str:
    reply = server.post(PATH, body)
    assert reply.status_code == status, reply.text
    told = reply.json()
    assert list(told) == ["error"]
    return str(told["error"])


def test_an_ordinary_reply_has_exactly_the_fields_of_the_contract_in_their_order(server: Server) -> None:
    reply = server.post(PATH, {"code": 'print("hi")'})
    assert reply.headers["content-type"] == "application/json"
    assert reply.text.endswith("}\n")
    assert reply.text.count("\n") == 1
    assert len(reply.headers["x-run-id"]) == 36
    told = reply.json()
    assert list(told) == SIX[:5]
    assert (told["status"], told["stdout"], told["stderr"], told["exit_code"]) == ("success", "hi\n", "", 0)
    assert isinstance(told["execution_time_ms"], int)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" \n",
        b"{",
        b"[]",
        b'"x"',
        b"5",
        b'{"code":5}',
        b'{"code":["print(1)"]}',
        b'{"code":"print(1)"} x',
        b'{"code":"print(1)"}{}',
        b'{"code":"print(1)","timeout_seconds":NaN}',
        b'{"code":"\xff"}',
        b'\xef\xbb\xbf{"code":"print(1)"}',
        b'{"code":"print(\'\\ud800\')"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
)
def test_a_malformed_body_is_an_invalid_request(server: Server, body: bytes) -> None:
    assert refused(server, body).startswith("invalid request: ")


@pytest.mark.parametrize("body", [b"{}", b"null", b'{"code":""}', b'{"code":null}', b'{"Code":"print(1)"}'])
def test_no_code_is_told_as_such(server: Server, body: bytes) -> None:
    assert refused(server, body) == "code is required"


def test_blank_code_runs(server: Server) -> None:
    assert run(server, "   ")["status"] == "success"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("timeout_seconds", "5"),
        ("timeout_seconds", 1.5),
        ("timeout_seconds", 5.0),
        ("timeout_seconds", True),
        ("timeout_seconds", [1]),
        ("requirements", "numpy"),
        ("requirements", [5]),
        ("requirements", {}),
        ("files", []),
        ("files", {"a": 5}),
        ("files", {"a": None}),
        ("language", 5),
        ("env_name", 5),
        ("python_index", 5),
        ("tool_name", 5),
    ],
)
def test_a_wrong_type_is_told_with_its_field(server: Server, field: str, value: Any) -> None:
    text = refused(server, {"code": "print(1)", field: value})
    assert text.startswith("invalid request: ")
    assert field in text


def test_types_are_judged_before_code_and_code_before_names(server: Server) -> None:
    assert "timeout_seconds" in refused(server, {"timeout_seconds": "5"})
    assert refused(server, {"files": {"../x": "@@"}}) == "code is required"
    assert "invalid file name" in refused(server, {"code": "1", "files": {"../x": "@@"}, "requirements": ["-r x"]})


@pytest.mark.parametrize("limit", [None, 0, -5, -(10**400)])
def test_no_limit_zero_or_less_means_the_default(server: Server, limit: Any) -> None:
    assert list(run(server, "print(1)", timeout_seconds=limit)) == SIX[:5]


@pytest.mark.parametrize("digits", [11, 22, 400, 5000])
def test_a_limit_above_the_maximum_is_clamped_and_told(server: Server, digits: int) -> None:
    told = server.post(PATH, b'{"code":"print(1)","timeout_seconds":1%s}' % (b"0" * (digits - 1))).json()
    assert told["status"] == "success"
    assert told["timeout_seconds"] == 3600


def test_unknown_fields_are_ignored_and_the_last_of_two_equal_keys_counts(server: Server) -> None:
    assert run(server, "print(1)", whatever={"a": 1})["stdout"] == "1\n"
    assert server.post(PATH, b'{"code":"print(1)","code":"print(2)"}').json()["stdout"] == "2\n"


def test_a_failing_program_is_told_with_its_own_code_and_streams(server: Server) -> None:
    told = run(server, "import sys; print('o'); print('<e&>', file=sys.stderr); sys.exit(3)")
    assert (told["status"], told["exit_code"], told["stdout"], told["stderr"]) == ("error", 3, "o\n", "<e&>\n")
    assert list(told) == SIX[:5]
    assert run(server, "import sys; sys.exit(300)")["exit_code"] == 44


def test_death_by_signal_names_the_signal(server: Server) -> None:
    told = run(server, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert (told["status"], told["exit_code"], told["signal"]) == ("error", -1, "SIGSEGV")
    assert told["end_reason"] == "signal"


@pytest.mark.serial
def test_a_time_out_says_so_where_the_program_said_nothing(server: Server) -> None:
    began = time.monotonic()
    told = run(server, "import time; print('a', flush=True); time.sleep(10)", timeout_seconds=1)
    assert time.monotonic() - began < 2
    assert (told["status"], told["exit_code"], told["stdout"]) == ("error", -1, "a\n")
    assert told["stderr"] == "execution timed out after 1 seconds"
    assert told["end_reason"] == "timeout"


def test_a_time_out_leaves_what_the_program_said(server: Server) -> None:
    code = "import sys, time; print('e', file=sys.stderr, flush=True); time.sleep(10)"
    assert run(server, code, timeout_seconds=1)["stderr"] == "e\n"


def test_bytes_that_are_not_utf8_come_readable_and_exact(server: Server) -> None:
    told = run(server, r"import sys; sys.stdout.buffer.write(b'\x61\xff\xfe\x62\xc3')")
    assert told["stdout"].startswith("a\ufffd")
    assert told["stdout"].endswith("b\ufffd")
    assert base64.b64decode(told["stdout_base64"]) == b"\x61\xff\xfe\x62\xc3"
    assert "stderr_base64" not in told


def test_nul_and_other_scripts_survive(server: Server) -> None:
    assert run(server, "print('\\0é漢😀')")["stdout"] == "\0é漢😀\n"


def test_a_long_output_is_cut_at_its_limit_and_told(make_server: Callable[..., Server]) -> None:
    told = run(make_server(output_bytes=1024), "print('é' * 5000, end='')")
    assert told["stdout_truncated"] is True
    assert told["stdout"] == "é" * 512
    assert "stderr_truncated" not in told
    odd = run(make_server("odd", output_bytes=1025), "print('é' * 5000, end='')")
    assert odd["stdout"] == "é" * 512, "half a character of our own making is not the program's"
    assert "stdout_base64" not in odd


def test_files_arrive_byte_for_byte_where_they_were_put(server: Server) -> None:
    every_byte = bytes(range(256))
    code = "import hashlib; print([open(n,'rb').read() == bytes(range(256)) for n in ('b.bin','d/s/c.bin')])"
    files = {"b.bin": b64(every_byte), "d/s/c.bin": b64(every_byte), "empty": "", "script.py": b64(b"mine"), "a\\b": ""}
    assert run(server, code, files=files)["stdout"] == "[True, True]\n"
    assert run(server, "print(open('script.py').read(), open('empty').read())", files=files)["stdout"] == "mine \n"


def test_a_file_given_as_null_means_no_file_given_as_an_object(server: Server) -> None:
    assert run(server, "print(1)", files=None)["stdout"] == "1\n"


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "/x",
        "",
        "..",
        ".",
        "a/../../x",
        "./a",
        "a/",
        "a//b",
        "output",
        "output/x",
        "a\nb",
        "a\0b",
        "\x7f",
        "é" * 128,
        "/".join(["a" * 200] * 6),
        "a\ud800",
    ],
)
def test_a_name_that_would_leave_its_place_is_refused(server: Server, name: str) -> None:
    assert refused(server, {"code": "print(1)", "files": {name: ""}}).startswith('invalid file name "')


def test_one_name_cannot_be_the_folder_of_another(server: Server) -> None:
    assert "invalid file name" in refused(server, {"code": "1", "files": {"a": "", "a/b": ""}})
    assert "invalid file name" in refused(server, {"code": "1", "files": {"a/b/c": "", "a/b": ""}})


@pytest.mark.parametrize("text", ["@@", "aGk", "_-8=", "aGk=x", "aG k=", "=", "é"])
def test_bad_base64_is_told_with_its_file(server: Server, text: str) -> None:
    assert refused(server, {"code": "1", "files": {"a.txt": text}}).startswith('failed to decode file "a.txt": ')


def test_line_breaks_inside_base64_are_skipped(server: Server) -> None:
    assert run(server, "print(open('a').read())", files={"a": "aG\r\nk="})["stdout"] == "hi\n"


def test_files_left_in_the_output_folder_come_back_also_after_a_failure(server: Server) -> None:
    code = """
import os
out = os.environ["OUTPUT_DIR"]
open(out + "/b.bin", "wb").write(bytes(range(256)))
os.mkdir("output/sub"); open("output/sub/x", "w").write("x"); open(out + "/e", "w")
os.symlink("/etc/hostname", out + "/link"); os.mkfifo(out + "/pipe"); open("elsewhere", "w").write("x")
1/0
"""
    told = run(server, code)
    assert told["files_produced"] == {"b.bin": b64(bytes(range(256))), "sub/x": b64(b"x"), "e": ""}
    skipped = {entry["name"]: entry["reason"] for entry in told["files_skipped"]}
    # The kernel of gVisor keeps pipes to itself: on the host there is none.
    pipes = {} if server.get("/code/health").json()["isolation"] == "gvisor" else {"pipe": "not_a_file"}
    assert skipped == {"link": "symlink", **pipes}
    assert list(told)[:6] == SIX


def test_another_language_can_be_asked_for(server: Server) -> None:
    assert run(server, "echo $((1+1))", language="shell")["stdout"] == "2\n"


def test_an_unknown_language_is_told_with_those_there_are(server: Server) -> None:
    there = ", ".join(server.get("/code/health").json()["languages"])
    text = refused(server, {"code": "1", "language": "cobol"})
    assert text == f'language "cobol" is not available (available: {there})'
    assert refused(server, {"code": "1", "language": ""}) == f'language "" is not available (available: {there})'
    assert run(server, "print(1)", language=None)["stdout"] == "1\n"


BAD_REQUIREMENTS = [
    "--index-url=http://evil",
    "-r /etc/passwd",
    "./x",
    "/x",
    "../x",
    "file:///x",
    "git+https://h/x",
    "x @ https://h/x.whl",
    "https://h/x.whl",
    "x\n-r y",
    "",
    " ",
    "x --hash=sha256:00",
    "x\x00",
]


@pytest.mark.parametrize("entry", BAD_REQUIREMENTS)
def test_a_requirement_that_is_more_than_a_specifier_is_refused(server: Server, entry: str) -> None:
    assert refused(server, {"code": "1", "requirements": [entry]}).startswith('invalid requirement "')


def test_no_requirements_are_no_requirements(server: Server) -> None:
    assert run(server, "print(1)", requirements=[])["stdout"] == "1\n"
    assert run(server, "print(1)", requirements=None)["stdout"] == "1\n"


def test_shell_ignores_requirements(server: Server) -> None:
    assert run(server, "echo 1", language="shell", requirements=["x"])["stdout"] == "1\n"


def test_environments_are_known_to_be_unknown(server: Server) -> None:
    assert refused(server, {"code": "1", "env_name": "ds"}, 404) == 'environment "ds" not found'
    assert "env_name" in refused(server, {"code": "1", "env_name": "../x"})
    assert "env_name" in refused(server, {"code": "1", "env_name": "ds", "language": "shell"})
    assert server.get("/code/envs").json() == {"environments": []}
    assert server.client.delete("/code/envs/ds").json() == {"error": 'environment "ds" not found'}


def test_a_foreign_index_is_refused_and_its_password_not_repeated(make_server: Callable[..., Server]) -> None:
    server = make_server(python_index="https://index.example/simple")
    text = refused(server, {"code": "1", "python_index": "https://user:hunter22@evil.example/simple"})
    assert "evil.example" in text
    assert "hunter22" not in text + server.log.getvalue()
    assert "python_index" in refused(server, {"code": "1", "python_index": "file:///etc"})
    assert run(server, "print(1)", python_index="https://user:pw@index.example/x")["stdout"] == "1\n"


def test_a_tool_name_is_a_short_label(server: Server) -> None:
    assert run(server, "print(1)", tool_name="t" * 128)["stdout"] == "1\n"
    assert "tool_name" in refused(server, {"code": "1", "tool_name": "t" * 129})
    reply = server.post(PATH, {"code": "print(1)", "tool_name": "a\0\ud800é"})
    assert server.get(f"/v1/executions/{reply.headers['x-run-id']}").json()["label"] == "a\ufffd?é"


def test_a_body_over_the_limit_is_refused_however_it_is_framed(make_server: Callable[..., Server]) -> None:
    server = make_server(body_limit=100_000)
    for size in (100_001, 2_000_000):
        assert refused(server, b" " * size) == "invalid request: http: request body too large"

        def chunks(size: int = size) -> Any:
            for _ in range(0, size + 1000, 1000):
                yield b" " * 1000

        reply = server.client.post(PATH, content=chunks())
        assert reply.status_code == 400
        assert reply.json() == {"error": "invalid request: http: request body too large"}
    assert run(server, "print(1)" + " " * 90_000)["stdout"] == "1\n"


def test_the_default_limit_is_ten_mebibytes(server: Server) -> None:
    body = json.dumps({"code": "print(1)", "pad": ""}).encode()
    body = body.replace(b'"pad": ""', b'"pad": "' + b"x" * (10_485_760 - len(body)) + b'"')
    assert len(body) == 10_485_760
    assert server.post(PATH, body).json()["stdout"] == "1\n"
    assert "too large" in refused(server, body + b" ")


@pytest.mark.serial
def test_the_one_too_many_is_refused_at_once_with_load_and_capacity(make_server: Callable[..., Server]) -> None:
    server = make_server(max_concurrent=2)
    replies: list[httpx.Response] = []
    threads = [
        threading.Thread(target=lambda: replies.append(server.post(PATH, {"code": "import time; time.sleep(1)"})))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    wait_for_load(server, 2)
    began = time.monotonic()
    reply = server.post(PATH, {"code": "print(1)"})
    assert time.monotonic() - began < 0.2
    assert reply.status_code == 429
    assert reply.json() == {"error": "at capacity (3/2 concurrent executions)"}
    assert reply.headers["retry-after"] == "1"
    assert refused(server, b"{").startswith("invalid request"), "a malformed body is no matter of capacity"
    assert server.get("/code/health").json()["state"] == "busy"
    ready = server.get("/code/ready")
    assert (ready.status_code, ready.json()) == (503, {"ready": False, "reason": "at capacity"})
    for thread in threads:
        thread.join()
    assert [reply.status_code for reply in replies] == [200, 200]
    assert run(server, "print(1)")["stdout"] == "1\n"


def wait_for_load(server: Server, load: int, within: float = 2.0) -> None:
    deadline = time.monotonic() + within
    while server.get("/code/health").json()["current_load"] != load:
        assert time.monotonic() < deadline, f"the load did not come to {load}"


@pytest.mark.serial
def test_a_client_that_leaves_frees_its_place_within_a_second(server: Server) -> None:
    with pytest.raises(httpx.ReadTimeout):
        server.client.post(PATH, content=b'{"code":"import time; time.sleep(30)"}', timeout=0.3)
    wait_for_load(server, 0, within=1.0)


def test_health_has_its_fields_in_their_order_and_needs_no_key(make_server: Callable[..., Server]) -> None:
    server = make_server(server_auth_token="a-long-enough-token")
    reply = server.get("/code/health")
    assert list(reply.json()) == [
        "status",
        "mode",
        "runtime_version",
        "capacity",
        "current_load",
        "uptime_seconds",
        "state",
        "environments",
        "languages",
        "preinstalled_packages",
        "isolation",
        "lost_promises",
    ]
    head = server.client.head("/code/health")
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(reply.content)))
    assert server.get("/code/ready").json() == {"ready": True}


@pytest.mark.parametrize(
    ("method", "path", "status", "text", "allow"),
    [
        ("GET", "/code/execute", 405, "Method Not Allowed\n", "POST"),
        ("OPTIONS", "/code/execute", 405, "Method Not Allowed\n", "POST"),
        ("PUT", "/code/execute", 405, "Method Not Allowed\n", "POST"),
        ("POST", "/code/health", 405, "Method Not Allowed\n", "GET, HEAD"),
        ("OPTIONS", "/code/health", 405, "Method Not Allowed\n", "GET, HEAD"),
        ("GET", "/code/nope", 404, "404 page not found\n", None),
        ("POST", "/code/execute/", 404, "404 page not found\n", None),
        ("GET", "/code", 404, "404 page not found\n", None),
        ("GET", "/code/", 404, "404 page not found\n", None),
        ("GET", "/code/envs/a/b", 404, "404 page not found\n", None),
    ],
)
def test_wrong_paths_and_methods_are_plain_text(
    server: Server, method: str, path: str, status: int, text: str, allow: str | None
) -> None:
    reply = server.client.request(method, path)
    assert (reply.status_code, reply.text, reply.headers.get("allow")) == (status, text, allow)
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    assert reply.headers["x-request-id"]


def test_without_its_key_a_closed_door_answers_before_it_reads_the_body(make_server: Callable[..., Server]) -> None:
    server = make_server(server_auth_token="a-long-enough-token")
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"X-API-Key": "wrong"}):
        reply = server.client.post(PATH, content=b"{", headers=headers)
        assert (reply.status_code, reply.json()) == (401, {"error": "Unauthorized"})
        assert reply.headers["www-authenticate"] == "Bearer"
    good = server.client.post(
        PATH, content=b'{"code":"print(1)"}', headers={"Authorization": "bearer a-long-enough-token"}
    )
    assert good.json()["stdout"] == "1\n"


def test_only_code_is_the_contract_at_the_root_and_nothing_else(make_server: Callable[..., Server]) -> None:
    server = make_server(only="code")
    assert server.post("/execute", {"code": "print(1)"}).json()["stdout"] == "1\n"
    assert next(iter(server.get("/health").json())) == "status"
    assert server.get("/ready").json() == {"ready": True}
    assert server.post("/execute", {"task": "t"}).json() == {"error": "code is required"}
    assert server.post("/execute", b"{").json()["error"].startswith("invalid request: ")
    for path in ("/code/execute", "/v1/executions", "/docs", "/openapi.json", "/metrics", "/console", "/"):
        reply = server.get(path)
        assert (reply.status_code, reply.text) == (404, "404 page not found\n")
    reply = server.client.options("/execute")
    assert (reply.status_code, reply.headers["allow"]) == (405, "POST")
    assert "x-drydock-dialect" not in reply.headers
