"""`drydock secrets`: named secrets, sealed at rest. A value comes in by stdin or a file and is never shown."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from drydock.cli.data import data_option, json_option, opened
from drydock.errors import Invalid

if TYPE_CHECKING:
    from drydock.store.secrets import Secrets

LONGEST_FILE = 1 << 20


@click.group()
def secrets() -> None:
    """Set, list and unset secrets. They are sealed under DRYDOCK_SECRETS_KEY, else DATA/secrets.key."""


@secrets.command("set")
@click.argument("name")
@click.argument("extra", nargs=-1, metavar="")
@data_option
def set_(name: str, extra: tuple[str, ...], data: Path | None) -> None:
    """Set NAME to what stdin holds; one line end at its end is not part of it."""
    from drydock.store.secrets import check_name

    if extra:
        # Other users of the machine can read a command line, and the shell writes it to its history.
        raise click.UsageError("A value is never taken from the command line. Pipe it in, or type it when asked.")
    check_name(name)
    value = _from_stdin(name)
    with _opened(data) as store:
        store.set(name, value)
    click.echo(f"Set {name}.", err=True)


@secrets.command("import")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path), default=".dev.vars")
@data_option
def import_(file: Path, data: Path | None) -> None:
    """Set all that FILE (.dev.vars, or - for stdin) names: KEY=VALUE lines. Empty values are left out."""
    from drydock.dev_vars import parse

    found = parse(_from_file(file))
    filled = {name: value for name, value in found.items() if value}
    with _opened(data) as store:
        store.set_all(filled)
    click.echo(f"Set {', '.join(filled) or 'nothing'}.", err=True)
    if empty := [name for name in found if name not in filled]:
        click.echo(f"Left out, since empty: {', '.join(empty)}.", err=True)


@secrets.command("list")
@data_option
@json_option
def list_(data: Path | None, as_json: bool) -> None:
    """List names and dates, never values."""
    with _opened(data, make=False) as store:
        names = store.names()
    if as_json:
        fields = [{"name": n.name, "created_at": str(n.created_at), "updated_at": str(n.updated_at)} for n in names]
        click.echo(json.dumps(fields))
        return
    for name in names:
        click.echo(f"{name.name}  set {name.updated_at.isoformat(timespec='seconds')}")
    if not names:
        click.echo("No secrets. `drydock secrets set NAME` sets one.", err=True)


@secrets.command()
@click.argument("name")
@data_option
def unset(name: str, data: Path | None) -> None:
    """Forget NAME."""
    with _opened(data, make=False) as store:
        if not store.unset(name):
            raise Invalid(f"There is no secret {name}.", hint="`drydock secrets list` shows the names.")
    click.echo(f"Unset {name}.", err=True)


@secrets.command()
@data_option
def reseal(data: Path | None) -> None:
    """Seal all secrets anew under the first key, so that the older keys may go."""
    with _opened(data, make=False) as store:
        count = store.reseal()
    click.echo(f"Sealed {count} secrets anew.", err=True)


@contextmanager
def _opened(data: Path | None, *, make: bool = True) -> Iterator[Secrets]:
    from drydock.store.sealing import open_sealer
    from drydock.store.secrets import Secrets

    with opened(data, make=make) as (settings, database):
        yield Secrets(database, open_sealer(settings.data, settings.secrets_key))


def _from_stdin(name: str) -> str:
    if sys.stdin.isatty():
        return str(click.prompt(f"Value of {name}", hide_input=True, err=True))
    text = _decoded(sys.stdin.buffer.read(LONGEST_FILE + 1), "The value")
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def _from_file(file: Path) -> str:
    try:
        if str(file) == "-":
            return _decoded(sys.stdin.buffer.read(LONGEST_FILE + 1), "The input")
        with file.open("rb") as source:
            return _decoded(source.read(LONGEST_FILE + 1), "The file")
    except OSError as wrong:
        raise Invalid(
            f"{file} cannot be read: {wrong.strerror}.", hint="Copy .dev.vars.example to .dev.vars and fill it in."
        ) from None


def _decoded(content: bytes, what: str) -> str:
    if len(content) > LONGEST_FILE:
        raise Invalid(f"{what} is over {LONGEST_FILE} bytes.", hint="Secrets are short texts.")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Invalid(f"{what} is not UTF-8 text.", hint="Encode binary secrets, in base64 say.") from None
