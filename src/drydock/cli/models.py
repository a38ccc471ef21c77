"""`drydock models`: which models can be named, and whether their keys are there. Asks no provider."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from drydock.cli.data import data_option, json_option, opened

if TYPE_CHECKING:
    from drydock.model.models import Models


@click.command()
@data_option
@json_option
def models(data: Path | None, as_json: bool) -> None:
    """List the models that can be named, and whether their keys are there."""
    with _models(data) as found:
        rows = [_row(found, alias) for alias in found.catalog.aliases]
        rows += [_row(found, f"{provider}:NAME") for provider in _providers()]
        default = found.catalog.default
    if as_json:
        click.echo(json.dumps({"default": default or None, "models": rows}))
        return
    widths = [max(len(str(row[column])) for row in rows) for column in ("name", "model", "address")]
    for row in rows:
        cells = zip((row["name"], row["model"], row["address"]), widths, strict=True)
        click.echo("  ".join([*(str(cell).ljust(width) for cell, width in cells), _told(bool(row["key"]))]))
    click.echo(f"Default: {default or 'none; set DRYDOCK_MODEL'}", err=True)


def _row(models: Models, name: str) -> dict[str, str | bool]:
    model = models.catalog.chain(name)[0]
    return {"name": name, "model": str(model), "address": models.address(model), "key": models.has_key(model)}


def _told(there: bool) -> str:
    return "ready" if there else "no key"


def _providers() -> tuple[str, ...]:
    from drydock.model.name import PROVIDERS

    return PROVIDERS


@contextmanager
def _models(data: Path | None) -> Iterator[Models]:
    """Without a data folder there are no sealed secrets, and none is made."""
    from drydock.model.models import Models
    from drydock.settings import load
    from drydock.store.sealing import open_sealer
    from drydock.store.secrets import Secrets

    settings = load({"data": data})
    if not settings.database and not (settings.data / "drydock.db").is_file():
        yield Models(settings, lambda name: None)
        return
    with opened(data, make=False) as (settings, database):
        yield Models(settings, Secrets(database, open_sealer(settings.data, settings.secrets_key)).get)
