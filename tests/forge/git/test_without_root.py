"""The same where an unprivileged user runs the server: no disk of a hard size, no uid of its own, the same answers."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.standins.engine import CHECKOUT, Contained

SLICE = "becomes_a_branch or untouched or nothing_of or whole_history or unpacks or quicker or rebuilt or file_address"


@pytest.mark.long
def test_a_slice_of_these_tests_holds_without_root() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        options = ["-q", "-p", "no:cacheprovider", "--basetemp", f"{folder}/base", "-k", SLICE]
        tests = [str(path) for path in Path(__file__).parent.glob("test_*.py") if path != Path(__file__)]
        # The option for the server is one of nobody's here: it comes last, after what ends our own.
        command = Contained(312_399).command([sys.executable, "-m", "pytest", *options, *tests], {})[:-2]
        env = {"PATH": "/usr/bin:/bin", "TMPDIR": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, cwd=CHECKOUT, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
        assert " passed" in done.stdout
