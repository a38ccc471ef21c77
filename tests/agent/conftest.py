"""Real boxes for the agent's tools, and a bench over one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drydock.agent.action import action
from drydock.agent.bench import Bench
from drydock.agent.ledger import Ledger
from drydock.agent.plan import Plan
from drydock.agent.task import Task
from drydock.agent.tools.table import ACTS
from tests.agent.boxed import BoxSite
from tests.agent.notebook import Notebook, NotebookDesk
from tests.box.conftest import Fleet, fleet

__all__ = ["fleet"]

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


@pytest.fixture
def open_site(fleet: Fleet, tmp_path: Path) -> Iterator[Callable[[dict[str, str]], BoxSite]]:
    sites: list[BoxSite] = []

    def made(files: dict[str, str]) -> BoxSite:
        sites.append(fleet.run(BoxSite.open(fleet.yard, tmp_path / f"site-{len(sites)}", files)))
        return sites[-1]

    yield made
    for site in sites:
        fleet.run(site.box.discard())


@pytest.fixture
def rig(fleet: Fleet, open_site: Callable[[dict[str, str]], BoxSite]) -> Rig:
    return Rig(fleet, open_site(FILES))
