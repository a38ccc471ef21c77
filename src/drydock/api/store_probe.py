"""Whether the store takes writes, found out in the background, so that /health never waits for it."""

from __future__ import annotations

from sqlalchemy import text

from drydock.errors import Unavailable
from drydock.store.database import Database
from drydock.store.periodic import Periodic

EVERY = 5.0


class StoreProbe:
    def __init__(self, database: Database, every: float = EVERY) -> None:
        self.works = True
        self._database = database
        self._periodic = Periodic("drydock-store-probe", every, self._look)

    def close(self) -> None:
        self._periodic.close()

    def _look(self) -> None:
        try:
            with self._database.write() as connection:
                connection.execute(text("SELECT 1"))
            self.works = True
        except Unavailable:
            self.works = False
