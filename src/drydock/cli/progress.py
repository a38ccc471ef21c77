"""One line on stderr about what goes on, written over again and again; on no terminal, its first words alone."""

from __future__ import annotations

import shutil
import sys

import click

CLEAR = "\r\x1b[K"


class ProgressLine:
    def __init__(self) -> None:
        self._shown = False
        self._terminal = sys.stderr.isatty()

    def show(self, text: str) -> None:
        """What the server says about packages is not to be trusted with a terminal: printable characters alone."""
        plain = "".join(character if character.isprintable() else " " for character in text)
        if self._terminal:
            width = shutil.get_terminal_size().columns
            click.echo(f"{CLEAR}drydock: {plain}"[: width - 1 + len(CLEAR)], err=True, nl=False)
        elif not self._shown:
            click.echo(f"drydock: {plain}", err=True)
        self._shown = True

    def clear(self) -> None:
        """Before anything else is printed."""
        if self._shown and self._terminal:
            click.echo(CLEAR, err=True, nl=False)
            self._shown = False
