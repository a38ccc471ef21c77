"""The native form of an execution: one JSON object, the same from every route."""

from __future__ import annotations

import base64
import codecs
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any
from urllib.parse import quote

from drydock.store.execution import Execution, StoredFile

INLINE = 1 << 20
"""Bytes of files, all together, that come with the object itself; the others have their URL only."""
Content = Callable[[StoredFile], Awaitable[bytes | None]]


async def render(row: Execution, content: Content) -> dict[str, Any]:
    shown = summary(row)
    if row.state != "ended":
        return shown
    output = row.output
    cut = row.result or {}
    if "packages" in cut:
        shown["packages"] = cut["packages"]
    for stream, data in (("stdout", output.stdout if output else b""), ("stderr", output.stderr if output else b"")):
        shown |= stream_fields(stream, data, bool(cut.get(f"{stream}_cut")))
    shown["files"] = await _with_bytes(row, content)
    shown["skipped"] = skipped(row)
    return shown


def summary(row: Execution) -> dict[str, Any]:
    """As lists show it: no output, no files."""
    shown: dict[str, Any] = {
        "id": row.id,
        "dialect": row.dialect,
        "state": row.state,
        "language": row.language,
        "created_at": moment(row.created_at),
        "started_at": moment(row.started_at),
        "ended_at": moment(row.ended_at),
        "ended": ended(row),
    }
    if row.label is not None:
        shown["label"] = row.label
    return shown | dict(row.request)


def ended(row: Execution) -> dict[str, Any] | None:
    if row.state != "ended":
        return None
    if row.result is not None:
        return {name: value for name, value in row.result.items() if name != "packages"}
    # The server that ran it ended without a word: nobody knows how far the program came.
    return {"reason": row.reason, "exit_code": None, "signal": None, "retryable": True}


def stream_fields(stream: str, data: bytes, cut: bool) -> dict[str, Any]:
    """Text; the exact bytes too when they are not UTF-8."""
    try:
        return {stream: data.decode()}
    except UnicodeDecodeError:
        text = lenient(data, cut)
        if "\ufffd" not in text:
            return {stream: text}
        return {stream: text, f"{stream}_base64": base64.b64encode(data).decode()}


def lenient(data: bytes, cut: bool) -> str:
    """Bad bytes become U+FFFD; a character that our own cut has halved is left out instead."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(data, final=not cut)


def files(row: Execution) -> list[dict[str, Any]]:
    return [
        {
            "name": file.name,
            "size": file.size,
            "sha256": file.sha256,
            "url": f"/v1/executions/{row.id}/files/{quote(file.name)}",
        }
        for file in row.files
    ]


def skipped(row: Execution) -> list[dict[str, Any]]:
    return [{"name": file.name, "reason": file.reason} for file in row.skipped]


async def _with_bytes(row: Execution, content: Content) -> list[dict[str, Any]]:
    shown = files(row)
    left = INLINE
    for entry, file in zip(shown, row.files, strict=True):
        if file.size > left:
            continue
        data = await content(file)
        if data is not None:
            left -= file.size
            entry["base64"] = base64.b64encode(data).decode()
    return shown


def moment(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
