"""One run's repository, from its clone to the branch that is pushed. What was cloned outlives the process.

The disk of git's box is of one box alone (its files belong to that box's user). What is opened again is a copy of it as
it was right after the clone; trees that were made since are made again of their patches.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from drydock.box.held import HeldBox
from drydock.box.program import TMP
from drydock.box.yard import Yard
from drydock.egress.dial import Dialer
from drydock.errors import Invalid, PushRefused, RepositoryFailed
from drydock.forge.git.box import GitBox
from drydock.forge.git.credential import Credential
from drydock.forge.git.diff import Diff, compare
from drydock.forge.git.refs import check_new_branch, check_ref, is_sha
from drydock.forge.git.remote import HEADS, RemoteEnd
from drydock.forge.git.source import Source
from drydock.forge.git.tree import Bounds, Tree, Trees
from drydock.settings import Settings

RECORD = "repository.json"
CLONED = "cloned.tar"
DISK_FOLDER = "disk"
BASE = "refs/drydock/base"
DISK = 3
"""Times the largest clone: its objects, a tree spread out for a box, and what is new lie side by side."""
ATTEMPTS = 2
PAUSE_S = 0.5
_NAME = re.compile(r"[^\x00-\x1f\x7f<>]+")


@dataclass(frozen=True, slots=True)
class Author:
    name: str
    email: str

    def __post_init__(self) -> None:
        for text in (self.name, self.email):
            if not _NAME.fullmatch(text) or not text.strip(" .,:;\"'"):
                raise Invalid("an author's name and address are one line each, without < and >", where="author")

    @classmethod
    def of(cls, settings: Settings) -> Author:
        return cls(settings.commit_name, settings.commit_email)


_NOBODY = Author("Drydock", "drydock@localhost")


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for every repository of this server."""

    yard: Yard
    clone_bytes: int
    seconds: float
    protected: tuple[str, ...]
    bounds: Bounds = Bounds()  # noqa: RUF009 - frozen
    dialer: Callable[[], Dialer] = Dialer

    @classmethod
    def of(cls, settings: Settings, yard: Yard) -> Terms:
        protected = tuple(name.strip() for name in settings.protected_branches.split(",") if name.strip())
        return cls(yard, settings.clone_bytes, settings.git_seconds, protected)


class Repository:
    """Owns git's box from `clone` or `open` to `close`."""

    def __init__(self, terms: Terms, home: Path, source: Source | None, box: GitBox) -> None:
        self.source = source
        """None when it is of this run alone, with no remote."""
        self.base = ""
        """The commit that the run began with."""
        self.default_branch = ""
        self._terms, self._home, self._box = terms, home, box
        self._end = None if source is None else RemoteEnd(box, source, terms.dialer, terms.clone_bytes)
        self._trees = Trees(box, replace(terms.bounds, spread_bytes=terms.clone_bytes))

    @classmethod
    async def clone(
        cls,
        terms: Terms,
        home: Path,
        source: Source,
        *,
        ref: str = "",
        depth: int = 1,
        credential: Credential | None = None,
    ) -> Repository:
        """`ref` is a branch, a tag, a full reference or a whole hash; the default branch if there is none."""
        if ref and not is_sha(ref):
            check_ref(ref, where="ref")
        made = await cls._over(terms, home, source)
        try:
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    await made._fetch_base(ref, depth, credential)
                    break
                except RepositoryFailed as failed:
                    if not failed.retryable or attempt == ATTEMPTS:
                        raise
                    await asyncio.sleep(PAUSE_S)
            await made._trees.learn(made.base)
            await made._note()
        except BaseException:
            await made.discard()
            raise
        return made

    @classmethod
    async def begin(cls, terms: Terms, home: Path) -> Repository:
        """One with nothing in it but its first commit, the same wherever it is made."""
        made = await cls._over(terms, home, None)
        try:
            tree = (await made._box.git("mktree")).text()
            made.base = await made._commit(tree, (), "Begin", _NOBODY, datetime.fromtimestamp(0, UTC))
            await made._box.git("update-ref", BASE, made.base)
            await made._trees.learn(made.base)
            await made._note()
        except BaseException:
            await made.discard()
            raise
        return made

    @classmethod
    async def open(cls, terms: Terms, home: Path, source: Source | None) -> Repository:
        """As an earlier process cloned it there."""
        try:
            told = json.loads((home / RECORD).read_text("utf-8"))
            base, default = str(told["base"]), str(told["default_branch"])
        except (OSError, ValueError, KeyError) as wrong:
            raise RepositoryFailed("there is no finished clone in this folder", hint="Clone it again.") from wrong
        await asyncio.to_thread(shutil.rmtree, home / DISK_FOLDER, True)
        made = await cls._over(terms, home, source, home / CLONED)
        try:
            made.base, made.default_branch = base, default
            await made._trees.learn(base)
        except BaseException:
            await made.close()
            raise
        return made

    @classmethod
    async def _over(cls, terms: Terms, home: Path, source: Source | None, restore: Path | None = None) -> Repository:
        size = DISK * terms.clone_bytes
        box = await GitBox.open(terms.yard, home / DISK_FOLDER, seconds=terms.seconds, disk_bytes=size, restore=restore)
        return cls(terms, home, source, box)

    async def into(self, box: HeldBox, folder: str, *, tree: str | None = None) -> None:
        """Spread the base, or another tree, out in a new folder below the box's work folder.

        The folder has a repository of its own, at the base, in which its tenant may do what it likes.
        """
        branch = self.default_branch or "main"
        await self._trees.into(box, folder, base=self.base, tree=_hash(tree or self.base), branch=branch)

    async def tree_from(self, box: HeldBox, folder: str, *, anew: bool = False) -> Tree:
        """What the folder holds now, as a tree; `anew` for what is delivered: see taking.py."""
        return await self._trees.take(box, folder, anew=anew)

    async def diff(
        self, old: str, new: str, *, paths: Sequence[str] = (), ignore_space: bool = False, binary: bool = True
    ) -> Diff:
        return await compare(self._box, _hash(old), _hash(new), paths=paths, ignore_space=ignore_space, binary=binary)

    async def has(self, tree: str) -> bool:
        done = await self._box.git("cat-file", "-e", _hash(tree), code=128)
        return done.code == 0

    async def patched(self, patch: bytes) -> str:
        """The tree that a patch of `diff` makes of the base."""
        script = (
            'git read-tree "$0" && { [ "$1" = 0 ] || git apply --cached --binary --whitespace=nowarn -; } '
            '&& git write-tree; code=$?; rm -f "$GIT_INDEX_FILE"; exit $code'
        )
        argv = ["/bin/sh", "-c", script, self.base, str(len(patch))]
        index = {"GIT_INDEX_FILE": f"{TMP}/index-patched"}
        done = await self._box.run(argv, stdin=patch, env=index, doing="the patch could not be applied")
        return done.text()

    async def commit(self, tree: str, parent: str, message: str, author: Author, at: datetime) -> str:
        """The same inputs give the same hash. `at` is to the second, with its offset."""
        return await self._commit(tree, (parent,), message, author, at)

    async def _commit(self, tree: str, parents: Sequence[str], message: str, author: Author, at: datetime) -> str:
        if "\0" in message or not message.strip():
            raise Invalid("a commit has a message, without NUL", where="message")
        if at.tzinfo is None:
            raise Invalid("a commit's time has a zone", where="at")
        date = f"@{int(at.timestamp())} {at.strftime('%z')[:5]}"
        env = {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", author.name), ("EMAIL", author.email), ("DATE", date))
        }
        argv = ["commit-tree", _hash(tree), *(word for each in parents for word in ("-p", _hash(each))), "-F", "-"]
        text = message.strip("\n").encode("utf-8", "replace") + b"\n"
        done = await self._box.git(*argv, stdin=text, env=env, doing="the commit could not be made")
        return done.text()

    async def push(
        self, sha: str, branch: str, *, ours: str | None = None, credential: Credential | None = None
    ) -> None:
        """To a new branch, or from `ours`, which an earlier push of this run left there. Nothing is ever forced."""
        check_new_branch(branch)
        await self._remote.push(_hash(sha), branch, ours=ours, protected=self._terms.protected, credential=credential)

    async def deepen(self, credential: Credential | None = None) -> None:
        """The whole history, if it is not there already."""
        shallow = await self._box.git("rev-parse", "--is-shallow-repository")
        if shallow.text() == "true":
            await self._remote.whole(self.base, BASE, credential)

    def leave_out(self, paths: Iterable[str]) -> None:
        """From now on no tree of a tenant's folder has these, unless the base does."""
        self._trees.installed = frozenset(map(os.fsencode, paths))

    @property
    def broken(self) -> bool:
        """Git's box is gone; the repository is opened again."""
        return self._box.held.broken.is_set()

    @property
    def _remote(self) -> RemoteEnd:
        if self._end is None:
            raise PushRefused("this repository has no remote", hint="Take the patch and apply it where you want it.")
        return self._end

    async def close(self) -> None:
        """Every process of it ends; what was cloned stays for `open`. Safe to call again."""
        await self._box.held.discard()

    async def discard(self) -> None:
        await self.close()
        await asyncio.to_thread(shutil.rmtree, self._home, True)

    async def _fetch_base(self, ref: str, depth: int, credential: Credential | None) -> None:
        names = (
            [] if not ref or is_sha(ref) else [ref] if ref.startswith("refs/") else [HEADS + ref, "refs/tags/" + ref]
        )
        refs = await self._remote.ask(names, credential)
        self.default_branch = refs.default
        wanted = ref if is_sha(ref) else next((name for name in names if name in refs.found), "")
        if ref and not wanted:
            raise RepositoryFailed(f"the repository has no branch or tag {ref!r}", where="ref")
        if not ref:
            if "HEAD" not in refs.found:
                raise RepositoryFailed("the repository is empty", hint="Push a first commit to its default branch.")
            wanted = "HEAD"
        await self._remote.fetch(wanted, BASE, depth=max(0, depth), credential=credential)
        told = await self._box.git("rev-parse", "--verify", "--quiet", BASE + "^{commit}", doing="this is no commit")
        self.base = told.text()

    async def _note(self) -> None:
        await self._box.held.snapshot(self._home / CLONED, most_bytes=DISK * self._terms.clone_bytes)
        unfinished = self._home / (RECORD + ".new")
        unfinished.write_text(json.dumps({"base": self.base, "default_branch": self.default_branch}), "utf-8")
        unfinished.rename(self._home / RECORD)


def _hash(text: str) -> str:
    if not is_sha(text):
        raise Invalid("a tree or commit is named by its whole hash", where="sha")
    return text
