"""The schema's history, one file a step in versions/, run at start by `migrate`."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect
from sqlalchemy import text as sql
from sqlalchemy.exc import DBAPIError

from drydock.errors import CannotStart
from drydock.store.database import Database

HEAD = "0002"
"""The newest step. Kept here so that a database that is up to date costs one query, and not Alembic's ten megabytes."""

_LOCK = 0x64727964


def migrate(database: Database) -> None:
    """Bring the schema to HEAD. Two processes may do it at once: the second waits, and then has nothing to do."""
    try:
        with database.read() as connection:
            if _version(connection) == HEAD:
                return
        with database.write() as connection:
            if not database.is_sqlite:
                connection.execute(sql("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            _upgrade(connection, _version(connection))
    except DBAPIError as wrong:
        raise CannotStart(
            f"The database cannot be brought up to date: {wrong.orig}. Nothing was changed.",
            hint="Look at DRYDOCK_DATABASE; for SQLite, at drydock.db in the data folder.",
        ) from None


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    version = connection.scalar(sql("SELECT version_num FROM alembic_version"))
    return None if version is None else str(version)


def _upgrade(connection: Connection, version: str | None) -> None:
    from alembic.command import upgrade
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    # Alembic reads `%` in a path as the start of an interpolation.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    known = {step.revision for step in ScriptDirectory.from_config(config).walk_revisions()}
    if version is not None and version not in known:
        raise CannotStart(
            f"The database was written by a newer Drydock (schema {version}; this one knows {HEAD}). "
            "Nothing was changed.",
            hint="Start the newer Drydock again, or name another data folder with --data.",
        )
    upgrade(config, "head")
