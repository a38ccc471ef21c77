"""One JSON object a line on stderr: time, level, event, then plain fields.

Nothing here takes a header, a body or an environment, so none can be logged by mistake; the secrets that the settings
hold are cut out of every line besides, since a stack trace can carry any text.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal, TextIO

Level = Literal["debug", "info", "warning", "error"]
Field = str | int | float | bool | None
ORDER: tuple[Level, ...] = ("debug", "info", "warning", "error")
SHORTEST_SECRET = 6
"""Anything shorter would be cut out of ordinary words."""


class Log:
    def __init__(self, level: Level = "info", stream: TextIO | None = None, secrets: Iterable[str] = ()) -> None:
        self._least = ORDER.index(level)
        self._stream = stream
        self._secrets = tuple(secret for secret in secrets if len(secret) >= SHORTEST_SECRET)

    def debug(self, event: str, **fields: Field) -> None:
        self._write("debug", event, fields)

    def info(self, event: str, **fields: Field) -> None:
        self._write("info", event, fields)

    def warning(self, event: str, **fields: Field) -> None:
        self._write("warning", event, fields)

    def error(self, event: str, cause: BaseException | None = None, **fields: Field) -> None:
        if cause is not None:
            fields["stack"] = "".join(traceback.format_exception(cause))
        self._write("error", event, fields)

    def _write(self, level: Level, event: str, fields: dict[str, Field]) -> None:
        if ORDER.index(level) < self._least:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"time": now, "level": level, "event": event, **fields})
        for secret in self._secrets:
            line = line.replace(secret, "[secret]")
        stream = self._stream or sys.stderr
        stream.write(line + "\n")
        stream.flush()


class Forward(logging.Handler):
    """Lines of libraries that use the standard logging (uvicorn, asyncio) in the same form."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.levelno >= logging.ERROR:
            cause = record.exc_info[1] if record.exc_info else None
            self._log.error("library", cause, source=record.name, message=text)
        elif record.levelno >= logging.WARNING:
            self._log.warning("library", source=record.name, message=text)
        else:
            self._log.debug("library", source=record.name, message=text)
