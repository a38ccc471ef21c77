"""One key, one execution."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

import httpx
import pytest

from tests.standins.server import Server

PATH = "/v1/executions"


def test_fifty_at_once_with_one_key_are_one_execution(server: Server) -> None:
    before = server.started
    replies: list[httpx.Response] = []

    def ask() -> None:
        body = b'{"code":"import time; time.sleep(0.3); print(1)"}'
        replies.append(httpx.post(server.url + PATH, content=body, headers={"Idempotency-Key": "fifty"}, timeout=30))

    threads = [threading.Thread(target=ask) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {reply.status_code for reply in replies} == {200}
    assert len({reply.json()["id"] for reply in replies}) == 1
    assert {reply.json()["stdout"] for reply in replies} == {"1\n"}
    assert sum("idempotency-replayed" not in reply.headers for reply in replies) == 1
    assert server.started == before + 1


def test_a_repeat_gets_the_first_answer_also_after_a_restart(make_server: Callable[..., Server]) -> None:
    server = make_server()
    first = server.post(PATH, {"code": "import os; print(os.getpid())"}, Idempotency_Key="k")
    again = server.post(PATH, b'{ "code": "import os; print(os.getpid())" }', Idempotency_Key="k")
    assert again.json() == first.json()
    assert again.headers["idempotency-replayed"] == "true"
    server.close()
    server = make_server()
    restarted = server.post(PATH, {"code": "import os; print(os.getpid())"}, Idempotency_Key="k")
    assert restarted.json() == first.json()
    assert server.started == 0


def test_the_same_key_with_another_body_is_a_conflict(server: Server) -> None:
    assert server.post(PATH, {"code": "print(1)"}, Idempotency_Key="other").status_code == 200
    reply = server.post(PATH, {"code": "print(2)"}, Idempotency_Key="other")
    assert (reply.status_code, reply.json()["error"]["code"]) == (409, "conflict")


def test_a_conflict_is_seen_while_the_first_runs(server: Server) -> None:
    slow = {"code": "import time; time.sleep(0.5)", "wait": False}
    assert server.post(PATH, slow, Idempotency_Key="early").status_code == 202
    assert server.post(PATH, {"code": "print(2)"}, Idempotency_Key="early").status_code == 409


def test_a_keyed_execution_goes_on_when_its_caller_leaves(server: Server) -> None:
    body = json.dumps({"code": "import time; time.sleep(0.8); print('kept')"}).encode()
    with pytest.raises(httpx.ReadTimeout):
        server.client.post(PATH, content=body, headers={"Idempotency-Key": "left"}, timeout=0.3)
    again = server.client.post(PATH, content=body, headers={"Idempotency-Key": "left"})
    assert again.json()["stdout"] == "kept\n"
    assert again.json()["ended"]["reason"] == "completed"


def test_a_refused_request_does_not_use_up_its_key(make_server: Callable[..., Server]) -> None:
    server = make_server(max_concurrent=1, queue=0)
    running = server.post(PATH, {"code": "import time; time.sleep(30)", "wait": False}).json()["id"]
    assert server.post(PATH, {"code": "print(1)"}, Idempotency_Key="k").status_code == 429
    assert server.post(PATH, {"cod": "print(1)"}, Idempotency_Key="k").status_code == 400
    server.client.delete(f"{PATH}/{running}")
    deadline = time.monotonic() + 2
    while (reply := server.post(PATH, {"code": "print(1)"}, Idempotency_Key="k")).status_code == 429:
        assert time.monotonic() < deadline
    assert reply.json()["stdout"] == "1\n"
    assert "idempotency-replayed" not in reply.headers


@pytest.mark.parametrize("key", ["", "a b", "é", "k" * 256])
def test_a_key_that_is_none_is_refused(server: Server, key: str) -> None:
    reply = server.client.post(PATH, content=b'{"code":"1"}', headers=[(b"Idempotency-Key", key.encode())])
    assert reply.status_code == 400
    assert reply.json()["error"]["where"] == "Idempotency-Key"


def test_two_keys_are_refused(server: Server) -> None:
    headers = [("Idempotency-Key", "a"), ("Idempotency-Key", "a")]
    assert server.client.post(PATH, content=b'{"code":"1"}', headers=headers).status_code == 400


def test_an_execution_that_a_crash_interrupted_is_told_as_such_and_not_run_again(
    make_server: Callable[..., Server],
) -> None:
    from datetime import UTC, datetime

    from drydock.store.execution import Execution

    server = make_server()
    started = Execution("11111111-1111-4111-8111-111111111111", "native", "local", "python", datetime.now(UTC))
    server.app.executions.reserve(started)
    server.close()
    server = make_server()
    told = server.get(f"{PATH}/{started.id}").json()
    assert (told["state"], told["ended"]["reason"], told["ended"]["retryable"]) == ("ended", "interrupted", True)
    assert server.get(f"{PATH}/{started.id}/events").text.count("event: ended") == 1
