"""Held boxes: programs in turn and side by side over one workspace."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from drydock.box.ended import Ended
from drydock.box.held import HeldBox
from drydock.box.held_program import HeldProgram
from drydock.box.limits import MIB, Limits
from drydock.box.program import Program
from drydock.box.tier import Isolation
from drydock.errors import BoxFailed, Conflict, Invalid
from tests.box.conftest import Fleet, command, hierarchy_of, python

DISK = 32 * MIB


def shell(text: str, **more: object) -> Program:
    return command("/bin/sh", "-c", text, **more)


@pytest.fixture
def box(fleet: Fleet, tmp_path: Path) -> Iterator[HeldBox]:
    held = fleet.run(HeldBox.open(fleet.yard, tmp_path / "home", Limits(), disk_bytes=DISK))
    yield held
    fleet.run(held.discard())
    assert not (tmp_path / "home").exists()


def ended(program: HeldProgram) -> Ended:
    return program.ended.result()


@pytest.mark.parametrize("isolation", ["gvisor", "process"])
def test_a_held_box_of_another_tier_is_refused_by_name(fleet: Fleet, tmp_path: Path, isolation: Isolation) -> None:
    with pytest.raises(Invalid, match=isolation):
        fleet.run(HeldBox.open(fleet.yard, tmp_path / "home", Limits(), disk_bytes=DISK, isolation=isolation))
    assert not (tmp_path / "home").exists()


def test_what_one_program_writes_the_next_one_reads(fleet: Fleet, box: HeldBox) -> None:
    fleet.run(box.run(shell("echo kept > file; cd /tmp; echo too > other")))
    assert fleet.run(box.run(shell("cat file /tmp/other"))).stdout() == b"kept\ntoo\n"


def test_code_runs_in_the_warm_interpreter_too(fleet: Fleet, box: HeldBox) -> None:
    program = fleet.run(box.run(python("import os; print(os.getcwd(), __name__)")))
    assert program.stdout() == b"/box/work __main__\n"


def test_programs_run_side_by_side_and_see_each_other(fleet: Fleet, box: HeldBox) -> None:
    async def both() -> bytes:
        first = await box.start(shell("echo up; read line; echo got $line"))
        assert (await anext(first.output.follow())).data == b"up\n"
        second = await box.run(shell("pgrep -c -f 'read line'"))
        await first.write(b"word\n")
        await first.ended
        return first.stdout() + second.stdout()

    assert fleet.run(both()) == b"up\ngot word\n2\n"


def test_a_background_process_outlives_the_command_that_began_it(fleet: Fleet, box: HeldBox) -> None:
    fleet.run(box.run(shell("sleep 300 >/dev/null 2>&1 & echo $! > pid")))
    assert ended(fleet.run(box.run(shell("kill -0 $(cat pid)")))).reason == "completed"


def test_output_can_be_followed_from_any_cursor(fleet: Fleet, box: HeldBox) -> None:
    async def follow() -> tuple[list[bytes], list[bytes]]:
        program = await box.start(shell("for i in 1 2 3; do echo $i; read x; done"))
        whole = []
        async for piece in program.output.follow():
            whole.append(piece.data)
            await program.write(b"\n")
        again = [piece.data async for piece in program.output.follow(after=1)]
        return whole, again

    whole, again = fleet.run(follow())
    assert whole == [b"1\n", b"2\n", b"3\n"]
    assert again == [b"2\n", b"3\n"]


def test_a_signal_reaches_the_program(fleet: Fleet, box: HeldBox) -> None:
    async def go() -> HeldProgram:
        program = await box.start(shell("trap 'echo heard; exit 4' USR1; echo up; while :; do sleep 0.01; done"))
        async for piece in program.output.follow():
            if piece.data == b"up\n":
                program.signal(signal.SIGUSR1)
        return program

    program = fleet.run(go())
    assert (program.stdout(), ended(program).exit_code) == (b"up\nheard\n", 4)


def test_stdin_is_fed_as_fast_as_it_is_read_and_then_closed(fleet: Fleet, box: HeldBox) -> None:
    async def go() -> HeldProgram:
        program = await box.start(command("wc", "-c"))
        await program.write(bytes(1 << 20))
        program.close_stdin()
        await program.ended
        return program

    assert fleet.run(go()).stdout() == b"1048576\n"


def test_a_time_limit_ends_the_program_with_its_family_and_nothing_else(fleet: Fleet, box: HeldBox) -> None:
    fleet.run(box.run(shell("sleep 301 >/dev/null 2>&1 &")))
    late = fleet.run(box.run(shell("(sleep 302 & sleep 303) & sleep 304"), wall_ms=200))
    assert ended(late).reason == "timeout"
    left = fleet.run(box.run(shell("ps ax -o args | grep ^sleep"))).stdout()
    assert left == b"sleep 301\n"


def test_stopping_one_program_lets_the_others_go_on(fleet: Fleet, box: HeldBox) -> None:
    async def go() -> tuple[Ended, Ended]:
        one = await box.start(shell("sleep 60"))
        other = await box.start(shell("read x; exit 7"))
        one.stop("cancelled")
        await one.ended
        await other.write(b"\n")
        return await one.ended, await other.ended

    one, other = fleet.run(go())
    assert (one.reason, other.exit_code) == ("cancelled", 7)


def test_a_frozen_box_stands_still_with_its_clocks(fleet: Fleet, box: HeldBox) -> None:
    async def go() -> HeldProgram:
        program = await box.start(shell("for i in 1 2 3 4; do echo $i; sleep 0.1; done"), wall_ms=1000)
        async for _ in program.output.follow():
            break
        await box.freeze()
        written = len(program.stdout())
        with pytest.raises(Conflict):
            await box.start(shell("true"))
        await asyncio.wait([program.ended], timeout=1.2)
        assert len(program.stdout()) == written
        await box.thaw()
        await program.ended
        return program

    program = fleet.run(go())
    assert ended(program).reason == "completed"
    assert program.stdout() == b"1\n2\n3\n4\n"


def test_a_frozen_box_can_be_closed(fleet: Fleet, tmp_path: Path) -> None:
    async def go() -> HeldProgram:
        held = await HeldBox.open(fleet.yard, tmp_path / "frozen", Limits(), disk_bytes=DISK)
        program = await held.start(shell("sleep 60"))
        await held.freeze()
        await held.discard()
        return program

    assert ended(fleet.run(go())).reason == "cancelled"
    assert hierarchy_of(fleet).left_over() == []


def test_the_disk_is_as_large_as_it_was_asked_to_be_and_no_larger(fleet: Fleet, box: HeldBox) -> None:
    program = fleet.run(box.run(command("dd", "if=/dev/zero", "of=big", "bs=1M", "count=40")))
    assert b"No space left on device" in program.stderr()
    assert ended(program).reason == "disk_limit"


def test_the_disk_takes_no_device_and_no_setuid(fleet: Fleet, box: HeldBox) -> None:
    options = fleet.run(box.run(shell("grep ' /box ' /proc/self/mountinfo"))).stdout().split()[5]
    assert {b"nosuid", b"nodev"} <= set(options.split(b","))


def test_a_snapshot_brings_work_and_home_back_elsewhere(fleet: Fleet, box: HeldBox, tmp_path: Path) -> None:
    async def go() -> bytes:
        await box.run(shell("mkdir d; echo one > d/f; ln -s /etc/passwd link; echo h > ~/h; chmod 700 d/f"))
        target = tmp_path / "snapshot.tar"
        assert await box.snapshot(target, most_bytes=DISK) == target.stat().st_size
        other = await HeldBox.open(fleet.yard, tmp_path / "other", Limits(), disk_bytes=DISK, restore=target)
        try:
            return (await other.run(shell("cat d/f ~/h; readlink link; stat -c %a d/f"))).stdout()
        finally:
            await other.discard()

    assert fleet.run(go()) == b"one\nh\n/etc/passwd\n700\n"


def test_a_snapshot_over_its_bound_is_refused_and_leaves_nothing(fleet: Fleet, box: HeldBox, tmp_path: Path) -> None:
    fleet.run(box.run(command("dd", "if=/dev/urandom", "of=big", "bs=1M", "count=8")))
    with pytest.raises(BoxFailed, match="snapshot"):
        fleet.run(box.snapshot(tmp_path / "s.tar", most_bytes=MIB))
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith("s.tar")] == []


def test_programs_go_on_after_a_snapshot(fleet: Fleet, box: HeldBox, tmp_path: Path) -> None:
    async def go() -> bytes:
        program = await box.start(shell("read x; echo on"))
        await box.snapshot(tmp_path / "s.tar", most_bytes=DISK)
        await program.write(b"\n")
        await program.ended
        return program.stdout()

    assert fleet.run(go()) == b"on\n"


def test_a_read_only_program_cannot_change_the_work_folder(fleet: Fleet, box: HeldBox) -> None:
    program = fleet.run(box.run(shell("touch x; echo $?; touch /tmp/ok; echo $?", read_only=True)))
    assert program.stdout() == b"1\n0\n"
    assert ended(fleet.run(box.run(shell("touch x")))).reason == "completed"


def test_one_program_cannot_reach_into_another_before_its_filter_is_on(fleet: Fleet, box: HeldBox) -> None:
    """A program that is being made ready is of the same uid; it must not be readable while it has more rights."""

    async def go() -> bytes:
        spy = await box.start(
            python(
                "import os, time\n"
                "def filters(p): return int(open(f'/proc/{p}/status').read().split('Seccomp_filters:')[1].split()[0])\n"
                "end = time.monotonic() + 1.5\nhit = 0\nwhile time.monotonic() < end:\n"
                "    for p in os.listdir('/proc'):\n"
                "        if p.isdigit() and int(p) != os.getpid():\n"
                "            try:\n"
                "                memory = open(f'/proc/{p}/mem', 'r+b')\n"
                # Looked at afterwards: between a look before and the opening, it may have become a tenant.
                "                hit += filters(p) < filters('self')\n"
                "            except OSError: pass\n"
                "print('opened', hit)"
            )
        )
        while not spy.ended.done():
            await box.run(shell("true"))
        return spy.stdout()

    assert fleet.run(go()) == b"opened 0\n"


def test_a_door_of_a_held_box_is_open_to_all_its_programs(fleet: Fleet, tmp_path: Path) -> None:
    async def go() -> bytes:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"hello\n")
            await writer.drain()

        held = await HeldBox.open(fleet.yard, tmp_path / "d", Limits(), disk_bytes=DISK, doors={8377: answer})
        try:
            code = "import socket; print(socket.create_connection(('127.0.0.1', 8377)).makefile().read(), end='')"
            return b"".join([(await held.run(python(code))).stdout() for _ in range(2)])
        finally:
            await held.discard()

    assert fleet.run(go()) == b"hello\nhello\n"


def test_a_box_that_broke_says_so_and_keeps_its_disk(fleet: Fleet, tmp_path: Path) -> None:
    async def go() -> bytes:
        held = await HeldBox.open(fleet.yard, tmp_path / "b", Limits(), disk_bytes=DISK)
        await held.run(shell("echo kept > f; sync f"))
        program = await held.start(shell("sleep 60"))
        for name in hierarchy_of(fleet).left_over():
            hierarchy_of(fleet).group(name).kill()
        assert (await program.ended).reason == "box_failed"
        with pytest.raises(BoxFailed):
            await held.start(shell("true"))
        await held.close()
        again = await HeldBox.open(fleet.yard, tmp_path / "b", Limits(), disk_bytes=DISK)
        try:
            return (await again.run(shell("cat f"))).stdout()
        finally:
            await again.discard()

    assert fleet.run(go()) == b"kept\n"


def test_no_loop_device_outlives_its_box(fleet: Fleet, tmp_path: Path) -> None:
    held = fleet.run(HeldBox.open(fleet.yard, tmp_path / "l", Limits(), disk_bytes=DISK))
    image = os.stat(tmp_path / "l" / "disk.img").st_ino
    fleet.run(held.close())
    backing = [p.read_text() for p in Path("/sys/block").glob("loop*/loop/backing_file")]
    assert not any(str(tmp_path) in name for name in backing), image
    fleet.run(held.discard())
