import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import create_engine, insert, select, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import CreateIndex, CreateTable

from drydock.errors import BadSetting, CannotStart, Unavailable
from drydock.store.database import Database, connect
from drydock.store.migrations import HEAD, migrate
from drydock.store.tables import metadata, secrets
from tests.store.rows import START


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_folder_and_files_are_for_the_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        database = connect("", tmp_path / "a" / "data")
        migrate(database)
        files = {path.name: mode(path) for path in (tmp_path / "a" / "data").iterdir()}
    finally:
        os.umask(before)
    assert mode(tmp_path / "a" / "data") == 0o700
    assert files == {"drydock.db": 0o600, "drydock.db-wal": 0o600, "drydock.db-shm": 0o600}
    database.close()


def test_an_open_database_file_is_made_private(tmp_path: Path) -> None:
    (tmp_path / "drydock.db").touch(0o666)
    (tmp_path / "drydock.db").chmod(0o666)
    connect("", tmp_path).close()
    assert mode(tmp_path / "drydock.db") == 0o600


def test_a_path_with_url_characters_is_a_path(tmp_path: Path) -> None:
    data = tmp_path / "a?b=c #d%20e"
    database = connect("", data)
    migrate(database)
    database.close()
    assert (data / "drydock.db").is_file()


def test_sqlite_is_set_up_to_survive_a_killed_process(database: Database) -> None:
    with database.read() as connection:
        pragmas = {
            name: connection.scalar(text(f"PRAGMA {name}"))
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert pragmas == {"journal_mode": "wal", "synchronous": 1, "foreign_keys": 1, "busy_timeout": 200}


def test_an_error_takes_back_the_whole_transaction(database: Database) -> None:
    new = insert(secrets).values(name="A", sealed=b"", created_at=START, updated_at=START)
    with pytest.raises(IntegrityError), database.write() as connection:  # noqa: PT012
        connection.execute(new)
        connection.execute(new)
    with database.read() as connection:
        assert connection.execute(select(secrets)).all() == []


def test_a_write_held_up_by_another_process_is_unavailable_and_a_read_is_not(
    database: Database, tmp_path: Path
) -> None:
    other = sqlite3.connect(tmp_path / "data" / "drydock.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable), database.write():
        pytest.fail("two writers at once")
    with database.read() as connection:
        assert connection.execute(select(secrets)).all() == []
    other.execute("ROLLBACK")
    other.close()
    with database.write():
        pass


def test_a_watch_sees_the_commit_of_another_process_once(database: Database, tmp_path: Path) -> None:
    watch = database.watch()
    watch.changed()
    assert not watch.changed()
    other = sqlite3.connect(tmp_path / "data" / "drydock.db")
    other.execute("INSERT INTO secrets VALUES ('A', x'', 1, 1)")
    assert not watch.changed()
    other.commit()
    other.close()
    assert watch.changed()
    assert not watch.changed()
    watch.close()


def test_a_watch_sees_the_commit_of_its_own_process(database: Database) -> None:
    watch = database.watch()
    watch.changed()
    with database.write() as connection:
        connection.execute(insert(secrets).values(name="A", sealed=b"", created_at=START, updated_at=START))
    assert watch.changed()
    watch.close()


@pytest.mark.parametrize("url", ["mysql://u:hunter2@h/d", "sqlite://", "sqlite:///:memory:", "nonsense hunter2", "://"])
def test_a_url_that_cannot_be_is_refused_without_repeating_it(url: str, tmp_path: Path) -> None:
    with pytest.raises(BadSetting) as refused:
        connect(url, tmp_path)
    assert "hunter2" not in refused.value.message + refused.value.remedy
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "drydock.db").write_bytes(b"not a database at all" * 200)
    with pytest.raises(CannotStart, match="not a database"):
        connect("", tmp_path)


def test_a_data_folder_that_is_a_file_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    with pytest.raises(CannotStart, match="data folder"):
        connect("", tmp_path / "data")


def test_a_database_link_to_elsewhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "drydock.db").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CannotStart):
        connect("", tmp_path / "data")
    assert not (tmp_path / "elsewhere").exists()


def test_migrating_again_changes_nothing(database: Database) -> None:
    migrate(database)
    with database.read() as connection:
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == HEAD


def test_a_newer_database_is_left_alone(database: Database) -> None:
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(CannotStart, match=r"newer Drydock \(schema 9999"):
        migrate(database)
    with database.read() as connection:
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == "9999"


def test_the_migrations_lead_to_the_tables_as_they_are(database: Database) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    import drydock.store.migrations as migrations

    with database.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": False})
        assert compare_metadata(context, metadata) == []
    assert ScriptDirectory(Path(migrations.__file__).parent).get_current_head() == HEAD


def test_a_partial_index_of_the_migration_is_that_of_the_tables(database: Database) -> None:
    fresh = create_engine("sqlite://")
    metadata.create_all(fresh)
    query = text("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql NOT NULL ORDER BY name")
    with fresh.connect() as wanted, database.read() as found:
        assert found.execute(query).all() == wanted.execute(query).all()
    fresh.dispose()


def test_the_schema_is_also_one_of_postgresql() -> None:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    for table in metadata.sorted_tables:
        assert "CREATE TABLE" in str(CreateTable(table).compile(dialect=dialect))
        indexes = [str(CreateIndex(index).compile(dialect=dialect)) for index in table.indexes]
        assert all("CREATE" in index for index in indexes)
        if table.name == "keys":
            assert any("WHERE revoked_at IS NULL" in index for index in indexes)


def test_processes_that_start_together_on_a_new_folder_all_find_the_schema(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from drydock.store.database import connect; from drydock.store.migrations import migrate\n"
        "sys.stdin.readline(); database = connect('', Path(sys.argv[1])); migrate(database); database.close()\n"
    )
    starts = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "data")], stdin=subprocess.PIPE)
        for _ in range(4)
    ]
    for start in starts:
        assert start.stdin is not None
        start.stdin.write(b"\n")
        start.stdin.flush()
    for start in starts:
        start.communicate()
    assert [start.returncode for start in starts] == [0, 0, 0, 0]


def test_a_start_on_a_database_up_to_date_does_not_load_alembic(database: Database, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from drydock.store.database import connect; from drydock.store.migrations import migrate\n"
        "migrate(connect('', Path(sys.argv[1])))\n"
        "assert not {'alembic', 'cryptography', 'obstore'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "data")], check=True)
