"""`drydock keys`: API keys of the server on a data folder. A running server notices within a second."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drydock.cli.data import data_option, json_option, opened

if TYPE_CHECKING:
    from drydock.access.keys import Key


@click.group()
def keys() -> None:
    """Make, list and revoke API keys. With any key, the server asks every caller for one."""


@keys.command()
@click.argument("name")
@click.option("--scope", "scopes", multiple=True, metavar="SCOPE", help="A door that the key opens; else every door.")
@data_option
@json_option
def add(name: str, scopes: tuple[str, ...], data: Path | None, as_json: bool) -> None:
    """Make a key and print it, once."""
    from drydock.access.keys import Keys

    with opened(data, make=True) as (_, database):
        new = Keys(database).add(name, scopes or ("*",))
    if as_json:
        click.echo(json.dumps({**_fields(new.key), "key": new.text}))
    else:
        click.echo(new.text)
    click.echo(
        f"Key {new.key.id} ({name}) opens: {', '.join(new.key.scopes)}. Keep it now, it is not shown again. "
        "Send it as `Authorization: Bearer KEY`.",
        err=True,
    )


@keys.command("list")
@data_option
@json_option
def list_(data: Path | None, as_json: bool) -> None:
    """List the keys, never their secret part."""
    from drydock.access.keys import Keys

    with opened(data, make=False) as (_, database):
        found = Keys(database).list()
    if as_json:
        click.echo(json.dumps([_fields(key) for key in found]))
        return
    for key in found:
        used = f"last used {_moment(key.last_used_at)}" if key.last_used_at else "never used"
        end = f"revoked {_moment(key.revoked_at)}" if key.revoked_at else used
        click.echo(f"{key.id}  {key.name}  {','.join(key.scopes)}  made {_moment(key.created_at)}  {end}")
    if not found:
        click.echo("No keys. `drydock keys add NAME` makes one.", err=True)


@keys.command()
@click.argument("id_or_name", metavar="ID|NAME")
@data_option
def revoke(id_or_name: str, data: Path | None) -> None:
    """End a key. Running servers refuse it within a second."""
    from drydock.access.keys import Keys

    with opened(data, make=False) as (_, database):
        gone = Keys(database).revoke(id_or_name)
    click.echo(f"Revoked {gone.id} ({gone.name}).", err=True)


def _fields(key: Key) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": list(key.scopes),
        "created_at": _moment(key.created_at),
        "last_used_at": _moment(key.last_used_at),
        "revoked_at": _moment(key.revoked_at),
    }


def _moment(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None
