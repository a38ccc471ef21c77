"""One program in a held box: its output by cursor, its stdin, its clock, and the account of its end."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from drydock.box.capture import Capture
from drydock.box.ended import Ended
from drydock.box.limits import Limits
from drydock.box.program import Program, body_memfd, bytes_memfd
from drydock.box.running import resource_limits, with_output
from drydock.box.slot import Message, Slot
from drydock.box.stop import StopReason
from drydock.box.transcript import StreamName, Transcript
from drydock.box.verdict import Witness, read_status
from drydock.errors import BoxFailed


class HeldProgram:
    """Made by HeldBox.start; everything it opened is closed when `ended` is done."""

    def __init__(
        self,
        number: int,
        slot: Slot,
        program: Program,
        limits: Limits,
        disk_is_full: Callable[[], bool],
        *,
        stdin: int | None = None,
        stdout: int | None = None,
    ) -> None:
        """`stdin` and `stdout` are open files to join instead of a pipe; they stay the caller's to close."""
        self._loop = asyncio.get_running_loop()
        self.id = number
        self.output = Transcript()
        self.started: asyncio.Future[None] = self._loop.create_future()
        self.ended: asyncio.Future[Ended] = self._loop.create_future()
        self._slot, self._program, self._limits = slot, program, limits
        self._disk_is_full = disk_is_full
        self._given_stdin, self._given_stdout = stdin, stdout
        self._captures: dict[StreamName, Capture] = {}
        self._kept: dict[StreamName, list[bytes]] = {"stdout": [], "stderr": []}
        self._stdin = -1
        self._handle = -1
        self._witness = Witness(slot.cgroup)
        self._timer: asyncio.TimerHandle | None = None
        self._left_s = limits.wall_ms / 1000
        self._clock_started = 0.0
        self._began = time.monotonic()

    def begin(self) -> None:
        """Send the job; the end is reported whatever happens from here on."""
        names: tuple[StreamName, StreamName] = ("stdout", "stderr")
        for name in names:
            self._captures[name] = Capture(self._limits.output_bytes, self._teller(name))
        body = body_memfd(self._program)
        stdin, self._stdin = self._open_stdin()
        out = self._captures["stdout"].write_end if self._given_stdout is None else self._given_stdout
        head: Message = {
            "id": self.id,
            "fds": ["body", "stdin", "stdout", "stderr"],
            "rlimits": resource_limits(self._limits, counted_by_group=self._slot.cgroup is not None),
            "read_only": self._program.read_only,
        }
        try:
            self._slot.send(head, [body, stdin, out, self._captures["stderr"].write_end])
        except BoxFailed as wrong:
            self.on_broken(wrong.message, cancelled=False)
            return
        finally:
            os.close(body)
            if stdin != self._given_stdin:
                os.close(stdin)
        for capture in self._captures.values():
            capture.hand_over()
            self._loop.add_reader(capture.read_end, self._read, capture)
        self.start_clock()

    def _open_stdin(self) -> tuple[int, int]:
        """What the program reads from, and our end of it: a pipe that stays open for `write`."""
        if self._given_stdin is not None:
            return self._given_stdin, -1
        if self._program.stdin:
            return bytes_memfd(self._program.stdin), -1
        read_end, write_end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(write_end, False)
        return read_end, write_end

    def _teller(self, name: StreamName) -> Callable[[bytes], None]:
        def tell(data: bytes) -> None:
            self._kept[name].append(data)
            self.output.add(name, data)

        return tell

    def stdout(self) -> bytes:
        return b"".join(self._kept["stdout"])

    def stderr(self) -> bytes:
        return b"".join(self._kept["stderr"])

    async def write(self, data: bytes) -> None:
        """Feed its stdin, as fast as it reads; BrokenPipeError when it has closed it or ended."""
        view = memoryview(data)
        while view:
            if self._stdin < 0:
                raise BrokenPipeError("stdin is closed")
            try:
                view = view[os.write(self._stdin, view) :]
            except BlockingIOError:
                await self._writable()

    async def _writable(self) -> None:
        ready: asyncio.Future[None] = self._loop.create_future()
        fd = self._stdin

        def wake() -> None:
            if not ready.done():
                ready.set_result(None)

        self._loop.add_writer(fd, wake)
        self.ended.add_done_callback(lambda _: wake())
        try:
            await ready
        finally:
            self._loop.remove_writer(fd)

    def close_stdin(self) -> None:
        if self._stdin >= 0:
            os.close(self._stdin)
            self._stdin = -1

    def signal(self, number: int) -> None:
        """Send a signal to the program's own process."""
        if self._handle >= 0:
            try:
                signal.pidfd_send_signal(self._handle, number)
            except ProcessLookupError:
                return  # it has ended: its report is on the way

    def stop(self, reason: Literal["timeout"] | StopReason) -> None:
        """Kill it with its session and all that descends from it; other programs of the box go on."""
        if self._witness.killed_for is None and not self.ended.done():
            self._witness.killed_for = reason
            try:
                self._slot.send({"stop": self.id}, [])
            except BoxFailed as wrong:
                self.on_broken(wrong.message, cancelled=True)

    def start_clock(self) -> None:
        if self._timer is None and not self.ended.done():
            self._clock_started = time.monotonic()
            self._timer = self._loop.call_later(max(0.0, self._left_s), self.stop, "timeout")

    def stop_clock(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._left_s -= time.monotonic() - self._clock_started

    def _read(self, capture: Capture) -> None:
        if not capture.read_some():
            self._loop.remove_reader(capture.read_end)

    def on_started(self, handle: int) -> None:
        self._handle = handle
        if not self.started.done():
            self.started.set_result(None)

    def on_fault(self, why: str) -> None:
        self._witness.fault = why

    def on_ended(self, message: Message) -> None:
        exit_code, signal = read_status(int(message["ended"]))
        reason = self._witness.reason(exit_code, signal, self._disk_is_full)
        exit_code = exit_code if self._witness.started else None
        cpu_ms = int(message["cpu_us"]) // 1000
        self._finish(Ended(reason, exit_code, signal, cpu_ms=cpu_ms, detail=self._witness.fault))

    def on_broken(self, why: str, *, cancelled: bool) -> None:
        self._finish(Ended(self._witness.killed_for or ("cancelled" if cancelled else "box_failed"), detail=why))

    def _finish(self, ended: Ended) -> None:
        if self.ended.done():
            return
        self.stop_clock()
        for capture in self._captures.values():
            self._loop.remove_reader(capture.read_end)
            capture.drain()
            capture.close()
        self.close_stdin()
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        ended = replace(ended, wall_ms=int((time.monotonic() - self._began) * 1000))
        self.ended.set_result(with_output(ended, self._captures["stdout"], self._captures["stderr"]))
        self.output.end()
        if not self.started.done():
            self.started.set_result(None)
