"""Runs programs as plain processes. No wall is promised; limits, a truthful end and no survivors are."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from drydock.box.capture import Capture
from drydock.box.ended import Ended
from drydock.box.limits import Limits
from drydock.box.program import Program, bytes_memfd
from drydock.box.running import Collect, OnOutput, Outcome, resource_limits, with_output
from drydock.box.stop import Stop, StopReason
from drydock.box.verdict import Witness, read_status
from drydock.box.yard import Yard
from drydock.errors import BoxFailed

LAUNCH = Path(__file__).with_name("launch.py")
INSIDE = Path(__file__).parents[1] / "inside"
ROOT = "/box"
RUN_SCRIPT = (
    "import sys; sys.path.insert(0, {ours!r}); from inside import python; sys.path.remove({ours!r}); "
    "python.warm_up(); python.run({script!r}, {cwd!r})"
)
"""Python code ends, flushes and brings its plots back as it does in a box."""


class Processes:
    def __init__(self, yard: Yard, places: int) -> None:
        self._yard, self.working = yard, places
        self._folders = Path(tempfile.mkdtemp(prefix="drydock-process-"))
        self._uids = [yard.uids.reserve() for _ in range(places)]

    async def start(self) -> None:
        # A tenant's uid may not be able to read where this package is.
        shutil.copytree(INSIDE, self._folders / "inside", ignore=shutil.ignore_patterns("__pycache__"))
        for path in (self._folders, *self._folders.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)

    async def run(
        self,
        program: Program,
        limits: Limits,
        *,
        stop: Stop | None = None,
        on_output: OnOutput | None = None,
        collect: Collect | None = None,
    ) -> Outcome:
        if program.layers:
            raise BoxFailed("isolation `process` has no packages", hint="Set the isolation to `box` for requirements.")
        if not self._uids:
            raise BoxFailed("no place is free for a program")
        uid = self._uids.pop()
        folder = Path(tempfile.mkdtemp(dir=self._folders))
        try:
            lay_out(folder, program, uid)
            with Running(self._yard, folder, program, limits, uid, on_output) as running:
                outcome = await running.over(stop or Stop())
            if collect is not None:
                root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    collecting = collect(root)
                    if collecting is not None:
                        await collecting
                finally:
                    os.close(root)
            return outcome
        finally:
            # By a program that no depth of folders exhausts; nobody is left who could change them meanwhile.
            await asyncio.get_running_loop().run_in_executor(None, subprocess.run, ["/bin/rm", "-rf", str(folder)])
            self._uids.append(uid)

    async def close(self) -> None:
        while self._uids:
            uid = self._uids.pop()
            if uid is not None:
                self._yard.uids.release(uid)
        shutil.rmtree(self._folders, ignore_errors=True)


class Running:
    """One program and its launcher, from start to account."""

    def __init__(
        self, yard: Yard, folder: Path, program: Program, limits: Limits, uid: int | None, on_output: OnOutput | None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._limits = limits
        python = yard.host.interpreter.path
        out = None if on_output is None else lambda data: on_output("stdout", data)
        err = None if on_output is None else lambda data: on_output("stderr", data)
        self._group = yard.group(f"process-{folder.name}")
        with ExitStack() as undo:
            if self._group is not None:
                undo.callback(self._group.remove)
                self._group.make(limits)
            self._witness = Witness(self._group)
            self._captures: list[Capture] = []
            for tell in (out, err):
                self._captures.append(Capture(limits.output_bytes, tell))
                undo.callback(self._captures[-1].close)
            order = {
                "argv": _argv(folder, program, python),
                "env": {name: _placed(folder, value) for name, value in program.env.items()},
                "cwd": str(folder / "work" / program.cwd),
                "uid": uid,
                "rlimits": resource_limits(limits, counted_by_group=self._group is not None),
                "procs": self._group.procs_files() if self._group is not None else [],
            }
            self._control, self._process = self._spawn(python, order, program.stdin)
            undo.callback(self._process.wait)
            undo.callback(self._control.close)  # by which the launcher ends what it has
            self._owned = undo.pop_all()
        self._began = time.monotonic()
        for capture in self._captures:
            capture.hand_over()
            self._loop.add_reader(capture.read_end, self._read, capture)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        for capture in self._captures:
            self._loop.remove_reader(capture.read_end)
        self._owned.close()

    def _spawn(
        self, python: str, order: Mapping[str, Any], stdin: bytes
    ) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        given, told = bytes_memfd(stdin), bytes_memfd(json.dumps(order).encode())
        try:
            process = subprocess.Popen(
                [python, "-I", "-S", str(LAUNCH), str(theirs.fileno()), str(told)],
                stdin=given,
                stdout=self._captures[0].write_end,
                stderr=self._captures[1].write_end,
                pass_fds=(theirs.fileno(), told),
                env={},
                cwd="/",
            )
        except OSError as wrong:
            ours.close()
            raise BoxFailed(f"a process could not be started: {wrong.strerror}") from wrong
        finally:
            os.close(given)
            os.close(told)
            theirs.close()
        ours.setblocking(False)
        return ours, process

    def _read(self, capture: Capture) -> None:
        if not capture.read_some():
            self._loop.remove_reader(capture.read_end)

    def _kill(self, reason: Literal["timeout"] | StopReason) -> None:
        if self._witness.killed_for is None:
            self._witness.killed_for = reason
            if self._group is not None:
                self._group.unthrottle()
            self._control.shutdown(socket.SHUT_WR)

    async def over(self, stop: Stop) -> Outcome:
        timer = self._loop.call_later(self._limits.wall_ms / 1000, self._kill, "timeout")
        stop.then(self._kill)
        try:
            account = json.loads(await self._loop.sock_recv(self._control, 1 << 16) or b"{}")
        finally:
            timer.cancel()
        wall_ms = int((time.monotonic() - self._began) * 1000)
        for capture in self._captures:
            capture.drain()
        out, err = self._captures
        return Outcome(with_output(self._account(account, wall_ms), out, err), out.data(), err.data())

    def _account(self, account: Mapping[str, Any], wall_ms: int) -> Ended:
        if not account:
            return Ended(self._witness.killed_for or "box_failed", wall_ms=wall_ms, detail="its launcher was killed")
        self._witness.fault = account["fault"] or None
        exit_code, signal = read_status(account["status"])
        return Ended(
            reason=self._witness.reason(exit_code, signal, lambda: False),
            exit_code=exit_code,
            signal=signal,
            wall_ms=wall_ms,
            cpu_ms=account["cpu_us"] // 1000,
            peak_memory_bytes=self._group.peak_bytes() if self._group is not None else 0,
            survivors=account["survivors"],
            detail=self._witness.detail,
        )


def lay_out(folder: Path, program: Program, uid: int | None) -> None:
    """The folders that a box has, and the caller's files in them, in a folder where no tenant has been yet."""
    folders = [folder, *(folder / name for name in ("work", "tmp", "home", "code"))]
    folders += [folder / "work" / name for name in program.folders]
    for path, data in program.files.items():
        file = Path(_placed(folder, path))
        folders += [parent for parent in file.parents if folder in parent.parents]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        folders.append(file)
    for each in dict.fromkeys(folders):
        if not each.is_file():
            each.mkdir(exist_ok=True, parents=True)
        if uid is not None:
            os.chown(each, uid, uid)


def _argv(folder: Path, program: Program, python: str) -> list[str]:
    if program.argv is not None:
        return [_placed(folder, each) for each in program.argv]
    script, cwd = _placed(folder, program.script), str(folder / "work" / program.cwd)
    return [python, "-c", RUN_SCRIPT.format(ours=str(folder.parent), script=script, cwd=cwd)]


def _placed(folder: Path, text: str) -> str:
    """Without a mount namespace there is no /box: what is named below it lies in the program's own folder."""
    return f"{folder}{text[len(ROOT) :]}" if text.startswith(ROOT + "/") else text
