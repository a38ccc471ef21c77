"""The tier without walls: what it does promise, which is a truthful end, limits and no survivors."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drydock.box.limits import MIB, Limits
from drydock.box.process import Processes
from drydock.box.program import Program
from drydock.box.running import Outcome
from drydock.box.stop import Stop
from drydock.errors import BoxFailed
from tests.box.conftest import Fleet, command, hierarchy_of, python

Run = Callable[..., Outcome]


@pytest.fixture
def processes(fleet: Fleet) -> Iterator[Processes]:
    made = Processes(fleet.yard, 1)
    fleet.run(made.start())
    yield made
    fleet.run(made.close())
    assert hierarchy_of(fleet).left_over() == []


@pytest.fixture
def execute(fleet: Fleet, processes: Processes) -> Run:
    def run(program: Program | str, *, wall_ms: int = 10_000, **limits: int | float) -> Outcome:
        asked = python(program) if isinstance(program, str) else program
        return fleet.run(processes.run(asked, Limits(wall_ms=wall_ms, **limits)))  # type: ignore[arg-type]

    return run


def alive(uid: int) -> list[str]:
    """Processes of a host uid that are not dead yet."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            status = Path(f"/proc/{name}/status").read_text()
        except OSError:
            continue
        if f"\nUid:\t{uid}\t" in status and "State:\tZ" not in status:
            found.append(name)
    return found


@pytest.mark.parametrize("status", [0, 3, 127, 255])
def test_an_exit_status_is_reported_as_the_program_gave_it(execute: Run, status: int) -> None:
    ended = execute(f"import sys; sys.exit({status})").ended
    assert (ended.reason, ended.exit_code) == ("exit_nonzero" if status else "completed", status)


def test_a_program_that_dies_of_a_signal_is_told_so_by_name(execute: Run) -> None:
    ended = execute("import os; os.kill(os.getpid(), 11)").ended
    assert (ended.reason, ended.signal, ended.exit_code) == ("signal", "SIGSEGV", None)


def test_a_program_that_is_not_there_could_not_be_started(execute: Run) -> None:
    ended = execute(command("/no/such/program")).ended
    assert (ended.reason, ended.detail) == ("start_failed", "No such file or directory")


def test_it_is_not_root_and_has_no_variable_of_the_server(execute: Run) -> None:
    said = execute("import os; print(os.getuid() == 0, sorted(os.environ))").stdout
    assert said == b"False ['HOME', 'LANG', 'PATH', 'TMPDIR']\n"


def test_files_and_standard_input_arrive_in_its_own_folder(execute: Run) -> None:
    program = Program(
        argv=["/bin/sh", "-c", "cat; cat a/b; pwd"], files={"/box/work/a/b": b"file\n"}, stdin=b"in\n", env={}
    )
    lines = execute(program).stdout.splitlines()
    assert lines[:2] == [b"in", b"file"]
    assert lines[2].startswith(b"/tmp/drydock-process-")


def test_whatever_ignores_signals_and_leaves_its_session_dies_with_it(execute: Run) -> None:
    code = """
import os, signal, time
for number in range(1, 32):
    try: signal.signal(number, signal.SIG_IGN)
    except OSError: pass
for _ in range(10):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: time.sleep(60)
        time.sleep(60)
print(os.getuid())
"""
    outcome = execute(code)
    assert (outcome.ended.reason, outcome.ended.survivors) == ("completed", 0)
    assert alive(int(outcome.stdout)) == []


def test_the_time_limit_ends_what_forks_without_rest(execute: Run) -> None:
    code = """
import os, time
print(os.getuid(), flush=True)
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        while True:
            try:
                if os.fork(): os._exit(0)
            except OSError: pass
time.sleep(60)
"""
    began = time.monotonic()
    outcome = execute(code, wall_ms=500, processes=32)
    assert (outcome.ended.reason, outcome.ended.survivors) == ("timeout", 0)
    assert time.monotonic() - began < 5
    assert alive(int(outcome.stdout)) == []


def test_memory_ends_where_its_limit_is(execute: Run) -> None:
    assert execute("x = bytearray(400 << 20)", memory_bytes=64 * MIB, work_bytes=MIB).ended.reason == "memory_limit"


def test_a_stop_from_outside_is_told_as_what_it_was(fleet: Fleet, processes: Processes) -> None:
    stop = Stop()
    stop("cancelled")
    assert fleet.run(processes.run(python("import time; time.sleep(60)"), Limits(), stop=stop)).ended.reason == (
        "cancelled"
    )


def test_packages_are_refused_by_name(fleet: Fleet, processes: Processes) -> None:
    with pytest.raises(BoxFailed, match="`process` has no packages"):
        fleet.run(processes.run(python("1", layers=(("key", "/packages"),)), Limits()))


def test_nothing_is_left_of_its_folder(execute: Run) -> None:
    deep = "import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')"
    folder = Path(execute("import os; print(os.getcwd())").stdout.decode().strip())
    execute(deep)
    assert not folder.exists()
    assert {entry.name for entry in folder.parents[1].iterdir()} == {"inside"}
