"""Errors in this contract's forms: the worker's has one text, the users' API says what, where and under which id."""

from __future__ import annotations

from typing import Any

from drydock.api.call import Call, Headers, Reply, json_reply
from drydock.api.router import UnknownPath, WrongMethod
from drydock.api.shapes import error_headers
from drydock.dialects.polychat.fields import BadFields
from drydock.errors import (
    AtCapacity,
    CannotStart,
    Conflict,
    DrydockError,
    Forbidden,
    Invalid,
    NotFound,
    TooLarge,
    Unauthorized,
)

RETRY_AFTER_S = 60
AGAIN: Headers = [(b"retry-after", str(RETRY_AFTER_S).encode())]


def worker(error: DrydockError, call: Call) -> Reply:
    if isinstance(error, UnknownPath):
        return json_reply(404, {"error": "Not found"})
    if isinstance(error, WrongMethod):
        return json_reply(405, {"error": "Method not allowed"}, error_headers(error))
    if isinstance(error, AtCapacity):
        return json_reply(429, {"error": error.message, "retryAfter": RETRY_AFTER_S}, AGAIN)
    return json_reply(error.status, {"error": error.message}, error_headers(error))


def users(error: DrydockError, call: Call) -> Reply:
    if isinstance(error, UnknownPath | WrongMethod):
        return json_reply(404, {"status": "not found"})
    if isinstance(error, AtCapacity):
        told = {"error": error.message, "retryAfter": RETRY_AFTER_S, "requestId": call.request_id}
        return json_reply(429, told, AGAIN)
    return json_reply(error.status, {**_words(error), "requestId": call.request_id}, error_headers(error))


def _words(error: DrydockError) -> dict[str, Any]:
    if isinstance(error, Unauthorized):
        return {"error": "Authentication failed. Please check your credentials."}
    if isinstance(error, Invalid) and not isinstance(error, TooLarge):
        return {"error": "Invalid request parameters.", "details": _details(error)}
    if isinstance(error, NotFound):
        return {"error": "Requested resource not found."}
    if isinstance(error, CannotStart):
        return {"error": "Service configuration error"}
    if isinstance(error, Forbidden | Conflict | TooLarge):
        return {"error": error.message}
    return {"error": error.message, "details": error.remedy}


def _details(error: Invalid) -> list[dict[str, str]]:
    if isinstance(error, BadFields):
        return [{"path": problem.path, "message": problem.message} for problem in error.problems]
    return [{"path": error.where or "body", "message": error.message}]
