"""One request of a tool on stdin, one answer on stdout, both JSON. Run by the box's warm interpreter, 3.9 or newer.

It acts as the tenant, on the tenant's files, and its answer is believed as little as the tenant's own programs are.
What it refuses, it refuses for the agent's good: the wall is the box.
"""

from __future__ import annotations

import sys

sys.path.pop(0)  # the repository's folder: a json.py of its own must not become ours

import fnmatch
import json
import os
import re
import shutil
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MOST_BYTES = 8 << 20
MOST_SEARCHED_BYTES = 1 << 20
MOST_LINE = 400
SKIPPED = {
    ".git", ".hg", ".svn", "node_modules", "vendor", "dist", "build", "target", "out", "coverage", "venv", ".venv",
    "__pycache__", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".next", ".cache", "bower_components",
    "site-packages", ".gradle", ".terraform",
}  # fmt: skip


class Refused(Exception):
    pass


def place(path: str, must_exist: bool = True) -> str:
    """Where a path of the repository really is, links followed, and never outside the repository."""
    root = os.path.realpath(os.getcwd())
    real = os.path.realpath(os.path.join(root, path))
    if real != root and not real.startswith(root + os.sep):
        raise Refused("it leads out of the repository")
    if must_exist and not os.path.lexists(real):
        raise Refused("there is no such file")
    return real


def contents(path: str) -> bytes:
    real = place(path)
    fd = os.open(real, os.O_RDONLY | os.O_NONBLOCK)
    about = os.fstat(fd)
    if stat.S_ISDIR(about.st_mode):
        raise Refused("it is a folder; list it with a command")
    if not stat.S_ISREG(about.st_mode):
        raise Refused("it is neither a file nor a folder")
    if about.st_size > MOST_BYTES:
        raise Refused("it has %d bytes; use a command that shows a part of it" % about.st_size)
    with os.fdopen(fd, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if b"\0" in data[:8192]:
        raise Refused("it is not a text file")
    return data


def read(request: dict[str, Any]) -> dict[str, Any]:
    lines = contents(request["path"]).decode("utf-8", "replace").splitlines()
    start = max(1, request["start"])
    if start > len(lines) and not (start == 1 and not lines):
        raise Refused("it has only %d lines" % len(lines))
    end = min(len(lines), request["end"])
    return {
        "start": start,
        "end": end,
        "lines": len(lines),
        "text": "\n".join(lines[start - 1 : end])[: request["most"]],
    }


def write(request: dict[str, Any]) -> dict[str, Any]:
    real = place(request["path"], must_exist=False)
    there = os.path.lexists(real)
    if there and not os.path.isfile(real):
        raise Refused("something that is no file stands there")
    data = request["content"].encode("utf-8", "surrogatepass")
    if there:
        with open(real, "rb") as file:
            if file.read(len(data) + 1) == data:
                return {"change": "unchanged", "bytes": len(data)}
    os.makedirs(os.path.dirname(real), exist_ok=True)
    with open(real, "wb") as file:
        file.write(data)
    return {"change": "modified" if there else "created", "bytes": len(data)}


def edit(request: dict[str, Any]) -> dict[str, Any]:
    text = contents(request["path"]).decode("utf-8", "surrogateescape")
    old, new = request["old"], request["new"]
    if "\r\n" in text and "\r\n" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    found = text.count(old)
    if found == 0:
        raise Refused("the text to replace is not in it; nothing was changed" + nearly(text, old))
    if found > 1 and not request["all"]:
        lines = [str(text.count("\n", 0, hit.start()) + 1) for hit in re.finditer(re.escape(old), text)]
        raise Refused(
            "the text to replace occurs %d times (at lines %s); nothing was changed. Give more of the lines around "
            "the one that is meant, or set `all`" % (found, ", ".join(lines[:20]))
        )
    if old == new:
        raise Refused("old and new text are the same; nothing was changed")
    with open(place(request["path"]), "wb") as file:
        file.write(text.replace(old, new).encode("utf-8", "surrogateescape"))
    return {"change": "modified", "replaced": found, "line": text.count("\n", 0, text.index(old)) + 1}


def nearly(text: str, old: str) -> str:
    first = next((line.strip() for line in old.splitlines() if line.strip()), "")
    hits = [str(number) for number, line in enumerate(text.splitlines(), 1) if first and line.strip() == first]
    return (
        ". Its first line stands at line %s: white space or what follows differs" % ", ".join(hits[:5]) if hits else ""
    )


def walk(top: str, depth: int) -> Iterator[str]:
    """Files below `top`, sorted by path; no link followed, nothing of SKIPPED entered."""
    for folder, folders, files in os.walk(top):
        below = os.path.relpath(folder, top)
        level = 0 if below == "." else below.count(os.sep) + 1
        folders[:] = sorted(name for name in folders if name not in SKIPPED) if level + 1 < depth else []
        for name in sorted(files):
            yield name if below == "." else below + "/" + name


def search(request: dict[str, Any]) -> dict[str, Any]:
    expression = request["pattern"] if request["regex"] else re.escape(request["pattern"])
    try:
        wanted = re.compile(expression, 0 if request["case"] else re.IGNORECASE)
    except re.error as wrong:
        raise Refused("the pattern is no regular expression: %s" % wrong)
    top = place(request["path"]) if request["path"] else os.getcwd()
    single = os.path.isfile(top)
    names = [os.path.basename(top)] if single else walk(top, 32)
    folder = os.path.dirname(top) if single else top
    prefix = os.path.relpath(folder, os.path.realpath(os.getcwd()))
    hits: list[dict[str, Any]] = []
    more = 0
    for name in names:
        if (
            request["glob"]
            and not fnmatch.fnmatch(name, request["glob"])
            and not fnmatch.fnmatch(os.path.basename(name), request["glob"])
        ):
            continue
        for number, line in matching(os.path.join(folder, name), wanted):
            if len(hits) < request["most"]:
                shown = name if prefix == "." else prefix + "/" + name
                hits.append({"path": shown, "line": number, "text": line[:MOST_LINE]})
            else:
                more += 1
    return {"hits": hits, "more": more}


def matching(path: str, wanted: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode) or about.st_size > MOST_SEARCHED_BYTES:
                return
            data = file.read(MOST_SEARCHED_BYTES)
    except OSError:
        return  # a file that cannot be read holds nothing to find
    if b"\0" in data[:8192]:
        return
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        if wanted.search(line):
            yield number, line


def survey(request: dict[str, Any]) -> dict[str, Any]:
    """Top-level names, the paths of files down to a depth, and the first lines of those that were asked for by name."""
    top = sorted(name + ("/" if os.path.isdir(name) else "") for name in os.listdir(".") if name != ".git")
    paths: list[str] = []
    for name in walk(".", request["depth"]):
        if len(paths) == request["most"]:
            break
        paths.append(name)
    return {"top": top[: request["names"]], "paths": sorted(paths)}


def heads(request: dict[str, Any]) -> dict[str, Any]:
    """The first lines of several files; what cannot be read is left out."""
    found: dict[str, str] = {}
    for path in request["paths"]:
        try:
            text = contents(path).decode("utf-8", "replace")
        except (Refused, OSError):
            continue
        found[path] = "\n".join(text.splitlines()[: request["lines"]])[: request["most"]]
    return {"files": found}


def which(request: dict[str, Any]) -> dict[str, Any]:
    return {"there": [word for word in request["words"] if shutil.which(word)]}


def add(request: dict[str, Any]) -> dict[str, Any]:
    """Append to a file, on a line of its own."""
    real = place(request["path"], must_exist=False)
    before = contents(request["path"]) if os.path.lexists(real) else b""
    with open(real, "ab") as file:
        if before and not before.endswith(b"\n"):
            file.write(b"\n")
        file.write(request["content"].encode("utf-8", "surrogatepass"))
    return {"change": "modified" if before else "created"}


def main() -> None:
    request = json.load(sys.stdin)
    acts = {
        "read": read, "write": write, "edit": edit, "search": search,
        "survey": survey, "heads": heads, "which": which, "add": add,
    }  # fmt: skip
    try:
        answer = acts[request["do"]](request)
    except Refused as refused:
        answer = {"error": str(refused)}
    except OSError as wrong:
        answer = {"error": (wrong.strerror or "it cannot be used").lower()}
    json.dump(answer, sys.stdout)


main()
