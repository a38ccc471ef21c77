"""`drydock run`: a task for an agent, watched until its end, its result where the caller wants it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from drydock.cli.client import Server
from drydock.cli.duration import Duration
from drydock.cli.runs import repository, tables
from drydock.cli.runs.calls import RunCalls
from drydock.cli.runs.follow import LEFT, Follower
from drydock.cli.runs.repository import LocalRepository
from drydock.cli.runs.view import View, plain
from drydock.cli.whereabouts import at_server
from drydock.errors import DrydockError, Invalid

FAILED = 1
GATE_FAILED = 3
OUR_FAULT = 125
CANCELLED = 130
FORGE_TOKEN = "DRYDOCK_FORGE_TOKEN"
"""No flag: every user of a machine can read its command lines."""
LIMITS = ("usd", "steps", "commands", "tokens")


class Budget(click.ParamType[Any]):
    """`2.50` is dollars; `steps=20`, `commands=10`, `tokens=200000` are the others."""

    name = "limit"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        if isinstance(value, tuple):
            return value
        name, equals, number = str(value).rpartition("=")
        name = name if equals else "usd"
        try:
            told = float(number.removeprefix("$")) if name == "usd" else int(number)
        except ValueError:
            told = -1
        if name not in LIMITS or not 0 <= told < 1e12:
            self.fail(
                f"{value!r} is no budget: write 2.50 for dollars, or steps=20, commands=10, tokens=200000", param, ctx
            )
        return name, told


@click.command()
@click.argument("task")
@click.option("--repo", metavar="URL|PATH", help="Repository to work on; a folder's HEAD is. Else an empty workspace.")
@click.option("--branch", help="Branch, tag or commit to begin from; else the default branch, or a folder's HEAD.")
@click.option("--type", "kind", help="feature-implementation (the default), bug-fix, refactoring, code-review ...")
@click.option("--model", help="An alias, or PROVIDER:NAME; `drydock models` lists them. Else the server's default.")
@click.option("--strategy", help="How it goes about it; else what fits the task.")
@click.option("--trust", type=click.Choice(["strict", "balanced", "trusted"]), help="Which commands it asks about.")
@click.option(
    "--commit", is_flag=True, help="Commit the result once the gate has passed; of a folder, on a new branch."
)
@click.option("--budget", "budgets", type=Budget(), multiple=True, help="2.50 (dollars), steps=20, commands=10 ...")
@click.option("--timeout", "-t", type=Duration(), help="Its time limit: 90s, 15m, 2h. The server's default is 15m.")
@click.option("--patch", type=click.Path(path_type=Path, dir_okay=False), help="Write what it changed to this file.")
@click.option("--follow/--detach", default=True, help="Watch it to its end, or print its id and leave it.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the run as one JSON object, when it has ended if followed."
)
@at_server
def run(
    task: str,
    repo: str | None,
    branch: str | None,
    kind: str | None,
    model: str | None,
    strategy: str | None,
    trust: str | None,
    commit: bool,
    budgets: Sequence[tuple[str, float]],
    timeout: int | None,
    patch: Path | None,
    follow: bool,
    as_json: bool,
    url: str,
    key: str | None,
) -> NoReturn:
    """Give a task to an agent, and watch it work.

    A private repository is cloned, and a branch is pushed, with the forge's token in DRYDOCK_FORGE_TOKEN. Ctrl-C asks
    whether to cancel the run or to leave it alone. Ends with 0 when the run has completed, 3 when its gate
    failed, 1 when it failed, 130 when it was cancelled, 125 when Drydock could not run it.
    """
    try:
        server = Server(url, key)
        local = repository.find(repo, server.url, branch or "HEAD") if repo and repository.is_local(repo) else None
        asked: dict[str, Any] = {
            "task": task,
            "repo": str(local.folder) if local else repo,
            "branch": local.begin if local else branch,
            "type": kind,
            "model": model,
            "strategy": strategy,
            "trust": trust,
            "commit": commit,
            "limits": dict(budgets),
            "timeout_ms": timeout,
        }
        if local and local.changes:
            click.echo(f"drydock: {local.changes} changes are not committed, and the run does not see them", err=True)
        body = {name: value for name, value in asked.items() if value not in (None, {}, False)}
        sys.exit(_Started(RunCalls(server), body, local, patch, as_json).through(follow))
    except DrydockError as wrong:
        click.echo(f"drydock: {wrong.message}\n  {wrong.remedy}", err=True)
        sys.exit(OUR_FAULT)


class _Started:
    """One run, from its order to our exit code."""

    def __init__(
        self,
        calls: RunCalls,
        body: Mapping[str, Any],
        local: LocalRepository | None,
        patch: Path | None,
        as_json: bool,
    ) -> None:
        self._calls, self._local, self._patch, self._as_json = calls, local, patch, as_json
        self._run: Mapping[str, Any] = calls.start(body, os.environ.get(FORGE_TOKEN, ""))
        self._id = str(self._run["id"])

    def through(self, follow: bool) -> int:
        if not follow:
            click.echo(json.dumps(self._run, indent=2, ensure_ascii=False) if self._as_json else self._id)
            return 0
        if not self._as_json:
            View().tell("run", self._id)
        if Follower(self._calls, self._id, quiet=self._as_json).watch() == LEFT:
            return 0
        self._run = self._calls.get(self._id)
        if self._as_json:
            click.echo(json.dumps(self._run, indent=2, ensure_ascii=False))
        else:
            summarise(self._run)
        self._hand_over()
        return exit_code(self._run)

    def _hand_over(self) -> None:
        """What it changed goes where it was asked to go, and never into a working tree."""
        result = self._run.get("result") or {}
        if not result.get("diff"):
            return
        diff = self._calls.diff(self._id)
        if self._patch:
            try:
                self._patch.write_bytes(diff)
            except OSError as wrong:
                hint = f"The run has it still: drydock runs diff {self._id}"
                raise Invalid(
                    f"{self._patch} cannot be written: {wrong.strerror}", where="--patch", hint=hint
                ) from None
        commit = result.get("commit") or {}
        if self._local and commit.get("sha"):
            sha = self._local.land(diff, commit)
            where = f"the new branch {plain(str(commit['branch']))} of {self._local.folder}"
            click.echo(f"drydock: {sha[:12]} is on {where}", err=True)
        elif commit.get("pushed"):
            click.echo(f"drydock: pushed to {plain(str(commit['branch']))}", err=True)
        elif not self._patch:
            click.echo(f"drydock: `drydock runs diff {self._id} | git apply` takes the change over", err=True)


def summarise(run: Mapping[str, Any]) -> None:
    """The last lines of a run that was watched."""
    view, result = View(), run.get("result") or {}
    if result.get("usage"):
        view.tell("cost", tables.cost(result["usage"]))
    if error := run.get("error"):
        view.tell(run["status"], str(error["message"]))
    elif run["status"] == "cancelled":
        view.tell("run", f"cancelled: {run.get('cancellation_reason', '')}")
    else:
        view.tell("run", f"{run['status']}: {result.get('summary', '')}")


def exit_code(run: Mapping[str, Any]) -> int:
    if run["status"] == "cancelled":
        return CANCELLED
    if run["status"] != "completed":
        return FAILED
    gate = (run.get("result") or {}).get("gate") or {}
    return 0 if gate.get("passed", True) else GATE_FAILED
