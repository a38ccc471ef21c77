"""One program in a single-use box, from the job's dispatch to the supervisor's account of its end."""

from __future__ import annotations

import asyncio
import functools
import os
import resource
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal

from drydock.box.capture import Capture
from drydock.box.doors import Doors
from drydock.box.ended import Ended, Reason
from drydock.box.limits import Limits
from drydock.box.program import Program, body_memfd, bytes_memfd
from drydock.box.slot import Message, Parked, Slot
from drydock.box.stop import Stop, StopReason
from drydock.box.verdict import Witness, is_full, read_status

StreamName = Literal["stdout", "stderr"]
OnOutput = Callable[[StreamName, bytes], None]
Collect = Callable[[int], Awaitable[None] | None]
"""Gets the folder /box once nothing in it can change any more. None when there is nothing to wait for."""
BACKSTOP_S = 0.5
"""After a kill the end must be reported within this; else the whole slot is killed."""
LISTEN_AFTER_S = 0.05
"""Most programs have ended by then, and what they wrote is taken out of their pipes at once: watching the pipes of each
would cost more than all else that the server does for it. Until then a program may write a pipe full."""


@dataclass(slots=True)
class Outcome:
    ended: Ended
    stdout: bytes
    stderr: bytes


class Running:
    """Lives from `begin` to `finished`; everything it opened is closed by then."""

    def __init__(
        self,
        slot: Slot,
        parked: Parked,
        program: Program,
        limits: Limits,
        stop: Stop,
        on_output: OnOutput | None,
        doors: Doors,
    ) -> None:
        """BoxFailed or OSError if it cannot begin; then nothing was started, and `parked` is still the caller's."""
        self._loop = asyncio.get_running_loop()
        self.finished: asyncio.Future[Outcome] = self._loop.create_future()
        self._slot, self._parked, self._doors = slot, parked, doors
        self._limits = limits
        self._witness = Witness(slot.cgroup)
        self._timers: list[asyncio.TimerHandle] = []
        out = None if on_output is None else lambda data: on_output("stdout", data)
        err = None if on_output is None else lambda data: on_output("stderr", data)
        self._captures: list[Capture] = []
        try:
            self._captures.append(Capture(limits.output_bytes, out))
            self._captures.append(Capture(limits.output_bytes, err))
            if on_output is None:
                for capture in self._captures:
                    capture.widen()
            self._begin(program)
        except BaseException:
            for capture in self._captures:
                capture.close()
            raise
        for capture in self._captures:
            capture.hand_over()
        self._listening = False
        if on_output is None:
            self._timers.append(self._loop.call_later(LISTEN_AFTER_S, self._listen))
        else:
            self._listen()
        self._timers.append(self._loop.call_later(limits.wall_ms / 1000, self.kill, "timeout"))
        stop.then(self.kill)

    def _begin(self, program: Program) -> None:
        group = self._slot.cgroup
        if group is not None:
            self._slot.apply(self._limits)
            group.reset_peak()
            self._memory_before = group.current_bytes()
            self._cpu_before = group.cpu_us()
        with ExitStack() as sent:
            fds, names = [body_memfd(program)], ["body"]
            sent.callback(os.close, fds[0])
            if program.stdin:
                fds.append(bytes_memfd(program.stdin))
                names.append("stdin")
                sent.callback(os.close, fds[1])
            head: Message = {
                "id": 0,
                "fds": [*names, "stdout", "stderr"],
                "rlimits": resource_limits(self._limits, counted_by_group=group is not None),
                "size": (self._limits.work_bytes, self._limits.inodes),
                "processes": self._limits.processes,
                "doors": self._doors.ports,
                "layers": list(program.layers),
            }
            self._started = time.monotonic()
            self._slot.send(head, [*fds, *(capture.write_end for capture in self._captures)])

    def _listen(self) -> None:
        self._listening = True
        for capture in self._captures:
            self._loop.add_reader(capture.read_end, self._read, capture)

    def _read(self, capture: Capture) -> None:
        if not capture.read_some():
            self._loop.remove_reader(capture.read_end)

    def kill(self, reason: Literal["timeout"] | StopReason) -> None:
        if self._witness.killed_for is None and not self.finished.done():
            self._witness.killed_for = reason
            self._slot.empty(self._parked.sleeper)
            self._timers.append(self._loop.call_later(BACKSTOP_S, self._slot.kill))

    def on_fault(self, why: str) -> None:
        self._witness.fault = why

    def on_unmounted(self, why: str) -> None:
        self._witness.unmounted = why

    def on_crowded(self) -> None:
        self._witness.crowded = True

    def on_lost(self, why: str) -> None:
        self._witness.lost = why

    def on_doors(self, ports: list[int], listeners: list[int]) -> None:
        self._doors.open(ports, listeners)

    def on_ended(self, message: Message) -> None:
        wall_ms = int((time.monotonic() - self._started) * 1000)
        self._finish(self._account(int(message["ended"]), wall_ms, message))

    def on_broken(self, why: str) -> None:
        wall_ms = int((time.monotonic() - self._started) * 1000)
        # The kernel may have had to take the zygote too, to make room for the program's last allocation.
        reason: Reason = "memory_limit" if self._witness.memory_ran_out() else "box_failed"
        reason = self._witness.killed_for or reason
        self._finish(Ended(reason, wall_ms=wall_ms, detail=why))

    def _finish(self, ended: Ended) -> None:
        if self.finished.done():
            return
        for timer in self._timers:
            timer.cancel()
        for capture in self._captures:
            if self._listening:
                self._loop.remove_reader(capture.read_end)
            capture.drain()
            capture.close()
        out, err = self._captures
        ended = with_output(ended, out, err)
        self.finished.set_result(Outcome(ended, out.data(), err.data()))

    def _account(self, status: int, wall_ms: int, message: Message) -> Ended:
        group = self._slot.cgroup
        exit_code, signal = read_status(status)
        cpu_us, peak = int(message["cpu_us"]), 0
        if group is not None:
            cpu_us = max(cpu_us, group.cpu_us() - self._cpu_before)
            peak = max(0, group.peak_bytes() - self._memory_before)
        return Ended(
            reason=self._witness.reason(exit_code, signal, lambda: is_full(self._parked.root)),
            exit_code=exit_code if self._witness.started else None,
            signal=signal,
            wall_ms=wall_ms,
            cpu_ms=cpu_us // 1000,
            peak_memory_bytes=peak,
            survivors=int(message["survivors"]),
            detail=self._witness.detail,
        )


@functools.lru_cache(64)
def resource_limits(limits: Limits, *, counted_by_group: bool) -> Mapping[str, int]:
    wanted = {"FSIZE": limits.file_bytes, "NOFILE": limits.open_files, "CORE": 0, "MEMLOCK": 1 << 20}
    if not counted_by_group:
        # Each process by itself then, which is less than a limit for the box: /health says so.
        wanted |= {"DATA": limits.memory_bytes, "NPROC": limits.processes}
    return {name: _at_most_ours(name, value) for name, value in wanted.items()}


def _at_most_ours(name: str, value: int) -> int:
    """In a user namespace nothing can be raised above what this server was given, which an engine may keep low."""
    most = resource.getrlimit(getattr(resource, "RLIMIT_" + name))[1]
    return value if most == resource.RLIM_INFINITY else min(value, most)


def with_output(ended: Ended, out: Capture, err: Capture) -> Ended:
    """By name, since `dataclasses.replace` looks at all fields again for each call."""
    return Ended(
        ended.reason,
        ended.exit_code,
        ended.signal,
        ended.wall_ms,
        ended.cpu_ms,
        ended.peak_memory_bytes,
        out.total,
        err.total,
        out.cut,
        err.cut,
        ended.survivors,
        ended.detail,
    )
