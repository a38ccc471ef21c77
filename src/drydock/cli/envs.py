"""`drydock envs`: named environments of packages on a server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import click

from drydock.cli.client import Server
from drydock.cli.whereabouts import at_server

INSTALL_WITHIN = 3600.0
"""Seconds of silence while packages are installed; the server ends it before."""
UNITS = ("B", "KiB", "MiB", "GiB")


@click.group()
def envs() -> None:
    """Make, list and delete named environments of packages."""


@envs.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print them as the API tells them.")
@at_server
def list_(as_json: bool, url: str, key: str | None) -> None:
    """List your environments, latest use first."""
    found = json.loads(Server(url, key).get("/v1/environments"))["environments"]
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    rows = [("NAME", "LANGUAGE", "SIZE", "LAST USED", "PACKAGES")]
    rows += [(each["name"], each["language"], _size(each), each["last_used_at"], _packages(each)) for each in found]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        click.echo("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]))


@envs.command()
@click.argument("name")
@click.option("--requirement", "-r", "requirements", multiple=True, required=True, help="A package, as NAME==VERSION.")
@click.option("--language", "-l", type=click.Choice(["python", "node"]), default="python", show_default=True)
@click.option("--index", envvar="DRYDOCK_INDEX", help="Package index instead of the server's; it must allow the host.")
@at_server
def create(name: str, requirements: Sequence[str], language: str, index: str | None, url: str, key: str | None) -> None:
    """Install packages under NAME; one that is there gets exactly this list."""
    body: dict[str, Any] = {"name": name, "requirements": list(requirements), "language": language}
    if index:
        body["index"] = index
    made = json.loads(Server(url, key).post("/v1/environments", body, silent_at_most=INSTALL_WITHIN))
    click.echo(f"{made['name']}: {_packages(made)} ({_size(made)})")


@envs.command()
@click.argument("name")
@at_server
def delete(name: str, url: str, key: str | None) -> None:
    """Forget an environment; what runs in it now goes on."""
    Server(url, key).delete(f"/v1/environments/{quote(name, safe='')}")
    click.echo(f"{name} is gone")


def _packages(found: dict[str, Any]) -> str:
    return ", ".join(found["lock"])


def _size(found: dict[str, Any]) -> str:
    size, unit = float(found["size_bytes"]), 0
    while size >= 1024 and unit + 1 < len(UNITS):
        size, unit = size / 1024, unit + 1
    return f"{size:.0f} {UNITS[unit]}"
