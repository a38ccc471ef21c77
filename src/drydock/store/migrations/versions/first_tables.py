"""The first tables: executions, secrets, keys."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "executions",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("server", sa.String(64), nullable=False),
        sa.Column("dialect", sa.String(16), nullable=False),
        sa.Column("caller", sa.String(128), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("started_at", sa.BigInteger),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("language", sa.String(32), nullable=False),
        sa.Column("label", sa.String),
        sa.Column("idempotency_key", sa.String(255)),
        sa.Column("body_hash", sa.String(64)),
        sa.Column("reason", sa.String(32)),
        sa.Column("exit_code", sa.Integer),
        sa.Column("request", sa.JSON, nullable=False),
        sa.Column("result", sa.JSON),
        sa.Column("files", sa.JSON, nullable=False),
        sa.Column("skipped", sa.JSON, nullable=False),
        sa.Column("chunks", sa.JSON),
        sa.Column("stdout", sa.LargeBinary),
        sa.Column("stderr", sa.LargeBinary),
    )
    op.create_index("executions_once", "executions", ["caller", "idempotency_key"], unique=True)
    op.create_index("executions_newest", "executions", ["caller", "created_at", "id"])
    op.create_index("executions_expiry", "executions", ["expires_at"])
    unfinished = sa.text("state <> 'ended'")
    op.create_index(
        "executions_unfinished", "executions", ["server"], sqlite_where=unfinished, postgresql_where=unfinished
    )
    op.create_table(
        "secrets",
        sa.Column("name", sa.String(128), primary_key=True),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.String(8), primary_key=True),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("digest", sa.LargeBinary(32), nullable=False),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("last_used_at", sa.BigInteger),
        sa.Column("revoked_at", sa.BigInteger),
    )
    living = sa.text("revoked_at IS NULL")
    op.create_index("keys_living_name", "keys", ["name"], unique=True, sqlite_where=living, postgresql_where=living)


def downgrade() -> None:
    for table in ("keys", "secrets", "executions"):
        op.drop_table(table)
