import hashlib
import queue
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection

from drydock.access.caller import Caller
from drydock.access.keys import Keys, Snapshot
from drydock.access.ring import KeyRing
from drydock.errors import Conflict, Forbidden, Invalid, NotFound, Unavailable
from drydock.store.database import Database, connect
from drydock.store.migrations import migrate

SOON = 30.0


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = connect("", tmp_path, busy_seconds=0.2)
    migrate(database)
    yield database
    database.close()


@pytest.fixture
def keys(database: Database) -> Keys:
    return Keys(database)


def test_a_key_is_found_by_its_whole_text_alone(keys: Keys) -> None:
    new, other = keys.add("ci"), keys.add("laptop")
    snapshot = keys.snapshot()
    assert re.fullmatch(r"ddk_[a-z0-9]{8}_[A-Za-z0-9_-]{43}", new.text)
    found = snapshot.find(new.text)
    assert found == new.key
    head, tail = new.text[:13], new.text[13:]
    for wrong in (
        "",
        new.text[:-1],
        new.text + "A",
        new.text + "\n",
        new.text + "\x00",
        new.text.upper(),
        " " + new.text,
        head,
        tail,
        head + other.text[13:],
        other.text[:13] + tail,
        head + new.key.digest.hex()[:43],
        "ddk_aaaaaaaa_" + "A" * 43,
        "ddk_aaaaaaaa_",
        "\u0664" + new.text,
        "\udcff" * 56,
        "x" * 1_000_000,
    ):
        assert snapshot.find(wrong) is None


def test_an_empty_snapshot_finds_nobody() -> None:
    nobody = Snapshot([])
    assert nobody.find("") is None
    assert nobody.find("ddk_aaaaaaaa_" + "A" * 43) is None


def test_nothing_kept_is_the_key(keys: Keys, database: Database, tmp_path: Path) -> None:
    new = keys.add("ci")
    secret = new.text[13:].encode()
    database.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret not in kept
    assert hashlib.sha256(secret).digest() in kept
    assert secret.decode() not in repr(new.key) + str(keys.list())


def test_keys_are_listed_oldest_first_with_the_revoked(keys: Keys) -> None:
    first, second = keys.add("a"), keys.add("b", ["code", "native", "code"])
    keys.revoke("a")
    listed = keys.list()
    assert [each.id for each in listed] == [first.key.id, second.key.id]
    assert listed[0].revoked_at is not None
    assert listed[1].revoked_at is None
    assert [tuple(each.scopes) for each in listed] == [("*",), ("code", "native")]


def test_a_revoked_key_is_no_key_and_its_name_is_free(keys: Keys) -> None:
    old, other = keys.add("ci"), keys.add("laptop")
    with pytest.raises(Conflict):
        keys.add("ci")
    assert keys.revoke(old.key.id).id == old.key.id
    new = keys.add("ci")
    snapshot = keys.snapshot()
    assert snapshot.find(old.text) is None
    assert snapshot.find(new.text) == new.key
    assert snapshot.find(other.text) == other.key
    assert len(snapshot) == 2


def test_what_is_not_there_cannot_be_revoked(keys: Keys) -> None:
    keys.add("ci")
    keys.revoke("ci")
    for gone in ("ci", "nobody", "", "%", "' OR 1=1 --"):
        with pytest.raises(NotFound):
            keys.revoke(gone)


def test_an_id_goes_before_a_name(keys: Keys) -> None:
    first = keys.add("first")
    named_like_it = keys.add(first.key.id)
    keys.revoke(first.key.id)
    assert keys.snapshot().find(first.text) is None
    assert keys.snapshot().find(named_like_it.text) is not None


@pytest.mark.parametrize("name", ["", " ", "a b", "-a", "a\n", "\u202eevil", "a\x1b[2J", "a" * 65])
def test_a_name_that_could_mislead_in_a_list_is_refused(keys: Keys, name: str) -> None:
    with pytest.raises(Invalid):
        keys.add(name)


def test_a_scope_that_opens_nothing_is_refused_with_the_nearest(keys: Keys) -> None:
    with pytest.raises(Invalid) as refused:
        keys.add("ci", ["natve"])
    assert refused.value.remedy == "Did you mean native?"
    assert keys.list() == []


def test_a_scope_opens_its_door_alone() -> None:
    narrow = Caller("key:a", "ci", "key", ["code"])
    narrow.require("code")
    with pytest.raises(Forbidden, match="needs the scope native"):
        narrow.require("native")
    Caller("key:a", "ci", "key", ["*"]).require("native")
    with pytest.raises(Forbidden):
        Caller("key:a", "ci", "key", []).require("native")


class Flaky(Database):
    """A database that does not answer reads for as long as it is told not to."""

    silent = threading.Event()
    asked = threading.Semaphore(0)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        if self.silent.is_set():
            self.asked.release()
            raise Unavailable("silent")
        with super().read() as connection:
            yield connection


def test_a_change_that_could_not_be_read_is_read_later(database: Database, keys: Keys, tmp_path: Path) -> None:
    new = keys.add("ci")
    flaky = Flaky(database.engine)
    ring = Ring(flaky)
    flaky.silent.set()
    keys.revoke("ci")
    assert flaky.asked.acquire(timeout=SOON)
    assert ring.ring.snapshot.find(new.text) is not None
    flaky.silent.clear()
    assert len(ring.changes.get(timeout=SOON)) == 0
    ring.ring.close()


class Ring:
    """A ring, and the snapshots that it has taken."""

    def __init__(self, database: Database, every: float = 0.01) -> None:
        self.changes: queue.Queue[Snapshot] = queue.Queue()
        self.ring = KeyRing(database, every=every, on_change=self.changes.put)


@pytest.fixture
def ring(database: Database) -> Iterator[Ring]:
    ring = Ring(database)
    yield ring
    ring.ring.close()


def test_a_running_server_notices_a_key_of_another_process(ring: Ring, tmp_path: Path) -> None:
    elsewhere = connect("", tmp_path)
    new = Keys(elsewhere).add("ci")
    assert ring.changes.get(timeout=SOON).find(new.text) is not None
    assert ring.ring.snapshot.find(new.text) is not None
    Keys(elsewhere).revoke("ci")
    assert ring.changes.get(timeout=SOON).find(new.text) is None
    assert len(ring.ring.snapshot) == 0
    elsewhere.close()


def test_a_ring_starts_with_the_keys_that_are_there(database: Database, keys: Keys) -> None:
    new = keys.add("ci")
    ring = Ring(database, every=3600)
    assert ring.ring.snapshot.find(new.text) is not None
    ring.ring.close()


def test_a_use_is_noted_once_a_minute_and_changes_no_snapshot(ring: Ring, keys: Keys) -> None:
    new = keys.add("ci")
    ring.changes.get(timeout=SOON)
    before = datetime.now(UTC)
    ring.ring.used(new.key.id)
    ring.ring.note()
    noted = keys.list()[0].last_used_at
    assert noted is not None
    assert before <= noted <= before + timedelta(seconds=SOON)
    ring.ring.used(new.key.id)
    ring.ring.note()
    assert keys.list()[0].last_used_at == noted
    keys.add("other")
    assert len(ring.changes.get(timeout=SOON)) == 2


def test_a_use_just_before_the_end_is_noted(database: Database, keys: Keys) -> None:
    new = keys.add("ci")
    ring = KeyRing(database)
    ring.used(new.key.id)
    ring.close()
    assert keys.list()[0].last_used_at is not None


def test_a_locked_database_does_not_stop_the_end(database: Database, keys: Keys, tmp_path: Path) -> None:
    new = keys.add("ci")
    ring = KeyRing(database)
    ring.used(new.key.id)
    other = sqlite3.connect(tmp_path / "drydock.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ring.close()
    other.close()


def test_keys_that_could_not_be_checked_for_long_are_not_believed(database: Database, keys: Keys) -> None:
    keys.add("ci")
    ring = KeyRing(database, every=3600, trusted_for=0)
    with pytest.raises(Unavailable):
        _ = ring.snapshot
    ring.close()
