"""The events of a run as lines of a terminal.

All of it was said by a model, a program or a repository: only printable characters get through, so that nothing of it
moves the cursor, hides a line or turns the direction of writing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import click

from drydock.cli.runs.words import OUTPUT, said

MARK = 8
LONGEST = 2000
"""Characters of one line; a program may write a megabyte without a newline."""
COLOURS = {
    "plan": "cyan",
    "gate": "yellow",
    "commit": "green",
    "deliver": "green",
    "waits": "magenta",
    "agent": "red",
    "you": "blue",
    "$": "bright_white",
}


class View:
    """Writes to stdout as it comes."""

    def __init__(self) -> None:
        self._colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self._unfinished = ""
        """A program's line whose end has not come yet."""

    def show(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind in OUTPUT:
            return self._output(str(data.get("output", "")))
        self._finish_line()
        told = said(kind, data)
        if told is not None:
            self.tell(*told)

    def tell(self, mark: str, text: str) -> None:
        lines = text.splitlines() or [""]
        for number, line in enumerate(lines):
            shown = (mark if number == 0 else "").ljust(MARK)
            if self._colour and number == 0:
                shown = click.style(shown, fg=COLOURS.get(mark.split(" ")[0]), bold=True)
            click.echo(f"{shown} {plain(line)}".rstrip())

    def close(self) -> None:
        self._finish_line()

    def _output(self, text: str) -> None:
        *lines, self._unfinished = (self._unfinished + text).split("\n")
        for line in lines:
            self._program_line(line)
        if len(self._unfinished) > LONGEST:
            self._finish_line()

    def _finish_line(self) -> None:
        if self._unfinished:
            self._program_line(self._unfinished)
        self._unfinished = ""

    def _program_line(self, line: str) -> None:
        """What was written over with a carriage return is not there any more."""
        shown = plain(line.rstrip("\r").rpartition("\r")[2])
        click.echo(f"{'|':>{MARK}} " + (click.style(shown, dim=True) if self._colour else shown))


def plain(text: str) -> str:
    """One line of printable characters."""
    cut = text[:LONGEST].expandtabs(4)
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in cut)


def show_diff(patch: bytes) -> None:
    """For eyes; what is to be applied is written as it came."""
    for line in patch.decode("utf-8", "replace").splitlines():
        shown = plain(line)
        if sys.stdout.isatty() and "NO_COLOR" not in os.environ:
            shown = click.style(shown, fg={"+": "green", "-": "red", "@": "cyan"}.get(line[:1]))
        click.echo(shown)
