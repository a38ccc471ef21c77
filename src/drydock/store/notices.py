"""Word from process to process that something was committed: LISTEN and NOTIFY of PostgreSQL.

A notice says where to look and nothing else. It is sent within the transaction that it tells of, so it comes after the
commit or never; one that is lost with a connection is made good by looking everywhere once the connection is back.
On SQLite there is one process, and it tells itself.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, text

from drydock.store.database import Database

CHANNEL = "drydock"
AGAIN_S = 1.0
CHECK_S = 0.5
"""How soon `close` is noticed; notices themselves come at once."""
log = logging.getLogger(__name__)


def notify(connection: Connection, kind: str, run: str, number: int = 0) -> None:
    if connection.dialect.name != "sqlite":
        told = {"channel": CHANNEL, "payload": f"{kind} {run} {number}"}
        connection.execute(text("SELECT pg_notify(:channel, :payload)"), told)


class Notices:
    """Hears them in a thread of its own."""

    def __init__(self, database: Database, hear: Callable[[str, str, int], None], missed: Callable[[], None]) -> None:
        """`hear(kind, run, number)` and `missed()`, which says that some may have been lost, come from that thread."""
        self._url = database.engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._hear, self._missed = hear, missed
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="drydock-notices", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join(5.0)

    def _run(self) -> None:
        import psycopg

        while not self._closed.is_set():
            try:
                with psycopg.connect(self._url, autocommit=True) as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    self._missed()
                    self._listen(connection)
            except psycopg.OperationalError as wrong:
                log.warning("Notices of the database are not heard: %s", str(wrong).splitlines()[0])
                self._closed.wait(AGAIN_S)

    def _listen(self, connection: Any) -> None:
        while not self._closed.is_set():
            for notice in connection.notifies(timeout=CHECK_S):
                kind, run, number = notice.payload.split(" ")
                self._hear(kind, run, int(number))
