"""The bare paths: routing.md sections 2 to 5."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.standins.server import Server

KEY = "a-long-enough-token"
CORS = "access-control-allow-origin"


def test_code_runs_at_the_root_and_says_which_contract_answered(server: Server) -> None:
    reply = server.post("/execute", {"code": "print(1)"})
    assert reply.json()["stdout"] == "1\n"
    assert reply.headers["x-drydock-dialect"] == "code"
    assert CORS not in reply.headers


@pytest.mark.parametrize("body", [{"requirements": ["x"]}, {"files": {}, "timeout_seconds": 3}, {"code": ""}])
def test_a_body_of_the_shape_of_code_gets_the_errors_of_code(server: Server, body: dict[str, Any]) -> None:
    reply = server.post("/execute", body)
    assert (reply.status_code, reply.json()) == (400, {"error": "code is required"})


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"5", b"\xff", b"{} x"])
def test_what_holds_no_object_is_refused_in_the_form_of_the_root(server: Server, body: bytes) -> None:
    reply = server.post("/execute", body)
    told = reply.json()
    assert reply.status_code == 400
    assert told["error"].startswith("invalid request: ")
    assert told["error_code"] == "INVALID_JSON"
    assert told["request_id"] == reply.headers["x-request-id"]
    assert reply.headers["x-drydock-dialect"] == "executor"


def test_nothing_known_is_asked_for_a_task(server: Server) -> None:
    for body in ({}, {"x": 1}, {"prompt": "p"}):
        reply = server.post("/execute", body)
        told = reply.json()
        assert reply.status_code == 400
        assert (told["error"], told["error_code"]) == ("Task is required", "INVALID_REQUEST")
    assert "/execute/sdk" in told["details"]["hint"]


@pytest.mark.parametrize(
    ("body", "dialect"),
    [
        ({"task": "t"}, "executor"),
        ({"task": "t", "timeout": 5}, "task"),
    ],
)
def test_a_contract_without_a_door_says_so(server: Server, body: dict[str, Any], dialect: str) -> None:
    reply = server.post("/execute", body)
    assert reply.status_code == 404
    assert "not built in this version" in reply.json()["error"]
    assert reply.headers["x-drydock-dialect"] == dialect


def test_a_body_of_the_shape_of_polychat_gets_its_errors(server: Server) -> None:
    reply = server.post("/execute", {"task": "t", "timeoutSeconds": 60})
    assert reply.json() == {"error": "Sandbox authentication secret is not configured"}
    assert (reply.status_code, reply.headers["x-drydock-dialect"]) == (503, "polychat")


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/execute"), ("PUT", "/execute"), ("POST", "/nope"), ("GET", "/"), ("POST", "/health"), ("GET", "//")],
)
def test_an_unknown_path_or_method_has_the_form_of_the_executor(server: Server, method: str, path: str) -> None:
    reply = server.client.request(method, server.url + path)
    assert reply.status_code == 404
    request_id = reply.headers["x-request-id"]
    assert reply.json() == {"error": "Not Found", "error_code": "ROUTE_NOT_FOUND", "request_id": request_id}
    assert reply.headers[CORS] == "*"


@pytest.mark.parametrize("path", ["/execute", "/execute/sdk", "/deploy", "/tasks/x/result", "/health", "/nope"])
def test_a_preflight_is_answered_as_the_executor_does(make_server: Callable[..., Server], path: str) -> None:
    server = make_server(server_auth_token=KEY)
    reply = server.client.options(path)
    assert (reply.status_code, reply.content) == (200, b"")
    assert reply.headers[CORS] == "*"
    assert reply.headers["access-control-max-age"] == "86400"


def test_other_roots_have_their_own_forms(make_server: Callable[..., Server]) -> None:
    code = make_server("code", root="code")
    assert (code.get("/nope").text, code.get("/nope").status_code) == ("404 page not found\n", 404)
    assert code.get("/execute").headers["allow"] == "POST"
    assert code.post("/execute", {"task": "t"}).json() == {"error": "code is required"}
    assert code.post("/execute", b"{").json()["error_code"] == "INVALID_JSON"
    assert make_server("task", root="task").get("/nope").json() == {"error": "Not found"}
    assert make_server("polychat", root="polychat").get("/nope").json() == {"status": "not found"}


def test_bare_paths_can_be_turned_off(make_server: Callable[..., Server]) -> None:
    server = make_server(bare=False)
    for path in ("/execute", "/health", "/deploy"):
        assert server.post(path, {"code": "print(1)"}).status_code == 404
    assert server.post("/code/execute", {"code": "print(1)"}).json()["stdout"] == "1\n"
    assert server.post("/v1/executions", {"code": "print(1)"}).json()["stdout"] == "1\n"


def test_the_united_health_has_every_key_of_every_contract_and_needs_no_key(make_server: Callable[..., Server]) -> None:
    reply = make_server(server_auth_token=KEY).get("/health")
    told = reply.json()
    wanted = "status service platform auth_method timestamp version mode runtime_version capacity current_load "
    wanted += "uptime_seconds checks languages isolation lost_promises state"
    assert set(wanted.split()) <= set(told)
    assert (told["status"], told["service"], told["platform"]) == ("healthy", "sandbox-executor", "drydock")
    assert set(told["checks"]) == {"cloudflare", "github", "anthropic"}
    assert reply.headers[CORS] == "*"
    assert reply.headers["x-request-id"]


def test_a_refused_caller_is_told_in_the_form_of_the_contract_that_he_speaks(
    make_server: Callable[..., Server],
) -> None:
    server = make_server(server_auth_token=KEY)
    assert server.post("/execute", {"code": "print(1)"}).json() == {"error": "Unauthorized"}
    for body in ({"task": "t"}, b"{"):
        reply = server.post("/execute", body)
        assert reply.status_code == 401
        assert (reply.json()["error"], reply.json()["error_code"]) == ("Unauthorized", "AUTH_FAILED")
    assert server.post("/execute", {"code": "print(1)"}, X_API_Key=KEY).status_code == 401, "a bearer token is no key"
    assert server.post("/execute", {"code": "print(1)"}, Authorization=f"Bearer {KEY}").status_code == 200
    assert server.started == 1


def test_an_unknown_caller_may_send_a_mebibyte_and_no_more(make_server: Callable[..., Server]) -> None:
    server = make_server(server_auth_token=KEY)
    fits, over = b'{"code":"' + b" " * 1_000_000 + b'"}', b'{"code":"' + b" " * 1_100_000 + b'"}'
    assert server.post("/execute", fits).json() == {"error": "Unauthorized"}
    assert server.post("/execute", over).json()["error_code"] == "AUTH_FAILED"
    assert server.post("/execute", over, Authorization=f"Bearer {KEY}").status_code == 200


def test_without_a_key_a_web_page_is_refused(server: Server) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}):
        for path in ("/execute", "/code/execute", "/v1/executions"):
            reply = server.post(path, {"code": "print(1)"}, **headers)
            assert reply.status_code == 403, (headers, path)
    own = f"http://127.0.0.1:{server.port}"
    assert server.post("/execute", {"code": "print(1)"}, Origin=own).status_code == 200


def test_a_key_opens_the_doors_of_its_scope_and_no_other(make_server: Callable[..., Server]) -> None:
    from drydock.access.keys import Keys
    from drydock.store.database import connect

    server = make_server(server_auth_token=KEY)
    database = connect("", server.settings.data)
    code, native = (Keys(database).add(scope, [scope]).text for scope in ("code", "native"))
    database.close()
    deadline = time.monotonic() + 3
    while server.get("/v1/executions", X_API_Key=native).status_code != 200:
        assert time.monotonic() < deadline
    body = {"code": "print(1)"}
    for path in ("/execute", "/code/execute"):
        assert server.post(path, body, X_API_Key=code).status_code == 200
        refused = server.post(path, body, X_API_Key=native)
        assert refused.status_code == 403
        assert "scope code" in refused.json()["error"]
    assert server.post("/v1/executions", body, X_API_Key=native).status_code == 200
    assert server.post("/v1/executions", body, X_API_Key=code).json()["error"]["code"] == "forbidden"
