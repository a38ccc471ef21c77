"""One slot: bubblewrap, the zygote in it, and the box that is parked there. Spawns it, talks to it, ends it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drydock.box import wall
from drydock.box.cgroup import Cgroup
from drydock.box.disk import Disk
from drydock.box.inside import messages
from drydock.box.limits import Limits
from drydock.box.program import Layer, env_bytes
from drydock.box.yard import Yard
from drydock.errors import BoxFailed

LAUNCH = Path(__file__).with_name("launch.py")
TERMINATION_S = 5.0


@dataclass(slots=True)
class Parked:
    """A box that waits for its job."""

    sleeper: int
    """pidfd of the box's first process: killing it empties the box."""
    root: int
    """The folder /box, for the collector."""

    def close(self) -> None:
        os.close(self.sleeper)
        os.close(self.root)


Message = dict[str, Any]


class Slot:
    """Owns one process tree, its control socket and its control group, from start to close."""

    def __init__(
        self,
        yard: Yard,
        cgroup: Cgroup | None,
        uid: int | None,
        limits: Limits,
        *,
        on_message: Callable[[Message, list[int]], None],
        on_broken: Callable[[], None],
        disk: Disk | None = None,
        doors: Sequence[int] = (),
        layers: Sequence[Layer] = (),
    ) -> None:
        """With a `disk` it is a held box, whose programs share it; without, boxes are parked in it one by one."""
        self.cgroup = cgroup
        self.limits = limits
        self._throttled = True
        self._yard = yard
        self._uid = uid
        self._disk, self._doors, self._layers = disk, list(doors), list(layers)
        # Root and nobody of the user namespace in which gVisor works are uids of their own on the host.
        self._beside = [yard.uids.reserve_one() for _ in range(2)] if yard.runsc is not None else []
        self._on_message = on_message
        self._on_broken = on_broken
        self._process: subprocess.Popen[bytes] | None = None
        self._ctl: socket.socket | None = None
        self._said: int = -1
        self._killed = False
        self._loop = asyncio.get_running_loop()

    async def start(self) -> None:
        await self._loop.run_in_executor(self._yard.spawner, self._spawn)
        assert self._ctl is not None
        self._loop.add_reader(self._ctl.fileno(), self._receive)

    def _spawn(self) -> None:
        if self.cgroup is not None:
            self.cgroup.make(self.limits)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        built = wall.build(
            self._yard.host.interpreter,
            self._yard.inside,
            str(self._yard.store),
            self._disk.folder if self._disk else None,
            self._yard.runsc is not None,
        )
        order = {
            "ctl": theirs.fileno(),
            "procs": self.cgroup.procs_files() if self.cgroup is not None else [],
            "uid": self._uid,
            "beside": self._beside,
            "bwrap": self._yard.host.bwrap,
            "arguments": built.arguments,
            "files": built.files,
            "texts": {"/etc/" + name: text for name, text in wall.ETC_FILES.items()},
            "staged": built.staged,
            "image": self._disk.image if self._disk else None,
            "command": [self._yard.host.interpreter.path, "/drydock"],
        }
        said = os.memfd_create("stderr", os.MFD_CLOEXEC)
        try:
            self._process = subprocess.Popen(
                [self._yard.host.interpreter.path, "-I", "-S", str(LAUNCH), json.dumps(order)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                pass_fds=(theirs.fileno(),),
                process_group=0,  # Ctrl-C reaches the whole group of the server, and is for the server alone
                env={},
                cwd="/",
            )
        except OSError as wrong:
            os.close(said)
            ours.close()
            raise BoxFailed(f"a box could not be started: {wrong.strerror}") from wrong
        finally:
            theirs.close()
        if self._said >= 0:
            os.close(self._said)
        self._said = said
        ours.setblocking(False)
        self._ctl = ours
        self._send_settings(first=True)

    def _send_settings(self, *, first: bool) -> None:
        outer, inner = self._yard.seccomp
        runsc = self._yard.runsc
        settings = {
            "gvisor": None
            if runsc is None
            else {"runsc": runsc.path, "hostname": wall.HOSTNAME, "filters": [outer, inner]},
            "held": self._disk is not None,
            "env": env_bytes(self._yard.usual) if self._disk is None else [],
            "work_bytes": self.limits.work_bytes,
            "inodes": self.limits.inodes,
            "doors": self._doors,
            "layers": self._layers,
            # A renewed interpreter still has what it took on the first time, and could not take it off.
            # gVisor brings filters of its own for the host's calls; ours stands inside it then.
            "outer_filter": outer if first and runsc is None else b"",
            "inner_filter": inner,
        }
        self.send(settings, [] if self.cgroup is None else [self.cgroup.pids_current_fd()])

    def send(self, message: Message, fds: list[int]) -> None:
        if self._ctl is None or self._killed:
            raise BoxFailed("the box is gone")
        try:
            messages.send(self._ctl, message, fds)
        except OSError as wrong:
            raise BoxFailed(f"the box does not listen: {wrong.strerror}") from wrong

    def renew(self) -> None:
        """Put a new interpreter into the same walls; it reports as parked when it is ready."""
        self.send({"renew": True}, [])
        self._send_settings(first=False)

    def apply(self, limits: Limits) -> None:
        """Change the kernel's limits, if these are others than those in force."""
        if self.cgroup is not None and (limits != self.limits or not self._throttled):
            self.cgroup.limit(limits)
        self.limits, self._throttled = limits, True

    def empty(self, sleeper: int) -> None:
        """Kill all that is in the box. Its processes die together, whatever they ignore and wherever they forked to."""
        if self.cgroup is not None:
            self.cgroup.unthrottle()
            self._throttled = False
        try:
            signal.pidfd_send_signal(sleeper, signal.SIGKILL)
        except ProcessLookupError:
            return  # it ended by itself in this very moment

    def _receive(self) -> None:
        assert self._ctl is not None
        try:
            message, fds = messages.receive(self._ctl)
        except BlockingIOError:
            return
        except OSError:
            message, fds = None, []
        if message is not None:
            self._on_message(message, fds)
        else:
            self._hang_up()
            self._on_broken()

    def last_words(self) -> str:
        """What bubblewrap or the interpreter said when it failed; for the operator's log, never for a reply."""
        if self._said < 0:
            return ""
        text = os.pread(self._said, 4096, 0).decode("utf-8", "replace").strip()
        return text.splitlines()[-1] if text else "no word of why"

    def ends(self) -> dict[str, int]:
        """Handles by which another process can end the slot, whatever becomes of this one. The caller's to close."""
        assert self._process is not None
        held = {} if self.cgroup is None else self.cgroup.ends()
        return {"process": os.pidfd_open(self._process.pid), **held}

    def kill(self) -> None:
        """Every process of the slot, now. It takes no program any more, though a box may be parked in it."""
        self._killed = True
        if self.cgroup is not None:
            self.cgroup.kill()
        if self._process is not None:
            self._process.kill()

    def _hang_up(self) -> None:
        if self._ctl is not None:
            self._loop.remove_reader(self._ctl.fileno())
            self._ctl.close()
            self._ctl = None

    async def close(self) -> None:
        """End every process and give back the group; safe to call again."""
        self._hang_up()
        await self._loop.run_in_executor(self._yard.spawner, self._clean_up)
        while self._beside:
            self._yard.uids.release(self._beside.pop())

    def _clean_up(self) -> None:
        self.kill()
        if self._process is not None:
            self._process.wait(TERMINATION_S)
            self._process = None
        if self._said >= 0:
            os.close(self._said)
            self._said = -1
        if self.cgroup is not None:
            self.cgroup.remove()
