"""A server for the demo alone: it takes nothing from the caller's settings, and ends with the demo."""

from __future__ import annotations

import json
import os
import re
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from drydock.errors import CannotStart

STARTS_WITHIN = 30.0
ENDS_WITHIN = 15.0
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")
LISTENS = re.compile(r"listens on (http://[^\s)]+)")


@contextmanager
def dock(home: Path, sample: Path, model: str) -> Iterator[str]:
    """Its address. It reads repositories below `sample` and asks the model at this address."""
    models = {"demo": {"model": "openai:story", "address": model, "input_price": 0, "output_price": 0}}
    flags = {
        "--port": "0",
        "--data": str(home / "data"),
        "--git-folders": str(sample),
        "--models": json.dumps(models),
        "--model": "demo",
        "--max-concurrent": "1",
        "--max-runs": "1",
        "--shutdown-grace": "1",
        "--log-level": "warning",
    }
    command = [sys.executable, "-m", "drydock.cli", "serve", *(word for flag in flags.items() for word in flag)]
    log = home / "log"
    with log.open("wb") as said:
        process = subprocess.Popen(
            command,
            cwd=home,  # no drydock.toml and no .dev.vars is here
            env={name: os.environ[name] for name in PASSED_ON if name in os.environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            start_new_session=True,  # Ctrl-C is ours: the server is told to end when we do
        )
    try:
        assert process.stdout is not None
        yield address_told(process.stdout, log)
    finally:
        process.terminate()
        try:
            process.wait(ENDS_WITHIN)
        finally:
            process.kill()
            process.wait()


def address_told(stdout: IO[bytes], log: Path) -> str:
    """Read from what the server prints; CannotStart with the last words of its log when it ends or takes too long."""
    until, told = time.monotonic() + STARTS_WITHIN, b""
    with selectors.DefaultSelector() as ready:
        ready.register(stdout, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0 and ready.select(left):
            piece = os.read(stdout.fileno(), 65536)
            told += piece
            if found := LISTENS.search(told.decode("utf-8", "replace")):
                return found[1]
            if not piece:
                break
    why = log.read_text("utf-8", "replace").strip().splitlines()
    raise CannotStart(
        f"the demo's server did not start: {why[-1] if why else 'it said nothing'}",
        hint="`drydock doctor` tells what this host lacks.",
    )
