"""Runs as text: one line each, or one run with all that is known of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from drydock.cli.runs.view import plain

SHORT = 48


def rows(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """With a head."""
    table = [("ID", "STATUS", "PHASE", "UPDATED", "REPOSITORY", "TASK")]
    table += [
        (
            run["id"],
            "waits" if run.get("waiting") else run["status"],
            run["phase"],
            moment(run["updated_at"]),
            plain(run["repo"]) or "-",
            short(run["task"]),
        )
        for run in runs
    ]
    widths = [max(len(row[column]) for row in table) for column in range(5)]
    for row in table:
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[5]])


def account(run: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """One run: names and what there is to say of them."""
    yield "id", run["id"]
    yield "status", run["status"] + (f" ({run['phase']})" if run["phase"] not in ("", run["status"]) else "")
    for name in ("task", "repo", "type", "model", "strategy", "trust", "pause_reason", "cancellation_reason"):
        if run.get(name):
            yield name.replace("_", " "), str(run[name])
    for name in ("created_at", "started_at", "ended_at", "timeout_at"):
        if run.get(name):
            yield name.removesuffix("_at"), moment(run[name])
    if question := run.get("waiting"):
        yield "waits", f"{question['message']} {question['command']}"
        yield "", f"drydock runs approve {run['id']} [--no]"
    if error := run.get("error"):
        again = ", may be tried again" if error.get("retryable") else ""
        yield "error", f"{error['message']} ({error['type']}{again})"
    yield from _result(run.get("result") or {})


def _result(result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if result.get("summary"):
        yield "summary", str(result["summary"])
    for check in (result.get("gate") or {}).get("checks", ()):
        ended = "passed" if check.get("passed") else "failed"
        yield "gate", f"{ended}: {check.get('command')}"
    if commit := result.get("commit"):
        yield "commit", " ".join(str(commit[name]) for name in ("sha", "branch") if commit.get(name))
    if usage := result.get("usage"):
        yield "cost", cost(usage)


def cost(usage: Mapping[str, Any]) -> str:
    told = f"{usage.get('steps', 0)} steps, {usage.get('commands', 0)} commands"
    told += f", {usage.get('inputTokens', 0)} tokens in, {usage.get('outputTokens', 0)} out"
    usd = usage.get("costUsd")
    return told if usd is None else f"{told}, ${usd:.4f}"


def moment(text: str) -> str:
    """To the second, in UTC as the server tells it."""
    return text[:19].replace("T", " ")


def short(text: str) -> str:
    line = plain(" ".join(text.split()))
    return line if len(line) <= SHORT else line[: SHORT - 1] + "…"
