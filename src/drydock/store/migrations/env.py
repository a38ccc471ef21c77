"""What Alembic runs; the connection, with its transaction begun, comes from `migrate`."""

from __future__ import annotations

from alembic import context

from drydock.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
