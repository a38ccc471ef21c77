"""How the native API shows an error, and the headers that every contract adds to one."""

from __future__ import annotations

from drydock.api.call import Call, Headers, Reply, json_reply
from drydock.api.router import WrongMethod
from drydock.errors import AtCapacity, Draining, DrydockError, Unauthorized


def error_headers(error: DrydockError) -> Headers:
    if isinstance(error, Unauthorized):
        return [(b"www-authenticate", b"Bearer")]
    if isinstance(error, AtCapacity | Draining):
        return [(b"retry-after", b"1")]
    if isinstance(error, WrongMethod):
        return [(b"allow", error.allowed.encode())]
    return []


def native(error: DrydockError, call: Call) -> Reply:
    told = {"code": error.code, "message": error.message}
    if error.where is not None:
        told["where"] = error.where
    told |= {"hint": error.remedy, "request_id": call.request_id}
    return json_reply(error.status, {"error": told}, error_headers(error))
