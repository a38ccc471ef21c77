"""The OpenAPI document of the native API and the service pages, written by hand.

Deriving it from type hints would put a framework's validation on the hot path. A test holds this document and the
routers against each other, so neither can have a route that the other has not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drydock import __version__
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

Json = dict[str, Any]
GUARDED: Sequence[type[DrydockError]] = (Unauthorized, Forbidden, Unavailable)
JSON = "application/json"


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


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


TEXT: Json = {"type": "string"}
WHOLE: Json = {"type": "integer"}
COUNT: Json = {"type": "integer", "minimum": 0}
ID = parameter("id", "path", "Id of the execution.", TEXT)
LAST_EVENT = parameter("Last-Event-ID", "header", "Number of the last event that was seen.", COUNT)
KEY = parameter(
    "Idempotency-Key",
    "header",
    "The same key with the same body gives the same execution, for as long as it is kept; one with a key goes on when "
    "its caller hangs up.",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
)
CONTENT: Json = {
    "description": "Text, or the bytes in base64.",
    "oneOf": [
        TEXT,
        {
            "type": "object",
            "required": ["base64"],
            "additionalProperties": False,
            "properties": {"base64": {"type": "string", "format": "byte"}},
        },
    ],
}

SCHEMAS: Json = {
    "Error": {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message", "hint", "request_id"],
                "properties": {"code": TEXT, "message": TEXT, "where": TEXT, "hint": TEXT, "request_id": TEXT},
            }
        },
    },
    "NewExecution": {
        "type": "object",
        "additionalProperties": False,
        "description": "Exactly one of `code` and `argv`. `null` counts as absent.",
        "properties": {
            "language": {**TEXT, "description": "One of `languages` in /health; the server's default when absent."},
            "code": {**TEXT, "minLength": 1},
            "argv": {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 256},
            "files": {
                "type": "object",
                "additionalProperties": CONTENT,
                "description": "Input files by relative path.",
            },
            "env": {"type": "object", "additionalProperties": TEXT, "maxProperties": 256},
            "stdin": CONTENT,
            "requirements": {"type": "array", "items": TEXT, "maxItems": 0, "description": "Not in this version."},
            "limits": {
                "type": "object",
                "additionalProperties": False,
                "description": "What is above this server's limits is brought down to them; the reply says to what.",
                "properties": {
                    "timeout_ms": {"type": "integer", "minimum": 1},
                    "memory_bytes": {"type": "integer", "minimum": 16 << 20},
                    "processes": {"type": "integer", "minimum": 4},
                    "cpus": {"type": "number", "minimum": 0.01},
                },
            },
            "isolation": {**TEXT, "description": "Refused unless it is the tier that this server gives."},
            "outputs": {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": 1024},
                "maxItems": 64,
                "description": "Glob patterns; of the files that the program leaves, those that match come back.",
            },
            "wait": {"type": "boolean", "default": True, "description": "Answer when it has ended."},
            "label": {"type": "string", "maxLength": 128},
        },
    },
    "Ended": {
        "type": "object",
        "required": ["reason", "exit_code", "signal", "retryable"],
        "properties": {
            "reason": {
                "enum": [
                    "completed",
                    "exit_nonzero",
                    "signal",
                    "timeout",
                    "memory_limit",
                    "process_limit",
                    "disk_limit",
                    "cancelled",
                    "server_shutdown",
                    "start_failed",
                    "box_failed",
                    "interrupted",
                ]
            },
            "exit_code": {"type": ["integer", "null"]},
            "signal": {"type": ["string", "null"]},
            "wall_ms": COUNT,
            "cpu_ms": COUNT,
            "peak_memory_bytes": COUNT,
            "stdout_bytes": COUNT,
            "stderr_bytes": COUNT,
            "stdout_cut": {"type": "boolean"},
            "stderr_cut": {"type": "boolean"},
            "survivors": COUNT,
            "retryable": {"type": "boolean"},
            "detail": TEXT,
        },
    },
    "File": {
        "type": "object",
        "required": ["name", "size", "sha256", "url"],
        "properties": {
            "name": TEXT,
            "size": COUNT,
            "sha256": TEXT,
            "url": TEXT,
            "base64": {"type": "string", "description": "While all files together are at most 1 MiB."},
        },
    },
    "Execution": {
        "type": "object",
        "required": ["id", "dialect", "state", "language", "created_at", "started_at", "ended_at", "ended"],
        "properties": {
            "id": TEXT,
            "dialect": TEXT,
            "state": {"enum": ["queued", "running", "ended"]},
            "language": TEXT,
            "created_at": TEXT,
            "started_at": {"type": ["string", "null"]},
            "ended_at": {"type": ["string", "null"]},
            "ended": {"anyOf": [ref("Ended"), {"type": "null"}]},
            "label": TEXT,
            "limits": {"type": "object", "description": "In force."},
            "stdout": {**TEXT, "description": "Bytes that are not UTF-8 are U+FFFD here and exact in stdout_base64."},
            "stdout_base64": TEXT,
            "stderr": TEXT,
            "stderr_base64": TEXT,
            "files": {"type": "array", "items": ref("File")},
            "skipped": {
                "type": "array",
                "items": {"type": "object", "properties": {"name": TEXT, "reason": TEXT}},
            },
        },
    },
    "Page": {
        "type": "object",
        "required": ["executions", "next_cursor"],
        "properties": {
            "executions": {"type": "array", "items": ref("Execution")},
            "next_cursor": {"type": ["string", "null"]},
        },
    },
}

STREAM: Json = {}
"""A stream of events is no one value that a schema could describe."""
EVENTS = answer(
    "Server-sent events: `started`, `stdout` and `stderr` with `text` (and `base64` when it is not UTF-8), `ended`. "
    "Each has a number as its id; a comment every 15 s of silence.",
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
                **errors(*GUARDED, Invalid, TooLarge, Conflict, AtCapacity, Draining),
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
