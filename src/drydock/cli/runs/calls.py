"""The calls to /v1/runs."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from drydock.cli.client import Event, NoServer, Refused, Server

TERMINAL = ("run_completed", "run_failed", "run_cancelled")
LONGEST_LINE = 1 << 28
"""Bytes of one event: the last one carries the whole result, its diff included."""
BACK_WITHIN = 60.0
"""Seconds that a server gets to come back before a follower gives up; its restart takes a tenth of that."""
LOOK_EVERY = 0.5


class RunCalls:
    def __init__(self, server: Server) -> None:
        self._server = server
        self.url = server.url

    def start(self, body: Mapping[str, Any], forge_token: str = "") -> dict[str, Any]:
        """The token is lent to the run, to clone and to push with."""
        headers = {"X-Forge-Token": forge_token} if forge_token else {}
        return _object(self._server.post("/v1/runs", body, headers=headers))

    def get(self, run: str) -> dict[str, Any]:
        return _object(self._server.get(_path(run)))

    def page(self, **query: object) -> dict[str, Any]:
        return _object(self._server.get(f"/v1/runs?{_query(query)}"))

    def waiting(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = _object(self._server.get("/v1/waiting"))["waiting"]
        return found

    def change(self, run: str, verb: str, reason: str | None = None) -> dict[str, Any]:
        """`pause`, `resume`, `cancel` or `stop-command`."""
        return _object(self._server.post(f"{_path(run)}/{verb}", {"reason": reason} if reason else {}))

    def say(self, run: str, text: str, kind: str) -> dict[str, Any]:
        return _object(self._server.post(f"{_path(run)}/messages", {"text": text, "kind": kind}))

    def answer(self, run: str, question: Mapping[str, Any], approved: bool, reason: str | None) -> dict[str, Any]:
        """Bound to the command that the person has read."""
        body = {"approved": approved, "hash": question["hash"]} | ({"reason": reason} if reason else {})
        return _object(self._server.post(f"{_path(run)}/approvals/{question['number']}", body))

    def diff(self, run: str, **query: object) -> bytes:
        asked = _query(query)
        return self._server.get(f"{_path(run)}/diff{'?' if asked else ''}{asked}")

    def artifact(self, run: str, name: str) -> bytes:
        return self._server.get(f"{_path(run)}/artifacts/{quote(name, safe='')}")

    def search(self, run: str, **query: object) -> list[dict[str, Any]]:
        """Newest first."""
        found: list[dict[str, Any]] = _object(self._server.get(f"{_path(run)}/events?{_query(query)}"))["events"]
        return found

    def follow(self, run: str, after: int = 0) -> Iterator[Event]:
        """Its events to the last one, each once, also across a restart of the server. NoServer when it stays away."""
        until = time.monotonic() + BACK_WITHIN
        while True:
            try:
                for event in self._server.stream(f"{_path(run)}/events", after=after, longest=LONGEST_LINE):
                    after, until = int(event.id), time.monotonic() + BACK_WITHIN
                    yield event
                    if event.name in TERMINAL:
                        return
                if after and self.get(run).get("last_event") == after:
                    return
            except Refused as refused:
                if refused.answered != 503:
                    raise
            except (NoServer, OSError, http.client.HTTPException):
                pass
            if time.monotonic() > until:
                raise NoServer(
                    f"{self.url} broke off and did not come back within {BACK_WITHIN:.0f} s",
                    hint=f"The run goes on without us; `drydock runs logs {run} --follow` follows it again.",
                )
            time.sleep(LOOK_EVERY)


def _path(run: str) -> str:
    return f"/v1/runs/{quote(run, safe='')}"


def _query(query: Mapping[str, object]) -> str:
    return urlencode({name: value for name, value in query.items() if value not in (None, "", 0)})


def _object(data: bytes) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(data)
    return told
