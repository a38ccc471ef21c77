"""The languages that code may be in: where its runtime is, and how a source becomes a program."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from drydock.box.program import CODE, HOME, TMP, WORK
from drydock.errors import CannotStart

BOX_PATH = "/usr/local/bin:/usr/bin:/bin"
"""What a box can reach: runtimes elsewhere on the host are not seen."""
VERSION_WAIT_S = 20
SUPPORTED = ("python", "golang", "node", "shell")
COMMANDS = {"python": "python3", "golang": "go", "node": "node", "shell": "bash"}


@dataclass(frozen=True, slots=True)
class Language:
    name: str
    command: str
    """Absolute path of its runtime, the same in the box as on the host."""
    version: str
    suffix: str

    def script(self, taken: Mapping[str, bytes]) -> str:
        """Where the source goes: for Node, which resolves `./x` from there, beside the caller's files."""
        if self.name != "node":
            return f"{CODE}/main{self.suffix}"
        name, number = f"main{self.suffix}", 0
        while name in taken:
            number += 1
            name = f"main-{number}{self.suffix}"
        return f"{WORK}/{name}"

    def argv(self, script: str) -> list[str] | None:
        """None: the box's warm interpreter runs it."""
        if self.name == "python":
            return None
        if self.name == "golang":
            # Not `go run`: it ends with 1 whatever the program's own exit status was.
            binary = f"{TMP}/main"
            return ["/bin/sh", "-c", '"$0" build -o "$1" "$2" && exec "$1"', self.command, binary, script]
        return [self.command, script]

    def environment(self, output_dir: str, packages: Sequence[str] = ()) -> dict[str, str]:
        """All that the program finds; nothing of the server's own environment is ever among it."""
        env = {
            "PATH": BOX_PATH,
            "HOME": HOME,
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "TMPDIR": TMP,
            "OUTPUT_DIR": f"{WORK}/{output_dir}",
        }
        if self.name == "python":
            env["PYTHONPATH"] = ":".join((WORK, *packages))
        elif self.name == "node":  # which finds a layer at /node_modules from any folder
            env["NODE_PATH"] = "/usr/local/lib/node_modules:/usr/lib/node_modules"
        elif self.name == "golang":
            env |= {"GOCACHE": f"{HOME}/go-cache", "GOPATH": f"{HOME}/go"}
        return env


SUFFIXES = {"python": ".py", "golang": ".go", "node": ".js", "shell": ".sh"}


def find(python: Path, mode: str) -> dict[str, Language]:
    """Installed languages, the default first. CannotStart as the contract `code`, section 9, words it."""
    if mode and mode not in SUPPORTED:
        raise CannotStart(f'unsupported mode "{mode}" (supported: {", ".join(SUPPORTED)})')
    found: dict[str, Language] = {}
    for name in sorted(SUPPORTED, key=lambda name: (name != mode, SUPPORTED.index(name))):
        command = str(python) if name == "python" else shutil.which(COMMANDS[name], path=BOX_PATH)
        if command is not None and os.access(command, os.X_OK):
            found[name] = Language(name, command, _version(name, command), SUFFIXES[name])
    if mode and mode not in found:
        where = str(python) if mode == "python" else COMMANDS[mode]
        raise CannotStart(
            f'mode "{mode}" needs {where}, which is not installed where a box can see it',
            hint=f"Install it below /usr ({BOX_PATH}), or choose another by SANDBOX_MODE.",
        )
    if not found:
        raise CannotStart("no language is installed", hint="apt-get install python3")
    return found


def _version(name: str, command: str) -> str:
    argument = "version" if name == "golang" else "--version"
    try:
        said = subprocess.run([command, argument], capture_output=True, timeout=VERSION_WAIT_S, check=True, env={})
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    lines = said.stdout.decode("utf-8", "replace").splitlines()
    return lines[0].strip() if lines else "unknown"


_IMPORTABLE = """
import pkgutil, sys
known = set(getattr(sys, "stdlib_module_names", ())) | set(sys.builtin_module_names)
for folder in sys.path:
    if folder.endswith("-packages"):
        known_here = {module.name for module in pkgutil.iter_modules([folder])} - known
        print("\\n".join(name for name in known_here if not name.startswith("_")))
"""


def preinstalled(python: Language) -> list[str]:
    """Names that code can import with no requirements, beside the standard library."""
    asked = [python.command, "-I", "-c", _IMPORTABLE]
    try:
        said = subprocess.run(asked, capture_output=True, text=True, timeout=VERSION_WAIT_S, check=True, env={})
    except (OSError, subprocess.SubprocessError):
        return []
    return sorted(set(said.stdout.split()))
