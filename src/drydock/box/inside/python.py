"""Runs Python source in the warm interpreter so that the code cannot tell it from `python3 main.py`."""

from __future__ import annotations

import errno
import gc
import io
import itertools
import os
import signal
import sys
import types

from . import plots, stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

_OWN_FOLDER = "/drydock"
NO_NETWORK = "This code runs in a box without network: no address can be reached and no name resolved."
_modules_before = 0
_path_before: list[str] = []


def warm_up() -> None:
    """Pay once for what a first run pays lazily: compile() alone builds some 150 types of the syntax tree (1 ms)."""
    keep, sys.stdout = sys.stdout, io.StringIO()
    try:
        exec(compile("import sys\nx = [i for i in range(3)]\nprint(x)", "main.py", "exec"), {"__name__": "warm"})
    finally:
        sys.stdout = keep
    global _modules_before
    _modules_before = len(sys.modules)
    _path_before[:] = [entry for entry in sys.path if entry != _OWN_FOLDER]
    gc.collect()
    gc.freeze()  # what the zygote made is never looked at by a tenant's collector, so its pages stay shared


def run(script: str, cwd: str) -> NoReturn:
    main = types.ModuleType("__main__")
    names = main.__dict__
    names["__builtins__"], names["__file__"], names["__cached__"] = sys.modules["builtins"], script, None
    sys.modules["__main__"] = main
    sys.argv[:] = [script]
    more = stage.variable(b"PYTHONPATH")
    extra = [entry for entry in more.split(os.pathsep) if entry and entry != cwd] if more else []
    sys.path[:] = [cwd, *extra, *_path_before]
    plots.watch(stage.variable(b"OUTPUT_DIR") or stage.WORK)
    code = _call(lambda: exec(_compile(script), names))
    code = _wind_down(main, code)
    if code == -signal.SIGINT:
        # What CPython does with an unhandled KeyboardInterrupt: die of the signal, so that a parent can tell.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code & 0xFF)


def _compile(script: str) -> types.CodeType:
    fd = os.open(script, os.O_RDONLY | os.O_CLOEXEC)
    # By its size: a buffer for more would be mapped and given back, twice.
    parts, left = [], os.fstat(fd).st_size
    while left > 0 and (part := os.read(fd, left)):
        parts.append(part)
        left -= len(part)
    os.close(fd)
    return compile(b"".join(parts), script, "exec", dont_inherit=True)


def _call(work: Callable[[], object]) -> int:
    """Exit status of `work`, its exception shown as the interpreter would show it."""
    try:
        work()
    except SystemExit as leaving:
        return _exit_status(leaving.code)
    except BaseException as wrong:
        _show(wrong)
        return -signal.SIGINT if isinstance(wrong, KeyboardInterrupt) else 1
    return 0


def _exit_status(code: Any) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF if -(1 << 63) <= code < 1 << 63 else 0xFF
    try:
        print(code, file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):
        pass  # the code closed its own stderr: there is nobody to tell
    return 1


def _show(wrong: BaseException) -> None:
    trace = wrong.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__") == __name__:
        trace = trace.tb_next  # our own frames are not the caller's business
    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        pass  # a closed stdout is the code's own doing
    wrong.__traceback__ = trace
    _explain_network(wrong)
    try:
        sys.excepthook(type(wrong), wrong, trace)
    except BaseException as again:
        again.__context__ = None
        sys.__excepthook__(type(again), again, None)


def _explain_network(wrong: BaseException) -> None:
    """A library's error for a refused connection invites a retry; say that there is no network to come back."""
    cause: BaseException | None = wrong
    for _ in range(32):
        if cause is None:
            return
        if type(cause).__name__ == "gaierror" or (
            isinstance(cause, OSError) and cause.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH)
        ):
            if hasattr(wrong, "add_note"):  # Python 3.11
                wrong.add_note(NO_NETWORK)
            return
        cause = cause.__cause__ or cause.__context__


def _wind_down(main: types.ModuleType, code: int) -> int:
    """What the interpreter does at its end: threads joined, exit functions, finalizers, files flushed."""
    threading = sys.modules.get("threading")
    if threading is not None:
        code = _call(threading._shutdown) or code
    atexit = sys.modules.get("atexit")
    if atexit is not None:
        code = _call(atexit._run_exitfuncs) or code
    # Newest first, and only those loaded since the warm-up: a look at an older one would copy its pages.
    for name in itertools.islice(reversed(sys.modules), max(0, len(sys.modules) - _modules_before)):
        module = sys.modules[name]
        # Only the caller's own modules: their globals may hold the last reference to an unflushed file.
        if (getattr(module, "__file__", None) or "").startswith(stage.ROOT):
            module.__dict__.clear()
    main.__dict__.clear()
    gc.collect()
    _flush_open_files()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError, AttributeError):
            code = code or 120  # CPython's own status when stdout cannot be flushed at exit
    return code


def _flush_open_files() -> None:
    for thing in gc.get_objects():
        if isinstance(thing, (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)):
            try:
                thing.flush()
            except (OSError, ValueError):
                pass  # closed, or a disk that is full: as at an ordinary exit, nobody is left to be told
