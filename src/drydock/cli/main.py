"""The list of commands. Each is imported when it is called, so that `drydock --help` answers at once."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping

import click

from drydock.errors import DrydockError

COMMANDS: Mapping[str, tuple[str, str]] = {
    "serve": ("drydock.cli.serve:serve", "Start the server."),
    "exec": ("drydock.cli.execute:execute", "Run a program on a server; its exit code becomes this command's."),
    "run": ("drydock.cli.runs.start:run", "Give a task to an agent, and watch it work."),
    "runs": ("drydock.cli.runs.group:runs", "List runs, show them, steer them, and take what they made."),
    "demo": ("drydock.cli.demo.command:demo", "Watch a run from its task to its commit, without any key."),
    "envs": ("drydock.cli.envs:envs", "Make, list and delete named environments of packages."),
    "keys": ("drydock.cli.keys:keys", "Make, list and revoke API keys."),
    "secrets": ("drydock.cli.secrets:secrets", "Set, list and unset secrets."),
    "models": (
        "drydock.cli.models:models",
        "List the models that can be named, and whether their keys are there.",
    ),
    "doctor": ("drydock.cli.doctor:doctor", "Prove on this host that boxes hold, with programs that try to get out."),
    "bench": ("drydock.cli.bench:bench", "Measure this machine against the project's figures."),
    "version": ("drydock.cli.version:version", "Print the version."),
}
"""Name, where it lives, and its first line of help: told here, since asking the command would import it."""


class Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}. There are: {', '.join(COMMANDS)}.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def root() -> None:
    """Run code that nobody has read, on your own Linux machine, in boxes it cannot leave."""


def main() -> None:
    """The `drydock` command. An error of the tree becomes its sentence and its remedy on stderr, and exit 1."""
    try:
        root(prog_name="drydock")
    except DrydockError as wrong:
        click.echo(f"drydock: {wrong.message}\n  {wrong.remedy}", err=True)
        sys.exit(1)
