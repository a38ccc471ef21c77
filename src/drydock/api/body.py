"""The request's body, bounded before anything looks at it. How long it may take is the wire's business."""

from __future__ import annotations

from drydock.api.call import Call, ClientGone
from drydock.errors import TooLarge


async def read_body(call: Call, limit: int) -> bytes:
    declared = call.header(b"content-length")
    if declared is not None and int(declared) > limit:
        raise TooLarge(f"the body is {declared} bytes long; the limit is {limit}", where="body")
    parts: list[bytes] = []
    size = 0
    while True:
        message = await call.receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise TooLarge(f"the body is over the limit of {limit} bytes", where="body")
        parts.append(part)
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)
