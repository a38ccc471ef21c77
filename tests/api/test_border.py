"""Every reply has its id, every error its form, and none tells what it should not."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import Callable, Sequence

import httpx
import pytest

from drydock.api.border import Border
from drydock.api.call import Call, Shape
from drydock.api.shapes import native
from drydock.box.stop import Stop
from drydock.code.executor import OnOutput, OnProgress
from drydock.code.request import ExecutionRequest, ExecutionResult
from drydock.dialects.forms import FORMS
from drydock.errors import BoxFailed
from drydock.observe.log import Log
from drydock.observe.metrics import Metrics
from tests.standins.plain_executor import PlainExecutor
from tests.standins.server import Server

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


class Breaking(PlainExecutor):
    """Fails in its own way at every execution."""

    def __init__(self, failure: Exception) -> None:
        super().__init__()
        self._failure = failure

    async def execute(
        self,
        request: ExecutionRequest,
        *,
        stop: Stop | None = None,
        on_output: OnOutput | None = None,
        on_progress: OnProgress | None = None,
        queue: bool = False,
    ) -> ExecutionResult:
        raise self._failure


REQUESTS: Sequence[tuple[str, str]] = [
    ("GET", "/health"),
    ("POST", "/code/execute"),
    ("GET", "/code/execute"),
    ("GET", "/code/nope"),
    ("GET", "/nope"),
    ("PATCH", "/v1/executions"),
    ("GET", "/v1/nope"),
    ("POST", "/v1/executions"),
    ("GET", "/metrics"),
    ("GET", "/docs"),
    ("TRACE", "/docs"),
]


@pytest.mark.parametrize(("method", "path"), REQUESTS)
def test_every_reply_has_one_id_the_callers_own_if_it_is_valid(server: Server, method: str, path: str) -> None:
    fresh = server.client.request(method, path).headers.get_list("x-request-id")
    assert len(fresh) == 1
    assert UUID.fullmatch(fresh[0])
    own = server.client.request(method, path, headers={"X-Request-ID": "My.own:id_1-2"})
    assert own.headers["x-request-id"] == "My.own:id_1-2"
    for bad in ("a b", "é", "x" * 129, "<script>", ""):
        reply = server.client.request(method, path, headers=[(b"X-Request-ID", bad.encode())])
        assert UUID.fullmatch(reply.headers["x-request-id"])


def test_a_native_error_has_its_whole_form(server: Server) -> None:
    reply = server.client.get("/v1/nope")
    error = reply.json()["error"]
    assert reply.status_code == 404
    assert error == {
        "code": "not_found",
        "message": "no such path",
        "where": "path",
        "hint": "/openapi.json lists every path.",
        "request_id": reply.headers["x-request-id"],
    }


def test_a_wrong_method_names_the_right_ones(server: Server) -> None:
    reply = server.client.put("/v1/executions")
    assert (reply.status_code, reply.json()["error"]["code"]) == (405, "method_not_allowed")
    assert reply.headers["allow"] == "GET, POST"


def test_a_mistake_of_ours_is_logged_with_its_stack_and_answered_without(make_server: Callable[..., Server]) -> None:
    server = make_server(executor=Breaking(RuntimeError("secret-detail /root/path")))
    for path, body in (("/code/execute", {"code": "1"}), ("/v1/executions", {"code": "1"})):
        reply = server.post(path, body)
        assert "secret-detail" not in reply.text
        assert "Traceback" not in reply.text
        assert "/root" not in reply.text
    told = server.post("/v1/executions", {"code": "1"}).json()
    assert told["ended"]["reason"] == "box_failed"
    assert told["ended"]["retryable"] is True
    stacks = [line for line in map(json.loads, server.log.getvalue().splitlines()) if line["event"] == "internal"]
    assert "secret-detail" in stacks[0]["stack"]
    assert server.get("/health").json()["current_load"] == 0


def test_a_box_that_cannot_be_made_is_500_in_the_contract_and_an_ending_natively(
    make_server: Callable[..., Server],
) -> None:
    server = make_server(executor=Breaking(BoxFailed("no space left for a box")))
    reply = server.post("/code/execute", {"code": "1"})
    assert reply.status_code == 500
    assert reply.json() == {"error": "failed to create temp dir: no space left for a box"}
    ended = server.post("/v1/executions", {"code": "1"}).json()["ended"]
    assert (ended["reason"], ended["detail"]) == ("box_failed", "no space left for a box")


async def break_down(call: Call) -> None:
    raise ZeroDivisionError("inner-detail")


@pytest.mark.parametrize("shape", [native, *FORMS.values()])
def test_a_door_that_breaks_is_answered_in_its_own_form(shape: Shape) -> None:
    told = io.StringIO()
    border = Border(break_down, shape, Log(stream=told), Metrics())

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(border), base_url="http://localhost") as client:
            return await client.get("/")

    reply = asyncio.run(ask())
    assert reply.status_code == 500
    assert reply.json()["error"]
    assert "inner-detail" not in reply.text
    assert "inner-detail" in told.getvalue()
    assert reply.headers["x-request-id"] in told.getvalue()
