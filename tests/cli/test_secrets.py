import base64
import json
import os
import pty
import stat
from pathlib import Path

import pytest

from drydock.store.database import connect
from drydock.store.sealing import open_sealer
from drydock.store.secrets import Secrets
from tests.cli.test_keys import DRYDOCK, drydock

CANARY = "canary-77ab"


def kept(data: Path, name: str) -> str | None:
    database = connect("", data)
    try:
        return Secrets(database, open_sealer(data)).get(name)
    finally:
        database.close()


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        (b"canary-77ab\n", CANARY),
        (b"canary-77ab\r\n", CANARY),
        (b"canary-77ab", CANARY),
        (b"two\nlines\n\n", "two\nlines\n"),
        (b" a\t", " a\t"),
        (b"a\r", "a\r"),
        ("\U0001f511".encode(), "\U0001f511"),
    ],
)
def test_a_value_comes_from_stdin_and_is_not_shown(tmp_path: Path, typed: bytes, value: str) -> None:
    done = drydock(tmp_path, "secrets", "set", "API_KEY", "--data", "data", stdin=typed)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr == "Set API_KEY.\n"
    assert kept(tmp_path / "data", "API_KEY") == value


def test_a_typed_value_is_asked_for_and_not_echoed(tmp_path: Path) -> None:
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(tmp_path)
        os.execve(DRYDOCK, ["drydock", "secrets", "set", "API_KEY", "--data", "data"], {"PATH": "/usr/bin:/bin"})
    seen = b""
    while b"Value of API_KEY: " not in seen:
        seen += os.read(terminal, 1000)
    os.write(terminal, CANARY.encode() + b"\n")
    while b"Set API_KEY." not in seen:
        seen += os.read(terminal, 1000)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    os.close(terminal)
    assert CANARY.encode() not in seen
    assert kept(tmp_path / "data", "API_KEY") == CANARY


@pytest.mark.parametrize(
    "words", [("API_KEY", CANARY), (f"API_KEY={CANARY}",), ("API_KEY", "--value", CANARY), ("API_KEY", "=", CANARY)]
)
def test_a_value_on_the_command_line_is_refused_and_not_repeated(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = drydock(tmp_path, "secrets", "set", *words, stdin=b"x")
    assert done.returncode in (1, 2)
    assert CANARY not in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("typed", "told"), [(b"", "empty"), (b"\n", "empty"), (b"\xff", "UTF-8"), (b"x" * (2 << 20), "over")]
)
def test_a_value_of_no_use_is_told(tmp_path: Path, typed: bytes, told: str) -> None:
    done = drydock(tmp_path, "secrets", "set", "A", stdin=typed)
    assert done.returncode == 1
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_names_and_dates_are_listed_and_never_values(tmp_path: Path) -> None:
    for name in ("B", "A"):
        drydock(tmp_path, "secrets", "set", name, stdin=CANARY.encode())
    plain, as_json = drydock(tmp_path, "secrets", "list"), drydock(tmp_path, "secrets", "list", "--json")
    assert CANARY not in plain.stdout + plain.stderr + as_json.stdout + as_json.stderr
    assert [line.split()[0] for line in plain.stdout.splitlines()] == ["A", "B"]
    assert [set(each) for each in json.loads(as_json.stdout)] == [{"name", "created_at", "updated_at"}] * 2


def test_an_unset_secret_is_gone(tmp_path: Path) -> None:
    drydock(tmp_path, "secrets", "set", "A", stdin=b"x")
    assert drydock(tmp_path, "secrets", "unset", "A").returncode == 0
    again = drydock(tmp_path, "secrets", "unset", "A")
    assert again.returncode == 1
    assert "no secret A" in again.stderr
    assert drydock(tmp_path, "secrets", "list").stdout == ""


def test_all_files_of_the_folder_are_for_the_owner_alone(tmp_path: Path) -> None:
    drydock(tmp_path, "secrets", "set", "A", "--data", "data", stdin=CANARY.encode())
    files = list((tmp_path / "data").iterdir())
    assert {path.name for path in files} >= {"drydock.db", "secrets.key"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert not any(CANARY.encode() in path.read_bytes() for path in files)


def test_a_vars_file_is_imported_whole(tmp_path: Path) -> None:
    (tmp_path / "vars").write_text(f"# mine\nA={CANARY}\nB='b c'\nEMPTY=\n")
    done = drydock(tmp_path, "secrets", "import", "vars", "--data", "data")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "Set A, B.\nLeft out, since empty: EMPTY.\n"
    assert CANARY not in done.stdout + done.stderr
    assert kept(tmp_path / "data", "A") == CANARY
    assert kept(tmp_path / "data", "B") == "b c"
    assert kept(tmp_path / "data", "EMPTY") is None


def test_the_file_is_dev_vars_when_none_is_named_and_a_dash_is_stdin(tmp_path: Path) -> None:
    assert drydock(tmp_path, "secrets", "import", "-", stdin=b"A=1").returncode == 0
    missing = drydock(tmp_path, "secrets", "import")
    assert missing.returncode == 1
    assert ".dev.vars.example" in missing.stderr
    (tmp_path / ".dev.vars").write_text("B=2\n")
    assert drydock(tmp_path, "secrets", "import").returncode == 0
    assert [each["name"] for each in json.loads(drydock(tmp_path, "secrets", "list", "--json").stdout)] == ["A", "B"]


def test_a_bad_line_imports_nothing_and_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "vars").write_text(f"A=1\n{CANARY}\n")
    done = drydock(tmp_path, "secrets", "import", "vars")
    assert done.returncode == 1
    assert "Line 2" in done.stderr
    assert CANARY not in done.stderr
    assert drydock(tmp_path, "secrets", "list").returncode == 1


def test_a_key_is_replaced_by_resealing(tmp_path: Path) -> None:
    old, new = (base64.b64encode(os.urandom(32)).decode() for _ in range(2))
    drydock(tmp_path, "secrets", "set", "A", stdin=b"x", DRYDOCK_SECRETS_KEY=old)
    assert not (tmp_path / "drydock-data" / "secrets.key").exists()
    done = drydock(tmp_path, "secrets", "reseal", DRYDOCK_SECRETS_KEY=f"{new} {old}")
    assert done.returncode == 0, done.stderr
    assert drydock(tmp_path, "secrets", "reseal", DRYDOCK_SECRETS_KEY=new).returncode == 0
    refused = drydock(tmp_path, "secrets", "reseal", DRYDOCK_SECRETS_KEY=old)
    assert refused.returncode == 1
    assert "not at hand" in refused.stderr
    assert old not in refused.stderr
