"""What is run, and the language that it is in."""

from __future__ import annotations

from pathlib import Path

import pytest

from drydock.cli import program
from drydock.errors import Invalid


@pytest.mark.parametrize(
    ("source", "first_line", "language"),
    [
        ("a.py", "", "python"),
        ("dir.js/a.mjs", "", "node"),
        ("a.cjs", "", "node"),
        ("a.js", "#!/bin/sh", "node"),
        ("a.sh", "", "shell"),
        ("a.go", "", "golang"),
        ("tool", "#!/usr/bin/env python3", "python"),
        ("tool", "#!/usr/bin/env -S python3.11 -u", "python"),
        ("tool", "#!/usr/bin/env LANG=C bash", "shell"),
        ("tool", "#! /bin/sh -e", "shell"),
        ("tool", "#!/usr/local/bin/node", "node"),
        ("-", "#!/bin/bash", "shell"),
        ("-", "print(1)", None),
    ],
)
def test_the_ending_tells_the_language_and_else_the_first_line(
    source: str, first_line: str, language: str | None
) -> None:
    assert program.language(source, f"{first_line}\nrest") == language


@pytest.mark.parametrize("first_line", ["", "#!/usr/bin/perl", "#!/usr/bin/env", "#!"])
def test_a_file_that_nothing_tells_of_is_refused_with_the_remedy(first_line: str) -> None:
    with pytest.raises(Invalid, match="nothing tells the language of tool") as caught:
        program.language("tool", first_line)
    assert "--language" in caught.value.remedy


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"\xff\xfe")
    with pytest.raises(Invalid, match="not text in UTF-8"):
        program.read(str(tmp_path / "a.py"))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="No such file"):
        program.read(str(tmp_path / "a.py"))
