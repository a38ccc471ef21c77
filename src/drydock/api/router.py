"""From method and path to the door. One router for each contract, each with its own form of errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from drydock.api.call import Call, Door, Shape
from drydock.errors import MethodNotAllowed, NotFound


class WrongMethod(MethodNotAllowed):
    def __init__(self, method: str, path: str, allowed: str) -> None:
        super().__init__(f"{method} is not a method of {path}", where="method")
        self.allowed = allowed


class UnknownPath(NotFound):
    hint = "/openapi.json lists every path."


class _Match(NamedTuple):
    doors: dict[str, Door]
    params: Mapping[str, str]


class Router:
    def __init__(self, name: str, shape: Shape) -> None:
        self.name = name
        self.shape = shape
        self._exact: dict[str, dict[str, Door]] = {}
        self._patterns: list[tuple[list[str], dict[str, Door]]] = []

    def add(self, methods: str, path: str, door: Door) -> None:
        """`path` may hold `{name}` for one segment and, at its end, `{name*}` for all that are left."""
        if "{" in path:
            doors: dict[str, Door] = {}
            self._patterns.append((path.split("/"), doors))
        else:
            doors = self._exact.setdefault(path, {})
        doors.update(dict.fromkeys(methods.split(), door))

    def routes(self) -> Iterator[tuple[str, str]]:
        """Method and path of each."""
        for path, doors in self._exact.items():
            yield from ((method, path) for method in doors)
        for pattern, doors in self._patterns:
            yield from ((method, "/".join(pattern)) for method in doors)

    async def __call__(self, call: Call) -> None:
        call.shape = self.shape
        call.door = self.name
        match = self._match(call.path)
        if match is None:
            raise UnknownPath("no such path", where="path")
        door = match.doors.get(call.method)
        if door is None:
            raise WrongMethod(call.method, call.path, ", ".join(sorted(match.doors)))
        call.params = match.params
        await door(call)

    def _match(self, path: str) -> _Match | None:
        doors = self._exact.get(path)
        if doors is not None:
            return _Match(doors, {})
        segments = path.split("/")
        found: _Match | None = None
        for pattern, methods in self._patterns:
            params = _params(pattern, segments)
            if params is not None:
                found = _Match({**found.doors, **methods} if found else methods, params)
        return found


def _params(pattern: list[str], segments: list[str]) -> dict[str, str] | None:
    params: dict[str, str] = {}
    for place, part in enumerate(pattern):
        if part.endswith("*}"):
            rest = "/".join(segments[place:])
            return {**params, part[1:-2]: rest} if rest else None
        if place >= len(segments):
            return None
        if part.startswith("{"):
            if not segments[place]:
                return None
            params[part[1:-1]] = segments[place]
        elif part != segments[place]:
            return None
    return params if len(pattern) == len(segments) else None
