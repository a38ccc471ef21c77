"""The warm interpreter of a held box: many programs in one pid namespace over a workspace that outlives them."""

from __future__ import annotations

import os
import select
import signal

from . import kernel, messages, stage, tenant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable
    from typing import Any


def serve(ctl: socket, seccomp: kernel.SeccompFilter, doors: list[int], layers: list[tuple[str, str]]) -> None:
    store = stage.Store()
    store.hide()
    store.show(layers)
    _Held(ctl, seccomp, doors).serve()


class _Held:
    def __init__(self, ctl: socket, seccomp: kernel.SeccompFilter, doors: list[int]) -> None:
        self._ctl, self._seccomp = ctl, seccomp
        self._programs: dict[int, tuple[int, int]] = {}  # pidfd -> (program's id, pid)
        self._poll = select.poll()
        self._poll.register(ctl, select.POLLIN)
        # The slot's own /proc, from before it is covered: it alone shows every process with our numbers.
        self._slot_proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._sleeper = kernel.clone_sleeper()
        handle = os.pidfd_open(self._sleeper)
        kernel.setns(handle, kernel.CLONE_NEWPID)
        self._in_box(stage.mount_proc)
        stage.make_folders()
        root = os.open(stage.ROOT, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if doors:
            stage.hand_out_doors(ctl, doors)
        messages.send(ctl, {"parked": True}, [handle, root])
        os.close(root)

    def _in_box(self, work: Callable[[], None]) -> None:
        """Do it in a process of the box's pid namespace, since that is the /proc that must be mounted."""
        pid = os.fork()
        if pid == 0:
            try:
                work()
            except BaseException as wrong:
                tenant.fail(self._ctl, wrong)
            os._exit(0)
        os.waitpid(pid, 0)

    def serve(self) -> None:
        while True:
            for fd, _ in self._poll.poll():
                if fd != self._ctl.fileno():
                    self._report(fd)
                elif not self._obey():
                    return

    def _obey(self) -> bool:
        head, fds = messages.receive(self._ctl)
        if head is None:
            return False
        if "stop" in head:
            for pid, program in self._programs.values():
                if program == head["stop"]:
                    self._kill_tree(pid)
        elif "freeze" in head:
            self._signal_all(signal.SIGSTOP if head["freeze"] else signal.SIGCONT)
            messages.send(self._ctl, {"frozen": head["freeze"]}, [])
        else:
            self._start(head, fds)
        for fd in fds:
            os.close(fd)
        return True

    def _start(self, head: dict[str, Any], fds: list[int]) -> None:
        pid = os.fork()
        if pid == 0:
            try:
                os.setsid()
                if head["read_only"]:
                    stage.read_only_work()
                tenant.become(head, fds, self._seccomp, self._ctl)
            except BaseException as wrong:
                tenant.fail(self._ctl, wrong, head["id"])
        handle = os.pidfd_open(pid)
        self._programs[handle] = (pid, head["id"])
        self._poll.register(handle, select.POLLIN)
        messages.send(self._ctl, {"started": True, "id": head["id"]}, [handle])

    def _report(self, handle: int) -> None:
        pid, program = self._programs.pop(handle)
        self._poll.unregister(handle)
        os.close(handle)
        _, status, used = os.wait4(pid, 0)
        cpu_us = int((used.ru_utime + used.ru_stime) * 1e6)
        messages.send(self._ctl, {"ended": status, "id": program, "cpu_us": cpu_us, "survivors": 0}, [])

    def _processes(self) -> dict[int, tuple[int, int]]:
        """pid -> (parent, session) of everything in the box, numbers as the slot has them."""
        found = {}
        for name in os.listdir(self._slot_proc):
            if name.isdigit() and int(name) not in (os.getpid(), self._sleeper):
                try:
                    fd = os.open(name + "/stat", os.O_RDONLY, dir_fd=self._slot_proc)
                except OSError:
                    continue  # it ended since it was listed
                with os.fdopen(fd, "rb") as stat:
                    try:
                        fields = stat.read().rpartition(b")")[2].split()
                    except OSError:
                        continue
                found[int(name)] = (int(fields[1]), int(fields[3]))
        return found

    def _kill_tree(self, root: int) -> None:
        """Stop, then kill, the program with its session and descendants, until a look finds no new one."""
        doomed: set[int] = set()
        while True:
            processes = self._processes()
            family = {root} if root in processes else set()
            grown = True
            while grown:
                more = {p for p, (parent, session) in processes.items() if parent in family or session == root}
                grown = not more <= family
                family |= more
            if family <= doomed:
                break
            for pid in family - doomed:
                _signal(pid, signal.SIGSTOP)  # so that it forks no more while the others are found
            doomed |= family
        for pid in doomed:
            _signal(pid, signal.SIGKILL)

    def _signal_all(self, number: int) -> None:
        seen: set[int] = set()
        while True:
            fresh = set(self._processes()) - seen
            if not fresh:
                return
            for pid in fresh:
                _signal(pid, number)
            seen |= fresh


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass  # it has ended by itself
