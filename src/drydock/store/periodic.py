"""A thread that does one thing again and again until it is closed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)


class Periodic:
    """Calls `do` every so many seconds, the first time after one such wait; a failure is logged and tried again."""

    def __init__(self, name: str, every: float, do: Callable[[], object]) -> None:
        self._every = every
        self._do = do
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def close(self, timeout: float = 5.0) -> None:
        self._closed.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        failing = False
        while not self._closed.wait(self._every):
            try:
                self._do()
            except Exception:
                # Told once an outage, not twice a second for as long as it lasts.
                if not failing:
                    log.exception("%s failed; trying again every %s s", self._thread.name, self._every)
                failing = True
            else:
                failing = False
