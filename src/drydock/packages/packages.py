"""Layers for a request, and the account of how it came by them."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from drydock.box.program import Layer
from drydock.box.stop import Stop
from drydock.box.tier import Isolation
from drydock.box.yard import Yard
from drydock.egress.grants import Ecosystem, PackagesGrant
from drydock.observe.log import Log
from drydock.packages import specifiers
from drydock.packages.build import Builder
from drydock.packages.builds import Builds
from drydock.packages.environments import Environment, Environments
from drydock.packages.failed import InstallFailed
from drydock.packages.index import Indexes
from drydock.packages.installer import Installer, OnLine
from drydock.packages.layers import Layers, Tree
from drydock.packages.npm import Npm
from drydock.packages.python import Python
from drydock.packages.report import Report
from drydock.packages.wanted import Name, Wanted, layer_key, request_key
from drydock.settings import Settings

BLOCK = 4096
"""What a file takes of the disk beside its bytes, at the most."""


@dataclass(frozen=True, slots=True)
class Provided:
    layers: Sequence[Layer]
    report: Report


class Packages:
    """Owns the layers, the boxes that build them and the relays of those boxes, from `open` to `close`."""

    def __init__(self, settings: Settings, yard: Yard, versions: Mapping[str, str], log: Log) -> None:
        """`versions` are those of the languages that are installed."""
        self._offline = settings.offline
        self.allows_urls = settings.allow_url_requirements
        self._isolation: Isolation = settings.isolation
        self._log = log
        self._folder = settings.data.resolve() / "packages"
        self.indexes = Indexes(settings)
        self.layers = Layers(yard.store, self._folder / "layers", settings.layers_bytes, log)
        self.environments = Environments(self._folder / "environments", self.layers, settings, log)
        self._builds = Builds(self.layers)
        self._builder = Builder(settings, yard, self._folder / "builds")
        self._installers: dict[Ecosystem, Installer] = {
            "pypi": Python(yard, versions.get("python", "")),
            "npm": Npm(versions.get("node", "")),
        }

    def open(self) -> None:
        self.layers.open()
        self.environments.open()
        self.layers.evict()
        _empty(self._folder / "builds")

    async def close(self) -> None:
        await self._builds.close()
        await self.layers.close()

    @asynccontextmanager
    async def provide(
        self, wanted: Wanted, *, within_s: float, stop: Stop, on_line: OnLine, isolation: Isolation
    ) -> AsyncIterator[Provided]:
        """What to mount, which stays for as long as this is open. InstallFailed, or Stopped.

        What is not there yet is installed behind walls of this `isolation`, never of a weaker one.
        """
        began = time.monotonic()
        try:
            tree, hit = await self._take(wanted, within_s, stop, on_line, isolation)
        except InstallFailed as failed:
            failed.time_ms = int((time.monotonic() - began) * 1000)
            raise
        try:
            time_ms = int((time.monotonic() - began) * 1000)
            report = Report(hit, time_ms, tree.key, tree.packages, () if hit else tree.denials)
            yield Provided([(tree.key, self._installers[tree.ecosystem].place)], report)
        finally:
            self.layers.give_back(tree)

    async def create(self, name: Name, wanted: Wanted, *, within_s: float, stop: Stop) -> tuple[Environment, bool]:
        """An environment of exactly this list, and whether there was one of that name. InstallFailed, or Stopped."""
        existed = self.environments.find(name) is not None
        tree, _ = await self._obtain(wanted, within_s, stop, lambda line: None, self._isolation)
        made = self._put(name, tree, wanted)
        self.layers.give_back(tree)
        return made, existed

    async def _take(
        self, wanted: Wanted, within_s: float, stop: Stop, on_line: OnLine, isolation: Isolation
    ) -> tuple[Tree, bool]:
        """The layer, taken, and whether it was there."""
        name = wanted.environment
        if name is None:
            return await self._obtain(wanted, within_s, stop, on_line, isolation)
        until = time.monotonic() + within_s
        while True:
            found = self.environments.find(name)
            tree = self._covering(found, wanted)
            if tree is not None:
                return self.layers.take(tree), True
            extended = _extended(found, wanted)
            tree, hit = await self._obtain(extended, until - time.monotonic(), stop, on_line, isolation)
            if self.environments.find(name) is found:
                self._put(name, tree, extended)
                return tree, hit
            self.layers.give_back(tree)  # another request has changed it meanwhile, and loses nothing of what it added

    def _covering(self, found: Environment | None, wanted: Wanted) -> Tree | None:
        """The environment's layer, if it holds all that is wanted now."""
        if found is None or found.runtime != self._installers[wanted.ecosystem].runtime:
            return None
        if not set(wanted.requirements) <= set(found.requirements):
            return None
        self.environments.used(found)
        return self.environments.tree(found)

    def _put(self, name: Name, tree: Tree, wanted: Wanted) -> Environment:
        installer = self._installers[wanted.ecosystem]
        return self.environments.put(name, tree, wanted.requirements, installer.runtime, installer.version)

    async def _obtain(
        self, wanted: Wanted, within_s: float, stop: Stop, on_line: OnLine, isolation: Isolation
    ) -> tuple[Tree, bool]:
        """The layer of a list, taken, and whether it was there."""
        installer = self._installers[wanted.ecosystem]
        try:
            async with asyncio.timeout(within_s):
                grant = await self.indexes.grant(wanted.ecosystem, wanted.index)
        except TimeoutError:
            raise InstallFailed(f"timed out after {within_s:g} seconds") from None
        key = request_key(wanted, grant, installer.runtime)
        known = self.layers.find(key)
        if known is not None:
            return self.layers.take(known), True
        missing = ", ".join(wanted.requirements)
        if isolation == "process":
            raise InstallFailed(f"installers run in boxes, which isolation `process` has none of; missing: {missing}")
        if self._offline:
            raise InstallFailed(f"this server installs nothing (DRYDOCK_OFFLINE) and has no layer of {missing}")
        on_line(f"installing {', '.join(wanted.requirements)}")
        tree = await self._builds.wait(
            key,
            lambda say: self._build(installer, wanted, grant, key, say, isolation),
            within_s=within_s,
            stop=stop,
            on_line=on_line,
        )
        return tree, False

    async def _build(
        self,
        installer: Installer,
        wanted: Wanted,
        grant: PackagesGrant,
        key: str,
        say: OnLine,
        isolation: Isolation,
    ) -> Tree:
        folder = self.layers.room()
        began = time.monotonic()
        try:
            built = await self._builder.build(installer, wanted, grant, folder, say, isolation)
        except BaseException:
            if folder.exists():
                self.layers.discard(folder)
            raise
        now, size = time.time(), built.load.total_bytes + built.load.files * BLOCK
        named = layer_key(key, built.lock.text)
        tree = Tree(named, key, wanted.ecosystem, built.lock.packages, size, now, now, denials=built.denials)
        self._log.info("layer_built", layer=tree.key, bytes=size, seconds=round(time.monotonic() - began, 3))
        return self.layers.keep(folder, tree)


def _extended(found: Environment | None, wanted: Wanted) -> Wanted:
    """What it holds and what is wanted now, which counts where both name a package."""
    if found is None:
        if not wanted.requirements:
            raise InstallFailed("the environment has been deleted")
        return wanted
    now = {specifiers.name(entry, wanted.ecosystem) for entry in wanted.requirements}
    kept = [entry for entry in found.requirements if specifiers.name(entry, found.ecosystem) not in now]
    return Wanted.of(wanted.ecosystem, [*kept, *wanted.requirements], wanted.index, wanted.environment)


def _empty(folder: Path) -> None:
    """Of the disks that a killed server left: each is an image, which is one file, or a folder of our own uid's."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
