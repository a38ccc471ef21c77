"""One database behind one engine. SQLite in the data folder, or PostgreSQL by URL; the same statements on both."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, NoSuchModuleError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from drydock.errors import BadSetting, CannotStart, Unavailable
from drydock.store.folder import make_folder, make_private_file

CONNECTIONS = 8
BUSY_SECONDS = 10.0


class Database:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.is_sqlite = engine.dialect.name == "sqlite"
        # SQLite has one writer at a time and lets the others poll, some for ever. Threads of one process queue here
        # instead, before they take a connection, so a crowd of writers cannot starve the readers of connections.
        self._turn: AbstractContextManager[Any] = threading.Lock() if self.is_sqlite else nullcontext()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent view. Unavailable when the database does not answer."""
        with _answering(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction: all of it or nothing. Not to be nested. Unavailable when the database does not answer."""
        with self._turn, _answering(), self.engine.connect() as plain:
            connection = plain.execution_options(drydock_writes=True)
            with connection.begin():
                yield connection

    def watch(self) -> Watch:
        return Watch(self)

    def close(self) -> None:
        self.engine.dispose()


class Watch:
    """Tells cheaply whether anybody, another process included, has committed since it was asked last.

    On SQLite that is one pragma on a connection kept for it, which must never write; elsewhere the answer is yes.
    """

    def __init__(self, database: Database) -> None:
        self._raw = database.engine.raw_connection() if database.is_sqlite else None
        if self._raw is not None:
            self._raw.detach()
        self._version = -1

    def changed(self) -> bool:
        if self._raw is None:
            return True
        with _answering():
            cursor = self._raw.cursor()
            try:
                cursor.execute("PRAGMA data_version")
                row = cursor.fetchone()
            finally:
                cursor.close()
        version = int(row[0]) if row else -1
        before, self._version = self._version, version
        return version != before

    def close(self) -> None:
        if self._raw is not None:
            self._raw.close()


def connect(url: str, data: Path, *, busy_seconds: float = BUSY_SECONDS) -> Database:
    """The database that `url` names, or drydock.db in the data folder, which is made when it is missing."""
    address = _address(url, data)
    if address.get_backend_name() == "sqlite":
        path = Path(str(address.database))
        make_folder(path.parent)
        make_private_file(path)
        engine = create_engine(address, pool_size=CONNECTIONS, max_overflow=0, connect_args={"timeout": busy_seconds})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        engine = _server_engine(address)
    database = Database(engine)
    try:
        with engine.connect():
            return database
    except DBAPIError as wrong:
        database.close()
        raise CannotStart(
            f"The database cannot be opened: {wrong.orig}.",
            hint="Look at DRYDOCK_DATABASE; for SQLite, at the free space and at drydock.db in the data folder.",
        ) from None


def _address(url: str, data: Path) -> URL:
    if not url:
        return URL.create("sqlite", database=str(data.resolve() / "drydock.db"))
    try:
        address = make_url(url)
        backend = address.get_backend_name()
    except (ArgumentError, NoSuchModuleError):
        backend = ""
    if backend == "sqlite":
        if address.database in (None, "", ":memory:"):
            raise BadSetting("DRYDOCK_DATABASE: an SQLite database in memory forgets all at exit", where="database")
        return address
    if backend in ("postgresql", "postgres"):
        return address.set(drivername="postgresql+psycopg")
    # The URL may hold a password, so it is not repeated.
    raise BadSetting("DRYDOCK_DATABASE: must be sqlite:///PATH or postgresql://...", where="database")


def _server_engine(address: URL) -> Engine:
    try:
        return create_engine(address, pool_size=CONNECTIONS, max_overflow=0, pool_pre_ping=True)
    except ModuleNotFoundError as missing:
        raise CannotStart(
            f"DRYDOCK_DATABASE names PostgreSQL, and the Python package {missing.name} is not installed.",
            hint="Install psycopg[binary] beside Drydock, or leave DRYDOCK_DATABASE empty for SQLite.",
        ) from None


def _prepare_sqlite(raw: Any, _record: Any) -> None:
    # The driver would begin transactions by its own rules; _begin_sqlite does it by ours.
    raw.isolation_level = None
    cursor = raw.cursor()
    # In WAL mode NORMAL survives a killed process whole; a power cut may take the last commits, never the file.
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A deferred transaction that reads before it writes fails at once, whatever the busy timeout, when another
    # process has written in between; a writer therefore takes the write lock as it begins.
    writes = connection.get_execution_options().get("drydock_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except (OperationalError, InterfaceError, PoolTimeout) as wrong:
        raise Unavailable(
            "The database does not answer; nothing was changed.", hint="Try again; the server's log has the cause."
        ) from wrong
