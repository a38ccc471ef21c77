"""The keys as the running server knows them: no query a request, and never more than a second behind the table."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

from drydock.access.keys import Keys, Snapshot
from drydock.errors import Unavailable
from drydock.store.database import Database
from drydock.store.periodic import Periodic

log = logging.getLogger(__name__)

EVERY = 0.5
TRUSTED_FOR = 30.0
"""Seconds that keys are believed while the database does not answer; a revoked one must not live on in an outage."""
TOUCH_EVERY = 60.0
NOTE_EVERY = 5.0


class KeyRing:
    def __init__(
        self,
        database: Database,
        *,
        every: float = EVERY,
        trusted_for: float = TRUSTED_FOR,
        touch_every: float = TOUCH_EVERY,
        on_change: Callable[[Snapshot], None] | None = None,
    ) -> None:
        self._keys = Keys(database)
        self._trusted_for = trusted_for
        self._touch_every = touch_every
        self._on_change = on_change
        self._watch = database.watch()
        self._lock = threading.Lock()
        self._used: dict[str, datetime] = {}
        self._quiet_until: dict[str, float] = {}
        self._behind = False
        # Asked before the first read: a change between the two is then seen as one, not missed.
        self._watch.changed()
        self._snapshot = self._keys.snapshot()
        self._read_at = time.monotonic()
        self._reading = Periodic("drydock-keys", every, self._refresh)
        # A thread of its own: a write may wait its turn for seconds, and a revoked key must not.
        self._noting = Periodic("drydock-keys-used", NOTE_EVERY, self.note)

    @property
    def snapshot(self) -> Snapshot:
        """The living keys. Unavailable when the database has not answered for too long to believe them."""
        if time.monotonic() - self._read_at > self._trusted_for:
            raise Unavailable(
                "The keys cannot be checked, since the database does not answer.", hint="Try again in a little while."
            )
        return self._snapshot

    def used(self, key_id: str) -> None:
        """A request came with this key. Never blocks on the database; fit for an event loop."""
        with self._lock:
            if time.monotonic() >= self._quiet_until.get(key_id, 0.0):
                self._used[key_id] = datetime.now(UTC)

    def close(self) -> None:
        """Before `database.close()`."""
        self._reading.close()
        self._noting.close()
        self._watch.close()
        try:
            self.note()
        except Unavailable as wrong:
            log.warning("When the keys were used last could not be noted: %s", wrong)

    def _refresh(self) -> None:
        asked_at = time.monotonic()
        # Remembered until a read has succeeded: the watch tells each change once.
        self._behind = self._watch.changed() or self._behind
        if self._behind:
            fresh = self._keys.snapshot()
            changed = fresh != self._snapshot
            self._snapshot = fresh
            self._behind = False
            if changed and self._on_change:
                self._on_change(fresh)
        self._read_at = asked_at

    def note(self) -> None:
        """Write down which keys were used; done every few seconds by itself."""
        with self._lock:
            used, self._used = self._used, {}
            until = time.monotonic() + self._touch_every
            self._quiet_until.update(dict.fromkeys(used, until))
        if used:
            self._keys.touch(used)
