"""`drydock serve`. Its flags are made from Settings, so a new setting has its flag without a line here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, get_origin

import click

from drydock import settings


def _flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """One option for each setting that is no secret. All arrive as text: Settings alone decides what is allowed."""
    for name, field in reversed(settings.Settings.model_fields.items()):
        if settings.is_secret(name):
            continue
        spelled = settings.flag(name)
        if field.annotation is bool:
            option = click.option(f"{spelled}/--no-{spelled[2:]}", name, default=None, help=field.description)
        else:
            option = click.option(spelled, name, metavar=_metavar(field.annotation), help=field.description)
        command = option(command)
    return command


def _metavar(annotation: Any) -> str:
    if get_origin(annotation) is dict:
        return "JSON"
    choices = getattr(annotation, "__args__", None)
    if choices:
        return "|".join(choice for choice in choices if choice)
    return {int: "N", float: "NUMBER"}.get(annotation, "TEXT")


@click.command()
@_flags
def serve(**flags: Any) -> None:
    """Start the server.

    Every flag is also a DRYDOCK_ variable and a line of drydock.toml; docs/reference/settings.md has them all.
    """
    told = settings.load(flags)
    from drydock.app import serve as run_server

    sys.exit(run_server(told))
