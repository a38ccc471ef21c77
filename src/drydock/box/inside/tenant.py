"""From the job's head to the tenant's first instruction. Everything before the drop is ours and reads nothing of his.

Written to touch little memory: in a fresh fork each page that is touched, reading a Python object included, is copied.
"""

from __future__ import annotations

import marshal
import os
import signal

from . import kernel, messages, python, stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from typing import Any, NoReturn

FAULT_EXIT = 127
_HIGHEST_FD = 1024  # far above what the zygote and one message can open; one close_range call on a recent kernel
_LENGTH_BYTES = 4


def become(head: dict[str, Any], fds: list[int], seccomp: kernel.SeccompFilter, ctl: socket) -> NoReturn:
    """Give up every privilege, lay out the caller's files, and run his program.

    The head comes from the supervisor; the body, read once nothing is left to lose, holds the caller's words.
    """
    kernel.drop_capabilities()
    names = head["fds"]
    stdin = fds[names.index("stdin")] if "stdin" in names else os.open("/dev/null", os.O_RDONLY)
    os.dup2(stdin, 0)
    os.dup2(fds[names.index("stdout")], 1)
    os.dup2(fds[names.index("stderr")], 2)
    body = lay_out(fds[names.index("body")])
    os.chdir(body["cwd"])
    stage.take_environment(body["env"])
    # The control socket stays open, closed on exec, so that a program that cannot be started is told apart from one
    # that exits with 127; the tenant's Python never sees it.
    keep = ctl.fileno()
    if keep > 3:
        os.closerange(3, keep)
    os.closerange(keep + 1, _HIGHEST_FD)
    stage.set_limits(head["rlimits"])
    argv = body["argv"]
    if argv is None:
        os.close(ctl.detach())
        seccomp.install()
        # Only now: while it could still be made to skip the filter, no other program of a held box may look into it.
        kernel.set_dumpable(True)
        python.run(body["script"], body["cwd"])
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    seccomp.install()
    try:
        os.execvpe(argv[0], argv, os.environ)
    except (OSError, ValueError) as wrong:
        reason = os.strerror(wrong.errno) if isinstance(wrong, OSError) and wrong.errno else str(wrong)
        messages.send(ctl, {"fault": reason, "id": head["id"]}, [])
        os._exit(FAULT_EXIT)


def lay_out(fd: int) -> dict[str, Any]:
    """Write the caller's files. The box is fresh, or the tenant's own: there is nobody here to be tricked but him."""
    data = memoryview(_read_all(fd))
    begin = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
    body: dict[str, Any] = marshal.loads(data[_LENGTH_BYTES:begin])
    for folder in body["folders"]:
        try:
            os.mkdir(folder, 0o755)
        except FileExistsError:
            continue
    for path, size in body["files"]:
        out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        end = begin + size
        while begin < end:
            begin += os.write(out, data[begin:end])
        os.close(out)
    return body


def _read_all(fd: int) -> bytes:
    size, parts, at = os.fstat(fd).st_size, [], 0
    while at < size:
        part = os.pread(fd, size - at, at)
        if not part:
            break
        parts.append(part)
        at += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def fail(ctl: socket, wrong: BaseException, program: int | None = None) -> NoReturn:
    """The box could not be made ready: say why to the supervisor, and to nobody else."""
    if ctl.fileno() >= 0:
        try:
            messages.send(ctl, {"failed": f"{type(wrong).__name__}: {wrong}", "id": program}, [])
        except OSError:
            pass  # the server is gone: nobody is left to be told
    os._exit(125)
