"""What the commands that work on the data folder share. A server may be running on the same folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from drydock.errors import CannotStart

if TYPE_CHECKING:
    from drydock.settings import Settings
    from drydock.store.database import Database

Command = TypeVar("Command", bound=Callable[..., Any])


def data_option(command: Command) -> Command:
    return click.option(
        "--data",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Data folder of the server; else DRYDOCK_DATA, else drydock-data.",
    )(command)


def json_option(command: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


@contextmanager
def opened(data: Path | None, *, make: bool) -> Iterator[tuple[Settings, Database]]:
    """Settings and database of the folder; `make` says whether a missing folder is made or is an error."""
    from drydock.settings import load
    from drydock.store.database import connect
    from drydock.store.folder import make_folder
    from drydock.store.migrations import migrate

    settings = load({"data": data})
    if not make and not settings.database and not (settings.data / "drydock.db").is_file():
        raise CannotStart(
            f"There is no data of a Drydock server in {str(settings.data)!r}.",
            hint="Name the server's data folder with --data or DRYDOCK_DATA.",
        )
    make_folder(settings.data)
    database = connect(settings.database, settings.data)
    try:
        migrate(database)
        yield settings, database
    finally:
        database.close()
