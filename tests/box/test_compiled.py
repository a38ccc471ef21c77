"""Our own side of a box comes compiled, by the interpreter that will run it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from drydock.box.compiled import compile_inside
from drydock.errors import CannotStart

PYTHON = "/usr/bin/python3"


def test_the_interpreter_of_the_boxes_imports_what_was_compiled_without_any_source(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for source, place in compile_inside(PYTHON, tmp_path / "compiled"):
        target = root / place.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(Path(source).read_bytes())
    code = "import sys; sys.path.insert(0, sys.argv[1]); import _drydock.zygote as z; print(z.__file__)"
    said = subprocess.run(
        [PYTHON, "-I", "-S", "-c", code, root / "drydock"], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == str(root / "drydock" / "_drydock" / "zygote.pyc")


def test_what_a_former_server_compiled_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "compiled"
    folder.mkdir()
    (folder / "stale.pyc").write_bytes(b"of another Python")
    files = compile_inside(PYTHON, folder)
    assert sorted(os.listdir(folder)) == sorted(Path(source).name for source, _ in files)


def test_an_interpreter_that_cannot_compile_it_stops_the_start_with_its_own_words(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'SyntaxError: too new for me' >&2\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(CannotStart, match="too new for me"):
        compile_inside(str(python), tmp_path / "compiled")
