"""The held box: a workspace that lives as long as its owner wants, and programs in it, in turn or side by side.

box = await HeldBox.open(yard, home, limits, disk_bytes=1 << 30)
program = await box.start(Program(argv=["make", "test"], env=...), wall_ms=60_000)
async for piece in program.output.follow(): ...
ended = await program.ended
await box.close()
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from drydock.box import disk
from drydock.box.carry import Carried, Load, carry
from drydock.box.cgroup import Cgroup
from drydock.box.collect import Bounds, Collected, collect
from drydock.box.doors import Doors, Handler
from drydock.box.held_program import HeldProgram
from drydock.box.limits import Limits
from drydock.box.program import Layer, Program
from drydock.box.slot import Message, Parked, Slot
from drydock.box.stop import StopReason
from drydock.box.tier import Isolation
from drydock.box.verdict import EXT4_UNUSABLE, is_full
from drydock.box.yard import Yard
from drydock.errors import BoxFailed, Conflict, Invalid

T = TypeVar("T")
OPEN_S = 20.0
SNAPSHOT_MS = 600_000
_names = itertools.count(1)


class HeldBox:
    """Owns a slot, its disk and its programs, from `open` to `close`."""

    def __init__(
        self, yard: Yard, home: Path, limits: Limits, doors: Mapping[int, Handler], layers: Sequence[Layer]
    ) -> None:
        self._yard, self._home = yard, home
        # A disk's pages are the kernel's to reclaim, so unlike a tmpfs they need no room in the memory limit.
        self.limits = replace(limits, work_bytes=0)
        self._doors, self._layers = Doors(doors), layers
        self._uid = yard.uids.reserve()
        self._group: Cgroup | None = yard.group(f"held-{os.getpid()}-{next(_names)}")
        self._slot: Slot | None = None
        self._opened: asyncio.Future[Parked] = asyncio.get_running_loop().create_future()
        self._programs: dict[int, HeldProgram] = {}
        self._ids = itertools.count(1)
        self._answer: asyncio.Future[None] | None = None
        self.disk: disk.Disk | None = None
        self.frozen = False
        self.broken = asyncio.Event()

    @classmethod
    async def open(
        cls,
        yard: Yard,
        home: Path,
        limits: Limits,
        *,
        disk_bytes: int,
        doors: Mapping[int, Handler] | None = None,
        layers: Sequence[Layer] = (),
        restore: Path | None = None,
        isolation: Isolation = "box",
    ) -> HeldBox:
        """A box over the disk in `home`, made if it is not there; from a snapshot if one is given."""
        if isolation != "box":
            raise Invalid(
                f"a held box cannot be had with isolation {isolation!r}",
                where="isolation",
                hint="Ask for `box`, or run each program by itself.",
            )
        box = cls(yard, home, limits, doors or {}, layers)
        try:
            await box._open(disk_bytes)
            if restore is not None:
                await box._restore(restore)
        except BaseException:
            await box.close()
            raise
        return box

    async def _open(self, disk_bytes: int) -> None:
        loop = asyncio.get_running_loop()
        self.disk = await loop.run_in_executor(None, disk.make, self._home, disk_bytes, self._uid)
        self._slot = Slot(
            self._yard,
            self._group,
            self._uid,
            self.limits,
            on_message=self._on_message,
            on_broken=self._on_broken,
            disk=self.disk,
            doors=self._doors.ports,
            layers=self._layers,
        )
        await self._slot.start()
        try:
            await asyncio.wait_for(asyncio.shield(self._opened), OPEN_S)
        except TimeoutError:
            raise BoxFailed("a held box did not become ready") from None

    async def start(
        self, program: Program, *, wall_ms: int | None = None, stdin: int | None = None, stdout: int | None = None
    ) -> HeldProgram:
        """Start it beside whatever runs already; returns once it runs or could not be started.

        `stdin` and `stdout` are open files for it to have instead of ours, the end of another box's pipe for instance;
        they stay the caller's to close.
        """
        if self.frozen:
            raise Conflict("the box is frozen", hint="Thaw it first.")
        limits = replace(self.limits, wall_ms=wall_ms or self.limits.wall_ms)
        held = self._begin(program, limits, stdin, stdout)
        await held.started
        return held

    async def run(self, program: Program, *, wall_ms: int | None = None) -> HeldProgram:
        """Start it and wait for its end."""
        held = await self.start(program, wall_ms=wall_ms)
        try:
            await asyncio.shield(held.ended)
        except asyncio.CancelledError:
            held.stop("cancelled")
            raise
        return held

    def ends(self) -> dict[str, int]:
        """See Slot.ends."""
        return self._living().ends()

    @property
    def busy(self) -> bool:
        """A program runs, frozen or not."""
        return bool(self._programs)

    def stop_all(self, reason: StopReason) -> None:
        for program in list(self._programs.values()):
            program.stop(reason)

    async def freeze(self) -> None:
        """Stop every process where it is, in the middle of whatever it does; clocks of programs stop too."""
        if self.frozen:
            return
        slot = self._living()
        self.frozen = True
        for program in self._programs.values():
            program.stop_clock()
        if slot.cgroup is not None:
            slot.cgroup.freeze(True)
            await self._until_frozen(slot.cgroup)
        else:
            await self._hold_still(True)

    async def thaw(self) -> None:
        if not self.frozen:
            return
        slot = self._living()
        if slot.cgroup is not None:
            slot.cgroup.freeze(False)
        else:
            await self._hold_still(False)
        self.frozen = False
        for program in self._programs.values():
            program.start_clock()

    async def _until_frozen(self, group: Cgroup) -> None:
        await asyncio.get_running_loop().run_in_executor(None, group.await_frozen)

    async def _hold_still(self, still: bool) -> None:
        """Stop or continue the programs by signal, by the zygote: it alone sees them all where there are no groups."""
        self._answer = asyncio.get_running_loop().create_future()
        self._living().send({"freeze": still}, [])
        await self._answer

    async def snapshot(self, target: Path, *, most_bytes: int) -> int:
        """Write work and home folder as a tar archive; programs stand still meanwhile. Returns its size.

        The archive is made by a program in the box: nothing of ours ever walks what the tenant left.
        """
        if self.frozen:
            raise Conflict("the box is frozen", hint="Thaw it first: the archive is made inside it.")
        unfinished = target.with_name(target.name + ".new")
        out = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        await self._hold_still(True)
        try:
            command = Program(
                argv=[
                    "/usr/bin/tar",
                    "--create",
                    "--file=-",
                    "--format=posix",
                    "--sparse",
                    "-C",
                    "/box",
                    "work",
                    "home",
                ],
                env={"PATH": "/usr/bin:/bin"},
            )
            done = await self._run_with(command, stdout=out, most_bytes=most_bytes)
            if done.ended.result().reason != "completed":
                why = done.stderr().decode("utf-8", "replace").strip()[-200:]
                raise BoxFailed(f"the snapshot could not be made: {done.ended.result().reason} {why}".rstrip())
            unfinished.rename(target)
            return target.stat().st_size
        finally:
            os.close(out)
            unfinished.unlink(missing_ok=True)
            if self._slot is not None:
                await self._hold_still(False)

    async def _restore(self, source: Path) -> None:
        archive = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
        try:
            command = Program(
                argv=["/usr/bin/tar", "--extract", "--file=-", "--preserve-permissions", "-C", "/box"],
                env={"PATH": "/usr/bin:/bin"},
            )
            done = await self._run_with(command, stdin=archive)
        finally:
            os.close(archive)
        if done.ended.result().reason != "completed":
            raise BoxFailed(f"the snapshot could not be restored: {done.ended.result().reason}")

    async def _run_with(
        self, command: Program, *, stdin: int | None = None, stdout: int | None = None, most_bytes: int | None = None
    ) -> HeldProgram:
        """Run a tool of ours in the box, its standard streams joined to open files."""
        limits = replace(self.limits, wall_ms=SNAPSHOT_MS, file_bytes=most_bytes or self.limits.file_bytes)
        held = self._begin(command, limits, stdin, stdout)
        await held.ended
        return held

    def _begin(
        self, program: Program, limits: Limits, stdin: int | None = None, stdout: int | None = None
    ) -> HeldProgram:
        root = self._opened.result().root
        held = HeldProgram(
            next(self._ids),
            self._living(),
            program,
            limits,
            lambda: is_full(root, EXT4_UNUSABLE),
            stdin=stdin,
            stdout=stdout,
        )
        self._programs[held.id] = held
        held.ended.add_done_callback(lambda _: self._programs.pop(held.id, None))
        held.begin()
        return held

    async def collect(self, path: str, bounds: Bounds | None = None) -> Collected:
        """Regular files below `path` of the work folder, checked as those of a single-use box are."""
        where = f"work/{path}" if path else "work"
        return await self.look(lambda root: collect(root, where, bounds or Bounds()))

    async def carry(self, path: str, target: Path, load: Load) -> Carried:
        """Copy a folder below /box into a new one of ours; Foreign when something in it is no plain file."""
        return await self.look(lambda root: carry(root, path, target, load))

    async def look(self, work: Callable[[int], T]) -> T:
        """Do it in a thread, with the open folder /box. Nothing in it may be reached but by `open_beneath`."""
        root = self._opened.result().root
        looking = asyncio.ensure_future(asyncio.to_thread(work, root))
        try:
            return await asyncio.shield(looking)
        except asyncio.CancelledError:
            await asyncio.wait([looking])  # it reads in that folder, which is closed next
            raise

    async def close(self) -> None:
        """End every process; the disk stays. Safe to call again."""
        slot, self._slot = self._slot, None
        if slot is not None:
            await slot.close()
        self._fail_all("the box was closed", cancelled=True)
        await self._doors.close()
        if self._opened.done() and not self._opened.cancelled() and self._opened.exception() is None:
            self._opened.result().close()
            self._opened = asyncio.get_running_loop().create_future()
        if self._uid is not None:
            self._yard.uids.release(self._uid)
            self._uid = None

    async def discard(self) -> None:
        """Close it and remove its disk."""
        await self.close()
        if self.disk is not None:
            # An image is one file; a plain folder is only ours to remove because without root it has our own uid.
            await asyncio.get_running_loop().run_in_executor(None, shutil.rmtree, self._home, True)

    def _living(self) -> Slot:
        if self._slot is None or self.broken.is_set():
            raise BoxFailed("the box is gone", hint="Open it again; its disk is kept.")
        return self._slot

    def _on_message(self, message: Message, fds: list[int]) -> None:
        program = self._programs.get(message.get("id", 0))
        if "parked" in message:
            self._opened.set_result(Parked(*fds))
        elif "doors" in message:
            self._doors.open(message["doors"], fds)
        elif "frozen" in message:
            if self._answer is not None and not self._answer.done():
                self._answer.set_result(None)
        elif "started" in message and program is not None:
            program.on_started(fds[0])
        elif "fault" in message and program is not None:
            program.on_fault(message["fault"])
        elif "ended" in message and program is not None:
            program.on_ended(message)
        elif "failed" in message:
            self._yard.log.error("box_failed", box=str(self._home), why=message["failed"])
            if not self._opened.done():
                self._opened.set_exception(BoxFailed("a held box could not be made"))
            elif program is not None:
                program.on_fault("the box could not be made ready")
        else:
            for fd in fds:
                os.close(fd)

    def _on_broken(self) -> None:
        self.broken.set()
        self._fail_all("the box broke", cancelled=False)
        if not self._opened.done():
            words = self._slot.last_words() if self._slot is not None else ""
            self._opened.set_exception(BoxFailed(f"a held box could not be made: {words}"))

    def _fail_all(self, why: str, *, cancelled: bool) -> None:
        for program in list(self._programs.values()):
            program.on_broken(why, cancelled=cancelled)
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(BoxFailed(why))
