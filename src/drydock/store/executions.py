"""The records of all executions. A caller sees its own; anybody else's is not there."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, insert, select, tuple_, update
from sqlalchemy.exc import IntegrityError

from drydock.errors import Conflict, Invalid
from drydock.store.database import Database
from drydock.store.execution import Chunk, Execution, Output, SkippedFile, State, StoredFile
from drydock.store.objects import ObjectStore
from drydock.store.tables import executions
from drydock.store.writer import Writer

SWEEP = 200
"""Records forgotten in one transaction, so that a large sweep does not hold the write lock for long."""
LIST_WAIT = 2.0

_OUTPUT = ("chunks", "stdout", "stderr")
_LISTED = [column for column in executions.c if column.name not in _OUTPUT]


class Page(NamedTuple):
    rows: Sequence[Execution]
    """Newest first, without their output."""
    cursor: str | None
    """Give it to `list` for what is older; None at the end. New records never shift it."""


class Executions:
    """`server` marks the records of this server, since several may share one PostgreSQL database."""

    def __init__(self, database: Database, objects: ObjectStore, *, retention: float, server: str = "local") -> None:
        self._database = database
        self._objects = objects
        self._retention = timedelta(seconds=retention)
        self._server = server
        self._upsert = _upsert(database)
        self.writer = Writer(self._write)

    def close(self, timeout: float = 5.0) -> None:
        """Write what waits. Before `database.close()`."""
        self.writer.close(timeout)

    def reserve(self, row: Execution) -> Execution:
        """Record it now, before it starts. Returns the one that holds its (caller, idempotency key).

        That is `row` itself, or, when its id is another, the first request with this key: the same request if the
        body hashes agree, else a conflict.
        """
        try:
            with self._database.write() as connection:
                connection.execute(insert(executions), self._values(row))
            return row
        except IntegrityError:
            first = self._holder(row)
        if first is None:
            raise Conflict("An execution with this id exists.", where="id", hint="Leave the id to the server.")
        return self.writer.pending(first.id) or first

    def release(self, execution_id: str) -> None:
        """Undo a reservation whose work was never begun, so that the same key may be used again."""
        with self._database.write() as connection:
            connection.execute(
                delete(executions).where(executions.c.id == execution_id, executions.c.state == "queued")
            )

    def offer(self, row: Execution) -> bool:
        """Write it within a second. False, at once, when too many wait: then use `write_behind`. For an event loop."""
        return self.writer.offer(self._dated(row))

    def write_behind(self, row: Execution) -> None:
        """Write it within a second; blocks while too many wait. For a worker thread."""
        self.writer.put(self._dated(row))

    def get(self, execution_id: str, caller: str) -> Execution | None:
        """The newest record, written or not, with its output. None when there is none or it is another's."""
        row = self.writer.pending(execution_id) or self._read(execution_id)
        return row if row is not None and row.caller == caller else None

    def list(
        self,
        caller: str,
        *,
        cursor: str | None = None,
        limit: int = 30,
        state: State | None = None,
        dialect: str | None = None,
        language: str | None = None,
    ) -> Page:
        """The caller's records, newest first. Invalid when the cursor is not one of ours."""
        table = executions.c
        wanted: list[ColumnElement[bool]] = [table.caller == caller]
        for column, value in ((table.state, state), (table.dialect, dialect), (table.language, language)):
            if value is not None:
                wanted.append(column == value)
        if cursor is not None:
            moment, execution_id = _open_cursor(cursor)
            place = tuple_(bindparam("moment", moment, table.created_at.type), bindparam("last", execution_id))
            wanted.append(tuple_(table.created_at, table.id) < place)
        # A caller that has its answer finds it in the list. While the database takes no writes the list still works.
        self.writer.flush(LIST_WAIT)
        query = select(*_LISTED).where(and_(*wanted)).order_by(table.created_at.desc(), table.id.desc())
        with self._database.read() as connection:
            found = [_record(row) for row in connection.execute(query.limit(limit + 1)).mappings()]
        rows = found[:limit]
        return Page(rows, _cursor(rows[-1]) if len(found) > limit else None)

    def interrupt_unfinished(self) -> int:
        """At start, before any request: what a crashed server left unfinished has ended, and says why."""
        now = datetime.now(UTC)
        with self._database.write() as connection:
            done = connection.execute(
                update(executions)
                .where(executions.c.server == self._server, executions.c.state != "ended")
                .values(state="ended", reason="interrupted", ended_at=now, expires_at=now + self._retention)
            )
        return done.rowcount

    def expire(self, now: datetime) -> int:
        """Forget what is past its time: objects first, so that a crash in between leaves a record to try again by."""
        count = 0
        while ids := self._expired(now):
            with self._database.write() as connection:
                connection.execute(delete(executions).where(executions.c.id.in_(ids)))
            count += len(ids)
        return count

    def _expired(self, now: datetime) -> Sequence[str]:
        query = select(executions.c.id, executions.c.files).where(executions.c.expires_at <= now).limit(SWEEP)
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        self._objects.delete([file["key"] for _, files in rows for file in files])
        return [execution_id for execution_id, _ in rows]

    def _holder(self, row: Execution) -> Execution | None:
        if row.idempotency_key is None:
            return None
        table = executions.c
        with self._database.read() as connection:
            return _one(connection, and_(table.caller == row.caller, table.idempotency_key == row.idempotency_key))

    def _read(self, execution_id: str) -> Execution | None:
        with self._database.read() as connection:
            return _one(connection, executions.c.id == execution_id)

    def _write(self, rows: Sequence[Execution]) -> None:
        values = [self._values(row) for row in rows]
        with self._database.write() as connection:
            connection.execute(self._upsert, values)

    def _dated(self, row: Execution) -> Execution:
        if row.ended_at is None or row.expires_at is not None:
            return row
        return replace(row, expires_at=row.ended_at + self._retention)

    def _values(self, row: Execution) -> dict[str, Any]:
        output = row.output
        return {
            "id": row.id,
            "server": self._server,
            "dialect": row.dialect,
            "caller": row.caller,
            "created_at": row.created_at,
            "started_at": row.started_at,
            "ended_at": row.ended_at,
            "expires_at": row.expires_at,
            "state": row.state,
            "language": row.language,
            "label": row.label,
            "idempotency_key": row.idempotency_key,
            "body_hash": row.body_hash,
            "reason": row.reason,
            "exit_code": row.exit_code,
            "request": dict(row.request),
            "result": None if row.result is None else dict(row.result),
            "files": [file._asdict() for file in row.files],
            "skipped": [file._asdict() for file in row.skipped],
            "chunks": None if output is None else [list(chunk) for chunk in output.chunks],
            "stdout": None if output is None else output.stdout,
            "stderr": None if output is None else output.stderr,
        }


def _upsert(database: Database) -> Any:
    # The same statement in both dialects, and in none of SQLAlchemy's common parts.
    if database.is_sqlite:
        from sqlalchemy.dialects.sqlite import insert as insert_or
    else:
        from sqlalchemy.dialects.postgresql import insert as insert_or  # type: ignore[assignment]
    statement = insert_or(executions)
    new = {column.name: statement.excluded[column.name] for column in executions.c if not column.primary_key}
    return statement.on_conflict_do_update(index_elements=[executions.c.id], set_=new)


def _one(connection: Connection, which: ColumnElement[bool]) -> Execution | None:
    row = connection.execute(select(executions).where(which)).mappings().one_or_none()
    return None if row is None else _record(row)


def _record(row: Mapping[Any, Any]) -> Execution:
    fields = {name: value for name, value in row.items() if name not in _OUTPUT and name != "server"}
    fields["files"] = tuple(StoredFile(**file) for file in row["files"])
    fields["skipped"] = tuple(SkippedFile(**file) for file in row["skipped"])
    if row.get("chunks") is not None:
        chunks = tuple(Chunk(stream, length) for stream, length in row["chunks"])
        fields["output"] = Output(row["stdout"], row["stderr"], chunks)
    return Execution(**fields)


def _cursor(row: Execution) -> str:
    text = json.dumps([row.created_at.isoformat(), row.id])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _open_cursor(cursor: str) -> tuple[datetime, str]:
    refused = Invalid("The cursor is not one that a list has given.", where="cursor", hint="Begin without a cursor.")
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        moment, execution_id = json.loads(text)
        when = datetime.fromisoformat(moment).astimezone(UTC)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise refused from None
    if not isinstance(execution_id, str):
        raise refused
    return when, execution_id
