import base64
import os
import stat
from pathlib import Path

import pytest
from sqlalchemy import select, text

from drydock.errors import BadSetting, CannotStart, Invalid
from drydock.store.database import Database
from drydock.store.sealing import CannotOpen, Sealer, open_sealer
from drydock.store.secrets import LONGEST, Secrets
from drydock.store.tables import secrets as table

OLD, NEW = b"o" * 32, b"n" * 32
CANARY = "canary-4f1d"


def b64(key: bytes) -> str:
    return base64.b64encode(key).decode()


@pytest.fixture
def secrets(database: Database) -> Secrets:
    return Secrets(database, Sealer([OLD]))


def test_what_is_sealed_opens_under_its_name() -> None:
    sealer = Sealer([OLD])
    sealed = sealer.seal("A", CANARY.encode())
    assert CANARY.encode() not in sealed
    assert sealer.open("A", sealed) == CANARY.encode()


def test_two_seals_of_one_value_differ() -> None:
    sealer = Sealer([OLD])
    assert sealer.seal("A", b"x") != sealer.seal("A", b"x")


def test_a_value_moved_to_another_name_does_not_open() -> None:
    sealer = Sealer([OLD])
    with pytest.raises(CannotOpen, match="changed or moved"):
        sealer.open("B", sealer.seal("A", b"x"))


def test_no_bit_of_an_envelope_can_be_changed() -> None:
    sealer = Sealer([OLD, NEW])
    sealed = sealer.seal("A", b"x")
    for bit in range(len(sealed) * 8):
        changed = bytearray(sealed)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CannotOpen):
            sealer.open("A", bytes(changed))


def test_no_envelope_cut_short_opens() -> None:
    sealer = Sealer([OLD])
    sealed = sealer.seal("A", b"x")
    for length in range(len(sealed)):
        with pytest.raises(CannotOpen):
            sealer.open("A", sealed[:length])


def test_an_envelope_relabelled_for_another_key_does_not_open() -> None:
    old, new = Sealer([OLD]).seal("A", b"x"), Sealer([NEW]).seal("A", b"x")
    with pytest.raises(CannotOpen):
        Sealer([NEW, OLD]).open("A", new[:9] + old[9:])


def test_the_first_key_seals_and_all_open() -> None:
    both = Sealer([NEW, OLD])
    assert both.open("A", Sealer([OLD]).seal("A", b"x")) == b"x"
    assert Sealer([NEW]).open("A", both.seal("A", b"x")) == b"x"
    with pytest.raises(CannotOpen, match="not at hand"):
        Sealer([OLD]).open("A", both.seal("A", b"x"))


def test_an_error_tells_no_value_and_no_key() -> None:
    sealed = Sealer([OLD]).seal("A", CANARY.encode())
    with pytest.raises(CannotOpen) as refused:
        Sealer([NEW]).open("A", sealed)
    told = refused.value.message + refused.value.remedy + repr(Sealer([OLD]))
    assert not any(word in told for word in (CANARY, OLD.hex(), b64(OLD), NEW.hex()))


def test_a_folder_gets_one_key_of_its_own(tmp_path: Path) -> None:
    sealed = open_sealer(tmp_path / "data").seal("A", b"x")
    assert open_sealer(tmp_path / "data").open("A", sealed) == b"x"
    assert stat.S_IMODE((tmp_path / "data" / "secrets.key").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


def test_a_key_that_is_told_needs_no_file(tmp_path: Path) -> None:
    sealed = open_sealer(tmp_path, f" {b64(NEW)}\n{b64(OLD)} ").seal("A", b"x")
    assert Sealer([NEW]).open("A", sealed) == b"x"
    assert list(tmp_path.iterdir()) == []


def test_what_the_file_sealed_opens_after_a_key_is_told(tmp_path: Path) -> None:
    sealed = open_sealer(tmp_path).seal("A", b"x")
    assert open_sealer(tmp_path, b64(NEW)).open("A", sealed) == b"x"


@pytest.mark.parametrize("told", ["x", b64(b"short"), b64(bytes(33)), b64(NEW)[:-1], f"{b64(NEW)} hunter2", "\u00e9"])
def test_a_bad_key_is_refused_without_being_shown(told: str, tmp_path: Path) -> None:
    with pytest.raises(BadSetting) as refused:
        open_sealer(tmp_path, told)
    assert told not in refused.value.message
    assert "hunter2" not in refused.value.message


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_key_file_that_others_can_reach_is_refused(mode: int, tmp_path: Path) -> None:
    open_sealer(tmp_path)
    (tmp_path / "secrets.key").chmod(mode)
    with pytest.raises(CannotStart, match="read by others"):
        open_sealer(tmp_path)


def test_a_key_file_that_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(b64(NEW))
    (tmp_path / "key").chmod(0o600)
    for place in ("link", "pipe", "folder"):
        (tmp_path / place).mkdir()
    (tmp_path / "link" / "secrets.key").symlink_to(tmp_path / "key")
    os.mkfifo(tmp_path / "pipe" / "secrets.key", 0o600)
    (tmp_path / "folder" / "secrets.key").mkdir(mode=0o700)
    for place in ("link", "pipe", "folder"):
        with pytest.raises(CannotStart):
            open_sealer(tmp_path / place)


def test_an_empty_or_binary_key_file_is_not_replaced(tmp_path: Path) -> None:
    for content in (b"", b"\xff\xfe\x00"):
        (tmp_path / "secrets.key").write_bytes(content)
        (tmp_path / "secrets.key").chmod(0o600)
        with pytest.raises(CannotStart):
            open_sealer(tmp_path)
        assert (tmp_path / "secrets.key").read_bytes() == content


def test_a_secret_is_set_replaced_listed_and_forgotten(secrets: Secrets) -> None:
    secrets.set("B", "1")
    secrets.set("A", "2")
    before = secrets.names()
    secrets.set("B", "3")
    assert (secrets.get("A"), secrets.get("B")) == ("2", "3")
    after = secrets.names()
    assert [each.name for each in after] == ["A", "B"]
    assert after[1].created_at == before[1].created_at
    assert after[1].updated_at > before[1].updated_at
    assert secrets.unset("B")
    assert not secrets.unset("B")
    assert secrets.get("B") is None


@pytest.mark.parametrize("value", ["x", " two lines\n ", "\x00", "\U0001f511", "x" * LONGEST])
def test_a_value_comes_back_as_it_was_given(secrets: Secrets, value: str) -> None:
    secrets.set("A", value)
    assert secrets.get("A") == value


@pytest.mark.parametrize("value", ["", "x" * (LONGEST + 1)])
def test_a_value_of_no_use_is_refused(secrets: Secrets, value: str) -> None:
    with pytest.raises(Invalid):
        secrets.set("A", value)
    assert secrets.names() == []


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A B", "A\n", "\u00c4", "A=hunter2", "A" * 129, "A\x00"])
def test_a_name_of_another_form_is_refused_without_being_shown(secrets: Secrets, name: str) -> None:
    for use in (lambda: secrets.set(name, "x"), lambda: secrets.get(name), lambda: secrets.unset(name)):
        with pytest.raises(Invalid) as refused:
            use()
        assert "hunter2" not in refused.value.message + refused.value.remedy
    assert secrets.names() == []


def test_the_longest_name_is_taken(secrets: Secrets) -> None:
    secrets.set("_" + "a" * 127, "x")
    assert len(secrets.names()) == 1


def test_one_bad_value_among_many_sets_none(secrets: Secrets) -> None:
    with pytest.raises(Invalid):
        secrets.set_all({"A": "1", "B": "", "C": "3"})
    assert secrets.names() == []


def test_no_value_stands_in_the_files(secrets: Secrets, database: Database, tmp_path: Path) -> None:
    secrets.set("A", CANARY)
    with database.read() as connection:
        connection.execute(text("PRAGMA wal_checkpoint"))
    for path in (tmp_path / "data").iterdir():
        content = path.read_bytes()
        assert CANARY.encode() not in content
        assert base64.b64encode(CANARY.encode()) not in content


def test_rows_swapped_in_the_database_do_not_open(secrets: Secrets, database: Database) -> None:
    secrets.set("ADMIN_TOKEN", "strong")
    secrets.set("GUEST_TOKEN", "weak")
    with database.write() as connection:
        connection.execute(text("UPDATE secrets SET sealed = (SELECT sealed FROM secrets WHERE name = 'GUEST_TOKEN')"))
    assert secrets.get("GUEST_TOKEN") == "weak"
    with pytest.raises(CannotOpen):
        secrets.get("ADMIN_TOKEN")


def test_after_resealing_the_old_key_may_go(secrets: Secrets, database: Database) -> None:
    secrets.set_all({"A": "1", "B": "2"})
    assert Secrets(database, Sealer([NEW, OLD])).reseal() == 2
    assert Secrets(database, Sealer([NEW])).get("B") == "2"
    with pytest.raises(CannotOpen):
        secrets.get("A")


def test_resealing_with_a_value_that_does_not_open_changes_nothing(secrets: Secrets, database: Database) -> None:
    secrets.set("A", "1")
    Secrets(database, Sealer([NEW])).set("B", "2")
    with database.read() as connection:
        before = connection.execute(select(table)).all()
    with pytest.raises(CannotOpen):
        Secrets(database, Sealer([NEW])).reseal()
    with database.read() as connection:
        assert connection.execute(select(table)).all() == before
