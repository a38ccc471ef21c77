"""The runner of the tests says the truth in its last line, whatever becomes of a phase."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(folder: Path, source: str) -> tuple[int, str]:
    file = folder / "test_sample.py"
    file.write_text(f"import os, pytest\n{source}")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "scripts.run_tests",
            "short",
            "-c",
            ROOT / "pyproject.toml",
            "-p",
            "no:cacheprovider",
            file,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout.rstrip().splitlines()[-1]


FINE = "def test_a(): pass\n"
SERIAL = "@pytest.mark.serial\ndef test_b(): pass\n"
LONG = "@pytest.mark.long\ndef test_c(): assert 0\n"


@pytest.mark.long
@pytest.mark.parametrize(
    ("source", "code", "line"),
    [
        (FINE + SERIAL + LONG, 0, "2 passed, 0 failed, 0 skipped"),
        (FINE + SERIAL + "@pytest.mark.serial\ndef test_e(): assert 0\n", 1, "2 passed, 1 failed, 0 skipped"),
        (LONG, 1, "0 passed, 0 failed, 0 skipped"),
        (SERIAL + "def test_g(): os._exit(3)\n", 1, "1 passed, 1 failed, 0 skipped"),
    ],
    ids=["both phases", "fails late", "none selected", "crash"],
)
def test_the_last_line_sums_up_both_phases(source: str, code: int, line: str, tmp_path: Path) -> None:
    assert run(tmp_path, source) == (code, line)
