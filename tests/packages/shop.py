"""A real server, and what a caller of its packages sees of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from tests.standins.server import Server


class Shop(Server):
    def code(self, code: str, *requirements: str, **fields: Any) -> dict[str, Any]:
        """The contract's reply."""
        reply = self.ask(code, *requirements, **fields)
        assert reply.status_code == 200, reply.text
        return dict(reply.json())

    def ask(self, code: str, *requirements: str, **fields: Any) -> httpx.Response:
        return self.post("/code/execute", {"code": code, "requirements": list(requirements), **fields})

    def native(self, code: str, *requirements: str, **fields: Any) -> dict[str, Any]:
        reply = self.post("/v1/executions", {"code": code, "requirements": list(requirements), **fields})
        assert reply.status_code == 200, reply.text
        return dict(reply.json())

    @property
    def store(self) -> Path:
        return self.settings.data / "layers"

    def layers(self) -> list[str]:
        """Folders of the store that are layers of packages."""
        return sorted(path.name for path in self.store.iterdir() if path.name != "empty" and "-" not in path.name)

    def remains(self) -> list[str]:
        """What an installation that failed, or was ended, must not leave."""
        halves = [path.name for path in self.store.iterdir() if path.name.startswith(("building-", "gone-"))]
        return halves + [path.name for path in (self.settings.data / "packages" / "builds").iterdir()]

    def until(self, holds: Callable[[], bool], within: float = 5.0) -> None:
        deadline = time.monotonic() + within
        while not holds():
            assert time.monotonic() < deadline, f"not within {within} s"
            time.sleep(0.01)

    def logged(self, event: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line for line in lines if line.get("event") == event]
