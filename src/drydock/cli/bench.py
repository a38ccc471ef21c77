"""`drydock bench`: the measurements that stand beside the source, since a wheel has no use for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

from drydock.errors import CannotStart

SOURCE = Path(__file__).resolve().parents[3]


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("name", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def bench(name: str | None, arguments: tuple[str, ...]) -> None:
    """Measure this machine against the project's figures.

    NAME is one bench (code, idle, kill ...); without it all of them run. --json prints the figures for a program.
    """
    if not (SOURCE / "bench" / "__main__.py").is_file():
        raise CannotStart(
            "the benches are not part of an installed Drydock",
            hint="Clone the source and run `make bench` there.",
        )
    command = [sys.executable, "-m", "bench", *([name] if name else []), *arguments]
    sys.exit(subprocess.run(command, cwd=SOURCE).returncode)
