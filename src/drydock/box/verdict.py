"""Why a program ended, by the kernel's counters and the supervisor's own deeds; what the program says is not asked."""

from __future__ import annotations

import os
from collections.abc import Callable

from drydock.box.cgroup import Cgroup
from drydock.box.ended import Reason, signal_name


class Witness:
    """Looks at a box's counters before the program starts, and judges when it has ended."""

    def __init__(self, group: Cgroup | None) -> None:
        self._group = group
        self._ooms = group.oom_kills() if group is not None else 0
        self._refused = group.refused_forks() if group is not None else 0
        self.killed_for: Reason | None = None
        self.fault: str | None = None
        """Why it could not be started."""
        self.unmounted: str | None = None
        """Why a layer that it needs could not be mounted; it was not started then."""

        self.crowded = False
        """The kernel that it ran on says that it had all the processes it may have."""
        self.lost: str | None = None
        """Why the second kernel that it ran on went down."""

    @property
    def started(self) -> bool:
        """Else its exit status is one that we made up."""
        return self.fault is None and self.unmounted is None

    @property
    def detail(self) -> str | None:
        if self.lost is not None:
            return "the sandbox's own kernel went down"
        return self.fault if self.unmounted is None else "its packages could not be mounted"

    def memory_ran_out(self) -> bool:
        return self._group is not None and self._group.oom_kills() > self._ooms

    def limit_passed(self) -> Reason | None:
        """Of those that the kernel counts for the box as a whole."""
        if self.memory_ran_out():
            return "memory_limit"
        if self.crowded or (self._group is not None and self._group.refused_forks() > self._refused):
            return "process_limit"
        return None

    def reason(self, exit_code: int | None, signal: str | None, disk_is_full: Callable[[], bool]) -> Reason:
        if self.unmounted is not None:
            return "box_failed"
        if self.lost is not None:
            return self.killed_for or self.limit_passed() or "box_failed"
        if self.fault is not None:
            return "start_failed"
        if exit_code == 0:
            return "completed"
        if self.killed_for is not None and signal == "SIGKILL":
            return self.killed_for
        passed = self.limit_passed()
        if passed is not None:
            return passed
        if signal is None and disk_is_full():
            return "disk_limit"
        return "signal" if signal is not None else "exit_nonzero"


def read_status(status: int) -> tuple[int | None, str | None]:
    """Exit code and signal of a wait status, one of them None."""
    if os.WIFSIGNALED(status):
        return None, signal_name(os.WTERMSIG(status))
    return os.WEXITSTATUS(status), None


EXT4_UNUSABLE = 1 / 32
"""Of an ext4 disk, what may still show as free when a write has failed: blocks held back for delayed allocation."""


def is_full(folder: int, unusable: float = 0.0) -> bool:
    """A write to the disk that `folder` is on failed for want of room, as far as the disk still shows it."""
    state = os.fstatvfs(folder)
    margin = max(1 << 16, int(state.f_blocks * state.f_frsize * unusable))
    return state.f_bavail * state.f_frsize < margin or state.f_favail < 2
