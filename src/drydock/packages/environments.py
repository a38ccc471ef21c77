"""Names that callers give to layers. A name is its caller's own: nobody else can use, list or delete it.

An environment keeps its layer from being evicted, and is evicted itself: by the time since it was last used, by the
number that one caller may have, by the bytes of all of them together. Never while a box has its layer mounted.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from drydock.egress.grants import Ecosystem
from drydock.errors import Invalid
from drydock.observe.log import Log
from drydock.packages.layers import Layers, Tree, write_json
from drydock.packages.wanted import Name
from drydock.settings import Settings

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
RECORDED = ("owner", "name", "ecosystem", "requirements", "runtime", "version", "layer", "created_at")


@dataclass(slots=True)
class Environment:
    owner: str
    name: str
    ecosystem: Ecosystem
    requirements: list[str]
    runtime: str
    """See Installer.runtime."""
    version: str
    """Of the language, for people."""
    layer: str
    created_at: float
    last_used_at: float

    @property
    def key(self) -> Name:
        return Name(self.owner, self.name)


def check_name(name: str, where: str) -> None:
    if not NAME.fullmatch(name):
        raise Invalid(
            f'invalid {where} "{name[:128]}"',
            where=where,
            hint="1 to 63 of a-z, 0-9, `.`, `_` and `-`, beginning with a letter or digit.",
        )


class Environments:
    def __init__(self, folder: Path, layers: Layers, settings: Settings, log: Log) -> None:
        self._folder, self._layers, self._log = folder, layers, log
        self._most, self._ttl, self._bytes = settings.envs_max, settings.envs_ttl, settings.envs_bytes
        self._all: dict[Name, Environment] = {}

    def open(self) -> None:
        """Those whose layers are still there."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for record in self._folder.iterdir():
            found = _read(record)
            if found is None or self._layers.get(found.layer) is None:
                record.unlink()
                continue
            self._all[found.key] = found
            self._layers.name(found.layer)
        self.evict()

    def find(self, name: Name) -> Environment | None:
        self.evict()
        return self._all.get(name)

    def tree(self, found: Environment) -> Tree | None:
        """None when somebody has removed its folder."""
        return self._layers.get(found.layer)

    def of(self, owner: str) -> list[Environment]:
        """Latest use first."""
        self.evict()
        own = (found for found in self._all.values() if found.owner == owner)
        return sorted(own, key=lambda found: (-found.last_used_at, found.name))

    def put(self, name: Name, tree: Tree, requirements: Iterable[str], runtime: str, version: str) -> Environment:
        """Make it, or give it this layer instead of its own."""
        now = time.time()
        old = self._all.get(name)
        made = Environment(
            name.owner,
            name.name,
            tree.ecosystem,
            list(requirements),
            runtime,
            version,
            tree.key,
            old.created_at if old else now,
            now,
        )
        self._layers.name(tree.key)
        if old is not None:
            self._layers.unname(old.layer)
        self._all[name] = made
        self._layers.later(functools.partial(self._write, made))
        self.evict(kept=made)
        return made

    def _write(self, made: Environment) -> None:
        record = self._record(made.key)
        write_json(record, {field: getattr(made, field) for field in RECORDED})
        if made.key not in self._all:  # deleted meanwhile
            record.unlink(missing_ok=True)

    def used(self, found: Environment) -> None:
        found.last_used_at = time.time()
        with contextlib.suppress(FileNotFoundError):  # deleted while it was in use
            os.utime(self._record(found.key), (found.last_used_at, found.last_used_at))

    def delete(self, name: Name) -> bool:
        found = self._all.pop(name, None)
        if found is None:
            return False
        self._record(name).unlink(missing_ok=True)
        self._layers.unname(found.layer)
        return True

    def evict(self, kept: Environment | None = None) -> None:
        """Down to all limits, least recently used first; not `kept`, which has just been made."""
        for lost in [each for each in self._all.values() if self.tree(each) is None]:
            self.delete(lost.key)
        idle = [each for each in self._oldest_first() if each is not kept and not self._bytes_and_users(each)[1]]
        for found in [*self._stale(idle), *self._too_many(idle), *self._too_big(idle)]:
            if self.delete(found.key):
                self._log.info("environment_evicted", owner=found.owner, name=found.name)

    def _stale(self, idle: list[Environment]) -> Iterator[Environment]:
        before = time.time() - self._ttl
        return (found for found in idle if found.last_used_at < before)

    def _too_many(self, idle: list[Environment]) -> Iterator[Environment]:
        for owner in {found.owner for found in idle}:
            excess = sum(found.owner == owner for found in self._all.values()) - self._most
            yield from [found for found in idle if found.owner == owner][: max(0, excess)]

    def _too_big(self, idle: list[Environment]) -> Iterator[Environment]:
        # Each layer once, however many names it has.
        one_of_each = {found.layer: found for found in self._all.values()}
        excess = sum(self._bytes_and_users(found)[0] for found in one_of_each.values()) - self._bytes
        for found in idle:
            if excess <= 0:
                return
            excess -= self._bytes_and_users(found)[0]
            yield found

    def _bytes_and_users(self, found: Environment) -> tuple[int, int]:
        tree = self.tree(found)
        return (tree.bytes, tree.users) if tree is not None else (0, 0)

    def _oldest_first(self) -> list[Environment]:
        return sorted(self._all.values(), key=lambda found: found.last_used_at)

    def _record(self, name: Name) -> Path:
        """Owners hold characters that no file's name may."""
        digest = hashlib.blake2b(f"{name.owner}\0{name.name}".encode(), digest_size=16).hexdigest()
        return self._folder / f"{digest}.json"


def _read(record: Path) -> Environment | None:
    try:
        return Environment(**json.loads(record.read_text("utf-8")), last_used_at=record.stat().st_mtime)
    except (OSError, ValueError, TypeError):
        return None
