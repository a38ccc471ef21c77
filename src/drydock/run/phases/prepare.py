"""Prepare: the repository is cloned by the trusted side and spread out in the run's box."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from drydock.agent.desk import Instruction
from drydock.agent.strategy import told
from drydock.run.parts import Job, Prepared
from drydock.run.phases import dependencies
from drydock.run.phases.agency import task_of
from drydock.run.phases.checkout import Checkout
from drydock.run.phases.earlier import Earlier, Legacies
from drydock.run.workspace import REPO

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class Preparing:
    def __init__(self, checkout: Checkout, legacies: Legacies, model: str) -> None:
        """`model` as it is told: the server's own where the run names none."""
        self._checkout, self._legacies, self._model = checkout, legacies, model

    async def prepare(self, job: Job) -> Prepared:
        spec, desk = job.spec, job.desk
        said: list[Instruction] = [*await desk.checkpoint("start")]
        task = told(task_of(spec))
        await desk.emit("task_started", task=task, repo=spec.repo, model=self._model, trustLevel=spec.trust)
        said += await desk.checkpoint("clone")
        if spec.repo:
            await desk.emit("repo_clone_started", repo=spec.repo)
        earlier = await self._earlier(job)
        begun = await self._clone(job, earlier)
        if spec.repo:
            await desk.emit("repo_clone_completed", repo=spec.repo, targetDir=folder_name(spec.repo))
        branch = (earlier.branch or spec.new_branch or f"drydock/run-{job.id}") if spec.commits else ""
        if branch and not earlier.branch:
            await desk.emit("git_branch_created", branchName=branch)
        said += await desk.checkpoint("cloned")
        installed = await self._install(job)
        ours = begun["base"] if earlier.branch else ""
        fields = {"branch": branch, "ours": ours, "earlier": earlier.conversation, "installed": installed}
        return Prepared({**begun, **fields, "snapshot": job.workspace.saved if installed else None}, said)

    async def _install(self, job: Job) -> list[dict[str, Any]]:
        """What lock files name. The snapshot that follows is what checks begin with."""
        locks = await job.desk.once("locks", lambda: dependencies.locks_of(job.site))
        if not locks:
            return []
        if any(dependencies.LOCKS[lock].startswith("npm") for lock in locks):
            self._checkout.leave_out([dependencies.NODE_MODULES])

        async def act() -> list[dict[str, Any]]:
            done = await dependencies.install(job.site, locks)
            await job.desk.changed()
            return [each.to_json() for each in done]

        installed: list[dict[str, Any]] = await job.desk.once("dependencies", act)
        failed = [each["lock"] for each in installed if not each["ok"]]
        message = f"{', '.join(failed)} could not be installed" if failed else f"installed from {', '.join(locks)}"
        await job.desk.emit("dependencies_installed", message=message, dependencies=installed)
        return installed

    async def _earlier(self, job: Job) -> Earlier:
        followed = job.spec.follow_up_of
        if followed is None:
            return Earlier()

        async def act() -> dict[str, Any]:
            return (await asyncio.to_thread(self._legacies.of, followed, job.caller)).to_json()

        return Earlier(**await job.desk.once("earlier", act))

    async def _clone(self, job: Job, earlier: Earlier) -> dict[str, Any]:
        spec = job.spec

        async def act() -> dict[str, Any]:
            repository = await self._checkout.clone(earlier.ref or spec.branch, spec.clone_depth)
            tree = None
            if earlier.patch:
                tree = await repository.patched(await asyncio.to_thread(self._legacies.patch, earlier))
            await repository.into(await job.workspace.main.box(), REPO, tree=tree)
            await job.desk.changed()
            return {"base": repository.base, "default_branch": repository.default_branch}

        begun: dict[str, Any] = await job.desk.once("clone", act)
        self._checkout.recall(begun["base"], spec.clone_depth)
        return begun


def folder_name(repo: str) -> str:
    """The repository's name, as the contract has it."""
    name = repo.rstrip("/").rpartition("/")[2].removesuffix(".git")
    return _UNSAFE.sub("-", name) or "repo"
