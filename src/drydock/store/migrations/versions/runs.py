"""Runs: their records, journal, steps, inbox, and the workers that carry them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("dialect", sa.String(16), nullable=False),
        sa.Column("caller", sa.String(128), nullable=False),
        sa.Column("client_id", sa.String(128)),
        sa.Column("idempotency_key", sa.String(255)),
        sa.Column("body_hash", sa.String(64)),
        sa.Column("repo", sa.String(512)),
        sa.Column("installation", sa.BigInteger),
        sa.Column("spec", sa.JSON, nullable=False),
        sa.Column("status", sa.String(12), nullable=False),
        sa.Column("phase", sa.String(16), nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("worker", sa.String(64)),
        sa.Column("segment", sa.Integer, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("started_at", sa.BigInteger),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("last_seq", sa.Integer, nullable=False),
        sa.Column("last_hash", sa.String(64), nullable=False),
        sa.Column("control", sa.JSON, nullable=False),
        sa.Column("usage", sa.JSON, nullable=False),
        sa.Column("result", sa.JSON),
    )
    op.create_index("runs_client", "runs", ["caller", "client_id"], unique=True)
    op.create_index("runs_once", "runs", ["caller", "idempotency_key"], unique=True)
    op.create_index("runs_newest", "runs", ["caller", "updated_at", "id"])
    op.create_index("runs_of_installation", "runs", ["installation", "updated_at"])
    op.create_index("runs_expiry", "runs", ["expires_at"])
    living = sa.text("ended_at IS NULL")
    op.create_index("runs_living", "runs", ["status"], sqlite_where=living, postgresql_where=living)
    op.create_table(
        "events",
        _run(),
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("type", sa.String(64), nullable=False),
        sa.Column("key", sa.String(128), nullable=False),
        sa.Column("data", sa.JSON, nullable=False),
        sa.Column("recorded_at", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_index("events_once", "events", ["run", "key"], unique=True)
    op.create_table(
        "steps",
        _run(),
        sa.Column("name", sa.String(128), primary_key=True),
        sa.Column("began_at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("result", sa.JSON),
    )
    op.create_table(
        "inbox",
        _run(),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("key", sa.String(100)),
        sa.Column("body", sa.JSON, nullable=False),
        sa.Column("recorded_at", sa.BigInteger, nullable=False),
        sa.Column("taken_by", sa.String(128)),
    )
    op.create_index("inbox_once", "inbox", ["run", "key"], unique=True)
    op.create_table(
        "workers",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
    )


def _run() -> sa.Column[str]:
    return sa.Column("run", sa.String(36), sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)


def downgrade() -> None:
    for table in ("workers", "inbox", "steps", "events", "runs"):
        op.drop_table(table)
