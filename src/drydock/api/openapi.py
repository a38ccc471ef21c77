"""The OpenAPI document of the native API and the service pages, written by hand.

Deriving it from type hints would put a framework's validation on the hot path. A test holds this document and the
routers against each other, so neither can have a route that the other has not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drydock import __version__
from drydock.api.schemas import COUNT, SCHEMAS, TEXT, Json, ref
from drydock.errors import (
    AtCapacity,
    Conflict,
    Draining,
    DrydockError,
    Forbidden,
    Invalid,
    NotFound,
    TooLarge,
    Unauthorized,
    Unavailable,
)

GUARDED: Sequence[type[DrydockError]] = (Unauthorized, Forbidden, Unavailable)
JSON = "application/json"


def answer(what: str, schema: Json | None = None, kind: str = JSON, headers: Sequence[str] = ()) -> Json:
    shown: Json = {"description": what}
    if schema is not None:
        shown["content"] = {kind: {"schema": schema}}
    shown["headers"] = {name: {"schema": {"type": "string"}} for name in ("X-Request-ID", *headers)}
    return shown


def errors(*kinds: type[DrydockError]) -> Json:
    """One answer for each status, whose description names every code that it may carry."""
    by_status: dict[int, list[type[DrydockError]]] = {}
    for kind in kinds:
        by_status.setdefault(kind.status, []).append(kind)
    return {
        str(status): answer(
            " ".join(f"`{kind.code}`: {kind.__doc__}" for kind in found),
            ref("Error"),
            headers=["Retry-After"] if status in (429, 503) else (),
        )
        for status, found in sorted(by_status.items())
    }


def parameter(name: str, place: str, what: str, schema: Json) -> Json:
    return {"name": name, "in": place, "description": what, "required": place == "path", "schema": schema}


def body(schema: Json, example: Json) -> Json:
    return {"required": True, "content": {JSON: {"schema": schema, "example": example}}}


ID = parameter("id", "path", "Id of the execution.", TEXT)
LAST_EVENT = parameter("Last-Event-ID", "header", "Number of the last event that was seen.", COUNT)
KEY = parameter(
    "Idempotency-Key",
    "header",
    "The same key with the same body gives the same execution, for as long as it is kept; one with a key goes on when "
    "its caller hangs up.",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
)
STREAM: Json = {}
"""A stream of events is no one value that a schema could describe."""
EVENTS = answer(
    "Server-sent events: `started`, `progress` while packages are installed, "
    "`stdout` and `stderr` with `text` (and `base64` when it is not UTF-8), `ended`. "
    "Each but `progress` has a number as its id; a comment every 15 s of silence.",
    STREAM,
    "text/event-stream",
    ["X-Run-Id"],
)
RUN = ("X-Run-Id", "Idempotency-Replayed")

NATIVE: Json = {
    "/v1/executions": {
        "post": {
            "operationId": "create_execution",
            "summary": "Run code or a program.",
            "description": "With `Accept: text/event-stream` the answer is the stream of its events. A caller who "
            "hangs up while it waits or watches ends it, unless there is an Idempotency-Key.",
            "parameters": [KEY],
            "requestBody": body(ref("NewExecution"), {"language": "python", "code": "print(1)"}),
            "responses": {
                "200": answer("It has ended.", ref("Execution"), headers=RUN)
                | {
                    "content": {
                        JSON: {"schema": ref("Execution")},
                        "text/event-stream": {"schema": STREAM},
                    }
                },
                "202": answer("With `wait: false`: it will run.", ref("Execution"), headers=(*RUN, "Location")),
                "204": answer("Every event of it was seen already."),
                **errors(*GUARDED, Invalid, NotFound, TooLarge, Conflict, AtCapacity, Draining),
            },
        },
        "get": {
            "operationId": "list_executions",
            "summary": "The caller's executions, newest first.",
            "parameters": [
                parameter("cursor", "query", "`next_cursor` of the page before.", TEXT),
                parameter("limit", "query", "Most of them.", {"type": "integer", "minimum": 1, "maximum": 100}),
            ],
            "responses": {"200": answer("A page.", ref("Page")), **errors(*GUARDED, Invalid)},
        },
    },
    "/v1/executions/{id}": {
        "get": {
            "operationId": "get_execution",
            "summary": "One execution as it is now.",
            "parameters": [ID],
            "responses": {"200": answer("It.", ref("Execution")), **errors(*GUARDED, NotFound)},
        },
        "delete": {
            "operationId": "cancel_execution",
            "summary": "End it if it has not ended. Again does no harm.",
            "parameters": [ID],
            "responses": {"200": answer("It has ended.", ref("Execution")), **errors(*GUARDED, NotFound)},
        },
    },
    "/v1/executions/{id}/events": {
        "get": {
            "operationId": "watch_execution",
            "summary": "Its events from the beginning, or after the number given, then live until it has ended.",
            "parameters": [ID, LAST_EVENT, parameter("after", "query", "The same as Last-Event-ID.", COUNT)],
            "responses": {
                "200": EVENTS,
                "204": answer("Every event was seen already."),
                **errors(*GUARDED, Invalid, NotFound),
            },
        }
    },
    "/v1/executions/{id}/files/{path}": {
        "get": {
            "operationId": "get_file",
            "summary": "One file that it left.",
            "parameters": [ID, parameter("path", "path", "Name of the file; may hold `/`.", TEXT)],
            "responses": {
                "200": answer("Its bytes.", {"type": "string", "format": "binary"}, "application/octet-stream"),
                **errors(*GUARDED, NotFound),
            },
        }
    },
    "/v1/environments": {
        "get": {
            "operationId": "list_environments",
            "summary": "The caller's named environments, latest use first.",
            "responses": {
                "200": answer(
                    "They.",
                    {"type": "object", "properties": {"environments": {"type": "array", "items": ref("Environment")}}},
                ),
                **errors(*GUARDED),
            },
        },
        "post": {
            "operationId": "create_environment",
            "summary": "Install packages under a name, exactly this list.",
            "requestBody": body(ref("NewEnvironment"), {"name": "ds", "requirements": ["numpy"]}),
            "responses": {
                "200": answer("There was one of that name; it has this list now.", ref("Environment")),
                "201": answer("It is made.", ref("Environment")),
                **errors(*GUARDED, Invalid, TooLarge, AtCapacity, Draining),
            },
        },
    },
    "/v1/environments/{name}": {
        "delete": {
            "operationId": "delete_environment",
            "summary": "Forget it. What runs in it now keeps its view.",
            "parameters": [parameter("name", "path", "Its name.", TEXT)],
            "responses": {"204": answer("It is gone."), **errors(*GUARDED, NotFound)},
        }
    },
}

SERVICE: Json = {
    "/metrics": {
        "get": {
            "operationId": "metrics",
            "summary": "Numbers in Prometheus' text format.",
            "responses": {"200": answer("They.", TEXT, "text/plain"), **errors(*GUARDED)},
        }
    },
    "/openapi.json": {
        "get": {
            "operationId": "openapi",
            "summary": "This document.",
            "responses": {"200": answer("It.", {"type": "object"}), **errors(*GUARDED)},
        }
    },
    "/docs": {
        "get": {
            "operationId": "docs",
            "summary": "This document as a page that loads nothing.",
            "responses": {"200": answer("It.", TEXT, "text/html"), **errors(*GUARDED)},
        }
    },
}


def document(*parts: Mapping[str, Any]) -> Json:
    """The whole, from the paths of every door that is mounted."""
    paths: Json = {}
    for part in parts:
        paths |= part
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Drydock",
            "version": __version__,
            "description": "Runs code that nobody has read, in boxes it cannot leave. Every reply has `X-Request-ID`; "
            "a request's own is taken if it has 1 to 128 of `A-Z a-z 0-9 . _ : -`. A wrong method on a known path is "
            "405, an unknown path 404, and `internal` (500) is a defect.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
        "security": [{"bearer": []}, {"key": []}, {}],
    }
