"""Deliver: the story is marked, what was changed is shown, and if it was asked for, committed and pushed, once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from drydock.agent.agent import Finish
from drydock.agent.gate.gate import Outcome
from drydock.agent.gate.sensitive import sensitive_paths
from drydock.agent.task import TaskType
from drydock.agent.tracker import PRD, PROGRESS, track
from drydock.errors import PushRefused, RepositoryFailed
from drydock.forge.git.repository import Author
from drydock.run.parts import Job, Prepared, Verdict
from drydock.run.phases.agency import task_of
from drydock.run.phases.change import Change, Changes
from drydock.run.phases.checkout import Checkout
from drydock.run.phases.gate import Judging

LONGEST_SUBJECT = 72
MOST_SHOWN = 2 << 20
"""Characters of a patch in the result; the whole of it is an artefact."""
PREFIXES: Mapping[TaskType, str] = {
    "bug-fix": "fix",
    "refactoring": "refactor",
    "documentation": "docs",
    "migration": "chore",
    "test-suite": "test",
    "code-review": "chore",
}


class Delivering:
    """One for each play of a run."""

    def __init__(
        self,
        checkout: Checkout,
        changes: Changes,
        judging: Judging,
        author: Author,
        keep_conversation: Callable[[], Awaitable[None]],
    ) -> None:
        self._checkout, self._changes, self._judging, self._author = checkout, changes, judging, author
        self._keep_conversation = keep_conversation
        self._made: dict[str, Any] = {}
        """Fields of a commit that stands, whatever becomes of the run after it."""

    async def deliver(self, job: Job, prepared: Prepared, finish: Finish, verdict: Verdict) -> Mapping[str, Any]:
        desk = job.desk
        await self._keep_conversation()
        outcome = Outcome(verdict.passed, verdict.summary, skipped=verdict.skipped)
        note, _ = await track(task_of(job.spec), finish.plan, outcome, desk, job.site)
        change, since = await self._take(job)
        await desk.emit("diff_generated", hasChanges=bool(change.patch))
        await desk.checkpoint("diff")
        shown = await self._shown(change)
        if prepared.fields["installed"]:
            shown["dependencies"] = prepared.fields["installed"]
        if not job.spec.commits:
            return {**shown, "note": note}
        if why := _withheld(change, since, verdict):
            await desk.emit("commit_skipped", message=why)
            return {**shown, "note": f"{note} {why}".strip()}
        await self._commit(job, str(prepared.fields["branch"]), str(prepared.fields["ours"]), change)
        return {**shown, **self._made, "note": note}

    async def salvage(self, job: Job) -> Mapping[str, Any]:
        """From the last snapshot, in a box where nothing runs: the run's own is gone already."""
        await self._keep_conversation()
        if not self._checkout.base:
            return {}
        async with job.workspace.kept() as box:
            if box is None:
                return {"base": self._checkout.base}
            return {**await self._shown(await self._changes.take(box)), **self._made}

    async def _take(self, job: Job) -> tuple[Change, list[str]]:
        """What is delivered, and the paths of it that are not as the checks saw them."""
        judged = self._judging.judged

        async def act() -> dict[str, Any]:
            change = await self._changes.take(await job.workspace.main.box())
            since = [] if judged is None else await self._changes.between(judged, change)
            return {"change": change.to_json(), "since": since}

        told = await job.desk.once("change", act)
        return Change(**told["change"]), [path for path in told["since"] if path not in (PRD, PROGRESS)]

    async def _shown(self, change: Change) -> dict[str, Any]:
        text = (await self._changes.patch(change)).decode("utf-8", "replace")
        shown: dict[str, Any] = {
            "diff": text[:MOST_SHOWN],
            "diffCut": len(text) > MOST_SHOWN,
            "base": self._checkout.base,
            "tree": change.tree,
            "changedFiles": list(change.files),
            "sensitivePaths": sensitive_paths(change.paths),
            "leftOut": list(change.left_out),
        }
        return {name: value for name, value in shown.items() if value}

    async def _commit(self, job: Job, branch: str, ours: str, change: Change) -> None:
        desk = job.desk

        async def words() -> dict[str, str]:
            at = datetime.now(UTC).replace(microsecond=0).isoformat()
            return {"message": subject(job.spec.task_type, job.spec.task), "at": at}

        await desk.checkpoint("stage")
        told = await desk.once("words", words)

        async def commit() -> str:
            repository = await self._changes.stands(change)
            at = datetime.fromisoformat(told["at"])
            return await repository.commit(change.tree, repository.base, told["message"], self._author, at)

        await desk.checkpoint("commit")
        sha = str(await desk.once("commit", commit))
        await desk.emit("commit_created", branchName=branch, commitSha=sha)
        author = {"name": self._author.name, "email": self._author.email}
        made = {"sha": sha, "branch": branch, "pushed": False, **told, "author": author}
        self._made = {"branchName": branch, "commit": made}
        if await desk.once("may-push", self._may_push):
            await self._push(job, sha, branch, ours, commit)
            self._made["commit"]["pushed"] = True

    async def _may_push(self) -> bool:
        """Only with a credential: without one nobody has let us write there."""
        return self._checkout.pushable and await self._checkout.credential() is not None

    async def _push(self, job: Job, sha: str, branch: str, ours: str, commit: Callable[[], Awaitable[str]]) -> None:
        """`ours` is what an earlier run left on the branch."""

        async def act() -> None:
            await commit()  # git's directory may be another one than where it was made; its hash is the same
            repository, credential = await self._checkout.repository(), await self._checkout.credential()
            await job.still_ours()
            await repository.push(sha, branch, ours=ours or None, credential=credential)

        about = {"branchName": branch, "commitSha": sha}
        await job.desk.emit("commit_push_started", **about)
        try:
            await job.desk.once("push", act)
        except (PushRefused, RepositoryFailed) as wrong:
            await job.desk.emit("delivery_failed", **about, error=wrong.message)
            raise
        await job.desk.emit("commit_pushed", branchName=branch)


def _withheld(change: Change, since: Sequence[str], verdict: Verdict) -> str:
    """Why nothing is committed; empty when it is."""
    if not change.patch:
        return "Nothing was committed: nothing has changed."
    if not verdict.passed:
        return "Nothing was committed: the quality gate failed."
    if since:  # by a program that was left running: what the checks have not seen is not delivered
        return f"Nothing was committed: {since[0]} changed after the checks had run."
    return ""


def subject(kind: TaskType, task: str) -> str:
    return f"{PREFIXES.get(kind, 'feat')}: {' '.join(task.split())}"[:LONGEST_SUBJECT]
