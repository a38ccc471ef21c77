import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

from drydock.access.keys import Keys
from drydock.store.database import connect
from drydock.store.migrations import migrate

DRYDOCK = Path(sys.executable).with_name("drydock")


def drydock(cwd: Path, *words: str, stdin: bytes = b"", **variables: str) -> subprocess.CompletedProcess[str]:
    """The real command, in an environment of its own."""
    done = subprocess.run(
        [DRYDOCK, *words],
        input=stdin,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        check=False,
        timeout=60,
    )
    return subprocess.CompletedProcess(words, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_a_key_is_printed_once_and_opens(tmp_path: Path) -> None:
    made = drydock(tmp_path, "keys", "add", "ci", "--data", "data", "--scope", "code", "--scope", "native")
    assert made.returncode == 0, made.stderr
    text = made.stdout.removesuffix("\n")
    assert re.fullmatch(r"ddk_[a-z0-9]{8}_[A-Za-z0-9_-]{43}", text)
    assert text not in made.stderr
    assert "not shown again" in made.stderr
    database = connect("", tmp_path / "data")
    found = Keys(database).snapshot().find(text)
    database.close()
    assert found is not None
    assert (found.name, tuple(found.scopes)) == ("ci", ("code", "native"))
    listed = drydock(tmp_path, "keys", "list", "--data", "data")
    assert text[13:] not in listed.stdout + listed.stderr
    assert "ci" in listed.stdout


def test_the_folder_and_the_database_are_for_the_owner_alone(tmp_path: Path) -> None:
    assert drydock(tmp_path, "keys", "add", "ci", DRYDOCK_DATA="deep/data").returncode == 0
    data = tmp_path / "deep" / "data"
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in data.iterdir()} == {0o600}


def test_json_is_for_programs(tmp_path: Path) -> None:
    made = json.loads(drydock(tmp_path, "keys", "add", "ci", "--json").stdout)
    assert made["key"].startswith(f"ddk_{made['id']}_")
    assert made["scopes"] == ["*"]
    drydock(tmp_path, "keys", "add", "laptop")
    assert drydock(tmp_path, "keys", "revoke", made["id"]).returncode == 0
    listed = drydock(tmp_path, "keys", "list", "--json")
    assert [(key["name"], key["revoked_at"] is None) for key in json.loads(listed.stdout)] == [
        ("ci", False),
        ("laptop", True),
    ]
    assert made["key"][13:] not in listed.stdout


def test_keys_come_and_go_while_a_server_has_the_folder_open(tmp_path: Path) -> None:
    server = connect("", tmp_path / "data")
    migrate(server)
    with server.read():
        assert drydock(tmp_path, "keys", "add", "ci", "--data", "data").returncode == 0
    assert len(Keys(server).snapshot()) == 1
    assert drydock(tmp_path, "keys", "revoke", "ci", "--data", "data").returncode == 0
    assert len(Keys(server).snapshot()) == 0
    server.close()


def test_what_cannot_be_done_is_told_with_exit_code_1(tmp_path: Path) -> None:
    nothing = drydock(tmp_path, "keys", "list", "--data", "nowhere")
    assert nothing.returncode == 1
    assert "no data of a Drydock server in 'nowhere'" in nothing.stderr
    assert not (tmp_path / "nowhere").exists()
    drydock(tmp_path, "keys", "add", "ci")
    for words, told in (
        (("add", "ci"), "drydock keys revoke ci"),
        (("add", "a b"), "not a key's name"),
        (("add", "b", "--scope", "natve"), "Did you mean native?"),
        (("revoke", "nobody"), "drydock keys list"),
    ):
        refused = drydock(tmp_path, "keys", *words)
        assert refused.returncode == 1
        assert told in refused.stderr
        assert "Traceback" not in refused.stderr
        assert refused.stdout == ""


def test_wrong_use_is_exit_code_2(tmp_path: Path) -> None:
    for words in (("add",), ("revoke",), ("add", "a", "b"), ("list", "--nothing"), ("nothing",)):
        assert drydock(tmp_path, "keys", *words).returncode == 2
    assert list(tmp_path.iterdir()) == []
