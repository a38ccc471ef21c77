"""Where checks run: boxes beside the workspace, each with a clean folder of one tree."""

from __future__ import annotations

from drydock.agent.site import Site
from drydock.run.berth import Berth
from drydock.run.parts import Job
from drydock.run.phases.change import Change, Changes
from drydock.run.site import BoxSite
from drydock.run.workspace import REPO


class CleanGrounds:
    """Of one look at the gate. Boxes are opened when a check has to run, and end with `close`."""

    def __init__(self, job: Job, changes: Changes, base: Change, change: Change) -> None:
        self._job, self._changes = job, changes
        self._trees = {"base": base, "change": change}
        self._open: dict[str, tuple[Berth, Site]] = {}

    async def base(self) -> Site:
        return await self._site("base")

    async def change(self, round: int) -> Site:
        return await self._site("change")

    async def _site(self, side: str) -> Site:
        if side not in self._open:
            berth = self._job.workspace.beside(f"gate-{side}")
            repository = await self._changes.stands(self._trees[side])
            await repository.into(await berth.box(), REPO, tree=self._trees[side].tree)
            self._open[side] = berth, BoxSite(berth, self._job.workspace.epoch)
        return self._open[side][1]

    async def close(self) -> None:
        for berth, _ in self._open.values():
            await berth.close()
        self._open.clear()
