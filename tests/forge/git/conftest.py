"""Real repositories on a stand-in forge, git in real boxes, and a tenant's box beside it."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
import uvloop

from drydock.box.held import HeldBox
from drydock.box.held_program import HeldProgram
from drydock.box.limits import MIB, Limits
from drydock.box.program import HOME, TMP, Program
from drydock.box.yard import Yard
from drydock.forge.git.credential import of_token
from drydock.forge.git.repository import Repository, Terms
from drydock.forge.git.source import Sources
from drydock.observe.log import Log
from tests.standins.forge import Forge

T = TypeVar("T")
PYTHON = Path("/usr/bin/python3")
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": HOME, "TMPDIR": TMP, "LANG": "C.UTF-8"}
FILES = {"README.md": b"# demo\n", "src/main.py": b"print('hello')\n"}


@dataclass
class Bench:
    """A yard, a loop, a forge, and what was opened on them; all of it is closed at the end."""

    runner: asyncio.Runner
    yard: Yard
    forge: Forge
    folder: Path
    terms: Terms
    said: io.StringIO
    _opened: list[Repository | HeldBox] = field(default_factory=list)

    def run(self, work: Awaitable[T]) -> T:
        async def wait() -> T:
            return await work

        return self.runner.run(wait())

    @property
    def sources(self) -> Sources:
        return Sources([self.forge.host], [self.folder / "allowed"])

    def clone(
        self, name: str = "acme/demo", *, token: str = "", terms: Terms | None = None, url: str = "", **how: Any
    ) -> Repository:
        home = self.folder / f"repository-{len(self._opened)}"
        source = self.sources.read(url or self.forge.url(name))
        credential = of_token(token) if token else None
        made = self.run(Repository.clone(terms or self.terms, home, source, credential=credential, **how))
        self._opened.append(made)
        return made

    def box(self, disk: int = 64 * MIB) -> HeldBox:
        home = self.folder / f"box-{len(self._opened)}"
        made = self.run(HeldBox.open(self.yard, home, Limits(), disk_bytes=disk))
        self._opened.append(made)
        return made

    def shell(self, box: HeldBox, text: str) -> str:
        """What it prints; it must succeed. In the repository's folder if there is one."""
        script = f"cd /box/work/repo 2>/dev/null || true\n{text}"
        done: HeldProgram = self.run(box.run(Program(argv=["/bin/bash", "-ec", script], env=ENV)))
        assert done.ended.result().reason == "completed", (done.ended.result(), done.stderr())
        return done.stdout().decode()

    def workspace(self, repository: Repository) -> HeldBox:
        box = self.box()
        self.run(repository.into(box, "repo"))
        return box

    def close(self) -> None:
        for each in reversed(self._opened):
            self.run(each.discard())


@pytest.fixture
def forge() -> Iterator[Forge]:
    with Forge() as made:
        yield made


@pytest.fixture
def bench(forge: Forge, tmp_path: Path) -> Iterator[Bench]:
    data = tmp_path / "data"
    data.mkdir()
    said = io.StringIO()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        yard = Yard.open(PYTHON, data, 330_000, Limits(), Log("debug", said))
        terms = Terms(yard, 64 * MIB, 60.0, ("main", "release/*"))
        made = Bench(runner, yard, forge, tmp_path, terms, said)
        yield made
        made.close()
        hierarchy = yard.host.hierarchy
        assert hierarchy is None or hierarchy.left_over() == [], "a box was left"
        yard.close()


__all__ = ["FILES", "Bench", "replace"]
