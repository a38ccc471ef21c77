"""Real boxes for the agent's tools, and a bench over one."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import uvloop

from drydock.agent.action import action
from drydock.agent.bench import Bench
from drydock.agent.ledger import Ledger
from drydock.agent.plan import Plan
from drydock.agent.task import Task
from drydock.agent.tools.table import ACTS
from drydock.box.limits import Limits
from drydock.box.yard import Yard
from drydock.observe.log import Log
from tests.agent.boxed import BoxSite
from tests.agent.notebook import Notebook, NotebookDesk
from tests.box.conftest import PYTHON, Fleet

FILES = {
    "README.md": "# Sums\n\nAdds numbers.\n",
    "sums.py": "def add(a, b):\n    return a - b\n",
    "tests/test_sums.py": "from sums import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
    "json.py": "raise RuntimeError('a module of the repository')\n",
}
TASK = Task(repo="acme/sums", text="Fix add", type="bug-fix")


class Rig:
    """A bench over a real box, and its tools called by name."""

    def __init__(self, fleet: Fleet, site: BoxSite, task: Task = TASK) -> None:
        self.fleet, self.site = fleet, site
        self.use(task)

    def use(self, task: Task) -> None:
        """Another run on the same workspace."""
        self.book = Notebook()
        self.bench = Bench(task, NotebookDesk(self.book), self.site, Plan("look, mend, check"), Ledger(task.budget))

    def trust(self, **changes: Any) -> None:
        self.use(replace(self.bench.task, **changes))

    def do(self, tool: str, **arguments: Any) -> str:
        async def act() -> str:
            return (await ACTS[tool](self.bench, action(tool, arguments))).text

        return self.fleet.run(act())

    def contents(self, path: str) -> str:
        done = self.fleet.run(self.site.run(["cat", path], timeout_s=5))
        assert done.ok, done
        return done.stdout.decode()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """One for a file of tests: what they leave in the repository is taken away between them."""
    said = io.StringIO()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        yard = Yard.open(PYTHON, tmp_path_factory.mktemp("data"), 330_000, Limits(), Log("debug", said))
        yield Fleet(yard, runner, said)
        yard.close()


@pytest.fixture(scope="module")
def site(fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoxSite]:
    made = fleet.run(BoxSite.open(fleet.yard, tmp_path_factory.mktemp("site") / "home"))
    yield made
    fleet.run(made.box.discard())


@pytest.fixture
def rig(fleet: Fleet, site: BoxSite) -> Rig:
    fleet.run(site.fill(FILES))
    site.networked.clear()
    return Rig(fleet, site)
