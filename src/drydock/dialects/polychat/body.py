"""Bodies and queries of the users' API."""

from __future__ import annotations

from drydock.api.body import read_body
from drydock.api.call import Call
from drydock.api.executions.doors import NUMBER, query_of
from drydock.api.text import parse
from drydock.dialects.polychat.fields import BadFields, Fields, Problem, object_of

BODY = 1 << 20


async def read_fields(call: Call) -> Fields:
    """An empty body counts as an empty object."""
    raw = await read_body(call, BODY)
    return Fields(object_of(parse(raw)) if raw.strip() else {})


def number_in(call: Call, name: str, least: int, most: int) -> int | None:
    """A whole number of the query, None when it is not there."""
    text = query_of(call).get(name)
    if text is None:
        return None
    if not NUMBER.fullmatch(text) or not least <= int(text) <= most:
        raise BadFields([Problem(name, f"must be a whole number from {least} to {most}")])
    return int(text)
