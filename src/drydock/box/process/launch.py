"""Starts one program and is the parent of all that it leaves: the step between server and a tenant without walls.

    python3 -I -S launch.py CONTROL ORDER      (open files: a socket for the account, the order as JSON)

It outlives a killed server by no more than the moment in which the control socket ends.
"""

import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from typing import Any

PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
FAULT_EXIT = 127
KILL_S = 5.0
LIMITS = {name: getattr(resource, "RLIMIT_" + name) for name in ("FSIZE", "NOFILE", "CORE", "MEMLOCK", "DATA", "NPROC")}
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(control.fileno(), False)
    with open(int(sys.argv[2]), "rb") as told:
        order = json.load(told)
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    read_end, write_end = os.pipe()
    tenant = os.fork()
    if tenant == 0:
        become(order, write_end)
    os.close(write_end)
    fault = os.read(read_end, 4096).decode()
    handle = os.pidfd_open(tenant)
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    waiting.register(control, select.POLLIN)
    waiting.poll()  # its own end, or that of the server's side: closed to have it killed, or with the server
    status, used = end(tenant, order["uid"])
    account = {"status": status, "survivors": len(descendants()), "cpu_us": int(used * 1e6), "fault": fault}
    try:
        control.send(json.dumps(account).encode())
    except OSError:
        sys.exit(1)  # the server is gone: nobody is left to be told


def become(order: "dict[str, Any]", told: int) -> None:
    """Up to the tenant's first instruction; `told` closes by itself when it gets there."""
    try:
        os.setsid()
        for path in order["procs"]:
            with open(path, "w") as group:
                group.write("0")
        for name, value in order["rlimits"].items():
            resource.setrlimit(LIMITS[name], (value, value))
        _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if order["uid"] is not None:
            os.setgroups([])
            os.setresgid(order["uid"], order["uid"], order["uid"])
            os.setresuid(order["uid"], order["uid"], order["uid"])
        os.umask(0o022)
        os.chdir(order["cwd"])
        for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(order["argv"][0], order["argv"], order["env"])
    except (OSError, ValueError) as wrong:
        os.write(
            told, (os.strerror(wrong.errno) if isinstance(wrong, OSError) and wrong.errno else str(wrong)).encode()
        )
    finally:
        os._exit(FAULT_EXIT)


def end(tenant: int, uid: "int | None") -> "tuple[int, float]":
    """Kill all that there is below us; status of the tenant, and the seconds of CPU that all of it used."""
    status, give_up = int(signal.SIGKILL), time.monotonic() + KILL_S
    while time.monotonic() < give_up:
        kill_all(uid)
        try:
            pid, found = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if pid == tenant:
            status = found
        if pid == 0:
            time.sleep(0.001)  # killed, and not dead yet: the kernel tells nobody of it but by SIGCHLD
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return status, used.ru_utime + used.ru_stime


def kill_all(uid: "int | None") -> None:
    if uid is None:
        for pid in descendants():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return
    killer = os.fork()
    if killer == 0:
        # As the tenant's own uid, one call reaches all of it at once, however fast it forks; and nobody else.
        os.setresuid(uid, uid, uid)
        try:
            os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    os.waitpid(killer, 0)


def descendants() -> "list[int]":
    """Whoever leaves its parents becomes our child, so all of it is below us."""
    children: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat:
                state, parent = stat.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            children.setdefault(int(parent), []).append(int(name))
    found, look = [], [os.getpid()]
    while look:
        below = children.get(look.pop(), [])
        found += below
        look += below
    return found


if __name__ == "__main__":
    main()
