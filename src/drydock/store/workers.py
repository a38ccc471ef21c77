"""Who carries runs, and when each was last heard of: all by the one clock of the database.

On PostgreSQL alone. An SQLite database has one server, and whoever holds its folder has its runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text

from drydock.store.database import Database

_NOW = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"
_RENEW = text(f"INSERT INTO workers (id, seen_at) VALUES (:id, {_NOW}) ON CONFLICT (id) DO UPDATE SET seen_at = {_NOW}")
_SILENT = text(f"SELECT id FROM workers WHERE seen_at < {_NOW} - :longest ORDER BY id")
_FORGET = text(f"DELETE FROM workers WHERE id = :id AND seen_at < {_NOW} - :longest")


class Workers:
    def __init__(self, database: Database) -> None:
        self._database = database

    def renew(self, worker: str) -> None:
        with self._database.write() as connection:
            connection.execute(_RENEW, {"id": worker})

    def silent(self, seconds: float) -> Sequence[str]:
        """Those not heard of for as long."""
        with self._database.read() as connection:
            return list(connection.scalars(_SILENT, {"longest": int(seconds * 1e6)}))

    def forget(self, worker: str, seconds: float) -> None:
        """Unless it has been heard of again."""
        with self._database.write() as connection:
            connection.execute(_FORGET, {"id": worker, "longest": int(seconds * 1e6)})

    def leave(self, worker: str) -> None:
        with self._database.write() as connection:
            connection.execute(text("DELETE FROM workers WHERE id = :id"), {"id": worker})
