"""Each rule of the repository finds its breach, and leaves its harmless twin alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import rules


@pytest.mark.parametrize(
    ("name", "breach", "twin"),
    [
        ("a.md", "https://py" + "pi.org/simple", "the Python package index"),
        ("a.sh", "https://files.PYTHON" + "hosted.org/x", "pythonhosted"),
        ("x.json", "https://registry.npm" + "js.org/", "npm"),
        ("Containerfile", "http://deb.deb" + "ian.org/debian", "debian:12"),
        ("a.py", "/work/" + "main/src", "/work"),
        ("r.lock", "--index-url" + " https://x", "alembic==1.0 --hash=sha256:0"),
        ("package.lock", '"resolved"' + ': "https://x"', '"version": "1"'),
        ("a.py", "x = 1  # type: " + "ignore", "x = 1  # type: " + "ignore[misc]"),
        ("a.py", "x = 1  # no" + "qa", "x = 1  # no" + "qa: BLE001 - why"),
        ("a.py", "# ruff: no" + "qa: E501", "# ruff is a linter"),
        ("a.py", "# mypy: " + "ignore-errors", "# mypy is strict"),
        ("a.py", "# TO" + "DO: later", "# to do this, that"),
        ("a.py", "@pytest.mark.ski" + "p", "skip = 1"),
        ("a.py", "@pytest.mark.ski" + "pif(x)", "mark.long"),
        ("a.py", "pytest.importor" + "skip('numpy')", "import numpy"),
        ("a.py", "from unittest." + "mock import patch", "import unittest"),
    ],
)
def test_a_rule_finds_its_breach_and_not_its_twin(name: str, breach: str, twin: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(f"first\n{breach}\n")
    [found] = rules.breaches(file, tmp_path)
    assert found.startswith(f"{name}:2: ")
    file.write_text(f"first\n{twin}\n")
    assert list(rules.breaches(file, tmp_path)) == []


def test_a_file_that_is_no_text_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    file.write_bytes(b"\x89PNG\xff")
    assert list(rules.breaches(file, tmp_path)) == []


def test_only_what_git_would_commit_is_looked_at() -> None:
    names = {path.relative_to(rules.ROOT).parts[0] for path in rules.committed()}
    assert {"src", "tests", "README.md"} <= names
    assert ".venv" not in names
