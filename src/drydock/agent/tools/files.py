"""The tools that read and change files. Each is one request to our hand in the box."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drydock.agent import hand
from drydock.agent.action import Action
from drydock.agent.bench import Bench, Observation
from drydock.agent.gate.sensitive import is_test
from drydock.agent.hand import Told
from drydock.agent.paths import BadPath, clean
from drydock.agent.texts import cut, fenced

WINDOW = 240
MOST_OBSERVED = 5_000
MOST_HITS = 100
MOST_RECORDED = 60_000
"""Characters of a read file in a step's record: far more than is observed."""


async def read_file(bench: Bench, action: Action) -> Observation:
    return Observation(await _read(bench, action.arguments))


async def read_files(bench: Bench, action: Action) -> Observation:
    wanted = [{"path": one} if isinstance(one, str) else one for one in action.arguments["files"]]
    return Observation("\n\n".join([await _read(bench, one) for one in wanted]))


async def _read(bench: Bench, asked: Any) -> str:
    start = max(1, _line(asked.get("startLine"), 1))
    end = min(max(start, _line(asked.get("endLine"), start + WINDOW - 1)), start + WINDOW - 1)
    shown = str(asked.get("path", ""))[:300]
    try:
        path = clean(shown)
        told = await _recorded(
            bench, "read", lambda: hand.ask(bench.site, "read", path=path, start=start, end=end, most=MOST_RECORDED)
        )
        error = told.error
    except BadPath as bad:
        path, told, error = shown, Told({}), str(bad)
    if error:
        await bench.emit("file_read", path=path, startLine=start, endLine=end, truncated=False, error=error)
        return f"File: {path}\nIt was not read: {error}. Choose another path or another way to look."
    text, last, whole = told.text("text"), told.number("end"), told.number("lines")
    truncated = last < whole or len(text) > MOST_OBSERVED
    # What was asked for is told, not what was found: the example of contract polychat, 3.5.
    await bench.emit("file_read", path=path, startLine=start, endLine=end, truncated=truncated)
    note = f"\nCut: the file has {whole} lines." if truncated else ""
    return f"File: {path}\nLines {start} to {last}{note}\n{fenced(cut(text, MOST_OBSERVED))}"


def _line(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


async def _recorded(bench: Bench, kind: str, ask: Callable[[], Any]) -> Told:
    """A look at the repository is a step too: what it said then is what a replay goes by."""

    async def act() -> dict[str, Any]:
        told: Told = await ask()
        return dict(told.data)

    return Told(await bench.desk.once(bench.name(kind), act))


async def search(bench: Bench, action: Action) -> Observation:
    pattern, path = action.text("pattern"), action.text("path")
    try:
        path = clean(path) if path not in ("", ".", "./") else ""
    except BadPath as bad:
        return Observation(f"Search: {pattern}\nNothing was searched: {bad}.")
    request: dict[str, Any] = {
        "pattern": pattern,
        "path": path,
        "glob": action.text("glob"),
        "regex": action.flag("regex"),
        "case": action.flag("case"),
        "most": MOST_HITS,
    }
    told = await _recorded(bench, "search", lambda: hand.ask(bench.site, "search", **request))
    if told.error:
        return Observation(f"Search: {pattern}\nNothing was found: {told.error}.")
    hits = [f"{hit.text('path')}:{hit.number('line')}: {hit.text('text')}" for hit in told.rows("hits")]
    if not hits:
        return Observation(f"Search: {pattern}\nNo line matches.")
    more = f"\n{told.number('more')} more lines match: narrow the search." if told.number("more") else ""
    return Observation(f"Search: {pattern}\n{fenced(cut(chr(10).join(hits), MOST_OBSERVED))}{more}")


async def write_file(bench: Bench, action: Action) -> Observation:
    return await _change(bench, action, "write", content=action.text("content"))


async def edit_file(bench: Bench, action: Action) -> Observation:
    old, new = action.text("old"), action.text("new")
    return await _change(bench, action, "edit", old=old, new=new, all=action.flag("all"))


async def _change(bench: Bench, action: Action, do: str, **request: Any) -> Observation:
    try:
        path = clean(action.text("path"))
    except BadPath as bad:
        return Observation(f"File: {action.text('path')[:300]}\nIt was not changed: {bad}.")
    if bench.read_only and not (bench.task.generate_tests and is_test(path)):
        only = "only test files may be written" if bench.task.generate_tests else "this task changes nothing"
        return Observation(f"File: {path}\nIt was not changed: {only}.")
    await bench.checkpoint("edit")

    async def act() -> dict[str, Any]:
        told = await hand.ask(bench.site, do, read_only=False, path=path, **request)
        if not told.error:
            await bench.desk.changed()
        return dict(told.data)

    lost = {"error": "the server restarted in the middle of it, and what it had changed is undone"}
    told = Told(await bench.desk.once(bench.name(do), act, interrupted=lambda: lost))
    if told.error:
        return Observation(f"File: {path}\nIt was not changed: {told.error}.")
    if told.text("change") == "unchanged":
        return Observation(f"File: {path}\nIt holds just that already; nothing was changed.")
    await bench.emit("file_changed", path=path, changeType=told.text("change"), isDirectory=False)
    return Observation(f"File: {path}\n{_account(told)}")


def _account(told: Told) -> str:
    if told.number("replaced"):
        return f"Replaced {told.number('replaced')} time(s), the first at line {told.number('line')}."
    return f"{told.text('change').capitalize()}: {told.number('bytes')} bytes."
