"""What the work has changed, as a step records it: a tree, and the patch that makes this tree of the base again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from drydock.box.held import HeldBox
from drydock.errors import RepositoryFailed
from drydock.forge.git.diff import Changed, Diff
from drydock.forge.git.repository import Repository
from drydock.run.artefacts import patch_key
from drydock.run.phases.checkout import Checkout
from drydock.run.workspace import REPO
from drydock.store.objects import ObjectStore

MOST_FILES = 5000
"""Of those that are told one by one."""


@dataclass(frozen=True, slots=True)
class Change:
    tree: str
    patch: str
    """Its name in the object store; empty when nothing has changed."""
    files: Sequence[Mapping[str, Any]] = ()
    left_out: Sequence[Mapping[str, Any]] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def paths(self) -> list[str]:
        return [str(name) for file in self.files for name in (file["path"], file.get("oldPath")) if name]


class Changes:
    """Takes them out of boxes, and finds their trees again where git's directory is new."""

    def __init__(self, run: str, checkout: Checkout, objects: ObjectStore) -> None:
        self._run, self._checkout, self._objects = run, checkout, objects

    async def take(self, box: HeldBox) -> Change:
        """The repository's folder of a box, read anew."""
        repository = await self._checkout.repository()
        taken = await repository.tree_from(box, REPO, anew=True)
        diff = await repository.diff(repository.base, taken.sha)
        return Change(
            taken.sha,
            await self._put(taken.sha, diff),
            [_file(each) for each in diff.files[:MOST_FILES]],
            [{"path": each.path, "why": each.why} for each in taken.left_out],
        )

    async def between(self, before: Change, after: Change) -> list[str]:
        """Paths that differ."""
        await self.stands(before)
        repository = await self.stands(after)
        diff = await repository.diff(before.tree, after.tree)
        return sorted({_text(name) for each in diff.files for name in (each.path, each.old_path) if name})

    async def _put(self, tree: str, diff: Diff) -> str:
        """Under the tree's name: whoever else puts it there, a worker that has lost the run even, puts the same."""
        if not diff.patch:
            return ""
        key = patch_key(self._run, tree)
        await asyncio.to_thread(self._objects.put, key, diff.patch)
        return key

    async def patch(self, change: Change) -> bytes:
        found = await asyncio.to_thread(self._objects.get, change.patch) if change.patch else b""
        if found is None:
            raise RepositoryFailed("the run's patch is not in the object store any more")
        return found

    async def stands(self, change: Change) -> Repository:
        """The repository, in which the change's tree is there."""
        repository = await self._checkout.repository()
        if not await repository.has(change.tree):
            made = await repository.patched(await self.patch(change))
            if made != change.tree:
                raise RepositoryFailed("the run's patch does not make the tree that was recorded with it")
        return repository


def _file(changed: Changed) -> dict[str, Any]:
    told: dict[str, Any] = {
        "path": _text(changed.path),
        "kind": changed.kind,
        "mode": changed.mode,
        "binary": changed.binary,
        "added": changed.added,
        "removed": changed.removed,
    }
    return told if changed.old_path is None else {**told, "oldPath": _text(changed.old_path)}


def _text(path: str) -> str:
    """A database keeps no surrogates."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
