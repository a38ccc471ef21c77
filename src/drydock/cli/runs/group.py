"""`drydock runs`: the runs of a server, shown and steered."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import click

from drydock.cli.client import Server
from drydock.cli.runs import tables
from drydock.cli.runs.calls import RunCalls
from drydock.cli.runs.follow import LEFT, Follower
from drydock.cli.runs.start import exit_code, summarise
from drydock.cli.runs.view import View, plain, show_diff
from drydock.cli.whereabouts import at_server
from drydock.errors import Conflict

PAGE = 100
_json = click.option("--json", "as_json", is_flag=True, help="Print what the API tells.")
_reason = click.option("--reason", help="Told with it, and kept.")


@click.group()
def runs() -> None:
    """List runs, show them, steer them, and take what they made."""


@runs.command("list")
@click.option("--status", help="Any of queued, running, paused, completed, failed, cancelled, with commas.")
@click.option("--repo", help="Of this repository.")
@click.option("--limit", type=click.IntRange(1, PAGE), default=30, show_default=True)
@click.option("--waiting", is_flag=True, help="Only those that wait for a person.")
@_json
@at_server
def list_(
    status: str | None, repo: str | None, limit: int, waiting: bool, as_json: bool, url: str, key: str | None
) -> None:
    """List your runs, latest change first."""
    calls = RunCalls(Server(url, key))
    if waiting:
        return _waiting(calls, as_json)
    found = calls.page(status=status, repo=repo, limit=limit)["runs"]
    if as_json:
        return _print(found)
    if not found:
        click.echo('No runs. `drydock run "TASK"` starts one.', err=True)
        return
    for line in tables.rows(found):
        click.echo(line)


def _waiting(calls: RunCalls, as_json: bool) -> None:
    found = calls.waiting()
    if as_json:
        return _print(found)
    for each in found:
        click.echo(f"{each['run']}  {plain(each['message'])}\n    {plain(each['command'])}")
    if not found:
        click.echo("Nothing waits for you.", err=True)


@runs.command()
@click.argument("run")
@_json
@at_server
def show(run: str, as_json: bool, url: str, key: str | None) -> None:
    """Show one run, with its result if it has one."""
    found = RunCalls(Server(url, key)).get(run)
    if as_json:
        return _print(found)
    for name, text in tables.account(found):
        View().tell(name, text)


def _changing(verb: str, done: str, help: str) -> Callable[..., None]:
    @click.argument("run")
    @_reason
    @_json
    @at_server
    def change(run: str, reason: str | None, as_json: bool, url: str, key: str | None) -> None:
        told = RunCalls(Server(url, key)).change(run, verb, reason)
        if as_json:
            return _print(told)
        status = told["run"]["status"]
        click.echo(f"{run} {done}" if told["changed"] else f"{run} was {told['was']}, and is {status}")

    change.__doc__ = help
    return change


runs.command("pause")(_changing("pause", "is paused", "Stop a run where it is, a running command too."))
runs.command("resume")(_changing("resume", "goes on", "Let a paused run go on."))
runs.command("cancel")(_changing("cancel", "is cancelled", "End a run; what was kept of its work stays."))


@runs.command("stop-command")
@click.argument("run")
@_json
@at_server
def stop_command(run: str, as_json: bool, url: str, key: str | None) -> None:
    """End the command that runs now, not the run; the agent is told."""
    told = RunCalls(Server(url, key)).change(run, "stop-command")
    if as_json:
        return _print(told)
    click.echo(f"what {run} ran now is ended")


@runs.command()
@click.argument("run")
@click.argument("text", default="")
@click.option("--continue", "more", is_flag=True, help="Give it more steps too; TEXT may be left out then.")
@_json
@at_server
def say(run: str, text: str, more: bool, as_json: bool, url: str, key: str | None) -> None:
    """Say something to the agent; it hears it before its next decision."""
    told = RunCalls(Server(url, key)).say(run, text, "continue" if more else "message")
    if as_json:
        return _print(told)
    click.echo("said")


@runs.command()
@click.argument("run")
@click.option("--yes/--no", "yes", default=True, help="Whether it may; yes is the default.")
@_reason
@_json
@at_server
def approve(run: str, yes: bool, reason: str | None, as_json: bool, url: str, key: str | None) -> None:
    """Answer what a run asks; the answer is bound to the command that it asks about."""
    calls = RunCalls(Server(url, key))
    question = calls.get(run).get("waiting")
    if question is None:
        raise Conflict(
            f"{run} waits for no answer", where="RUN", hint="`drydock runs list --waiting` lists what waits for you."
        )
    told = calls.answer(run, question, yes, reason)
    if as_json:
        return _print(told)
    click.echo(f"{told['status']}: {plain(question['command'])}")


@runs.command()
@click.argument("run")
@click.option("--turn", type=click.IntRange(1), help="Of this turn alone, as `step` of the log counts them.")
@click.option("--file", "path", help="Of this file alone.")
@click.option("--ignore-space", is_flag=True, help="Without what changed in white space alone; not to be applied.")
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON object.")
@at_server
def diff(
    run: str, turn: int | None, path: str | None, ignore_space: bool, as_json: bool, url: str, key: str | None
) -> None:
    """Print what a run changed, or has changed so far, as a patch for `git apply`."""
    told = {"turn": turn, "path": path, "ignore_space": "true" if ignore_space else None}
    patch = RunCalls(Server(url, key)).diff(run, **told)
    if as_json:
        return _print({"run": run, "path": path, "diff": patch.decode("utf-8", "replace")})
    if sys.stdout.isatty():
        return show_diff(patch)
    sys.stdout.buffer.write(patch)


@runs.command()
@click.argument("run")
@click.option(
    "--follow", is_flag=True, help="Go on until the run has ended; its exit code is as that of `drydock run`."
)
@click.option("--kind", help="Only events of these kinds, with commas.")
@click.option("--grep", help="Only events with this text, in whatever case; found on the server.")
@click.option("--tail", type=click.IntRange(1, 1000), help="Only so many of the last ones.")
@_json
@at_server
def logs(
    run: str,
    follow: bool,
    kind: str | None,
    grep: str | None,
    tail: int | None,
    as_json: bool,
    url: str,
    key: str | None,
) -> None:
    """Print what happened in a run, and with --follow what goes on to happen."""
    calls = RunCalls(Server(url, key))
    if follow and not (kind or grep):
        before = calls.search(run, limit=tail)[-1:] if tail else []
        sys.exit(_follow(calls, run, before[0]["seq"] - 1 if before else 0, as_json))
    found = _all(calls, run, kind, grep, tail)
    if as_json:
        return _print(found)
    view = View()
    for event in found:
        view.show(event["type"], event["data"])
    view.close()


def _follow(calls: RunCalls, run: str, after: int, as_json: bool) -> int:
    """As JSON, one event a line."""
    if as_json:
        for event in calls.follow(run, after):
            click.echo(json.dumps({"seq": int(event.id), "type": event.name, "data": event.data}, ensure_ascii=False))
    elif Follower(calls, run).watch(after) == LEFT:
        return 0
    ended = calls.get(run)
    if not as_json:
        summarise(ended)
    return exit_code(ended)


def _all(calls: RunCalls, run: str, kind: str | None, grep: str | None, tail: int | None) -> list[dict[str, Any]]:
    """Oldest first; the server tells the newest first, a page at a time."""
    found: list[dict[str, Any]] = []
    before = 1 << 29
    while tail is None or len(found) < tail:
        most = 1000 if tail is None else tail - len(found)
        page = calls.search(run, kind=kind, q=grep, before=before, limit=most)
        found += page
        if len(page) < most:
            break
        before = page[-1]["seq"]
    return found[::-1]


def _print(told: object) -> None:
    click.echo(json.dumps(told, indent=2, ensure_ascii=False))
