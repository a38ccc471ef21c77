"""uv's program as a layer of its own: a build box sees this one file and nothing else of what the server runs on."""

from __future__ import annotations

import importlib
import os
import secrets
import shutil
from pathlib import Path

from drydock.box.program import Layer
from drydock.errors import BoxFailed, Unavailable

PREFIX = "tool-"
PLACE = "/tools"
UV = f"{PLACE}/uv"


def find_uv() -> Path:
    """Imported late: a server that installs nothing never needs it."""
    try:
        return Path(importlib.import_module("uv").find_uv_bin())
    except (ImportError, FileNotFoundError):
        raise Unavailable("uv is missing", hint="Install Drydock with its dependencies: `make setup`.") from None


def uv_layer(store: Path) -> Layer:
    """Copied on first use, by whichever of two builds is done first; a newer uv is another layer."""
    program = find_uv()
    about = program.stat()
    key = f"{PREFIX}uv-{about.st_size:x}-{about.st_mtime_ns:x}"
    if not (store / key).is_dir():
        unfinished = store / f"building-{secrets.token_hex(8)}"
        try:
            unfinished.mkdir(mode=0o755)
            unfinished.chmod(0o755)
            shutil.copyfile(program, unfinished / "uv")
            os.chmod(unfinished / "uv", 0o555)
            unfinished.rename(store / key)
        except OSError as wrong:
            shutil.rmtree(unfinished, ignore_errors=True)
            if not (store / key).is_dir():
                raise BoxFailed(f"uv could not be put into the store of layers: {wrong.strerror}") from wrong
    return key, PLACE
