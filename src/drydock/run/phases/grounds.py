"""Where checks run: boxes beside the workspace, each with a clean folder of one tree and what was installed for it."""

from __future__ import annotations

from drydock.agent.site import Site
from drydock.box.held import HeldBox
from drydock.box.program import Program
from drydock.errors import BoxFailed
from drydock.run.berth import Berth
from drydock.run.parts import Job, Prepared
from drydock.run.phases import dependencies
from drydock.run.phases.change import Change, Changes
from drydock.run.site import BoxSite
from drydock.run.workspace import REPO

BEFORE = "before"
_ASIDE = f"exec mv {REPO} {BEFORE}"
_BACK = (
    f"rm -rf {REPO}/{dependencies.NODE_MODULES}; "
    f"[ ! -d {BEFORE}/{dependencies.NODE_MODULES} ] || mv {BEFORE}/{dependencies.NODE_MODULES} {REPO}/; "
    f"exec rm -rf {BEFORE}"
)


class CleanGrounds:
    """Of one look at the gate. Boxes are opened when a check has to run, and end with `close`."""

    def __init__(self, job: Job, prepared: Prepared, changes: Changes, base: Change, change: Change) -> None:
        self._job, self._prepared, self._changes = job, prepared, changes
        self._trees = {"base": base, "change": change}
        self._open: dict[str, tuple[Berth, Site]] = {}

    async def base(self) -> Site:
        return await self._site("base")

    async def change(self, round: int) -> Site:
        return await self._site("change")

    async def _site(self, side: str) -> Site:
        if side not in self._open:
            snapshot = self._prepared.fields["snapshot"]
            berth = self._job.workspace.beside(f"gate-{side}", snapshot)
            site = BoxSite(berth, self._job.workspace.epoch)
            await self._fill(berth, self._trees[side], installed=snapshot is not None)
            await self._install(site, self._trees[side])
            self._open[side] = berth, site
        return self._open[side][1]

    async def _fill(self, berth: Berth, change: Change, *, installed: bool) -> None:
        repository = await self._changes.stands(change)
        box = await berth.box()
        if installed:
            await _run(box, _ASIDE)
        await repository.into(box, REPO, tree=change.tree)
        if installed:
            await _run(box, _BACK)

    async def _install(self, site: Site, change: Change) -> None:
        """Anew where the work has changed a lock."""
        if touched := [lock for lock in dependencies.LOCKS if lock in change.paths]:
            there = await dependencies.locks_of(site)
            await dependencies.install(site, [lock for lock in touched if lock in there])

    async def close(self) -> None:
        for berth, _ in self._open.values():
            await berth.close()
        self._open.clear()


async def _run(box: HeldBox, script: str) -> None:
    done = await box.run(Program(argv=["/bin/sh", "-c", script], env={"PATH": "/usr/bin:/bin"}))
    if done.ended.result().reason != "completed":
        raise BoxFailed("the checks' folder could not be laid out")
