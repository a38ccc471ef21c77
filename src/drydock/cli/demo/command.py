"""`drydock demo`, from its start to its exit code."""

from __future__ import annotations

import json
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import click

from drydock.cli.client import Server
from drydock.cli.demo.dock import dock
from drydock.cli.demo.model import playing
from drydock.cli.runs import repository
from drydock.cli.runs.calls import RunCalls
from drydock.cli.runs.start import exit_code, summarise
from drydock.cli.runs.view import View, show_diff

STORY = Path(__file__).with_name("story.toml")
INTRODUCTION = """\
A model mends a bug in a sample repository, in boxes of this machine. The model is scripted, so that no key is needed;
everything else is as in every run.
"""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the run, its diff and its commit as one JSON object.")
def demo(as_json: bool) -> NoReturn:
    """Watch a run from its task to its commit, without any key.

    Starts a server of its own, gives it a task, shows the plan, the agent at work, a gate that is red and then green,
    the diff and the commit, and leaves nothing behind. Ends with 0 when all of that was seen.
    """
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    began = time.monotonic()
    story = tomllib.loads(STORY.read_text("utf-8"))
    if not as_json:
        click.echo(INTRODUCTION)
    try:
        with tempfile.TemporaryDirectory(prefix="drydock-demo-") as folder:
            home = Path(folder)
            sample = make_sample(home / "ledger", story["files"])
            with playing(story["plan"].strip(), story["steps"]) as model, dock(home, sample, model) as url:
                told = _through(RunCalls(Server(url, None)), sample, str(story["task"]), quiet=as_json)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    told["seconds"] = round(time.monotonic() - began, 1)
    if as_json:
        click.echo(json.dumps(told, indent=2, ensure_ascii=False))
    else:
        click.echo(f"\nThat took {told['seconds']} s, and nothing of it is left on this machine.")
        click.echo('Your turn: `drydock serve`, then `drydock run "TASK" --repo URL` (docs/guides/runs.md).')
    sys.exit(exit_code(told["run"]))


def make_sample(folder: Path, files: Mapping[str, str]) -> Path:
    """A repository of one commit, with nothing of the caller's own configuration in it."""
    folder.mkdir()
    own = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    repository.git(folder, "init", "--quiet", "--initial-branch=main", env=own)
    for name, text in files.items():
        (folder / name).write_text(text.removeprefix("\n"), "utf-8")
    author = ("-c", "user.name=Sample", "-c", "user.email=sample@localhost", "-c", "commit.gpgSign=false")
    repository.git(folder, "add", "--all", env=own)
    repository.git(folder, *author, "commit", "--quiet", "--message", "A ledger that loses cents", env=own)
    return folder


def _through(calls: RunCalls, sample: Path, task: str, *, quiet: bool) -> dict[str, Any]:
    local = repository.find(str(sample), calls.url)
    asked = {"task": task, "repo": str(sample), "branch": local.begin, "type": "bug-fix", "commit": True}
    run, view = calls.start(asked)["id"], View()
    for event in calls.follow(run):
        if not quiet:
            view.show(event.name, event.data)
    view.close()
    ended = calls.get(run)
    diff = calls.diff(run)
    commit = (ended.get("result") or {}).get("commit")
    landed = local.land(diff, commit) if commit else None
    if not quiet:
        summarise(ended)
        click.echo()
        show_diff(diff)
        if landed:
            click.echo()
            click.echo(repository.git(sample, "log", "--oneline", "--graph", "--decorate", "--all"))
    return {"run": ended, "diff": diff.decode("utf-8", "replace"), "commit": landed}
