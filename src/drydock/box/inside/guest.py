"""The first program inside a gVisor sandbox: starts the caller's program under another user, and tells how it ended.

It is root of the sandbox's kernel alone, and that only so that the tenant can neither signal it nor write where it
writes. What it starts passes the same filter as in a box without gVisor.
"""

from __future__ import annotations

import marshal
import os
import signal

from . import kernel, python, stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

UID = 1000
JOB, ENDED = "/run/job", "/run/ended"
_FAULT_EXIT = 127


def main() -> NoReturn:
    job = _read_job()
    ended = os.open(ENDED, os.O_WRONLY | os.O_CLOEXEC)
    kernel.set_dumpable(False)  # what it was started with is not for the tenant to read
    os.umask(0o022)
    python.warm_up()
    tenant = os.fork()
    if tenant == 0:
        try:
            _become_tenant(job, ended)
        except BaseException as wrong:
            os.write(ended, b"lost %s: %s\n" % (type(wrong).__name__.encode(), str(wrong).encode()))
            os._exit(_FAULT_EXIT)
    while True:
        # Orphans of the tenant come to us too.
        pid, status = os.wait()
        if pid == tenant:
            if status != 0 and _tasks_of_tenant() >= job["rlimits"]["NPROC"] - 1:  # he himself is gone already
                os.write(ended, b"crowded \n")
            os.write(ended, b"%d" % status)  # past a fault's words, if there are any: these come first
            os._exit(0)


def _read_job() -> dict[str, Any]:
    with open(JOB, "rb") as file:
        job: dict[str, Any] = marshal.load(file)
    return job


def _tasks_of_tenant() -> int:
    """Processes and threads that he has, as this kernel counts them against his limit."""
    count = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if pid != "1":
            try:
                count += len(os.listdir("/proc/%s/task" % pid))
            except OSError:
                continue  # gone since it was listed
    return count


def _become_tenant(job: dict[str, Any], ended: int) -> NoReturn:
    os.setsid()
    stage.set_limits(job["rlimits"])  # still as root: each limit begins lower than ours
    # Not `never_regain`: gVisor knows no secure bits. Without them too, leaving root by setresuid empties every set.
    kernel.no_new_privileges()
    kernel.drop_bounding()
    os.setgroups([])
    os.setresgid(UID, UID, UID)
    os.setresuid(UID, UID, UID)
    kernel.drop_capabilities()
    kernel.set_dumpable(True)
    os.chdir(job["cwd"])
    stage.take_environment(job["env"])
    filters = [kernel.SeccompFilter(each) for each in job["filters"]]
    argv = job["argv"]
    if argv is None:
        os.close(ended)
        _install(filters)
        python.run(job["script"], job["cwd"])
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    _install(filters)
    try:
        os.execvpe(argv[0], argv, os.environ)
    except (OSError, ValueError) as wrong:
        reason = os.strerror(wrong.errno) if isinstance(wrong, OSError) and wrong.errno else str(wrong)
        os.write(ended, b"fault %s\n" % reason.encode())
        os._exit(_FAULT_EXIT)


def _install(filters: list[kernel.SeccompFilter]) -> None:
    for each in filters:
        each.install()
