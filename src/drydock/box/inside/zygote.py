"""The warm interpreter of one slot: parks one single-use box ahead, waits for its end, reports it.

fd 3 is a SOCK_SEQPACKET socket to the supervisor. The zygote reads its own settings from it once and only sends
afterwards; jobs are read by the parked box itself, so nothing that a caller sent is ever read by a process that
outlives his program.

    bubblewrap -> zygote (pid 1 of the slot)
                    |- sleeper   pid 1 of the box's own pid namespace (kernel.clone_sleeper)
                    `- box       pid 2 in it: mounts, waits for its job, drops all, is the tenant
"""

from __future__ import annotations

import _socket
import os
import signal
import sys

from . import gvisor, held, kernel, messages, python, stage, tenant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CTL = 3
_RENEW_EXIT = 77


def main() -> None:
    ctl = _socket.socket(fileno=CTL)
    os.set_inheritable(CTL, False)
    config, fds = messages.receive(ctl)
    if config is None:
        return
    stage.take_environment(config["env"])
    if config["outer_filter"]:
        kernel.never_regain()
        kernel.SeccompFilter(config["outer_filter"]).install()
    seccomp = kernel.SeccompFilter(config["inner_filter"])
    os.umask(0o022)
    oom_order = stage.OomOrder()
    kernel.set_dumpable(False)  # no process of the same uid may read our memory or files through /proc or ptrace
    python.warm_up()
    try:
        if config["held"]:
            oom_order.first()  # and its programs with it
            held.serve(ctl, seccomp, config["doors"], config["layers"])
        else:
            _Zygote(ctl, config, seccomp, oom_order, fds[0] if fds else None).serve()
    except BrokenPipeError:
        return  # the server is gone, and with it every reason to live


class _Zygote:
    def __init__(
        self,
        ctl: _socket.socket,
        config: dict[str, Any],
        seccomp: kernel.SeccompFilter,
        oom_order: stage.OomOrder,
        pids_current: int | None,
    ) -> None:
        self._ctl, self._seccomp, self._oom_order = ctl, seccomp, oom_order
        self._size = (config["work_bytes"], config["inodes"])
        self._tmpfs = stage.tmpfs_options(*self._size)
        self._gvisor = config["gvisor"]
        self._pids_current = pids_current
        self._own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self._renewal_asked, self._ask_renewal = os.pipe2(os.O_CLOEXEC)
        self._loopback = stage.Loopback()
        self._store = stage.Store()
        self._store.hide()

    def serve(self) -> None:
        idle = self._processes()
        while True:
            sleeper = kernel.clone_sleeper()
            handle = os.pidfd_open(sleeper)
            kernel.setns(handle, kernel.CLONE_NEWPID)
            self._oom_order.first()
            box = os.fork()
            if box == 0:
                try:
                    self._be_box(handle)
                except BaseException as wrong:
                    tenant.fail(self._ctl, wrong)
            self._oom_order.as_before()
            # Little else while the box lives: what is written now is copied, since it shares our memory until its end.
            _, status, used = os.wait4(box, 0)
            kernel.setns(self._own_pids, kernel.CLONE_NEWPID)
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.waitpid(sleeper, 0)  # returns only when every process of the namespace is gone
            os.close(handle)
            if status == _RENEW_EXIT << 8 and self._was_asked():
                self._renew()
            cpu_us = int((used.ru_utime + used.ru_stime) * 1e6)
            survivors = self._processes() - idle
            messages.send(self._ctl, {"ended": status, "survivors": survivors, "cpu_us": cpu_us, "id": 0}, [])
            if self._loopback.was_used():
                self._loopback.close()
                stage.fresh_network()
                self._loopback = stage.Loopback()

    def _be_box(self, handle: int) -> None:
        """Everything up to the job is done ahead, while nobody waits."""
        os.setsid()
        kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC)
        stage.mount_tmpfs(self._tmpfs)
        if self._gvisor:
            gvisor.prepare()
        stage.mount_proc(whole=bool(self._gvisor))
        root = os.open(stage.ROOT, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        messages.send(self._ctl, {"parked": True}, [handle, root])
        head, fds = messages.receive(self._ctl)
        if head is None:
            os._exit(0)
        if "renew" in head:
            os.write(self._ask_renewal, b"!")
            os._exit(_RENEW_EXIT)
        if head["size"] != self._size:
            stage.resize_tmpfs(stage.tmpfs_options(*head["size"]))
        if head["layers"]:
            self._mount(head["layers"])
        if head["doors"]:
            stage.hand_out_doors(self._ctl, head["doors"])
        if self._gvisor:
            gvisor.run(head, fds, self._gvisor, self._ctl)
        tenant.become(head, fds, self._seccomp, self._ctl)

    def _mount(self, layers: list[tuple[str, str]]) -> None:
        """All of them, or no program is run."""
        try:
            self._store.show(layers)
        except OSError as wrong:
            messages.send(self._ctl, {"unmounted": str(wrong), "id": 0}, [])
            os._exit(tenant.FAULT_EXIT)

    def _processes(self) -> int:
        """Processes of the slot: the kernel's own count, or where there is no group those that our /proc shows."""
        if self._pids_current is not None:
            return int(os.pread(self._pids_current, 32, 0))
        return sum(name.isdigit() for name in os.listdir("/proc"))

    def _was_asked(self) -> bool:
        # A tenant may exit with the same status, but this pipe was closed before he began.
        os.set_blocking(self._renewal_asked, False)
        try:
            return os.read(self._renewal_asked, 1) == b"!"
        except BlockingIOError:
            return False

    def _renew(self) -> None:
        """Become a new interpreter in the same walls: new hash seed, nothing of the past. Settings are sent again."""
        os.set_inheritable(CTL, True)
        self._store.go_back()
        os.execve(sys.executable, [sys.executable, "/drydock"], {})
