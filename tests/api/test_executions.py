"""POST, GET, DELETE and lists of /v1/executions."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.standins.server import Server

PATH = "/v1/executions"
SLEEP = "import time; print('on', flush=True); time.sleep(30)"


def run(server: Server, **body: Any) -> dict[str, Any]:
    reply = server.post(PATH, body)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def started(server: Server, code: str = SLEEP) -> str:
    """Id of an execution that was ordered without waiting, and has said something."""
    reply = server.post(PATH, {"code": code, "wait": False})
    assert reply.status_code == 202, reply.text
    wait_for_state(server, reply.json()["id"], "running")
    return str(reply.json()["id"])


def wait_for_state(server: Server, execution_id: str, state: str, within: float = 3.0) -> dict[str, Any]:
    deadline = time.monotonic() + within
    while (shown := server.get(f"{PATH}/{execution_id}").json())["state"] != state:
        assert time.monotonic() < deadline, f"it did not come to {state}: {shown}"
    return dict(shown)


def test_the_result_says_how_it_ended_and_what_it_wrote(server: Server) -> None:
    reply = server.post(PATH, {"code": "import sys; print(1); print(2, file=sys.stderr); sys.exit(3)", "label": "l"})
    told = reply.json()
    assert reply.headers["x-run-id"] == told["id"]
    assert (told["dialect"], told["state"], told["language"], told["label"]) == ("native", "ended", "python", "l")
    assert (told["stdout"], told["stderr"], told["files"], told["skipped"]) == ("1\n", "2\n", [], [])
    ended = told["ended"]
    assert (ended["reason"], ended["exit_code"], ended["signal"]) == ("exit_nonzero", 3, None)
    assert ended["stdout_bytes"] == 2
    assert told["created_at"] <= told["started_at"] <= told["ended_at"]
    assert told["limits"]["timeout_ms"] == 30_000
    assert server.get(f"{PATH}/{told['id']}").json() == told


def test_a_program_can_be_named_instead_of_code(server: Server) -> None:
    assert run(server, argv=["/bin/echo", "a b", "é"])["stdout"] == "a b é\n"


def test_files_environment_and_stdin_reach_the_program(server: Server) -> None:
    code = "import os, sys; print(open('d/t').read(), list(open('b','rb').read()), os.environ['A'], sys.stdin.read())"
    told = run(
        server, code=code, files={"d/t": "é", "b": {"base64": "AP8="}}, env={"A": "x=y"}, stdin={"base64": "aGk="}
    )
    assert told["stdout"] == "é [0, 255] x=y hi\n"
    assert run(server, code="print(input())", stdin="hé\n")["stdout"] == "hé\n"


def test_output_that_is_not_utf8_comes_exact_as_well(server: Server) -> None:
    told = run(server, code=r"import sys; sys.stdout.buffer.write(b'a\xff')")
    assert told["stdout"] == "a\ufffd"
    assert base64.b64decode(told["stdout_base64"]) == b"a\xff"
    assert "stderr_base64" not in told


FILES = """
import os, pathlib
out = pathlib.Path(os.environ["OUTPUT_DIR"])
(out / "a").mkdir()
(out / "a" / "b #%?.bin").write_bytes(bytes(range(256)))
(out / "big").write_bytes(b"x" * 1_500_000)
(out / "p.png").write_bytes(b"\\x89PNG\\r\\n\\x1a\\n...")
(out / "evil.html").write_text("<script>alert(1)</script>")
os.symlink("/etc/passwd", out / "link")
"""


def test_files_come_back_small_ones_inline_and_all_of_them_by_url(server: Server) -> None:
    told = run(server, code=FILES)
    files = {file["name"]: file for file in told["files"]}
    assert list(files) == ["a/b #%?.bin", "big", "evil.html", "p.png"]
    odd = files["a/b #%?.bin"]
    assert base64.b64decode(odd["base64"]) == bytes(range(256))
    assert "base64" not in files["big"]
    assert told["skipped"] == [{"name": "link", "reason": "symlink"}]
    for file in files.values():
        reply = server.get(file["url"])
        assert reply.status_code == 200
        assert len(reply.content) == file["size"]
        assert hashlib.sha256(reply.content).hexdigest() == file["sha256"]
        assert reply.headers["content-disposition"].startswith("attachment")
        assert reply.headers["x-content-type-options"] == "nosniff"
        wanted = "image/png" if file["name"] == "p.png" else "application/octet-stream"
        assert reply.headers["content-type"] == wanted
    assert server.get(f"{PATH}/{told['id']}/files/nope").status_code == 404
    assert server.get(f"{PATH}/{told['id']}/files/../../../etc/passwd").status_code == 404


def test_patterns_choose_which_files_come_back(server: Server) -> None:
    assert [file["name"] for file in run(server, code=FILES, outputs=["*.png", "big"])["files"]] == ["big", "p.png"]


def test_limits_above_the_servers_are_brought_down_and_told(server: Server) -> None:
    limits = run(
        server,
        code="1",
        limits={"timeout_ms": 10**20, "memory_bytes": 1 << 60, "processes": 10**9, "cpus": 1e300},
    )["limits"]
    assert limits == {"timeout_ms": 3_600_000, "memory_bytes": 512 << 20, "processes": 128, "cpus": 1.0}


def test_a_time_limit_ends_it(server: Server) -> None:
    told = run(server, code=SLEEP, limits={"timeout_ms": 200})
    assert told["ended"]["reason"] == "timeout"
    assert told["stdout"] == "on\n"


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "code"),
    ({"code": ""}, "code"),
    ({"code": 5}, "code"),
    ({"code": "x", "argv": ["x"]}, "code"),
    ({"argv": []}, "argv"),
    ({"argv": ["a", 5]}, "argv[1]"),
    ({"argv": ["a", "b\0"]}, "argv[1]"),
    ({"code": "x", "language": "cobol"}, "language"),
    ({"code": "x", "files": {"../x": ""}}, "files"),
    ({"code": "x", "files": {"output/x": ""}}, "files"),
    ({"code": "x", "files": {"a": 5}}, "files['a']"),
    ({"code": "x", "files": {"a": {"base64": "@@"}}}, "files['a'].base64"),
    ({"code": "x", "files": {"a": {"bas64": ""}}}, "files['a'].bas64"),
    ({"code": "x", "env": {"A B": "x"}}, "env"),
    ({"code": "x", "env": {"A": "x\0"}}, "env.A"),
    ({"code": "x", "env": {"A": 5}}, "env.A"),
    ({"code": "x", "env": {"OUTPUT_DIR": "/"}}, "env.OUTPUT_DIR"),
    ({"code": "x", "env": []}, "env"),
    ({"code": "x", "stdin": 5}, "stdin"),
    ({"code": "x", "limits": {"timeout_ms": 0}}, "limits.timeout_ms"),
    ({"code": "x", "limits": {"timeout_ms": 1.5}}, "limits.timeout_ms"),
    ({"code": "x", "limits": {"timeout_ms": True}}, "limits.timeout_ms"),
    ({"code": "x", "limits": {"cpus": "1"}}, "limits.cpus"),
    ({"code": "x", "limits": {"timeout": 5}}, "limits.timeout"),
    ({"code": "x", "limits": []}, "limits"),
    ({"code": "x", "isolation": "vm"}, "isolation"),
    ({"code": "x", "isolation": "process"}, "isolation"),
    ({"code": "x", "outputs": [""]}, "outputs[0]"),
    ({"code": "x", "requirements": ["-r x"]}, "requirements"),
    ({"code": "x", "requirements": [5]}, "requirements[0]"),
    ({"code": "x", "language": "shell", "requirements": ["numpy"]}, "requirements"),
    ({"code": "x", "requirements": ["numpy"], "index": "https://user:hunter22@evil.example/"}, "index"),
    ({"code": "x", "wait": "no"}, "wait"),
    ({"code": "x", "label": "l" * 129}, "label"),
    ({"code": "x", "label": "l\0"}, "label"),
    ({"cod": "x"}, "cod"),
]


@pytest.mark.parametrize(("body", "where"), BAD)
def test_a_bad_request_is_told_with_place_and_remedy_and_starts_nothing(
    server: Server, body: dict[str, Any], where: str
) -> None:
    before = server.started
    reply = server.post(PATH, body)
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert (error["code"], error["where"]) == ("invalid", where)
    assert error["hint"]
    assert error["message"]
    assert error["request_id"] == reply.headers["x-request-id"]
    assert server.started == before


def test_an_unknown_field_names_the_nearest_right_one(server: Server) -> None:
    assert server.post(PATH, {"langauge": "python", "code": "1"}).json()["error"]["hint"] == "Did you mean language?"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff", b'{"code":"\\ud800"}', b'{"files":' * 50_000])
def test_what_is_no_object_is_a_bad_request(server: Server, body: bytes) -> None:
    reply = server.post(PATH, body)
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid")


def test_a_body_over_the_limit_is_413(make_server: Callable[..., Server]) -> None:
    reply = make_server(body_limit=2000).post(PATH, b" " * 2001)
    assert (reply.status_code, reply.json()["error"]["code"]) == (413, "too_large")


def test_without_waiting_the_answer_says_where_to_look(server: Server) -> None:
    reply = server.post(PATH, {"code": "print(1)", "wait": False})
    assert reply.status_code == 202
    execution_id = reply.json()["id"]
    assert reply.headers["location"] == f"{PATH}/{execution_id}"
    assert reply.json()["state"] in ("queued", "running")
    assert reply.json()["ended"] is None
    told = wait_for_state(server, execution_id, "ended")
    assert told["stdout"] == "1\n"


def test_a_running_execution_can_be_cancelled_more_than_once(server: Server) -> None:
    execution_id = started(server)
    first = server.client.delete(f"{PATH}/{execution_id}")
    assert (first.status_code, first.json()["ended"]["reason"]) == (200, "cancelled")
    assert server.client.delete(f"{PATH}/{execution_id}").json() == first.json()
    assert wait_for_state(server, execution_id, "ended")["ended"]["reason"] == "cancelled"


def test_cancelling_what_has_ended_changes_nothing(server: Server) -> None:
    told = run(server, code="print(1)")
    assert server.client.delete(f"{PATH}/{told['id']}").json() == told


def test_a_caller_who_leaves_gives_his_execution_up(server: Server) -> None:
    with pytest.raises(httpx.ReadTimeout):
        server.client.post(PATH, content=json.dumps({"code": SLEEP, "label": "left"}).encode(), timeout=0.4)
    [shown] = [row for row in server.get(PATH).json()["executions"] if row.get("label") == "left"]
    assert wait_for_state(server, shown["id"], "ended")["ended"]["reason"] == "cancelled"


def test_what_finds_no_place_waits_for_one_and_the_queue_has_an_end(make_server: Callable[..., Server]) -> None:
    server = make_server(max_concurrent=1, queue=1)
    running = started(server)
    queued = server.post(PATH, {"code": "print(2)", "wait": False}).json()
    assert (queued["state"], queued["started_at"]) == ("queued", None)
    full = server.post(PATH, {"code": "print(3)"})
    assert (full.status_code, full.json()["error"]["code"], full.headers["retry-after"]) == (429, "at_capacity", "1")
    assert server.post("/code/execute", {"code": "1"}).status_code == 429
    server.client.delete(f"{PATH}/{running}")
    assert wait_for_state(server, queued["id"], "ended")["stdout"] == "2\n"


def test_what_waits_can_be_cancelled_before_it_begins(make_server: Callable[..., Server]) -> None:
    server = make_server(max_concurrent=1)
    running = started(server)
    queued = server.post(PATH, {"code": "print(2)", "wait": False}).json()
    told = server.client.delete(f"{PATH}/{queued['id']}").json()
    assert (told["ended"]["reason"], told["started_at"]) == ("cancelled", None)
    assert server.started == 1
    server.client.delete(f"{PATH}/{running}")
    assert run(server, code="print(1)")["stdout"] == "1\n"


def test_lists_go_page_by_page_newest_first_with_what_runs_on_top(make_server: Callable[..., Server]) -> None:
    server = make_server()
    ids = [run(server, code="1")["id"] for _ in range(5)]
    ids.append(started(server))
    ids.append(server.post("/code/execute", {"code": "1"}).headers["x-run-id"])
    seen: list[str] = []
    cursor = ""
    while True:
        page = server.get(f"{PATH}?limit=2&cursor={cursor}").json()
        seen += [row["id"] for row in page["executions"]]
        if page["next_cursor"] is None:
            break
        cursor = page["next_cursor"]
    assert set(seen) == set(ids)
    assert len(seen) == len(ids)
    assert seen[-5:] == ids[4::-1]
    dialects = {row["dialect"] for row in server.get(PATH).json()["executions"]}
    assert dialects == {"native", "code"}


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "cursor=@@", "cursor=abc"])
def test_a_bad_page_is_told(server: Server, query: str) -> None:
    reply = server.get(f"{PATH}?{query}")
    assert reply.status_code == 400
    assert reply.json()["error"]["where"] == query.split("=")[0]


def test_nobody_sees_the_executions_of_another(make_server: Callable[..., Server]) -> None:
    from drydock.access.keys import Keys
    from drydock.store.database import connect

    server = make_server(server_auth_token="a-long-enough-token")
    database = connect("", server.settings.data)
    mine, theirs = (Keys(database).add(name).text for name in ("mine", "theirs"))
    database.close()
    deadline = time.monotonic() + 3
    while server.get(PATH, Authorization=f"Bearer {theirs}").status_code != 200:
        assert time.monotonic() < deadline
    told = server.post(PATH, {"code": FILES}, Authorization=f"Bearer {mine}").json()
    running = server.post(PATH, {"code": SLEEP, "wait": False}, Authorization=f"Bearer {mine}").json()
    for one in (told, running):
        for path in ("", "/events", "/files/big"):
            url = f"{PATH}/{one['id']}{path}"
            assert server.get(url, Authorization=f"Bearer {theirs}").status_code == 404
            assert server.get(url).status_code == 401
        reply = server.client.delete(f"{PATH}/{one['id']}", headers={"Authorization": f"Bearer {theirs}"})
        assert reply.status_code == 404
    assert server.get(PATH, Authorization=f"Bearer {theirs}").json()["executions"] == []
    assert len(server.get(PATH, Authorization=f"Bearer {mine}").json()["executions"]) == 2
    server.client.delete(f"{PATH}/{running['id']}", headers={"Authorization": f"Bearer {mine}"})


@pytest.mark.parametrize("execution_id", ["nope", "00000000-0000-4000-8000-000000000000", "..", "%00", "a" * 500])
def test_an_unknown_id_is_404(server: Server, execution_id: str) -> None:
    assert server.client.get(f"{server.url}{PATH}/{execution_id}/events").status_code == 404


def test_results_outlive_the_server(make_server: Callable[..., Server]) -> None:
    first = make_server()
    told = run(first, code=FILES)
    first.close()
    second = make_server()
    assert second.get(f"{PATH}/{told['id']}").json() == told
    assert len(second.get(next(f["url"] for f in told["files"] if f["name"] == "big")).content) == 1_500_000


def test_many_at_once_each_get_their_own_result(server: Server) -> None:
    results: dict[int, str] = {}

    def one(number: int) -> None:
        results[number] = run(server, code=f"print({number})")["stdout"]

    threads = [threading.Thread(target=one, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: f"{number}\n" for number in range(24)}
