"""The list of commands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from drydock import __version__
from drydock.cli.main import COMMANDS, Commands, root
from drydock.settings import Settings, flag, is_secret

DRYDOCK = Path(sys.executable).with_name("drydock")


def loaded(name: str) -> click.Command:
    command = Commands().get_command(click.Context(root), name)
    assert command is not None
    return command


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_tells_each_command_in_its_own_first_line(name: str) -> None:
    assert loaded(name).get_short_help_str(200) == COMMANDS[name][1]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_explains_itself(name: str) -> None:
    told = CliRunner().invoke(root, [name, "--help"])
    assert told.exit_code == 0
    assert told.output.startswith("Usage: ")


def imported_by(code: str) -> set[str]:
    """Which of the slow packages a fresh interpreter has imported after this."""
    slow = {"pydantic", "sqlalchemy", "uvicorn", "httpx", "cryptography", "drydock.settings"}
    script = f"{code}\nimport sys\nsys.stderr.write(' '.join({slow!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_listing_the_commands_imports_none_of_them() -> None:
    assert imported_by("from drydock.cli.main import root; root(['--help'], standalone_mode=False)") == set()


def test_following_a_program_needs_no_slow_import() -> None:
    assert imported_by("import drydock.cli.execute") == set()


def test_a_mistyped_command_is_told_the_right_ones() -> None:
    told = CliRunner().invoke(root, ["sreve"])
    assert told.exit_code == 2
    assert "No such command 'sreve'. There are: serve, exec" in told.stderr


def test_the_version_is_the_packages() -> None:
    assert CliRunner().invoke(root, ["version"]).output == f"{__version__}\n"


def test_serve_has_a_flag_for_every_setting_that_is_no_secret() -> None:
    offered = {option for each in loaded("serve").params for option in each.opts}
    assert offered == {flag(name) for name in Settings.model_fields if not is_secret(name)}


def test_a_bad_setting_ends_with_1_and_one_sentence_and_its_remedy(tmp_path: Path) -> None:
    done = subprocess.run(
        [DRYDOCK, "serve"], env={"SANDBOX_MAX_CONCURRENT": "0"}, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr == (
        "drydock: SANDBOX_MAX_CONCURRENT: Input should be greater than or equal to 1, not '0'\n"
        "  docs/reference/settings.md lists every setting.\n"
    )
    assert done.stdout == ""


def test_an_unsupported_mode_ends_with_1_in_the_contracts_words(tmp_path: Path) -> None:
    done = subprocess.run(
        [DRYDOCK, "serve"], env={"SANDBOX_MODE": "ruby"}, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert 'unsupported mode "ruby" (supported: python, golang, node, shell)' in done.stderr
