"""Credentials lent to one run: sealed, out of reach of `drydock secrets`, gone with their run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from drydock.errors import Invalid
from drydock.store.database import Database
from drydock.store.lent import Lent
from drydock.store.runs import Runs
from drydock.store.sealing import Sealer
from drydock.store.secrets import Secrets
from drydock.store.tables import secrets
from tests.store.runs_rows import queued
from tests.store.test_runs import made

SEALER = Sealer([b"k" * 32])
TOKEN = "ghs_a-token-of-somebody"


def lent_by(database: Database) -> Lent:
    return Lent(database, lambda: SEALER)


def test_what_was_lent_is_there_for_its_run_alone_and_sealed(either: Database) -> None:
    lent = lent_by(either)
    lent.keep("one", TOKEN)
    assert (lent.of("one"), lent.of("two")) == (TOKEN, None)
    with either.read() as connection:
        [(name, sealed)] = connection.execute(select(secrets.c.name, secrets.c.sealed)).all()
    assert name == "run:one"
    assert TOKEN.encode() not in bytes(sealed)


def test_the_operators_secrets_do_not_show_it(either: Database) -> None:
    lent_by(either).keep("one", TOKEN)
    named = Secrets(either, SEALER)
    named.set("MINE", "x")
    assert [each.name for each in named.names()] == ["MINE"]
    with pytest.raises(Invalid):
        named.get("run:one")
    assert named.reseal() == 2


def test_it_goes_with_its_run(either: Database) -> None:
    lent, runs = lent_by(either), Runs(either)
    living, ended = made(runs, queued()), made(runs, queued())
    for run in (living, ended):
        lent.keep(run.id, TOKEN)
    lent.keep("never-recorded", TOKEN)
    runs.change(ended.id, status="completed", ended_at=datetime.now(UTC))
    assert lent.sweep() == 0, "all of them are young: their runs may be about to be recorded"
    with either.write() as connection:
        connection.execute(update(secrets).values(updated_at=datetime.now(UTC) - timedelta(hours=1)))
    assert lent.sweep() == 2
    assert lent.of(living.id) == TOKEN
    lent.forget(living.id)
    assert lent.of(living.id) is None
