"""The workspace of one run: a held box that is opened when it is first needed, and the snapshots that outlive it.

The box's disk dies with the worker. What counts is the last snapshot whose name stands in a step's record: whoever
takes the run up opens a fresh box from that one, so that a command which was broken off is undone. Other boxes of the
run, for checks in clean folders, stand beside it: they are paused, interrupted and ended together.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Protocol

from drydock.agent.desk import Stopped
from drydock.box.doors import Handler
from drydock.box.held import HeldBox
from drydock.box.program import Program
from drydock.errors import BoxFailed
from drydock.run.berth import Berth, Guard
from drydock.run.way_out import Grants
from drydock.store.objects import ObjectStore

REPO = "repo"
"""The repository's folder in the box's work folder; every program of a run starts in it."""


class OpensBox(Protocol):
    async def __call__(self, home: Path, restore: Path | None, doors: Mapping[int, Handler]) -> HeldBox: ...


class Workspace:
    def __init__(
        self,
        run: str,
        epoch: int,
        folder: Path,
        objects: ObjectStore,
        opens: OpensBox,
        *,
        most_bytes: int,
        may_freeze: Callable[[], bool],
        guard: Guard,
        grants: Grants,
    ) -> None:
        """`may_freeze` says whether this worker has room for one more frozen box."""
        self.folder, self.epoch = folder, epoch
        self._key = f"runs/{run}/workspace-{epoch}"
        self._objects, self._opens, self._most_bytes, self._may_freeze = objects, opens, most_bytes, may_freeze
        self._guard, self._grants = guard, grants
        self._going = asyncio.Event()
        self._going.set()
        self.main = Berth(self._open, guard, grants, self._going)
        self._beside: list[Berth] = []
        self._saved: str | None = None
        self._numbers = 0
        self._touched = False

    @property
    def busy(self) -> bool:
        return any(berth.busy for berth in self._berths())

    @property
    def closed(self) -> bool:
        return self.main.closed

    @property
    def frozen(self) -> bool:
        """It holds a command still."""
        return any(berth.held is not None and berth.held.frozen and berth.busy for berth in self._berths())

    def _berths(self) -> list[Berth]:
        self._beside = [berth for berth in self._beside if not berth.gone]
        return [self.main, *self._beside]

    def stands_at(self, snapshot: str) -> None:
        self._saved = snapshot

    def touch(self) -> None:
        self._touched = True

    @property
    def saved(self) -> str | None:
        """Name of the newest snapshot."""
        return self._saved

    def beside(self, name: str, snapshot: str | None = None) -> Berth:
        """Another box of this run, as the snapshot has it or with nothing in it. Its maker closes it, or it ends with
        this one."""
        if self.closed:
            raise Stopped("cancelled", "the run's workspace is closed")

        async def opens(doors: Mapping[int, Handler]) -> HeldBox:
            return await self._fresh(self.folder / name, snapshot, doors)

        made = Berth(opens, self._guard, self._grants, self._going)
        self._beside.append(made)
        return made

    async def _open(self, doors: Mapping[int, Handler]) -> HeldBox:
        return await self._fresh(self.folder / "box", self._saved, doors)

    async def _fresh(self, home: Path, snapshot: str | None, doors: Mapping[int, Handler]) -> HeldBox:
        """Whatever an earlier life left on the disk was never recorded and is thrown away."""
        await asyncio.to_thread(shutil.rmtree, home, True)
        if snapshot is None:
            box = await self._opens(home, None, doors)
            await box.run(Program(argv=["/bin/mkdir", REPO], env={"PATH": "/bin"}))
            return box
        archive = self.folder / f"{home.name}.tar"
        await asyncio.to_thread(self._fetch, snapshot, archive)
        try:
            return await self._opens(home, archive, doors)
        finally:
            archive.unlink(missing_ok=True)

    def _fetch(self, key: str, target: Path) -> None:
        data = self._objects.get(key)
        if data is None:
            raise BoxFailed("the run's last snapshot is not in the object store")
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        target.write_bytes(data)

    @asynccontextmanager
    async def kept(self) -> AsyncGenerator[HeldBox | None, None]:
        """A box as the last snapshot has it, in which nothing runs; None when there is no snapshot. Also once this
        is closed."""
        if self._saved is None:
            yield None
            return
        box = await self._fresh(self.folder / "kept", self._saved, {})
        try:
            yield box
        finally:
            await box.discard()

    async def save(self) -> str | None:
        """Keep the workspace if it may have changed since; the name under which it is kept now."""
        box = self.main.held
        if self._touched and box is not None:
            await self._going.wait()
            self._touched = False
            target = self.folder / "snapshot.tar"
            await box.snapshot(target, most_bytes=self._most_bytes)
            self._numbers += 1
            key = f"{self._key}-{self._numbers}.tar"
            await asyncio.to_thread(self._put, key, target)
            self._saved = key
        return self._saved

    def _put(self, key: str, source: Path) -> None:
        try:
            self._objects.put(key, source.read_bytes())
        finally:
            source.unlink()

    def interrupt(self) -> None:
        """End every program of the run."""
        for berth in self._berths():
            berth.interrupt()

    async def freeze(self) -> None:
        """In the middle of whatever runs; when too many are frozen already, what runs is broken off instead."""
        self._going.clear()
        for berth in self._berths():
            box = berth.held
            if box is None or box.frozen:
                continue
            with suppress(BoxFailed):  # it broke: whoever waits for its program is told
                if box.busy and not self._may_freeze():
                    berth.interrupt()
                else:
                    await box.freeze()

    async def thaw(self) -> None:
        for berth in self._berths():
            if berth.held is not None:
                with suppress(BoxFailed):
                    await berth.held.thaw()
        self._going.set()

    async def close(self) -> None:
        """No process of it is left when this returns, and no box of it on this machine's disk."""
        self._going.set()
        closing = [asyncio.ensure_future(berth.close()) for berth in self._berths()]
        await asyncio.gather(*closing)

    async def discard(self) -> None:
        """The run has ended: nothing of it stays in this machine's folder."""
        await self.close()
        await asyncio.to_thread(shutil.rmtree, self.folder, True)
