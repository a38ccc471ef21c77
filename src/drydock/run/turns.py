"""What a run changed in one of its turns, or in all of them: made from the snapshots of its workspace when it is asked.

A step costs nothing for it. The snapshots are a tenant's: they are spread out in boxes, and git reads them in its own.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

from drydock.errors import BoxFailed, NotFound
from drydock.forge.git.repository import Repository, Terms
from drydock.run.records import Records
from drydock.run.workspace import REPO, OpensBox
from drydock.store.run import Run

AT_ONCE = 2
"""Each has a box of git's and one more."""
_TURN = re.compile(r"turn-([0-9]+)")


class Turns:
    def __init__(self, records: Records, opens: OpensBox, terms: Callable[[], Terms], folder: Path) -> None:
        """`folder` is on this machine, for as long as something is compared."""
        self._records, self._opens, self._terms, self._folder = records, opens, terms, folder
        self._places = asyncio.Semaphore(AT_ONCE)

    async def diff(self, run: Run, turn: int | None, *, ignore_space: bool) -> bytes:
        """Of one turn, or of all; NotFound when the run has not come to that turn."""
        before, after = await asyncio.to_thread(self._ends, run.id, turn)
        if before is None or after is None or before == after:
            return b""
        name = hashlib.sha256(f"{before} {after} {ignore_space}".encode()).hexdigest()[:32]
        key = f"runs/{run.id}/between-{name}.patch"
        known = await asyncio.to_thread(self._records.objects.get, key)
        if known is not None:
            return known
        async with self._places:
            patch = await self._between(before, after, ignore_space)
        await asyncio.to_thread(self._records.objects.put, key, patch)
        return patch

    def _ends(self, run: str, turn: int | None) -> tuple[str | None, str | None]:
        """The snapshots before the turn and at its end. Without a turn, the first and the newest."""
        at = 0
        snapshots: dict[int, list[str]] = {}
        for step in self._records.steps.all(run):
            if (found := _TURN.fullmatch(step.name)) is not None:
                at = int(found[1])
                snapshots.setdefault(at, [])
            if step.ended and step.result.get("workspace"):
                snapshots.setdefault(at, []).append(str(step.result["workspace"]))
        if turn is not None and (turn < 1 or turn not in snapshots):
            raise NotFound(
                f"the run has not come to turn {turn}", where="turn", hint="`agentStep` of its events counts."
            )
        before = [name for at in sorted(snapshots) if turn is None or at < turn for name in snapshots[at]]
        until = [name for at in sorted(snapshots) if turn is None or at <= turn for name in snapshots[at]]
        if turn is None:
            before = before[:1]
        return next(iter(before[-1:]), None), next(iter(until[-1:]), None)

    async def _between(self, before: str, after: str, ignore_space: bool) -> bytes:
        home = self._folder / f"compared-{uuid.uuid4().hex}"
        home.mkdir(mode=0o700, parents=True)
        try:
            repository = await Repository.begin(self._terms(), home / "git")
            try:
                trees = [await self._tree(repository, name, home) for name in (before, after)]
                return (await repository.diff(*trees, ignore_space=ignore_space)).patch
            finally:
                await repository.discard()
        finally:
            await asyncio.to_thread(shutil.rmtree, home, True)

    async def _tree(self, repository: Repository, snapshot: str, home: Path) -> str:
        archive = home / "snapshot.tar"
        data = await asyncio.to_thread(self._records.objects.get, snapshot)
        if data is None:
            raise BoxFailed("a snapshot of the run is not in the object store any more")
        await asyncio.to_thread(archive.write_bytes, data)
        box = await self._opens(home / "box", archive, {})
        try:
            return (await repository.tree_from(box, REPO, anew=True)).sha
        finally:
            await box.discard()
