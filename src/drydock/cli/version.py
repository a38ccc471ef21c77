"""`drydock version`."""

from __future__ import annotations

import click

from drydock import __version__


@click.command()
def version() -> None:
    """Print the version."""
    click.echo(__version__)
