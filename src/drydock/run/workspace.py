"""The workspace of one run: a held box that is opened when it is first needed, and the snapshots that outlive it.

The box's disk dies with the worker. What counts is the last snapshot whose name stands in a step's record: whoever
takes the run up opens a fresh box from that one, so that a command which was broken off is undone.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from drydock.agent.desk import Stopped
from drydock.box.doors import Handler
from drydock.box.held import HeldBox
from drydock.box.program import Program
from drydock.errors import BoxFailed
from drydock.run.way_out import PORT, Grants, WayOut
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
        guard: Callable[[Mapping[str, int]], Callable[[], None]],
        grants: Grants,
    ) -> None:
        """`may_freeze` says whether this worker has room for one more frozen box; `guard` has somebody end a box when
        this worker is no longer able to, and gives back what makes an end of that."""
        self.folder = folder
        self._key = f"runs/{run}/workspace-{epoch}"
        self._objects, self._opens, self._most_bytes, self._may_freeze = objects, opens, most_bytes, may_freeze
        self.way_out = WayOut(grants)
        self._doors = {PORT: self.way_out.handler}
        self._guard = guard
        self._unguard: Callable[[], None] = lambda: None
        self._box: HeldBox | None = None
        self._opening: asyncio.Lock = asyncio.Lock()
        self._saved: str | None = None
        self._numbers = 0
        self._touched = False
        self._going = asyncio.Event()
        self._going.set()
        self._closing: asyncio.Task[None] | None = None
        self.interrupts = 0
        """How often what runs was ended from outside: who is about to start a program sees that it was meant too."""

    @property
    def busy(self) -> bool:
        return self._box is not None and self._box.busy

    @property
    def closed(self) -> bool:
        return self._closing is not None

    @property
    def frozen(self) -> bool:
        """It holds a command still."""
        return self._box is not None and self._box.frozen and self._box.busy

    def stands_at(self, snapshot: str) -> None:
        self._saved = snapshot

    def touch(self) -> None:
        self._touched = True

    async def box(self) -> HeldBox:
        """Not while the run is paused: then this waits."""
        async with self._opening:
            if self.closed:
                raise Stopped("cancelled", "the run's workspace is closed")
            if self._box is None:
                self._box = await self._open()
                self._unguard = self._guarded(self._box)
        await self._going.wait()
        return self._box

    async def _open(self) -> HeldBox:
        """From the last snapshot; whatever an earlier life left on the disk was never recorded and is thrown away."""
        home = self.folder / "box"
        await asyncio.to_thread(shutil.rmtree, home, True)
        if self._saved is None:
            box = await self._opens(home, None, self._doors)
            await box.run(Program(argv=["/bin/mkdir", REPO], env={"PATH": "/bin"}))
            return box
        archive = self.folder / "restore.tar"
        await asyncio.to_thread(self._fetch, self._saved, archive)
        try:
            return await self._opens(home, archive, self._doors)
        finally:
            archive.unlink(missing_ok=True)

    def _guarded(self, box: HeldBox) -> Callable[[], None]:
        ends = box.ends()
        try:
            return self._guard(ends)
        finally:
            for fd in ends.values():
                os.close(fd)

    def _fetch(self, key: str, target: Path) -> None:
        data = self._objects.get(key)
        if data is None:
            raise BoxFailed("the run's last snapshot is not in the object store")
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        target.write_bytes(data)

    async def save(self) -> str | None:
        """Keep the workspace if it may have changed since; the name under which it is kept now."""
        if self._touched and self._box is not None:
            await self._going.wait()
            self._touched = False
            target = self.folder / "snapshot.tar"
            await self._box.snapshot(target, most_bytes=self._most_bytes)
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
        """End every program in it."""
        self.interrupts += 1
        if self._box is not None:
            self._box.stop_all("cancelled")

    async def freeze(self) -> None:
        """In the middle of whatever runs; when too many are frozen already, what runs is broken off instead."""
        self._going.clear()
        box = self._box
        if box is None or box.frozen:
            return
        with suppress(BoxFailed):  # it broke: whoever waits for its program is told
            if box.busy and not self._may_freeze():
                self.interrupt()
            else:
                await box.freeze()

    async def thaw(self) -> None:
        if self._box is not None:
            with suppress(BoxFailed):
                await self._box.thaw()
        self._going.set()

    async def close(self) -> None:
        """No process of it is left when this returns, and nothing of it on this machine's disk."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._going.set()
        async with self._opening:
            box, self._box = self._box, None
        if box is not None:
            await box.discard()
            self._unguard()
        await asyncio.to_thread(shutil.rmtree, self.folder / "box", True)
