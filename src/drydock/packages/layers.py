"""The layers on disk: found by what was asked for, in use by boxes, evicted when they are too many bytes.

A layer is a folder of the yard's store and, beside the store, a record in JSON. The record is written once the kernel
has the folder on disk: a folder without one is the remains of a crash and goes at the next start.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
import json
import os
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from drydock.egress.denial import Denial
from drydock.egress.grants import Ecosystem
from drydock.observe.log import Log
from drydock.packages.tools import PREFIX

KEPT = ("empty",)
RECORDED = ("key", "request", "ecosystem", "packages", "bytes", "created_at")
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(slots=True)
class Tree:
    """A layer, its record, and who needs it now."""

    key: str
    request: str
    """See wanted.request_key."""
    ecosystem: Ecosystem
    packages: list[str]
    """Pinned and sorted."""
    bytes: int
    created_at: float
    last_used_at: float
    users: int = field(default=0, compare=False)
    """Boxes that have it mounted, and requests that are about to."""
    denials: Sequence[Denial] = ()
    """What its box was refused while it was built, for those who waited; not recorded."""


class Layers:
    def __init__(self, store: Path, records: Path, most_bytes: int, log: Log) -> None:
        self._store, self._records, self._most, self._log = store, records, most_bytes, log
        self._by_key: dict[str, Tree] = {}
        self._by_request: dict[str, Tree] = {}
        self._names: Counter[str] = Counter()
        self._writing: set[asyncio.Future[object]] = set()
        # One thread, so that what is done to a record or folder is done in the order in which it was asked for.
        self._hand = ThreadPoolExecutor(1, "drydock-layers")

    def open(self) -> None:
        """Find what is there; whatever a crash left half-made goes. Environments name theirs before any is evicted."""
        self._records.mkdir(mode=0o700, parents=True, exist_ok=True)
        for record in self._records.iterdir():
            tree = _read(record)
            if tree is None or not (self._store / tree.key).is_dir():
                record.unlink()
            else:
                self._by_key[tree.key] = self._by_request[tree.request] = tree
        for folder in self._store.iterdir():
            if folder.name not in self._by_key and folder.name not in KEPT and not folder.name.startswith(PREFIX):
                self.discard(folder)

    async def close(self) -> None:
        if self._writing:
            await asyncio.wait(self._writing)
        self._hand.shutdown()

    def all(self) -> list[Tree]:
        return list(self._by_key.values())

    def get(self, key: str) -> Tree | None:
        return self._by_key.get(key)

    def find(self, request: str) -> Tree | None:
        """Of a request that was made before. One whose folder somebody has removed is made again."""
        tree = self._by_request.get(request)
        if tree is not None and not (self._store / tree.key).is_dir():
            self._drop(tree)
            return None
        return tree

    def room(self) -> Path:
        """A path in the store at which a new tree may be made; `discard` or `keep` it."""
        return self._store / f"building-{secrets.token_hex(8)}"

    def keep(self, folder: Path, tree: Tree) -> Tree:
        """A finished folder becomes a layer, taken once. One of the same key that came before is the one that stays."""
        known = self._by_key.get(tree.key)
        if known is not None:
            self.discard(folder)
            return self.take(known)
        for old in self._idle(self._excess(tree.bytes)):
            self._drop(old)
        folder.rename(self._store / tree.key)
        self._by_key[tree.key] = self._by_request[tree.request] = tree
        self.later(functools.partial(self._write, tree))
        return self.take(tree)

    def discard(self, folder: Path) -> None:
        """A tree that did not become a layer, or no longer is one. No file in it is anybody's but ours."""
        self.later(functools.partial(shutil.rmtree, folder, True))

    def take(self, tree: Tree) -> Tree:
        """It stays until it is given back as often as it was taken."""
        tree.users += 1
        tree.last_used_at = time.time()
        return tree

    def give_back(self, tree: Tree) -> None:
        tree.users -= 1
        with contextlib.suppress(FileNotFoundError):  # so new that its record is still to be written
            os.utime(self._records / f"{tree.key}.json", (tree.last_used_at, tree.last_used_at))
        self.evict()

    def name(self, key: str) -> None:
        """An environment needs it: it does not count as one of those to be evicted here."""
        self._names[key] += 1

    def unname(self, key: str) -> None:
        self._names[key] -= 1
        self.evict()

    def evict(self) -> None:
        """Down to the limit, least recently used first; never one that is in use or has a name."""
        for tree in self._idle(self._excess(0)):
            self._drop(tree)

    def _excess(self, more: int) -> int:
        nameless = (tree.bytes for tree in self._by_key.values() if not self._names[tree.key])
        return sum(nameless) + more - self._most

    def _idle(self, excess: int) -> Iterator[Tree]:
        """Those to go, for so many bytes to be freed."""
        oldest_first = sorted(self._by_key.values(), key=lambda tree: tree.last_used_at)
        for tree in oldest_first:
            if excess <= 0:
                return
            if not tree.users and not self._names[tree.key]:
                excess -= tree.bytes
                yield tree

    def _drop(self, tree: Tree) -> None:
        folder = self._forget(tree)
        if folder.exists():
            self.discard(folder)

    def _forget(self, tree: Tree) -> Path:
        """Its record first, so that a crash in between leaves a folder that the next start removes."""
        self._log.info("layer_evicted", layer=tree.key, bytes=tree.bytes)
        (self._records / f"{tree.key}.json").unlink(missing_ok=True)
        del self._by_key[tree.key]
        self._by_request.pop(tree.request, None)
        gone = self._store / f"gone-{secrets.token_hex(8)}"
        if (self._store / tree.key).exists():
            (self._store / tree.key).rename(gone)
        return gone

    def _write(self, tree: Tree) -> None:
        """Not before its files are on disk: after a loss of power a record would vouch for empty ones."""
        folder = os.open(self._store, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _libc.syncfs(folder)
        finally:
            os.close(folder)
        write_json(self._records / f"{tree.key}.json", {name: getattr(tree, name) for name in RECORDED})
        if tree.key not in self._by_key:  # evicted meanwhile
            (self._records / f"{tree.key}.json").unlink(missing_ok=True)

    def later(self, work: Callable[[], object]) -> None:
        """On the disk, which may keep us waiting, and so not here."""
        doing = asyncio.get_running_loop().run_in_executor(self._hand, work)
        self._writing.add(doing)
        doing.add_done_callback(self._over)

    def _over(self, doing: asyncio.Future[object]) -> None:
        self._writing.discard(doing)
        if not doing.cancelled() and isinstance(wrong := doing.exception(), Exception):
            self._log.error("layer_not_written", wrong)


def _read(record: Path) -> Tree | None:
    try:
        return Tree(**json.loads(record.read_text("utf-8")), last_used_at=record.stat().st_mtime)
    except (OSError, ValueError, TypeError):
        return None


def write_json(path: Path, told: object) -> None:
    """Whole or not at all."""
    unfinished = path.with_suffix(".new")
    fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        json.dump(told, file)
        file.flush()
        os.fsync(fd)
    unfinished.rename(path)
