"""The schema as it is now. migrations/ leads there from every older one; a test compares the two."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import JSON, BigInteger, Column, Dialect, Index, Integer, LargeBinary, MetaData, String, Table
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
