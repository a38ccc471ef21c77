"""This worker's lease on its runs: renewed each second, and given up by all clocks before anybody else takes over.

    1 s   between renewals
    3 s   without one, the watchdog kills this worker's boxes and the worker leaves its runs (monotonic clock)
    5 s   without one, by the database's clock, another worker takes its runs over

A worker that was stopped and goes on finds its boxes dead, and what it still writes is refused by the runs' epochs.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from drydock.errors import Unavailable
from drydock.store.workers import Workers

RENEW_S = 1.0
LOST_S = 3.0
DEAD_S = 5.0
log = logging.getLogger(__name__)


class Lease:
    def __init__(
        self,
        workers: Workers,
        worker: str,
        *,
        on_renewed: Callable[[], None],
        on_lost: Callable[[], None],
        on_dead: Callable[[Sequence[str]], None],
    ) -> None:
        """All three are called from a thread of the lease's own. `on_dead` has taken over when it returns."""
        self._workers, self._worker = workers, worker
        self._on_renewed, self._on_lost, self._on_dead = on_renewed, on_lost, on_dead
        self._renewed_at = time.monotonic()
        self._lost = False
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="drydock-lease", daemon=True)

    def open(self) -> None:
        """Held when this returns."""
        self._workers.renew(self._worker)
        self._renewed()
        self._thread.start()

    def close(self) -> None:
        """Given up: others need not wait for it to run out."""
        self._closed.set()
        self._thread.join(10.0)
        self._workers.leave(self._worker)

    @property
    def held(self) -> bool:
        return time.monotonic() - self._renewed_at < LOST_S

    def _run(self) -> None:
        while not self._closed.wait(RENEW_S):
            self._mind()
            try:
                self._workers.renew(self._worker)
            except Unavailable as wrong:
                log.warning("The lease could not be renewed: %s", wrong.__cause__ or wrong)
                continue
            self._mind()  # the renewal itself may have taken too long
            self._renewed()
            self._look_around()

    def _mind(self) -> None:
        if not self.held and not self._lost:
            self._lost = True
            log.error("The lease was not renewed for %.1f s: this worker leaves its runs", LOST_S)
            self._on_lost()

    def _renewed(self) -> None:
        self._renewed_at = time.monotonic()
        self._lost = False
        self._on_renewed()

    def _look_around(self) -> None:
        try:
            if dead := [each for each in self._workers.silent(DEAD_S) if each != self._worker]:
                log.warning("Workers that are silent: %s; their runs are taken over", ", ".join(dead))
                self._on_dead(dead)
                for each in dead:
                    self._workers.forget(each, DEAD_S)
        except Unavailable as wrong:
            log.warning("Dead workers could not be looked for: %s", wrong.__cause__ or wrong)
