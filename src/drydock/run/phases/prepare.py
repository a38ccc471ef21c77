"""Prepare: the repository is cloned by the trusted side and spread out in the run's box."""

from __future__ import annotations

import re
from typing import Any

from drydock.agent.desk import Instruction
from drydock.agent.strategy import told
from drydock.run.parts import Job, Prepared
from drydock.run.phases.agency import task_of
from drydock.run.phases.checkout import Checkout
from drydock.run.workspace import REPO

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class Preparing:
    def __init__(self, checkout: Checkout, model: str) -> None:
        """`model` as it is told: the server's own where the run names none."""
        self._checkout, self._model = checkout, model

    async def prepare(self, job: Job) -> Prepared:
        spec, desk = job.spec, job.desk
        said: list[Instruction] = [*await desk.checkpoint("start")]
        task = told(task_of(spec))
        await desk.emit("task_started", task=task, repo=spec.repo, model=self._model, trustLevel=spec.trust)
        said += await desk.checkpoint("clone")
        if spec.repo:
            await desk.emit("repo_clone_started", repo=spec.repo)
        begun = await self._clone(job)
        if spec.repo:
            await desk.emit("repo_clone_completed", repo=spec.repo, targetDir=folder_name(spec.repo))
        branch = (spec.new_branch or f"drydock/run-{job.id}") if spec.commits else ""
        if branch:
            await desk.emit("git_branch_created", branchName=branch)
        said += await desk.checkpoint("cloned")
        return Prepared({**begun, "branch": branch}, said)

    async def _clone(self, job: Job) -> dict[str, Any]:
        spec = job.spec

        async def act() -> dict[str, Any]:
            repository = await self._checkout.clone(spec.branch, spec.clone_depth)
            await repository.into(await job.workspace.main.box(), REPO)
            await job.desk.changed()
            return {"base": repository.base, "default_branch": repository.default_branch}

        begun: dict[str, Any] = await job.desk.once("clone", act)
        self._checkout.recall(begun["base"], spec.clone_depth)
        return begun


def folder_name(repo: str) -> str:
    """The repository's name, as the contract has it."""
    name = repo.rstrip("/").rpartition("/")[2].removesuffix(".git")
    return _UNSAFE.sub("-", name) or "repo"
