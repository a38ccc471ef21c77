"""The reply's fields in the contract's order; the additions only when they say what the six cannot."""

from __future__ import annotations

import base64
from typing import Any

from drydock.api.executions.render import stream_fields
from drydock.code.request import ExecutionResult
from drydock.dialects.code.request import CodeRequest
from drydock.packages.report import Report

NOT_ITS_OWN = ("timeout", "signal", "memory_limit", "start_failed", "install_failed", "cancelled", "server_shutdown")
"""Endings that are no exit of the program, whatever it may have said."""
TOLD = (
    "timeout",
    "signal",
    "memory_limit",
    "process_limit",
    "disk_limit",
    "server_shutdown",
    "start_failed",
    "install_failed",
)


def reply_fields(asked: CodeRequest, result: ExecutionResult) -> dict[str, Any]:
    ended = result.ended
    stdout = stream_fields("stdout", result.stdout, ended.stdout_cut)
    stderr = stream_fields("stderr", result.stderr, ended.stderr_cut)
    if not stderr["stderr"]:
        if ended.reason == "timeout":
            stderr["stderr"] = f"execution timed out after {asked.timeout} seconds"
        elif ended.reason == "start_failed":
            stderr["stderr"] = ended.detail or "the program could not be started"
    fields: dict[str, Any] = {
        "status": "success" if ended.reason == "completed" else "error",
        "stdout": stdout["stdout"],
        "stderr": stderr["stderr"],
        "exit_code": -1 if ended.reason in NOT_ITS_OWN or ended.exit_code is None else ended.exit_code,
        "execution_time_ms": 0 if ended.reason == "start_failed" else ended.wall_ms,
    }
    if result.files:
        fields["files_produced"] = {name: base64.b64encode(data).decode() for name, data in result.files.items()}
    if ended.reason in TOLD:
        fields["end_reason"] = ended.reason
    if ended.reason == "signal":
        fields["signal"] = ended.signal
    if ended.stdout_cut:
        fields["stdout_truncated"] = True
    if ended.stderr_cut:
        fields["stderr_truncated"] = True
    for stream in (stdout, stderr):
        fields |= {name: value for name, value in stream.items() if name.endswith("_base64")}
    if result.skipped:
        fields["files_skipped"] = [{"name": skipped.name, "reason": skipped.reason} for skipped in result.skipped]
    if asked.clamped:
        fields["timeout_seconds"] = asked.timeout
    return fields


def packages_header(report: Report) -> tuple[bytes, bytes]:
    """The contract's object has no place for it; the native API tells all of it."""
    told = f"{'hit' if report.hit else 'miss'}; time_ms={report.time_ms}; layer={report.layer or 'none'}"
    return b"x-packages", told.encode()
