"""/openapi.json, /docs and /metrics."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from drydock.api.router import Router
from tests.standins.server import Server


def routes(router: Router) -> set[tuple[str, str]]:
    return {(method.lower(), path.replace("*}", "}")) for method, path in router.routes()}


def test_the_document_and_the_routers_have_the_same_routes(server: Server) -> None:
    document = server.get("/openapi.json").json()
    documented = {(method, path) for path, methods in document["paths"].items() for method in methods}
    mounted = {route for router in server.app.routers for route in routes(router)}
    # HEAD of a page is GET without its body, and not worth a line.
    assert mounted - documented <= {("head", path) for method, path in documented if method == "get"}
    assert documented - mounted == set()


def test_every_reference_leads_somewhere_and_every_operation_has_its_own_name(server: Server) -> None:
    document = server.get("/openapi.json").json()
    known = document["components"]["schemas"]
    for reference in re.findall(r"#/components/schemas/(\w+)", server.get("/openapi.json").text):
        assert reference in known
    names = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(names) == len(set(names))


def test_every_answer_that_the_native_doors_give_is_in_the_document(server: Server) -> None:
    document: dict[str, Any] = server.get("/openapi.json").json()
    posted = document["paths"]["/v1/executions"]["post"]["responses"]
    assert {"200", "202", "400", "401", "403", "409", "413", "429", "503"} <= set(posted)


def test_the_page_loads_nothing_and_may_load_nothing(server: Server) -> None:
    reply = server.get("/docs")
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "<script" not in reply.text
    assert not re.search(r"(src|href|url|import)\s*[=(]", reply.text)
    for path in server.get("/openapi.json").json()["paths"]:
        assert path in reply.text


def test_metrics_count_what_happened(make_server: Callable[..., Server]) -> None:
    server = make_server()
    server.post("/code/execute", {"code": "print(1)"})
    server.post("/v1/executions", {"code": "1/0"})
    server.get("/nope")
    reply = server.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = reply.text.splitlines()
    for line in (
        'drydock_executions_total{door="code",reason="completed"} 1',
        'drydock_executions_total{door="native",reason="exit_nonzero"} 1',
        'drydock_requests_total{door="bare",status="404"} 1',
        'drydock_request_seconds_count{door="code"} 1',
        "drydock_executions_running 0",
        "drydock_capacity 3",
    ):
        assert line in lines
    for line in lines:
        assert re.fullmatch(r'# (HELP|TYPE) .*|[a-z_]+(\{([a-z]+="[^"]*",?)+\})? [0-9.e+-]+', line), line


def test_the_pages_are_closed_when_a_key_is_configured(make_server: Callable[..., Server]) -> None:
    server = make_server(server_auth_token="a-long-enough-token")
    for path in ("/docs", "/openapi.json", "/metrics"):
        assert server.get(path).status_code == 401
        assert server.get(path, Authorization="Bearer a-long-enough-token").status_code == 200
