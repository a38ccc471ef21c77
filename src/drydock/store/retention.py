"""The loop that forgets executions past their time."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from drydock.store.executions import Executions
from drydock.store.periodic import Periodic

log = logging.getLogger(__name__)

EVERY = 60.0
"""A result may therefore outlive its retention by a minute."""


class Retention:
    def __init__(self, executions: Executions, *, every: float = EVERY) -> None:
        self._executions = executions
        self._loop = Periodic("drydock-retention", every, self._sweep)

    def close(self) -> None:
        self._loop.close()

    def _sweep(self) -> None:
        if count := self._executions.expire(datetime.now(UTC)):
            log.info("Forgot %d executions past their retention", count)
