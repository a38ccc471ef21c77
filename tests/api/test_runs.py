"""Runs by the native API, over real sockets and real boxes; the agent in them is plain code."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from drydock.agent.desk import Question
from drydock.run.parts import Job
from drydock.store import followers
from tests.standins.agent import PATCH, scripted
from tests.standins.index import Index
from tests.standins.server import Server, events_of, read_to_end
from tests.standins.wheels import wheel

SOON = 20.0
REACH = "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/pypi/simple/wide/').read()"


async def work(job: Job) -> str:
    """Does what its task says."""
    if job.spec.task == "ask":
        answer = await job.desk.ask(Question("npm ci", "network", "may it?", 1, 60, 30))
        return "approved" if answer.approved else "refused"
    if job.spec.task == "listen":
        heard: list[str] = []
        while not heard:
            heard = [each.text for each in await job.desk.checkpoint("step")]
            await _run(job, "sleep 0.05")
        return heard[0]
    if job.spec.task == "flood":
        for _ in range(400):
            await job.desk.emit("command_output", stream="stdout", output="x" * 30_000)
    if job.spec.task.startswith("reach"):
        argv = ["/usr/bin/python3", "-c", REACH]
        return (await job.site.run(argv, timeout_s=30, network=job.spec.task == "reach")).reason
    if job.spec.task.startswith("run "):
        return await _run(job, job.spec.task.removeprefix("run "))
    return "done"


_numbers = iter(range(1, 1 << 30))


async def _run(job: Job, command: str) -> str:
    async def tell(stream: str, text: str) -> None:
        await job.desk.emit("command_output", stream=stream, output=text)

    async def act() -> str:
        await job.desk.emit("command_started", command=command)
        done = await job.site.run(["/bin/sh", "-c", command], timeout_s=60, on_output=tell)
        await job.desk.changed()
        return f"{done.reason} {done.stdout.decode()}".strip()

    return str(await job.desk.once(f"command-{next(_numbers)}", act, interrupted=lambda: "interrupted"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("data"), makes=scripted(work)) as running:
        yield running


def start(server: Server, task: str = "do it", **more: Any) -> dict[str, Any]:
    reply = server.post("/v1/runs", {"task": task, **more})
    assert reply.status_code == 202, reply.text
    assert reply.headers["location"] == f"/v1/runs/{reply.json()['id']}"
    run: dict[str, Any] = reply.json()
    return run


def until(server: Server, run: dict[str, Any], so: Any) -> dict[str, Any]:
    """Look until it is so: for what the journal does not tell."""
    ends = time.monotonic() + SOON
    while time.monotonic() < ends:
        shown: dict[str, Any] = server.get(f"/v1/runs/{run['id']}").json()
        if so(shown):
            return shown
        threading.Event().wait(0.02)
    raise AssertionError(f"it never came to that: {shown}")


def kinds(text: str) -> list[str]:
    return [kind for _, kind, _ in events_of(text)]


def test_quotas_and_frozen_boxes_have_their_bounds(make_server: Callable[..., Server]) -> None:
    """Before the server of this module: there is one engine to a process."""
    with make_server("bounds", makes=scripted(work), quota_concurrent=1, frozen_boxes=0) as server:
        run = start(server, "run echo up; sleep 300")
        refused = server.post("/v1/runs", {"task": "one more"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "quota")
        assert len(server.get("/v1/runs").json()["runs"]) == 1
        _until_event(server, run, "command_output")
        server.post(f"/v1/runs/{run['id']}/pause", {})
        _until_event(server, run, "run_paused")
        server.post(f"/v1/runs/{run['id']}/resume", {})
        shown = until(server, run, lambda shown: shown["status"] == "completed")
        assert shown["result"]["summary"] == "cancelled up"


def test_a_reader_that_does_not_read_is_dropped_and_may_come_back(
    make_server: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the server of this module, as above. The run is not held up by it."""
    monkeypatch.setattr(followers, "MOST_WAITING", 20)
    with make_server("slow", makes=scripted(work)) as server:
        with socket.socket() as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.connect(("127.0.0.1", server.port))
            body = json.dumps({"task": "flood"}).encode()
            head = "POST /v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nConnection: close\r\n"
            reader.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            began = reader.recv(2000).decode()
            run = {"id": re.findall(r"x-run-id: (\S+)", began)[0]}
            shown = until(server, run, lambda shown: shown["status"] == "completed")
            reader.settimeout(SOON)
            seen = read_to_end(reader).decode("utf-8", "replace")
        last = int(re.findall(r"^id: (\d+)", seen, re.MULTILINE)[-1])
        assert "run_completed" not in seen
        assert 1 < last < shown["last_event"]
        rest = events_of(server.get(f"/v1/runs/{run['id']}/events", Last_Event_ID=str(last)).text)
        assert [number for number, _, _ in rest] == list(range(last + 1, shown["last_event"] + 1))


def test_a_command_that_was_granted_the_network_reaches_the_index_and_no_other_does(
    make_server: Callable[..., Server],
) -> None:
    """Before the server of this module, as above."""
    with Index() as index:
        index.publish(wheel("wide"))
        with make_server("granted", makes=scripted(work), python_index=index.pypi, npm_index=index.npm) as server:
            for task in ("reach without", "reach", "reach without"):
                run = start(server, task)
                shown = until(server, run, lambda shown: shown["status"] == "completed")
                assert shown["result"]["summary"] == ("completed" if task == "reach" else "exit_nonzero")


def test_a_run_is_started_watched_and_shown(server: Server) -> None:
    run = start(server, "run echo hello", repo="acme/ledger", client_id="mine-1")
    assert (run["status"], run["dialect"], run["timeout_ms"]) == ("queued", "native", 900_000)
    stream = server.get(f"/v1/runs/{run['id']}/events")
    assert stream.headers["content-type"].startswith("text/event-stream")
    events = events_of(stream.text)
    assert [number for number, _, _ in events] == list(range(1, len(events) + 1))
    assert kinds(stream.text) == [
        "run_queued",
        "run_started",
        "repo_clone_started",
        "command_started",
        "command_output",
        "diff_generated",
        "run_completed",
    ]
    assert all(data["timestamp"].endswith("Z") for _, _, data in events)
    shown = server.get("/v1/runs/mine-1").json()
    assert (shown["status"], shown["last_event"]) == ("completed", len(events))
    assert shown["result"]["summary"] == "completed hello"
    listed = server.get("/v1/runs?repo=ACME/ledger&status=completed").json()["runs"]
    assert [each["id"] for each in listed] == [run["id"]]


def test_a_reader_that_comes_back_gets_what_is_left_and_then_nothing(server: Server) -> None:
    run = start(server)
    whole = events_of(server.get(f"/v1/runs/{run['id']}/events").text)
    rest = events_of(server.get(f"/v1/runs/{run['id']}/events", Last_Event_ID="2").text)
    assert rest == whole[2:]
    assert events_of(server.get(f"/v1/runs/{run['id']}/events?after=3").text) == whole[3:]
    assert server.get(f"/v1/runs/{run['id']}/events?after={len(whole)}").status_code == 204


def test_events_are_searched_newest_first_and_read_as_json(server: Server) -> None:
    run = start(server, "run echo needle")
    server.get(f"/v1/runs/{run['id']}/events")
    found = server.get(f"/v1/runs/{run['id']}/events?q=NEEDLE").json()["events"]
    assert [each["type"] for each in found] == ["run_completed", "command_output", "command_started"]
    assert server.get(f"/v1/runs/{run['id']}/events?kind=run_started,run_queued").json()["events"][0]["seq"] == 2
    page = server.get(f"/v1/runs/{run['id']}/events?after=1&limit=1", Accept="application/json").json()["events"]
    assert [each["seq"] for each in page] == [2]


def test_a_start_can_wait_or_stream_or_be_said_twice(server: Server) -> None:
    waited = server.post("/v1/runs", {"task": "do it", "wait": True})
    assert (waited.status_code, waited.json()["status"]) == (200, "completed")
    streamed = server.post("/v1/runs", {"task": "do it"}, Accept="text/event-stream")
    assert kinds(streamed.text)[-1] == "run_completed"
    first = server.post("/v1/runs", {"task": "do it"}, Idempotency_Key="k1")
    again = server.post("/v1/runs", {"task": "do it"}, Idempotency_Key="k1")
    assert first.json()["id"] == again.json()["id"]
    assert again.headers["idempotency-replayed"] == "true"
    other = server.post("/v1/runs", {"task": "something else"}, Idempotency_Key="k1")
    assert (other.status_code, other.json()["error"]["code"]) == (409, "conflict")


def test_a_command_stands_still_while_its_run_is_paused(server: Server) -> None:
    run = start(server, "run for i in 1 2 3 4 5 6 7 8; do date +%s%N; sleep 0.1; done")
    _until_event(server, run, "command_output")
    assert server.post(f"/v1/runs/{run['id']}/pause", {"reason": "wait"}).json()["changed"]
    _until_event(server, run, "run_paused")
    assert not server.post(f"/v1/runs/{run['id']}/pause", {}).json()["changed"]
    before = server.get(f"/v1/runs/{run['id']}").json()
    assert (before["status"], before["pause_reason"]) == ("paused", "wait")
    threading.Event().wait(0.5)
    assert server.post(f"/v1/runs/{run['id']}/resume", b"").json()["changed"]
    shown = until(server, run, lambda shown: shown["status"] == "completed")
    told = [int(line) for line in shown["result"]["summary"].split()[1:]]
    assert len(told) == 8
    assert max(later - earlier for earlier, later in itertools.pairwise(told)) > 0.5e9


def test_cancelling_ends_the_box_within_a_second(server: Server) -> None:
    run = start(server, "run sleep 300")
    _until_event(server, run, "command_started")
    began = time.monotonic()
    done = server.post(f"/v1/runs/{run['id']}/cancel", {"reason": "enough"}).json()
    assert (done["was"], done["run"]["status"]) == ("running", "cancelled")
    stream = server.get(f"/v1/runs/{run['id']}/events").text
    assert time.monotonic() - began < 1.5
    assert kinds(stream)[-2:] == ["task_cancelled", "run_cancelled"]
    assert server.get(f"/v1/runs/{run['id']}").json()["result"]["logs"] == "what was kept"
    again = server.post(f"/v1/runs/{run['id']}/cancel", {}).json()
    assert (again["changed"], again["was"]) == (False, "cancelled")


def test_one_command_is_ended_and_its_run_goes_on(server: Server) -> None:
    run = start(server, "run sleep 300")
    _until_event(server, run, "command_started")
    server.post(f"/v1/runs/{run['id']}/stop-command", {})
    shown = until(server, run, lambda shown: shown["status"] == "completed")
    assert shown["result"]["summary"] == "cancelled"


def test_what_is_said_reaches_the_agent(server: Server) -> None:
    run = start(server, "listen")
    said = server.post(f"/v1/runs/{run['id']}/messages", {"text": "smaller steps"})
    assert said.status_code == 200
    shown = until(server, run, lambda shown: shown["status"] == "completed")
    assert shown["result"]["summary"] == "smaller steps"
    late = server.post(f"/v1/runs/{run['id']}/messages", {"text": "too late"})
    assert late.status_code == 409


def test_what_waits_for_a_person_is_listed_and_answered(server: Server) -> None:
    run = start(server, "ask")
    shown = until(server, run, lambda shown: "waiting" in shown)
    question = shown["waiting"]
    assert [each["run"] for each in server.get("/v1/waiting").json()["waiting"]] == [run["id"]]
    path = f"/v1/runs/{run['id']}/approvals/{question['number']}"
    assert server.post(path, {"approved": True, "hash": "0" * 64}).status_code == 409
    settled = server.post(path, {"approved": True, "hash": question["hash"]})
    assert (settled.status_code, settled.json()["status"]) == (200, "approved")
    shown = until(server, run, lambda shown: shown["status"] == "completed")
    assert shown["result"]["summary"] == "approved"
    assert server.get("/v1/waiting").json()["waiting"] == []


def test_what_waits_is_streamed_with_each_change(server: Server) -> None:
    with httpx.stream("GET", f"{server.url}/v1/waiting", headers={"accept": "text/event-stream"}, timeout=SOON) as told:
        changes = (json.loads(line[6:])["waiting"] for line in told.iter_lines() if line.startswith("data: "))
        assert next(changes) == []
        run = start(server, "ask")
        [question] = next(changes)
        assert (question["run"], question["command"]) == (run["id"], "npm ci")
        server.post(f"/v1/runs/{run['id']}/approvals/{question['number']}", {"approved": False})
        assert next(changes) == []


def test_what_an_ended_run_left_is_taken_away_with_its_hashes(server: Server) -> None:
    run = start(server)
    whole = events_of(server.get(f"/v1/runs/{run['id']}/events").text)
    until(server, run, lambda shown: shown["status"] == "completed")
    listed = server.get(f"/v1/runs/{run['id']}/artifacts").json()["artifacts"]
    assert [each["name"] for each in listed] == [
        "logs.txt",
        "diff.patch",
        "events.ndjson",
        "result.json",
        "manifest.json",
    ]
    manifest = server.get(f"/v1/runs/{run['id']}/artifacts/manifest.json").json()
    for file in manifest["files"]:
        data = server.get(f"/v1/runs/{run['id']}/artifacts/{file['name']}").content
        assert (len(data), hashlib.sha256(data).hexdigest()) == (file["size"], file["sha256"])
    lines = server.get(f"/v1/runs/{run['id']}/artifacts/events.ndjson").text.splitlines()
    assert [json.loads(line)["index"] for line in lines] == [number for number, _, _ in whole]
    assert server.get(f"/v1/runs/{run['id']}/artifacts/..%2f..%2fetc").status_code == 404


def test_a_diff_is_read_whole_or_one_file_at_a_time(server: Server) -> None:
    run = start(server)
    until(server, run, lambda shown: shown["status"] == "completed")
    assert server.get(f"/v1/runs/{run['id']}/diff").text == PATCH
    assert server.get(f"/v1/runs/{run['id']}/diff?path=b%20c.txt").text == PATCH[PATCH.index("diff --git a/b c") :]
    assert server.get(f"/v1/runs/{run['id']}/diff?path=none").status_code == 404


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, "task"),
        ({"task": "  "}, "task"),
        ({"task": "x", "type": "cooking"}, "type"),
        ({"task": "x", "trust": 3}, "trust"),
        ({"task": "x", "repair_rounds": 6}, "repair_rounds"),
        ({"task": "x", "limits": {"steps": 0}}, "limits.steps"),
        ({"task": "x", "client_id": "a/b"}, "client_id"),
        ({"task": "x", "timeout": 3}, "timeout"),
        ({"task": "a\0b"}, "task"),
    ],
)
def test_a_bad_order_names_its_place_and_starts_nothing(server: Server, body: Any, where: str) -> None:
    before = server.get("/v1/runs").json()["runs"][:1]
    reply = server.post("/v1/runs", body)
    assert (reply.status_code, reply.json()["error"]["where"]) == (400, where)
    assert server.get("/v1/runs").json()["runs"][:1] == before


def test_no_run_is_no_run_on_every_route(server: Server) -> None:
    for path in ("", "/events"):
        assert server.get(f"/v1/runs/{'0' * 8}-0000-4000-8000-{'0' * 12}{path}").status_code == 404
    for path in ("pause", "resume", "cancel", "stop-command"):
        assert server.post(f"/v1/runs/none/{path}", {}).status_code == 404


def _until_event(server: Server, run: dict[str, Any], kind: str) -> None:
    with httpx.stream("GET", f"{server.url}/v1/runs/{run['id']}/events", timeout=SOON) as stream:
        for line in stream.iter_lines():
            if line == f"event: {kind}":
                return
    raise AssertionError(f"no {kind} came")
