"""What /code/health and /code/ready say. Answered from memory, so also under full load."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from drydock.api.executions.desk import Desk
from drydock.code.executor import Executor


class Health:
    def __init__(
        self, executor: Executor, desk: Desk, works: Callable[[], bool], owner: Callable[[], str | None] = lambda: None
    ) -> None:
        """`owner` is whose environments everybody may know of: nobody's where callers have keys."""
        self._executor = executor
        self._desk = desk
        self._works = works
        self._owner = owner
        self._began = time.monotonic()

    @property
    def state(self) -> str:
        if self._desk.draining:
            return "draining"
        return "busy" if self._desk.places.taken else "idle"

    def not_ready(self) -> str | None:
        if self._desk.draining:
            return "draining"
        return "at capacity" if self._desk.places.taken >= self._desk.places.capacity else None

    def fields(self) -> tuple[bool, dict[str, Any]]:
        """Whether code can run, and the contract's object."""
        mode = self._executor.default_language
        languages: Mapping[str, str] = self._executor.languages
        packages, owner = self._executor.packages, self._owner()
        known = packages.environments.of(owner) if packages is not None and owner is not None else ()
        healthy = bool(languages) and self._works()
        return healthy, {
            "status": "healthy" if healthy else "unhealthy",
            "mode": mode,
            "runtime_version": languages.get(mode, "unknown"),
            "capacity": self._desk.places.capacity,
            "current_load": self._desk.places.taken,
            "uptime_seconds": int(time.monotonic() - self._began),
            "state": self.state,
            "environments": [found.name for found in known],
            "languages": list(languages),
            "preinstalled_packages": list(self._executor.preinstalled),
            "isolation": self._executor.isolation,
            "lost_promises": list(self._executor.lost_promises),
        }
