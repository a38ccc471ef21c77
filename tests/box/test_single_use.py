"""Single-use boxes: how programs end, what limits do, what one program leaves for the next (nothing)."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from drydock.box.limits import MIB, Limits
from drydock.box.pool import Pool
from drydock.box.running import Outcome
from drydock.box.stop import Stop
from drydock.errors import BoxFailed
from tests.box.conftest import Fleet, RunProgram, command, hierarchy_of, python


def test_a_program_that_exits_with_0_has_completed(execute: RunProgram) -> None:
    outcome = execute("print('hi')")
    assert (outcome.ended.reason, outcome.ended.exit_code, outcome.stdout) == ("completed", 0, b"hi\n")
    assert outcome.ended.survivors == 0


@pytest.mark.parametrize("status", [1, 3, 77, 125, 127, 255])
def test_an_exit_status_is_reported_as_the_program_gave_it(execute: RunProgram, status: int) -> None:
    ended = execute(f"import sys; sys.exit({status})").ended
    assert (ended.reason, ended.exit_code) == ("exit_nonzero", status)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM, signal.SIGINT])
def test_a_program_that_dies_of_a_signal_is_told_so_by_name(execute: RunProgram, number: signal.Signals) -> None:
    n = int(number)
    ended = execute(f"import os, signal; signal.signal({n}, 0) if {n} != 9 else 0; os.kill(os.getpid(), {n})").ended
    assert (ended.reason, ended.signal, ended.exit_code) == ("signal", number.name, None)


def test_the_time_limit_ends_a_program_whatever_it_ignores(execute: RunProgram) -> None:
    code = (
        "import os, signal, time\nsignal.signal(15, signal.SIG_IGN)\n"
        "if os.fork() == 0: os.setsid(); os.fork()\ntime.sleep(60)"
    )
    ended = execute(code, wall_ms=300).ended
    assert (ended.reason, ended.survivors) == ("timeout", 0)
    assert ended.wall_ms < 1300


def test_more_memory_than_the_limit_ends_as_memory_limit(execute: RunProgram) -> None:
    ended = execute("x = bytearray(400 << 20)", memory_bytes=64 * MIB, work_bytes=16 * MIB).ended
    assert ended.reason == "memory_limit"
    assert not ended.retryable


def test_memory_within_the_limit_is_given(execute: RunProgram) -> None:
    ended = execute("x = bytearray(200 << 20)").ended
    assert ended.reason == "completed"
    assert 200 * MIB < ended.peak_memory_bytes < 260 * MIB


def test_files_do_not_count_against_memory_until_the_disk_is_full(execute: RunProgram) -> None:
    code = "import os\nfor i in range(4): open(f'f{i}', 'wb').write(bytes(60 << 20))\nx = bytearray(200 << 20)"
    assert execute(code).ended.reason == "completed"


def test_a_full_disk_is_an_error_in_the_program_and_a_reason_outside(execute: RunProgram) -> None:
    outcome = execute("for i in range(9): open(f'f{i}', 'wb').write(bytes(4 << 20))", work_bytes=16 * MIB)
    assert outcome.ended.reason == "disk_limit"
    assert b"No space left on device" in outcome.stderr


def test_too_many_files_are_refused_by_the_kernel(execute: RunProgram) -> None:
    outcome = execute("for i in range(500): open(f'f{i}', 'w').close()", inodes=100)
    assert outcome.ended.reason == "disk_limit"


def test_a_refused_fork_that_fails_the_program_is_a_process_limit(execute: RunProgram) -> None:
    outcome = execute("import os, time\nfor i in range(99):\n    if os.fork() == 0: time.sleep(60)", processes=16)
    assert outcome.ended.reason == "process_limit"
    assert outcome.ended.survivors == 0


def test_a_file_over_the_size_limit_is_refused(execute: RunProgram) -> None:
    outcome = execute("open('big', 'wb').write(bytes(3 << 20))", file_bytes=2 * MIB)
    assert b"File too large" in outcome.stderr


def test_output_past_the_limit_is_counted_and_not_kept(execute: RunProgram) -> None:
    outcome = execute("print('x' * 5_000_000)", output_bytes=1000)
    assert (outcome.ended.reason, outcome.ended.stdout_cut, outcome.ended.stdout_bytes) == (
        "completed",
        True,
        5_000_001,
    )
    assert outcome.stdout == b"x" * 1000


def test_a_program_that_is_not_there_could_not_be_started(execute: RunProgram) -> None:
    ended = execute(command("/no/such/program")).ended
    assert (ended.reason, ended.detail) == ("start_failed", "No such file or directory")
    assert ended.exit_code is None, "it had no chance to give one"


def test_a_program_that_exits_with_127_by_itself_was_started(execute: RunProgram) -> None:
    assert execute(command("/bin/sh", "-c", "exit 127")).ended.reason == "exit_nonzero"


def test_a_stop_from_outside_keeps_what_was_written(fleet: Fleet, pool: Pool) -> None:
    stop = Stop()
    told: list[bytes] = []

    def on_output(_: str, data: bytes) -> None:
        told.append(data)
        stop("cancelled")

    program = python("import time\nprint('begun', flush=True)\ntime.sleep(60)")
    outcome = fleet.run(pool.run(program, Limits(), stop=stop, on_output=on_output))
    assert (outcome.ended.reason, outcome.stdout, told) == ("cancelled", b"begun\n", [b"begun\n"])


def test_a_stop_given_before_the_start_is_obeyed(fleet: Fleet, pool: Pool) -> None:
    stop = Stop()
    stop("server_shutdown")
    outcome = fleet.run(pool.run(python("import time; time.sleep(60)"), Limits(), stop=stop))
    assert outcome.ended.reason == "server_shutdown"
    assert outcome.ended.retryable


def test_a_file_not_closed_is_flushed_at_the_end(fleet: Fleet, pool: Pool) -> None:
    seen: list[bytes] = []

    async def look(root: int) -> None:
        file = os.open("work/output/u", os.O_RDONLY, dir_fd=root)
        seen.append(os.read(file, 1000))
        os.close(file)

    code = "f = open('output/u', 'w')\nf.write('all of it')"
    fleet.run(pool.run(python(code), Limits(), collect=look))
    assert seen == [b"all of it"]


LEAVINGS = {
    "a file in each writable folder": "for d in ('/tmp', '/box/home', '/dev/shm', '/box/work'): open(d + '/left', 'w')",
    "shared memory of System V": "import ctypes; c = ctypes.CDLL(None); print(c.shmget(4242, 4096, 0o1666))",
    "a port in TIME_WAIT": (
        "import socket; s = socket.create_server(('127.0.0.1', 5555));"
        "c = socket.create_connection(('127.0.0.1', 5555));"
        "a, _ = s.accept(); a.close(); c.recv(1); c.close()"
    ),
    "a changed interpreter": "import builtins, sys, json; builtins.open = None; sys.path.clear(); json.dumps = None",
    "a changed environment": "import os; os.environ['LEFT'] = 'x'; os.umask(0o777); os.nice(5)",
    "a daemon": "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(600)",
}
LOOK = """
import os, sys, json, ctypes, socket
left = [d for d in ('/tmp', '/box/home', '/dev/shm', '/box/work') if os.path.exists(d + '/left')]
assert not left, left
assert ctypes.CDLL(None).shmget(4242, 4096, 0o666) == -1
assert len(open('/proc/net/tcp').readlines()) == 1, open('/proc/net/tcp').read()
socket.create_server(('127.0.0.1', 5555), reuse_port=False).close()
assert json.dumps([1]) == '[1]' and len(sys.path) > 3
assert 'LEFT' not in os.environ and os.umask(0) == 0o022 and os.nice(0) == 0
assert [p for p in os.listdir('/proc') if p.isdigit()] == ['1', '2']
print('clean')
"""


@pytest.mark.parametrize("leaving", LEAVINGS.values(), ids=LEAVINGS.keys())
def test_the_next_program_in_the_same_slot_finds_nothing_of_the_last(execute: RunProgram, leaving: str) -> None:
    assert execute(leaving).ended.survivors == 0
    outcome = execute(LOOK)
    assert outcome.stdout == b"clean\n", outcome.stderr


def test_a_signal_to_the_first_process_changes_nothing(execute: RunProgram) -> None:
    code = (
        "import os\nfor n in range(1, 65):\n    try: os.kill(1, n)\n    except (OSError, ValueError): pass\nprint('on')"
    )
    assert execute(code).stdout == b"on\n"
    assert execute("print('still')").stdout == b"still\n"


def test_an_interpreter_that_served_is_renewed_when_nobody_waits(fleet: Fleet, pool: Pool) -> None:
    seeds = {fleet.run(_hash_after_idleness(pool)) for _ in range(4)}
    assert len(seeds) == 4


async def _hash_after_idleness(pool: Pool) -> bytes:
    outcome = await pool.run(python("print(hash('a'))"), Limits())
    await pool.renewed()
    return outcome.stdout


def test_a_slot_that_was_killed_from_outside_is_made_anew(fleet: Fleet, pool: Pool, execute: RunProgram) -> None:
    hierarchy_of(fleet).group("slot-0").kill()
    first = execute("print('back')")
    assert first.ended.retryable or first.stdout == b"back\n"
    assert execute("print('back')").stdout == b"back\n"


def test_a_slot_that_is_being_killed_gets_no_program_though_a_box_is_parked_in_it(fleet: Fleet) -> None:
    pool = Pool(fleet.yard, 1)
    fleet.run(pool.start())

    async def kill_and_run() -> Outcome:
        slot = pool._places[0].slot
        assert slot is not None
        slot.kill()
        return await pool.run(python("print('served')"), Limits(wall_ms=10_000))

    try:
        assert fleet.run(kill_and_run()).stdout == b"served\n"
    finally:
        fleet.run(pool.close())


def test_no_slot_can_be_made_where_the_interpreter_fails(fleet: Fleet, tmp_path: Path) -> None:
    from dataclasses import replace

    from drydock.box.wall import Interpreter

    host = replace(fleet.yard.host, interpreter=Interpreter("/usr/bin/false", (3, 11)))
    broken = Pool(replace(fleet.yard, host=host), 1)

    async def attempt() -> None:
        try:
            await broken.start(within_s=1.0)
        finally:
            await broken.close()

    with pytest.raises(BoxFailed, match="no box could be made"):
        fleet.run(attempt())


def test_a_closed_pool_leaves_no_group_and_no_process(fleet: Fleet) -> None:
    pool = Pool(fleet.yard, 2)
    fleet.run(pool.start())
    group = hierarchy_of(fleet).group("slot-1")
    assert group.processes()
    fleet.run(pool.close())
    assert not group.processes()
    assert hierarchy_of(fleet).left_over() == []


def test_a_door_is_the_only_way_out_and_leads_to_our_handler(fleet: Fleet, pool: Pool) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"you said " + await reader.readline())
        await writer.drain()

    code = (
        "import socket\nc = socket.create_connection(('127.0.0.1', 8377)); c.sendall(b'knock\\n')\n"
        "print(c.makefile().read())\n"
        "try: socket.create_connection(('127.0.0.1', 8378))\nexcept OSError as wrong: print(wrong.strerror)"
    )
    outcome = fleet.run(pool.run(python(code), Limits(), doors={8377: answer}))
    assert outcome.stdout == b"you said knock\n\nConnection refused\n"
    assert fleet.run(pool.run(python(LOOK), Limits())).stdout == b"clean\n"
