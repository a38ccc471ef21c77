"""The kernel's own counting and killing: one control group for each slot, in v2, v1 and the hybrid of both.

A hybrid mounts v1 controllers and an empty v2 tree beside them; limits go to the former, freeze and kill to the
latter, because a process frozen by the v1 freezer cannot be killed until it is thawed.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from drydock.box.limits import Limits
from drydock.box.overhead import SLOT, Overhead

V1_CONTROLLERS = ("memory", "pids", "cpu", "cpuacct")


BOXES_CPU_WEIGHT = 10
"""Of v2's default 100: the server keeps ten times the weight of all boxes together, so it can always answer."""
TCP_MEMORY_BYTES = 32 << 20
KILL_PATIENCE_S = 5.0
FREEZE_PATIENCE_S = 10.0

Version = Literal["v2", "hybrid", "v1"]


class Hierarchy:
    """Where on this host groups can be made, and one folder there that holds all of this server's."""

    def __init__(self, version: Version, mounts: dict[str, Path], name: str) -> None:
        self.version = version
        self.parents = {controller: mount / name for controller, mount in mounts.items()}

    @classmethod
    def find(cls, name: str, mountinfo: str | None = None) -> Hierarchy | None:
        """The host's control groups if this process may make some; None if not."""
        text = Path("/proc/self/mountinfo").read_text() if mountinfo is None else mountinfo
        v1, v2 = _mounts(text)
        if v2 is not None and not set(V1_CONTROLLERS) & v1.keys():
            home = _own_v2_group(v2)
            found = cls("v2", {"unified": home}, name) if home is not None else None
        elif set(V1_CONTROLLERS) <= v1.keys():
            mounts = {controller: v1[controller] for controller in V1_CONTROLLERS}
            if v2 is not None:
                found = cls("hybrid", {**mounts, "unified": v2}, name)
            elif "freezer" in v1:
                found = cls("v1", {**mounts, "freezer": v1["freezer"]}, name)
            else:
                found = None
        else:
            found = None
        if found is None:
            return None
        try:
            found._prepare()
        except OSError:
            return None
        return found

    def _prepare(self) -> None:
        for controller, parent in self.parents.items():
            if controller == "unified" and self.version == "v2":
                _enable(parent.parent)
            parent.mkdir(exist_ok=True)
            if controller == "unified" and self.version == "v2":
                _enable(parent)
                _write(parent / "cpu.weight", BOXES_CPU_WEIGHT)
        if "cpu" in self.parents:
            _write(self.parents["cpu"] / "cpu.shares", BOXES_CPU_WEIGHT * 1024 // 100)

    def left_over(self) -> list[str]:
        """Names of the groups that a former server of the same folder left."""
        names: set[str] = set()
        for parent in self.parents.values():
            if parent.is_dir():
                names |= {entry.name for entry in parent.iterdir() if entry.is_dir()}
        return sorted(names)

    def group(self, name: str, overhead: Overhead = SLOT) -> Cgroup:
        return Cgroup(self.version, {c: parent / name for c, parent in self.parents.items()}, overhead)

    def remove(self) -> None:
        for parent in self.parents.values():
            _rmdir(parent)


class Cgroup:
    """The groups of one slot. Files that are read at each execution stay open."""

    def __init__(self, version: Version, folders: dict[str, Path], overhead: Overhead) -> None:
        self.version = version
        self._overhead = overhead
        self._folders = folders
        self._open: dict[str, int] = {}

    def make(self, limits: Limits) -> None:
        for folder in self._folders.values():
            folder.mkdir(exist_ok=True)
        self.limit(limits)

    def limit(self, limits: Limits) -> None:
        memory = limits.memory_bytes + limits.work_bytes + self._overhead.memory_bytes
        processes = limits.processes * self._overhead.tasks_each + self._overhead.processes
        period = 100_000
        quota = max(1000, int(limits.cpus * period))
        if self.version == "v2":
            group = self._folders["unified"]
            _write(group / "memory.max", memory)
            _write_if_there(group / "memory.swap.max", 0)
            _write(group / "pids.max", processes)
            _write(group / "cpu.max", f"{quota} {period}")
            return
        group = self._folders["memory"]
        # The swap limit may never be below the memory limit, so which goes first depends on the direction.
        swap = group / "memory.memsw.limit_in_bytes"
        if memory > int(_read(group / "memory.limit_in_bytes")):
            _write_if_there(swap, memory)
        _write(group / "memory.limit_in_bytes", memory)
        _write_if_there(swap, memory)
        _write_if_there(group / "memory.kmem.tcp.limit_in_bytes", TCP_MEMORY_BYTES)
        _write(self._folders["pids"] / "pids.max", processes)
        _write(self._folders["cpu"] / "cpu.cfs_period_us", period)
        _write(self._folders["cpu"] / "cpu.cfs_quota_us", quota)

    def unthrottle(self) -> None:
        """A box that is being killed may use all the CPU it needs to die: a thousand exits under a quota take long."""
        if self.version == "v2":
            _write(self._folders["unified"] / "cpu.max", "max")
        else:
            _write(self._folders["cpu"] / "cpu.cfs_quota_us", -1)

    def procs_files(self) -> list[str]:
        """What a process writes 0 to in order to enter."""
        return [str(folder / "cgroup.procs") for folder in self._folders.values()]

    def cpu_us(self) -> int:
        if self.version == "v2":
            return int(self._pread("unified", "cpu.stat").split(None, 2)[1])
        return int(self._pread("cpuacct", "cpuacct.usage")) // 1000

    def oom_kills(self) -> int:
        where = ("unified", "memory.events") if self.version == "v2" else ("memory", "memory.oom_control")
        return _counter(self._pread(*where), "oom_kill")

    def refused_forks(self) -> int:
        where = "unified" if self.version == "v2" else "pids"
        return _counter(self._pread(where, "pids.events"), "max")

    def pids_current_fd(self) -> int:
        """An open file of the process count, for the zygote to count survivors with."""
        return self._fd("unified" if self.version == "v2" else "pids", "pids.current", os.O_RDONLY)

    def reset_peak(self) -> None:
        try:
            if self.version == "v2":
                os.pwrite(self._fd("unified", "memory.peak", os.O_RDWR), b"reset", 0)
            else:
                os.pwrite(self._fd("memory", "memory.max_usage_in_bytes", os.O_RDWR), b"0", 0)
        except OSError as wrong:
            # Before Linux 6.12 v2's peak cannot be reset, and before 5.19 there is none.
            if wrong.errno not in (errno.EINVAL, errno.EACCES, errno.ENOENT):
                raise

    def peak_bytes(self) -> int:
        if self.version != "v2":
            return int(self._pread("memory", "memory.max_usage_in_bytes", os.O_RDWR))
        try:
            return int(self._pread("unified", "memory.peak", os.O_RDWR))
        except OSError:
            return self.current_bytes()

    def current_bytes(self) -> int:
        if self.version == "v2":
            return int(self._pread("unified", "memory.current"))
        return int(self._pread("memory", "memory.usage_in_bytes"))

    def processes(self) -> list[int]:
        folder = self._folders.get("unified", self._folders.get("pids"))
        assert folder is not None
        try:
            return [int(line) for line in _read(folder / "cgroup.procs").split()]
        except FileNotFoundError:
            return []

    def freeze(self, frozen: bool) -> None:
        if "unified" in self._folders:
            _write(self._folders["unified"] / "cgroup.freeze", int(frozen))
        else:
            _write(self._folders["freezer"] / "freezer.state", "FROZEN" if frozen else "THAWED")

    def await_frozen(self) -> None:
        """Return once every process stands still; a process in the middle of a system call takes a moment."""
        name = "unified" if "unified" in self._folders else "freezer"
        fd = os.open(
            self._folders[name] / ("cgroup.events" if name == "unified" else "freezer.state"),
            os.O_RDONLY | os.O_CLOEXEC,
        )
        try:
            give_up = time.monotonic() + FREEZE_PATIENCE_S
            while True:
                state = os.pread(fd, 4096, 0)
                if state.strip() == b"FROZEN" or _counter(state, "frozen") == 1:
                    return
                if time.monotonic() > give_up:
                    raise OSError(errno.ETIMEDOUT, "a box would not stand still")
                # v2 wakes us by POLLPRI; v1 has no event, so it is asked again after 10 ms.
                waiting = select.poll()
                waiting.register(fd, select.POLLPRI)
                waiting.poll(10 if name == "freezer" else 200)
        finally:
            os.close(fd)

    def kill(self) -> None:
        """SIGKILL to every process in the group, now."""
        if "unified" in self._folders:
            try:
                _write(self._folders["unified"] / "cgroup.kill", 1)
                return
            except FileNotFoundError:
                pass  # the group is gone, or Linux is older than 5.14: one by one then
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if "freezer" in self._folders and (self._folders["freezer"] / "freezer.state").exists():
            self.freeze(False)  # a process frozen by v1 dies only once it is thawed

    def ends(self) -> dict[str, int]:
        """Open files by which another process can end the group: `kill` (v2), `thaw` (v1). The caller's to close."""
        files = {"kill": ("unified", "cgroup.kill"), "thaw": ("freezer", "freezer.state")}
        return {
            name: os.open(self._folders[controller] / file, os.O_WRONLY | os.O_CLOEXEC)
            for name, (controller, file) in files.items()
            if controller in self._folders and (self._folders[controller] / file).exists()
        }

    def remove(self) -> None:
        """Kill what is left and take the folders away; OSError if the kernel will not let go of them."""
        for fd in self._open.values():
            os.close(fd)
        self._open.clear()
        give_up = time.monotonic() + KILL_PATIENCE_S
        while self.processes():
            self.kill()
            if time.monotonic() > give_up:
                raise OSError(errno.EBUSY, "processes of a box would not die")
            time.sleep(0.005)
        for folder in self._folders.values():
            _rmdir(folder)

    def _fd(self, controller: str, name: str, mode: int) -> int:
        key = f"{controller}/{name}"
        if key not in self._open:
            self._open[key] = os.open(self._folders[controller] / name, mode | os.O_CLOEXEC)
        return self._open[key]

    def _pread(self, controller: str, name: str, mode: int = os.O_RDONLY) -> bytes:
        return os.pread(self._fd(controller, name, mode), 4096, 0)


def _mounts(mountinfo: str) -> tuple[dict[str, Path], Path | None]:
    v1: dict[str, Path] = {}
    v2: Path | None = None
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        point = Path(before.split()[4].replace("\\040", " "))
        kind, _, options = after.partition(" ")
        if kind == "cgroup2":
            v2 = v2 or point
        elif kind == "cgroup":
            for option in options.split()[-1].split(","):
                v1.setdefault(option, point)
    return v1, v2


def _own_v2_group(mount: Path) -> Path | None:
    """The group below which we may make ours: the root of what we see, or the one that systemd delegated to us."""
    if os.access(mount / "cgroup.subtree_control", os.W_OK):
        return mount
    own = next((line[3:] for line in _read(Path("/proc/self/cgroup")).splitlines() if line.startswith("0::")), "/")
    group = mount / own.lstrip("/")
    return group if os.access(group / "cgroup.subtree_control", os.W_OK) else None


def _enable(group: Path) -> None:
    """Give the children of this group their controllers. A group with processes of its own cannot: move them aside."""
    wanted = "+cpu +memory +pids"
    try:
        _write(group / "cgroup.subtree_control", wanted)
    except OSError as wrong:
        if wrong.errno != errno.EBUSY:
            raise
        aside = group / "drydock-server"
        aside.mkdir(exist_ok=True)
        for pid in _read(group / "cgroup.procs").split():
            _write(aside / "cgroup.procs", pid)
        _write(group / "cgroup.subtree_control", wanted)


def _counter(text: bytes, name: str) -> int:
    for line in text.decode().splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return 0


def _read(path: Path) -> str:
    return path.read_text("ascii")


def _write(path: Path, value: object) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, str(value).encode())
    finally:
        os.close(fd)


def _write_if_there(path: Path, value: object) -> None:
    """For files that exist only with some kernel options, such as swap accounting."""
    try:
        _write(path, value)
    except FileNotFoundError:
        return


def _rmdir(folder: Path, now: Callable[[], float] = time.monotonic) -> None:
    """A group whose last process has just died stays busy for a moment; the kernel sends no event for its end."""
    give_up = now() + KILL_PATIENCE_S
    while True:
        try:
            folder.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError as wrong:
            if wrong.errno != errno.EBUSY or now() > give_up:
                raise
            time.sleep(0.005)
