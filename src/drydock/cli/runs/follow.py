"""A run watched live, until it has ended or until whoever watches leaves it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from drydock.cli.client import Refused
from drydock.cli.runs.calls import TERMINAL, RunCalls
from drydock.cli.runs.view import View, plain

LEFT = "left"


class Follower:
    """Shows the run's events on stdout, unless `quiet`; asks on the terminal what only a person can say."""

    def __init__(self, calls: RunCalls, run: str, *, quiet: bool = False) -> None:
        self._calls, self._run, self._quiet = calls, run, quiet
        self._view = View()
        self._seen = 0
        self._can_ask = sys.stdin.isatty() and sys.stderr.isatty()

    def watch(self, after: int = 0) -> str:
        """The last event's kind, or LEFT."""
        self._seen = after
        while True:
            try:
                return self._through()
            except KeyboardInterrupt:
                self._view.close()
                if (left := self._interrupted()) is not None:
                    return left

    def _through(self) -> str:
        for event in self._calls.follow(self._run, self._seen):
            self._seen = int(event.id)
            if not self._quiet:
                self._view.show(event.name, event.data)
            if event.name == "command_approval_requested":
                self._ask(event.data)
            if event.name in TERMINAL:
                self._view.close()
                return event.name
        return str(self._calls.get(self._run)["status"])

    def _interrupted(self) -> str | None:
        """None: go on watching."""
        if not self._can_ask:
            self._tell_left()
            return LEFT
        click.echo(err=True)
        try:
            words = click.Choice(["cancel", "detach", "go-on"])
            said = click.prompt("drydock: cancel the run, detach from it, or go on", type=words, err=True)
        except (KeyboardInterrupt, click.Abort, EOFError):
            said = "detach"
        if said == "cancel":
            self._calls.change(self._run, "cancel")
            return None  # its last event comes
        if said == "go-on":
            return None
        self._tell_left()
        return LEFT

    def _tell_left(self) -> None:
        follow = f"drydock runs logs {self._run} --follow"
        click.echo(
            f"drydock: the run goes on; `{follow}` follows it, `drydock runs cancel {self._run}` ends it", err=True
        )

    def _ask(self, data: Mapping[str, Any]) -> None:
        """A question that is still open, asked where there is somebody to answer."""
        question = self._calls.get(self._run).get("waiting")
        if question is None or str(question["number"]) != str(data.get("approvalId")):
            return
        if not self._can_ask:
            click.echo(f"drydock: answer with `drydock runs approve {self._run}` (or --no)", err=True)
            return
        command = plain(question["command"])
        try:
            yes = click.confirm(f"drydock: may it run `{command}`?", default=False, err=True)
            self._calls.answer(self._run, question, yes, None)
        except click.Abort:
            raise KeyboardInterrupt from None
        except Refused as late:
            click.echo(f"drydock: {late.message}", err=True)
