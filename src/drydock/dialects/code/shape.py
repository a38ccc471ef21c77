"""How this contract shows an error: `{"error": "..."}`, and plain text for a wrong path or method."""

from __future__ import annotations

from drydock.api.call import TEXT, Call, Reply, json_reply
from drydock.api.router import UnknownPath, WrongMethod
from drydock.api.shapes import error_headers
from drydock.errors import Conflict, DrydockError, Forbidden, NotFound, TooLarge, Unauthorized


class Missing(NotFound):
    """A named thing that does not exist, as opposed to a path."""


def shape(error: DrydockError, call: Call) -> Reply:
    headers = error_headers(error)
    if isinstance(error, WrongMethod):
        return Reply(405, b"Method Not Allowed\n", TEXT, headers)
    if isinstance(error, UnknownPath):
        return Reply(404, b"404 page not found\n", TEXT, headers)
    if isinstance(error, TooLarge):
        return json_reply(400, {"error": "invalid request: http: request body too large"}, headers)
    if isinstance(error, Unauthorized):
        return json_reply(401, {"error": "Unauthorized"}, headers)
    if isinstance(error, Forbidden | Conflict):
        return json_reply(error.status, {"error": f"{error.message} {error.remedy}"}, headers)
    return json_reply(error.status, {"error": error.message}, headers)
