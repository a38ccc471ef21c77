"""One JSON object a line on stderr: time, level, event, then plain fields.

Nothing here takes a header, a body or an environment, so none can be logged by mistake; the secrets that the settings
hold are cut out of every line besides, since a stack trace can carry any text.

A thread does the writing: whoever reads our stderr may be slow or may have stopped, and a pipe that is full must not
stop the server. Lines that find no room are counted and dropped, and the count is told when there is room again.
"""

from __future__ import annotations

import json
import logging
import queue
import sys
import threading
import traceback
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal, TextIO

Level = Literal["debug", "info", "warning", "error"]
Field = str | int | float | bool | None
ORDER: tuple[Level, ...] = ("debug", "info", "warning", "error")
MOST_WAITING = 10_000
GATHER = 0.05
"""Seconds for which lines are gathered before they are written together."""
LAST_LINES = 1.0
"""Seconds that the last lines get when the server ends."""
SHORTEST_SECRET = 6
"""Anything shorter would be cut out of ordinary words."""


class Log:
    def __init__(self, level: Level = "info", stream: TextIO | None = None, secrets: Iterable[str] = ()) -> None:
        self._least = ORDER.index(level)
        self._lines: TextIO | Behind = stream or Behind(sys.stderr)
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

    def close(self) -> None:
        """Write what waits, as far as the reader lets us."""
        if isinstance(self._lines, Behind):
            self._lines.close()

    def _write(self, level: Level, event: str, fields: dict[str, Field]) -> None:
        if ORDER.index(level) < self._least:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"time": now, "level": level, "event": event, **fields})
        for secret in self._secrets:
            line = line.replace(secret, "[secret]")
        self._lines.write(line + "\n")


class Behind:
    """Writes lines to a stream on a thread of its own, several at a time."""

    def __init__(self, stream: TextIO, most: int = MOST_WAITING) -> None:
        self._stream = stream
        self._waiting: queue.Queue[str | None] = queue.Queue(most)
        self._dropped = 0
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="drydock-log", daemon=True)
        self._thread.start()

    def write(self, line: str) -> None:
        try:
            self._waiting.put_nowait(line)
        except queue.Full:
            self._dropped += 1

    def close(self) -> None:
        self._closed.set()
        with suppress(queue.Full):  # full: the thread is not asleep and will see the flag
            self._waiting.put_nowait(None)
        self._thread.join(LAST_LINES)

    def _run(self) -> None:
        while not (self._closed.is_set() and self._waiting.empty()):
            lines = [self._waiting.get()]
            self._closed.wait(GATHER)  # many lines cost one wake-up of this thread, which competes with the server's
            while not self._waiting.empty():
                lines.append(self._waiting.get_nowait())
            dropped, self._dropped = self._dropped, 0
            if dropped:
                lines.append(json.dumps({"level": "warning", "event": "log_dropped", "lines": dropped}) + "\n")
            try:
                self._stream.write("".join(line for line in lines if line is not None))
                self._stream.flush()
            except (OSError, ValueError):
                return  # the stream is closed: there is nobody to tell


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
