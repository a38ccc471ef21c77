"""A user of contract `polychat`, who comes with a token of his own and talks to one server."""

from __future__ import annotations

import itertools
import json
import threading
import time
from typing import Any

import httpx

from tests.standins.server import Server
from tests.standins.tokens import bearer

SOON = 20.0
_numbers = itertools.count(1000)


class User:
    """Each has a quota of his own, so every test gets a fresh one."""

    def __init__(self, server: Server, base: str = "/polychat", number: int | None = None) -> None:
        self.number = next(_numbers) if number is None else number
        self.base = base
        self.server = server
        self._headers = bearer(self.number)

    def execute(
        self, *, accept: str = "text/event-stream", token: str = "a-forge-token", **body: Any
    ) -> httpx.Response:
        """By the worker's door."""
        asked = {"repo": "acme/ledger", "task": "do it", **body}
        return self.server.post(
            f"{self.base}/execute", asked, Accept=accept, **{"X-GitHub-Token": token}, **self._headers
        )

    def start(self, task: str = "do it", **more: Any) -> dict[str, Any]:
        """By the users' door, without watching it to its end; its record as it was then."""
        body = {"repo": "acme/ledger", "installationId": 7, "task": task, **more}
        path = f"{self.server.url}{self.base}/apps/sandbox/runs/execute-stream"
        with httpx.stream("POST", path, json=body, headers=self._headers, timeout=SOON) as stream:
            assert stream.status_code == 200, stream.read()
            run_id = stream.headers["x-sandbox-run-id"]
        return self.show(run_id)

    def post(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        sent = {} if body is None else body
        return self.server.post(f"{self.base}/apps/sandbox{path}", sent, **self._headers, **headers)

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.server.get(f"{self.base}/apps/sandbox{path}", **self._headers, **headers)

    def show(self, run_id: str) -> dict[str, Any]:
        run: dict[str, Any] = self.get(f"/runs/{run_id}").json()["run"]
        return run

    def until(self, run_id: str, status: str) -> dict[str, Any]:
        ends = time.monotonic() + SOON
        while time.monotonic() < ends:
            run = self.show(run_id)
            if run["status"] == status:
                return run
            threading.Event().wait(0.02)
        raise AssertionError(f"it never was {status}: {run}")

    def until_told(self, run_id: str, kind: str) -> dict[str, Any]:
        """The first event of that kind, as soon as it is there."""
        path = f"{self.server.url}{self.base}/apps/sandbox/runs/{run_id}/events/stream"
        with httpx.stream("GET", path, headers=self._headers, timeout=SOON) as stream:
            for line in stream.iter_lines():
                if line.startswith("data: {"):
                    event: dict[str, Any] = json.loads(line[6:])
                    if event["type"] == kind:
                        return event
        raise AssertionError(f"no {kind} came")


def told(text: str) -> list[dict[str, Any]]:
    """The events of a stream, whose marker is checked on the way."""
    *frames, last, nothing = text.split("\n\n")
    assert (last, nothing) == ("data: [DONE]", "")
    events = []
    for frame in frames:
        if frame.startswith(":"):
            continue
        _, data = frame.split("\n")
        events.append(json.loads(data.removeprefix("data: ")))
    return events


def kinds(text: str) -> list[str]:
    return [event["type"] for event in told(text)]
