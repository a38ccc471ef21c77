"""Our own side of a box, compiled once by the interpreter that runs it.

From source every new interpreter of a slot would compile it again: 26 ms of processor time, at each renewal too.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from drydock.errors import CannotStart

INSIDE = Path(__file__).parent / "inside"
PLACE = "/drydock"
COMPILE_WAIT_S = 60
# Unchecked: the files are ours, and the copies in a box have other times than their sources. No source is shown there.
_COMPILE = """
import py_compile, sys
unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
for source, target, shown in zip(*[iter(sys.argv[1:])] * 3):
    py_compile.compile(source, target, shown, doraise=True, invalidation_mode=unchecked)
"""


def compile_inside(python: str, folder: Path) -> Sequence[tuple[str, str]]:
    """Each compiled file, in `folder`, and its place in a box. CannotStart when the interpreter cannot read them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    # The starting file stands beside the package that it imports.
    places = {source: f"{PLACE}/_drydock/{source.stem}" for source in sorted(INSIDE.glob("*.py"))}
    places[INSIDE / "__main__.py"] = f"{PLACE}/__main__"
    arguments: list[str] = []
    files = []
    for source, place in places.items():
        target = folder / f"{source.stem}.pyc"
        arguments += [str(source), str(target), f"{place}.py"]
        files.append((str(target), f"{place}.pyc"))
    command = [python, "-I", "-S", "-c", _COMPILE, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env={}, timeout=COMPILE_WAIT_S, check=False)
    if done.returncode != 0:
        why = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise CannotStart(
            f"{python} cannot compile what runs in the boxes: {why}", hint="Name another Python by DRYDOCK_PYTHON."
        )
    return files
