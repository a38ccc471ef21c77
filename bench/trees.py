"""A tenant's folder of 20,000 files made a tree, against `git add --all && git write-tree` beside it with no walls."""

from __future__ import annotations

import asyncio
import io
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

from bench.figure import Figure
from drydock.box.held import HeldBox
from drydock.box.limits import MIB, Limits
from drydock.box.program import Program
from drydock.box.yard import Yard
from drydock.forge.git.repository import Repository, Terms
from drydock.forge.git.source import Sources
from drydock.observe.log import Log
from tests.standins.forge import Forge, git

T = TypeVar("T")
LARGE, SMALL = 20_000, 500
ROUNDS = 8
TOUCH = 'cd repo && date +%N > "$0"'


def measure() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder, Forge() as forge, asyncio.Runner() as runner:
        yard = Yard.open(Path("/usr/bin/python3"), Path(folder), 350_000, Limits(), Log("error", io.StringIO()))
        try:
            for files, bound, name in ((LARGE, 1000, "large"), (SMALL, 30, "small")):
                yield runner.run(_measure(yard, forge, Path(folder), files, bound, name))
        finally:
            yard.close()


async def _measure(yard: Yard, forge: Forge, folder: Path, files: int, bound: float, name: str) -> Figure:
    beside = _fill(forge, folder / f"beside-{name}", files, f"acme/{name}")
    terms = Terms(yard, 512 * MIB, 120.0, ())
    source = Sources([forge.host], []).read(forge.url(f"acme/{name}"))
    repository, clone_s = await _timed(lambda: Repository.clone(terms, folder / f"repository-{name}", source))
    box = await HeldBox.open(yard, folder / f"box-{name}", Limits(), disk_bytes=512 * MIB)
    try:
        _, spread_s = await _timed(lambda: repository.into(box, "repo"))
        _, first_s = await _timed(lambda: repository.tree_from(box, "repo"))
        after, plain = [], []
        for number in range(ROUNDS):
            await box.run(Program(argv=["/bin/sh", "-c", TOUCH, f"new-{number}"], env={"PATH": "/usr/bin:/bin"}))
            after.append((await _timed(lambda: repository.tree_from(box, "repo")))[1])
            plain.append(_beside(beside, number))
        _, same_s = await _timed(lambda: repository.tree_from(box, "repo"))
    finally:
        await box.discard()
        await repository.discard()
    detail = {"git without walls ms": statistics.median(plain) * 1e3, "nothing changed ms": same_s * 1e3}
    detail |= {"first ms": first_s * 1e3, "clone ms": clone_s * 1e3, "spread out ms": spread_s * 1e3}
    value = statistics.median(after) * 1e3
    return Figure(f"a tree of {files} files after one change", value, bound, "at most", "ms", detail)


def _fill(forge: Forge, folder: Path, files: int, name: str) -> Path:
    for number in range(files):
        path = folder / f"d{number % 40}" / f"e{number % 7}" / f"f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"line %d\n" % number * 60)
    (folder / ".gitignore").write_text("node_modules/\n*.pyc\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "--all")
    git(folder, "commit", "-qm", "filled")
    bare = forge.create(name, {})
    git(folder, "push", "-q", str(bare.path), "main")
    return folder


def _beside(folder: Path, number: int) -> float:
    (folder / f"new-{number}").write_text(str(number))
    began = time.monotonic()
    git(folder, "add", "--all")
    git(folder, "write-tree")
    return time.monotonic() - began


async def _timed(work: Callable[[], Awaitable[T]]) -> tuple[T, float]:
    began = time.monotonic()
    return await work(), time.monotonic() - began
