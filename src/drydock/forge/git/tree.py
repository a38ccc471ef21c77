"""A tenant's folder becomes a tree object, and a tree object becomes a tenant's folder."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from weakref import WeakKeyDictionary

from drydock.box.held import HeldBox
from drydock.box.held_program import HeldProgram
from drydock.box.program import HOME, TMP, WORK, Program
from drydock.errors import Invalid, RepositoryFailed
from drydock.forge.git.box import ATTRIBUTES, ENV, GIT, GitBox
from drydock.forge.git.ignores import Ignores
from drydock.forge.git.scan import Entry, LeftOut, level
from drydock.forge.git.taking import Known, Memory, Object, Taken, hand_over, hash_all

LINK = b"160000"
LEFT_OUT = 1000
"""Paths that are told; a tenant can make as many as the disk has inodes."""
FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)*")
_SPREAD = """\
set -e
out=$TMPDIR/spread-$$
trap 'rm -rf "$out"' EXIT
mkdir -p "$out/.git"
cp -Rl "$GIT_DIR/objects" "$out/.git/"
[ ! -f "$GIT_DIR/shallow" ] || cp "$GIT_DIR/shallow" "$out/.git/"
export GIT_DIR=$out/.git GIT_WORK_TREE=$out
mkdir -p "$GIT_DIR/refs/heads" "$GIT_DIR/info"
echo "ref: refs/heads/$BRANCH" >"$GIT_DIR/HEAD"
printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n' >"$GIT_DIR/config"
printf %s "$ATTRIBUTES" >"$GIT_DIR/info/attributes"
git update-ref "refs/heads/$BRANCH" "$BASE"
git read-tree --reset -u "$TREE" >&2
[ "$TREE" = "$BASE" ] || git read-tree "$BASE"
git config core.hooksPath .git/hooks
git config user.name agent
git config user.email agent@localhost
unset GIT_DIR GIT_WORK_TREE
tar --create --file=- --format=posix -C "$out" .
"""
_UNPACK = 'mkdir -p "$1" && exec tar --extract --file=- --no-same-owner -C "$1"'


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of a tenant's folder; what git would ignore in it is not counted."""

    files: int = 200_000
    file_bytes: int = 100 << 20
    """The largest file that forges take."""
    new_bytes: int = 1 << 30
    """Of all files that git has not got yet."""
    spread_bytes: int = 2 << 30
    """Of all files of the base."""


@dataclass(frozen=True, slots=True)
class Tree:
    sha: str
    left_out: tuple[LeftOut, ...]
    """What lies in the folder and cannot be in a repository, or not in one of this size. Ignored files are not told."""


@dataclass(slots=True)
class Folder:
    """What is remembered of one folder of one box."""

    memory: Memory
    ignores: Ignores
    objects: Mapping[bytes, Object]
    sha: str
    """Of the tree that these objects are; empty before the first."""


class Trees:
    """The exchange between git's box and those of tenants."""

    def __init__(self, box: GitBox, bounds: Bounds) -> None:
        self._box, self._bounds = box, bounds
        self._base: dict[bytes, Object] = {}
        self._tracked: set[bytes] = set()
        """Paths of the base's files, and of the folders that these lie in."""
        self._modules: set[bytes] = set()
        self._known: set[bytes] = set()
        """Hashes of blobs that git has."""
        self._folders: WeakKeyDictionary[HeldBox, dict[str, Folder]] = WeakKeyDictionary()
        self._numbers = itertools.count(1)
        self.installed: frozenset[bytes] = frozenset()
        """Paths that are left out like ignored ones: what was put into tenants' folders beside the repository."""
        self._turn = asyncio.Lock()

    async def learn(self, base: str) -> None:
        """What the tree that tenants begin with holds: it stays tracked, ignored or not."""
        most = self._bounds.files
        script = 'git ls-tree -r -l -z --full-tree "$0" | head -z -n "$1"'
        doing = "the base cannot be read"
        await self._box.git("rev-parse", "--verify", "--quiet", base + "^{tree}", doing=doing)
        done = await self._box.run(["/bin/sh", "-c", script, base, str(most + 1)], doing=doing)
        lines = done.out.split(b"\0")
        if len(lines) > most + 1:  # a few small objects can name the same tree a billion times
            raise RepositoryFailed(f"the repository holds more than {most} files", hint="Clone a smaller one.")
        self._base, size = {}, 0
        for line in filter(None, lines):
            about, _, path = line.partition(b"\t")
            mode, _, sha, length = about.split()
            self._base[path] = (mode, sha)
            size += int(length) if length.isdigit() else 0
        if size > self._bounds.spread_bytes:  # and a few kilobytes can be unpacked to gigabytes
            raise RepositoryFailed(
                f"the repository's files are {size} bytes, and at most {self._bounds.spread_bytes} are spread out",
                hint="Have an operator raise DRYDOCK_CLONE_BYTES.",
            )
        self._known |= {sha for mode, sha in self._base.values() if mode != LINK}
        self._modules = {path for path, (mode, _) in self._base.items() if mode == LINK}
        folders = {path[:at] for path in self._base for at, byte in enumerate(path) if byte == 0x2F}
        self._tracked = folders | self._base.keys()

    async def into(self, held: HeldBox, folder: str, *, base: str, tree: str, branch: str) -> None:
        """Spread `tree` out in a new folder of the work folder, with a repository of the tenant's own at `base`."""
        env = {"BASE": base, "TREE": tree, "BRANCH": branch, "ATTRIBUTES": ATTRIBUTES}
        spread = Program(argv=["/bin/sh", "-c", _SPREAD], env={**ENV, **env})
        target = f"{WORK}/{plain(folder)}"
        unpack = Program(argv=["/bin/sh", "-c", _UNPACK, "sh", target], env={"PATH": "/usr/bin:/bin", "HOME": HOME})
        ours, theirs = os.pipe2(os.O_CLOEXEC)
        try:
            writing = await self._box.held.start(spread, stdout=theirs)
            os.close(theirs)
            theirs = -1
            reading = await held.start(unpack, stdin=ours, wall_ms=self._box.held.limits.wall_ms)
        finally:
            os.close(ours)
            if theirs >= 0:
                os.close(theirs)
        writing.close_stdin()
        await self._both(writing, reading)
        self._folders.get(held, {}).pop(folder, None)

    async def take(self, held: HeldBox, folder: str, *, anew: bool = False) -> Tree:
        """The folder as a tree object. `anew` reads every file, whatever its times say."""
        async with self._turn:
            return await self._take(held, plain(folder), anew)

    async def _take(self, held: HeldBox, folder: str, anew: bool) -> Tree:
        where = f"work/{folder}"
        known = self._folders.setdefault(held, {})
        if folder not in known:
            known[folder] = Folder(Memory(), Ignores(self._box, next(self._numbers)), {}, "")
        ours = known[folder]
        if anew:
            ours.memory.seen.clear()
        entries, left = await self._scan(held, where, ours.ignores)
        folders = {each.path for each in entries if each.kind == "folder"}
        files = [each for each in entries if each.kind != "folder"]
        most, have = self._bounds.file_bytes, Known(self._base, self._known)
        taken = await held.look(lambda root: hash_all(root, where, files, have, ours.memory, most))
        if taken.new:
            await self._import(held, where, taken)
        links = {path: each for path, each in self._base.items() if each[0] == LINK and path in folders}
        objects = {**taken.objects, **links}
        if not ours.sha or objects != ours.objects:
            ours.objects, ours.sha = objects, await self._write(objects)
        return Tree(ours.sha, tuple((left + taken.left_out)[:LEFT_OUT]))

    async def _scan(self, held: HeldBox, where: str, ignores: Ignores) -> tuple[list[Entry], list[LeftOut]]:
        """Level by level, so that nobody walks through a folder that is ignored."""
        found: list[Entry] = []
        left: list[LeftOut] = []
        paths, most = [b""], self._bounds.files
        for depth in itertools.count():
            if not paths:
                break
            look = partial(level, folder=where, paths=paths, tracked=self._tracked, most=4 * most)
            here = await held.look(look)
            others = [each for each in here.entries if each.path not in self._base]
            ignored = await ignores.among(others, here.ignores, depth)
            ignored = ignored | self.installed
            kept = [each for each in here.entries if each.path not in ignored or each.path in self._tracked]
            found += kept
            left += here.left_out
            if len(found) + len(left) > most or here.seen > 4 * most:
                raise RepositoryFailed(
                    f"the repository's folder holds more than {most} files",
                    hint="Name what is made by tools in .gitignore; it is left out then.",
                )
            paths = [each.path for each in kept if each.kind == "folder" and each.path not in self._modules]
        return found, left

    async def _import(self, held: HeldBox, where: str, taken: Taken) -> None:
        size = sum(each.stamp[1] for each in taken.new)
        if size > self._bounds.new_bytes:
            raise RepositoryFailed(
                f"{size} bytes are new in the repository's folder, and at most {self._bounds.new_bytes} are taken",
                hint="Name what is made by tools in .gitignore; it is left out then.",
            )
        argv = [GIT, "fast-import", "--quiet", "--done"]
        ours, theirs = os.pipe2(os.O_CLOEXEC)
        try:
            program = await self._box.held.start(Program(argv=argv, env=ENV), stdin=ours)
        except BaseException:
            os.close(theirs)
            raise
        finally:
            os.close(ours)
        written: dict[bytes, bytes] = {}
        with suppress(BrokenPipeError):  # git has ended, and its end says why
            written = await held.look(lambda root: hand_over(root, where, taken, theirs, self._bounds.file_bytes))
        await self._box.end_of(program, "what is new could not be stored")
        for entry in taken.new:
            mode, _ = taken.objects.pop(entry.path)
            if entry.path in written:  # else it is gone since it was hashed
                taken.objects[entry.path] = (mode, written[entry.path])
        self._known.update(written.values())

    async def _write(self, objects: Mapping[bytes, Object]) -> str:
        index = {"GIT_INDEX_FILE": f"{TMP}/index-{next(self._numbers)}"}
        lines = b"".join(b"%b %b\t%b\0" % (mode, sha, path) for path, (mode, sha) in objects.items())
        script = (
            'git update-index -z --add --index-info && git write-tree; code=$?; rm -f "$GIT_INDEX_FILE"; exit $code'
        )
        doing = "the folder could not be made a tree"
        done = await self._box.run(["/bin/sh", "-c", script], stdin=lines, env=index, doing=doing)
        return done.text()

    async def _both(self, writing: HeldProgram, reading: HeldProgram) -> None:
        """Either's end ends the other: what is told is the one that came first."""
        doing = "the repository could not be spread out"
        try:
            ended = await asyncio.shield(reading.ended)
            if ended.reason == "disk_limit":
                raise RepositoryFailed(f"{doing}: it does not fit into the box")
            await self._box.end_of(writing, doing)
            if ended.reason != "completed":
                raise RepositoryFailed(f"{doing}: {ended.reason}")
        finally:
            writing.stop("cancelled")  # nothing happens to one that has ended
            reading.stop("cancelled")
            await asyncio.wait([writing.ended, reading.ended])


def plain(folder: str) -> str:
    if not FOLDER.fullmatch(folder):
        raise Invalid("a repository's folder has a plain path below the work folder", where="folder")
    return folder
