"""Which server a command calls, and by what key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_url = click.option(
    "--url", envvar="DRYDOCK_URL", default="http://127.0.0.1:8080", show_default=True, help="The server."
)
_key = click.option(
    "--key", envvar="DRYDOCK_API_KEY", help="API key; better given as DRYDOCK_API_KEY, out of others' sight."
)


def at_server(command: Command) -> Command:
    return _url(_key(command))
