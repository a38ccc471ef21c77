"""Server-sent events: no gap, no repeat, live and afterwards."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import httpx
import pytest

from tests.standins.server import Server, events_of

PATH = "/v1/executions"
STREAM = {"Accept": "text/event-stream"}
COUNTING = """
import sys, time
for n in range(8):
    print(n, flush=True)
    if n % 3 == 0:
        print("e", n, file=sys.stderr, flush=True)
    time.sleep(0.05)
"""


def text_of(events: list[tuple[int, str, dict[str, str]]], kind: str) -> str:
    return "".join(data["text"] for _, name, data in events if name == kind)


def test_a_stream_tells_start_output_and_end_under_rising_numbers(server: Server) -> None:
    reply = server.client.post(PATH, content=json.dumps({"code": COUNTING}).encode(), headers=STREAM)
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    events = events_of(reply.text)
    assert [number for number, _, _ in events] == list(range(1, len(events) + 1))
    assert (events[0][1], events[-1][1]) == ("started", "ended")
    assert events[0][2]["id"] == events[-1][2]["id"] == reply.headers["x-run-id"]
    assert text_of(events, "stdout") == "".join(f"{n}\n" for n in range(8))
    assert text_of(events, "stderr") == "e 0\ne 3\ne 6\n"
    assert events[-1][2]["ended"]["reason"] == "completed"


@pytest.mark.serial
def test_output_comes_while_the_program_runs(server: Server) -> None:
    body = json.dumps({"code": "import time; print(1, flush=True); time.sleep(2)"}).encode()
    began = time.monotonic()
    with server.client.stream("POST", PATH, content=body, headers=STREAM) as reply:
        for line in reply.iter_lines():
            if line == "event: stdout":
                break
        assert time.monotonic() - began < 1


def test_whoever_comes_back_gets_what_follows_and_nothing_twice(server: Server) -> None:
    execution_id = server.post(PATH, {"code": COUNTING, "wait": False}).json()["id"]
    url = f"{PATH}/{execution_id}/events"
    seen = events_of("")
    while not seen or seen[-1][1] != "ended":
        last = str(seen[-1][0]) if seen else "0"
        block = ""
        with server.client.stream("GET", url, headers={"Last-Event-ID": last}) as reply:
            for line in reply.iter_lines():
                block += line + "\n"
                if line == "" and events_of(block):
                    break
        seen += events_of(block)
    whole = events_of(server.get(url).text)
    assert seen == whole
    assert events_of(server.get(f"{url}?after=3").text) == whole[3:]


def test_the_events_are_the_same_from_the_record_and_after_a_restart(make_server: Callable[..., Server]) -> None:
    server = make_server()
    reply = server.client.post(PATH, content=json.dumps({"code": COUNTING}).encode(), headers=STREAM)
    url = f"{PATH}/{reply.headers['x-run-id']}/events"
    live = events_of(reply.text)
    assert events_of(server.get(url).text) == live
    server.close()
    server = make_server()
    assert events_of(server.get(url).text) == live
    assert events_of(server.get(url, Last_Event_ID="4").text) == live[4:]


def test_whoever_has_seen_all_is_told_to_stay_away(server: Server) -> None:
    reply = server.client.post(PATH, content=b'{"code":"print(1)"}', headers=STREAM)
    url = f"{PATH}/{reply.headers['x-run-id']}/events"
    last = events_of(reply.text)[-1][0]
    for after in (last, last + 100):
        assert server.get(url, Last_Event_ID=str(after)).status_code == 204


@pytest.mark.parametrize("after", ["x", "-1", "1.5", "9" * 50])
def test_a_bad_number_is_told(server: Server, after: str) -> None:
    execution_id = server.post(PATH, {"code": "1"}).json()["id"]
    assert server.get(f"{PATH}/{execution_id}/events?after={after}").status_code == 400


def test_characters_are_not_torn_and_bad_bytes_come_exact(server: Server) -> None:
    code = r"""
import sys, time
for byte in "é漢😀".encode():
    sys.stdout.buffer.write(bytes([byte])); sys.stdout.flush(); time.sleep(0.03)
sys.stderr.buffer.write(b"\xff\xfe")
"""
    events = events_of(server.client.post(PATH, content=json.dumps({"code": code}).encode(), headers=STREAM).text)
    assert text_of(events, "stdout") == "é漢😀"
    assert [data.get("base64") for _, kind, data in events if kind == "stderr"] == ["//4="]


def test_a_code_dialects_execution_can_be_watched_too(server: Server) -> None:
    execution_id = server.post("/code/execute", {"code": "print(1)"}).headers["x-run-id"]
    events = events_of(server.get(f"{PATH}/{execution_id}/events").text)
    assert [kind for _, kind, _ in events] == ["started", "stdout", "ended"]


def test_a_watcher_who_leaves_does_not_end_it_and_the_one_who_ordered_it_does(server: Server) -> None:
    code = json.dumps({"code": "import time; print(1, flush=True); time.sleep(30)"}).encode()
    with server.client.stream("POST", PATH, content=code, headers=STREAM) as ordered:
        execution_id = ordered.headers["x-run-id"]
        with httpx.stream("GET", f"{server.url}{PATH}/{execution_id}/events") as watching:
            next(watching.iter_lines())
        assert server.get(f"{PATH}/{execution_id}").json()["state"] == "running"
    deadline = time.monotonic() + 2
    while (shown := server.get(f"{PATH}/{execution_id}").json())["state"] != "ended":
        assert time.monotonic() < deadline
    assert shown["ended"]["reason"] == "cancelled"


def test_a_flood_is_cut_where_the_result_is(make_server: Callable[..., Server]) -> None:
    server = make_server(output_bytes=100_000)
    code = json.dumps({"code": "print('x' * 5_000_000)"}).encode()
    events = events_of(server.client.post(PATH, content=code, headers=STREAM).text)
    assert len(text_of(events, "stdout")) == 100_000
    assert events[-1][2]["ended"]["stdout_cut"] is True
