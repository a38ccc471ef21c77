"""Where an installer works, and how what it has installed is taken out: a held box over a disk, or gVisor.

In gVisor each program has a kernel and a workspace of its own, which end with it. So what one step leaves for the next
goes through us, and what is kept is taken while the workspace of the last step is still there.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from drydock.box import gvisor
from drydock.box.carry import Carried
from drydock.box.doors import Handler
from drydock.box.held import HeldBox
from drydock.box.limits import Limits
from drydock.box.pool import Pool
from drydock.box.program import Layer, Program
from drydock.box.running import Outcome, StreamName
from drydock.box.yard import Yard

OnBytes = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class Site:
    """What either kind of bench is made of."""

    yard: Yard
    home: Path
    """A folder for its disk, ours to remove."""
    limits: Limits
    disk_bytes: int
    doors: Mapping[int, Handler]
    layers: Sequence[Layer]
    take: Callable[[int], Carried]
    """Copies out what was installed; called in a thread with the open folder /box, nothing in which runs any more."""
    on_take: Callable[[], None]
    """Told that this begins: of a large layer it takes a second."""


class Bench(Protocol):
    @property
    def taken(self) -> Carried:
        """What was taken out after the step that was to be kept."""
        ...

    async def run(self, program: Program, on_stderr: OnBytes, *, keep: bool) -> Outcome:
        """One step to its end. With `keep` what it leaves is taken, if it has ended well."""
        ...

    async def close(self) -> None:
        """No process of it is left, and no thread of ours reads in it, when this returns."""
        ...


class HeldBench:
    """The workspace is on a disk, which costs no memory."""

    def __init__(self, box: HeldBox, site: Site) -> None:
        self._box, self._site = box, site
        self.taken = Carried()

    @classmethod
    async def open(cls, site: Site) -> HeldBench:
        box = await HeldBox.open(
            site.yard, site.home, site.limits, disk_bytes=site.disk_bytes, doors=site.doors, layers=site.layers
        )
        return cls(box, site)

    async def run(self, program: Program, on_stderr: OnBytes, *, keep: bool) -> Outcome:
        held = await self._box.start(program)
        try:
            async for piece in held.output.follow():
                if piece.stream == "stderr":
                    on_stderr(piece.data)
        finally:
            held.stop("cancelled")  # nothing happens if it has ended
        ended = held.ended.result()
        if keep and ended.reason == "completed":
            self._site.on_take()
            self.taken = await self._box.look(self._site.take)
        return Outcome(ended, held.stdout(), held.stderr())

    async def close(self) -> None:
        await self._box.close()


class GvisorBench:
    """The workspace is in memory: a disk of its own is what only held boxes have."""

    def __init__(self, pool: Pool, site: Site) -> None:
        self._pool, self._site = pool, site
        self._taking: asyncio.Future[Carried] | None = None
        self.taken = Carried()

    @classmethod
    async def open(cls, site: Site) -> GvisorBench:
        """Unavailable says what this host lacks for it."""
        pool = Pool(site.yard.with_gvisor(gvisor.find()), 1, f"build-{secrets.token_hex(8)}")
        try:
            await pool.start()
        except BaseException:
            await pool.close()
            raise
        return cls(pool, site)

    async def run(self, program: Program, on_stderr: OnBytes, *, keep: bool) -> Outcome:
        def tell(stream: StreamName, data: bytes) -> None:
            if stream == "stderr":
                on_stderr(data)

        site = self._site
        limits = replace(site.limits, work_bytes=site.disk_bytes)
        outcome = await self._pool.run(
            replace(program, layers=site.layers),
            limits,
            on_output=tell,
            collect=self._collect if keep else None,
            doors=site.doors,
        )
        if keep and self._taking is not None and outcome.ended.reason == "completed":
            self.taken = await self._taking
        return outcome

    async def _collect(self, root: int) -> None:
        """The pool keeps the folder open until this returns. What goes wrong is for whoever asked for the step."""
        self._site.on_take()
        self._taking = asyncio.ensure_future(asyncio.to_thread(self._site.take, root))
        await asyncio.wait([self._taking])

    async def close(self) -> None:
        if self._taking is not None:
            await asyncio.wait([self._taking])
        await self._pool.close()
