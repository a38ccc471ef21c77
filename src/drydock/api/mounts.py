"""The first look at a path: which contract's router it belongs to."""

from __future__ import annotations

from collections.abc import Mapping

from drydock.api.call import Call, Door


class Mounts:
    def __init__(self, by_segment: Mapping[str, Door], rest: Door) -> None:
        """`by_segment`: the first segment of the path, `v1` of `/v1/executions`."""
        self._by_segment = by_segment
        self._rest = rest

    async def __call__(self, call: Call) -> None:
        segment = call.path.split("/", 2)[1] if call.path.startswith("/") else ""
        await self._by_segment.get(segment, self._rest)(call)
