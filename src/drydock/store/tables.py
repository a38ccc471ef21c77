"""The schema as it is now. migrations/ leads there from every older one; a test compares the two."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
)
from sqlalchemy import text as sql
from sqlalchemy.types import TypeDecorator

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Moment(TypeDecorator[datetime]):
    """A time as whole microseconds since 1970: it sorts, and SQLite, which has no time type, cannot lose its zone."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else (value - _EPOCH) // timedelta(microseconds=1)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        return None if value is None else _EPOCH + timedelta(microseconds=int(value))


metadata = MetaData()

executions = Table(
    "executions",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("server", String(64), nullable=False),
    Column("dialect", String(16), nullable=False),
    Column("caller", String(128), nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("started_at", Moment),
    Column("ended_at", Moment),
    Column("expires_at", Moment),
    Column("state", String(8), nullable=False),
    Column("language", String(32), nullable=False),
    Column("label", String),
    Column("idempotency_key", String(255)),
    Column("body_hash", String(64)),
    Column("reason", String(32)),
    Column("exit_code", Integer),
    Column("request", JSON, nullable=False),
    Column("result", JSON(none_as_null=True)),
    Column("files", JSON, nullable=False),
    Column("skipped", JSON, nullable=False),
    # Last, since SQLite reads a row from its front and a list need not wade through megabytes of output.
    Column("chunks", JSON(none_as_null=True)),
    Column("stdout", LargeBinary),
    Column("stderr", LargeBinary),
    Index("executions_once", "caller", "idempotency_key", unique=True),
    Index("executions_newest", "caller", "created_at", "id"),
    Index("executions_expiry", "expires_at"),
    Index(
        "executions_unfinished",
        "server",
        sqlite_where=sql("state <> 'ended'"),
        postgresql_where=sql("state <> 'ended'"),
    ),
)

secrets = Table(
    "secrets",
    metadata,
    Column("name", String(128), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
)

keys = Table(
    "keys",
    metadata,
    Column("id", String(8), primary_key=True),
    Column("name", String(64), nullable=False),
    Column("digest", LargeBinary(32), nullable=False),
    Column("scopes", JSON, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("last_used_at", Moment),
    Column("revoked_at", Moment),
    # A name belongs to one living key, so that `keys revoke NAME` means one.
    Index(
        "keys_living_name",
        "name",
        unique=True,
        sqlite_where=sql("revoked_at IS NULL"),
        postgresql_where=sql("revoked_at IS NULL"),
    ),
)

runs = Table(
    "runs",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("dialect", String(16), nullable=False),
    Column("caller", String(128), nullable=False),
    Column("client_id", String(128)),
    Column("idempotency_key", String(255)),
    Column("body_hash", String(64)),
    Column("repo", String(512)),
    Column("installation", BigInteger),
    Column("spec", JSON, nullable=False),
    Column("status", String(12), nullable=False),
    Column("phase", String(16), nullable=False),
    # The fence: whoever claims the run counts it up, and a writer of an older epoch is refused.
    Column("epoch", Integer, nullable=False),
    Column("worker", String(64)),
    Column("segment", Integer, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("started_at", Moment),
    Column("ended_at", Moment),
    Column("expires_at", Moment),
    Column("last_seq", Integer, nullable=False),
    Column("last_hash", String(64), nullable=False),
    Column("control", JSON, nullable=False),
    Column("usage", JSON, nullable=False),
    Column("result", JSON(none_as_null=True)),
    Index("runs_client", "caller", "client_id", unique=True),
    Index("runs_once", "caller", "idempotency_key", unique=True),
    Index("runs_newest", "caller", "updated_at", "id"),
    Index("runs_of_installation", "installation", "updated_at"),
    Index("runs_expiry", "expires_at"),
    Index(
        "runs_living",
        "status",
        sqlite_where=sql("ended_at IS NULL"),
        postgresql_where=sql("ended_at IS NULL"),
    ),
)

events = Table(
    "events",
    metadata,
    Column("run", String(36), ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("type", String(64), nullable=False),
    # Says where in the run it was told: a step that is done again finds what it has told already.
    Column("key", String(128), nullable=False),
    Column("data", JSON, nullable=False),
    Column("recorded_at", Moment, nullable=False),
    Column("hash", String(64), nullable=False),
    Index("events_once", "run", "key", unique=True),
)

steps = Table(
    "steps",
    metadata,
    Column("run", String(36), ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String(128), primary_key=True),
    Column("began_at", Moment, nullable=False),
    Column("ended_at", Moment),
    Column("result", JSON(none_as_null=True)),
)

inbox = Table(
    "inbox",
    metadata,
    Column("run", String(36), ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("kind", String(32), nullable=False),
    Column("key", String(100)),
    Column("body", JSON, nullable=False),
    Column("recorded_at", Moment, nullable=False),
    # The step that took it: a replay of that step takes the same ones again.
    Column("taken_by", String(128)),
    Index("inbox_once", "run", "key", unique=True),
)

workers = Table(
    "workers",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("seen_at", Moment, nullable=False),
)
