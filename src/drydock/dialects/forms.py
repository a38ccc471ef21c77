"""The forms of errors at the bare root, which belong to contracts whose doors are not built yet.

Only what the bare root needs of them is here: unknown paths, refused callers, and the answer that says so.
"""

from __future__ import annotations

from collections.abc import Mapping

from drydock.api.call import Call, Headers, Reply, Shape, json_reply
from drydock.api.router import UnknownPath, WrongMethod
from drydock.api.shapes import error_headers
from drydock.dialects.code.shape import shape as code
from drydock.dialects.polychat.shape import users as polychat_users
from drydock.dialects.shapes import Dialect
from drydock.errors import (
    AtCapacity,
    Draining,
    DrydockError,
    Forbidden,
    Invalid,
    NotFound,
    TooLarge,
    Unauthorized,
    Unavailable,
)

CORS: Headers = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"GET, POST, OPTIONS"),
    (
        b"access-control-allow-headers",
        b"Content-Type, X-API-Key, Authorization, X-Instance-ID, X-App-ID, Idempotency-Key, Last-Event-ID",
    ),
    (
        b"access-control-expose-headers",
        b"X-Request-ID, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset",
    ),
]
PREFLIGHT: Headers = [*CORS, (b"access-control-max-age", b"86400")]


class NotJson(Invalid):
    """Rule 1: there is no object to choose a contract by."""


class NotBuilt(NotFound):
    """The contract is known, its door is not in this version."""

    def __init__(self, dialect: str) -> None:
        super().__init__(
            f"the door of the contract `{dialect}` is not built in this version of Drydock",
            hint="This version runs code: send `code` to POST /execute, or use POST /v1/executions.",
        )


EXECUTOR_CODES: Mapping[type[DrydockError], str] = {
    NotJson: "INVALID_JSON",
    TooLarge: "PAYLOAD_TOO_LARGE",
    Invalid: "INVALID_REQUEST",
    Unauthorized: "AUTH_FAILED",
    Forbidden: "ORIGIN_NOT_ALLOWED",
    NotBuilt: "NOT_BUILT",
    NotFound: "NOT_FOUND",
    AtCapacity: "RATE_LIMITED",
    Draining: "SHUTTING_DOWN",
    Unavailable: "UNAVAILABLE",
}


def executor(error: DrydockError, call: Call) -> Reply:
    if isinstance(error, UnknownPath | WrongMethod):
        told = {"error": "Not Found", "error_code": "ROUTE_NOT_FOUND", "request_id": call.request_id}
        return json_reply(404, told, CORS)
    kind = next((code for known, code in EXECUTOR_CODES.items() if isinstance(error, known)), "INTERNAL_ERROR")
    message = "Unauthorized" if isinstance(error, Unauthorized) else error.message
    told = {"error": message, "error_code": kind, "request_id": call.request_id}
    details = {} if isinstance(error, Unauthorized) else {"details": {"hint": error.remedy}}
    return json_reply(error.status, told | details, [*error_headers(error), *CORS])


def task(error: DrydockError, call: Call) -> Reply:
    if isinstance(error, UnknownPath | WrongMethod):
        return json_reply(404, {"error": "Not found"})
    if isinstance(error, NotJson):
        return _not_json(error, call)
    if isinstance(error, Unauthorized):
        return json_reply(401, {"error": "Unauthorized"}, error_headers(error))
    return json_reply(error.status, {"error": error.message, "details": error.remedy}, error_headers(error))


def polychat(error: DrydockError, call: Call) -> Reply:
    if isinstance(error, NotJson):
        return _not_json(error, call)
    if isinstance(error, NotBuilt):
        return json_reply(404, {"error": error.message, "requestId": call.request_id, "details": error.remedy})
    return polychat_users(error, call)


def code_at_root(error: DrydockError, call: Call) -> Reply:
    return _not_json(error, call) if isinstance(error, NotJson) else code(error, call)


def _not_json(error: DrydockError, call: Call) -> Reply:
    """The one form that readers of every contract understand."""
    told = {"error": error.message, "error_code": "INVALID_JSON", "request_id": call.request_id}
    return json_reply(400, told)


FORMS: Mapping[Dialect, Shape] = {
    "code": code_at_root,
    "task": task,
    "executor": executor,
    "polychat": polychat,
}
