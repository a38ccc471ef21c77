"""Real boxes of a yard of their own, driven from plain test functions."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest
import uvloop

from drydock.box import gvisor
from drydock.box.cgroup import Hierarchy
from drydock.box.limits import Limits
from drydock.box.pool import Pool
from drydock.box.program import CODE, HOME, TMP, WORK, Program
from drydock.box.running import Outcome
from drydock.box.yard import Yard
from drydock.observe.log import Log

T = TypeVar("T")
PYTHON = Path("/usr/bin/python3")
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": HOME, "TMPDIR": TMP, "LANG": "C.UTF-8"}


@dataclass
class Fleet:
    """A yard, and a loop that runs what a test asks of it."""

    yard: Yard
    runner: asyncio.Runner
    said: io.StringIO

    def run(self, work: Awaitable[T]) -> T:
        async def wait() -> T:
            return await work

        return self.runner.run(wait())


def python(code: str, **more: object) -> Program:
    script = f"{CODE}/main.py"
    return Program(script=script, files={script: code.encode()}, folders=("output",), env=ENV, **more)  # type: ignore[arg-type]


def command(*argv: str, **more: object) -> Program:
    return Program(argv=argv, env=ENV, **more)  # type: ignore[arg-type]


def hierarchy_of(fleet: Fleet) -> Hierarchy:
    found = fleet.yard.host.hierarchy
    assert found is not None, "these tests run as root on a host with control groups"
    return found


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    said = io.StringIO()
    data = tmp_path / "data"
    data.mkdir()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        yard = Yard.open(PYTHON, data, 310_000, Limits(), Log("debug", said))
        yield Fleet(yard, runner, said)
        yard.close()


RunProgram = Callable[..., Outcome]


@pytest.fixture(params=["box", pytest.param("gvisor", marks=pytest.mark.long)])
def tier(request: pytest.FixtureRequest) -> str:
    """What a test with a pool is run on, one after the other."""
    return str(request.param)


@pytest.fixture
def pool(fleet: Fleet, tier: str) -> Iterator[Pool]:
    made = Pool(fleet.yard if tier == "box" else fleet.yard.with_gvisor(gvisor.find()), 1)
    fleet.run(made.start())
    yield made
    fleet.run(made.close())


@pytest.fixture
def execute(fleet: Fleet, pool: Pool) -> RunProgram:
    def run(program: Program | str, *, wall_ms: int = 10_000, **limits: int | float) -> Outcome:
        asked = python(program) if isinstance(program, str) else program
        return fleet.run(pool.run(asked, Limits(wall_ms=wall_ms, **limits)))  # type: ignore[arg-type]

    return run


__all__ = ["CODE", "ENV", "WORK", "Fleet", "RunProgram", "command", "hierarchy_of", "python"]
