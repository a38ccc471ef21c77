"""Limits: each must be met where it is set, and told as what it was."""

from __future__ import annotations

from drydock.box.limits import MIB, Limits
from drydock.box.proof.attempt import Attempt, Judge, Seen

GROUPS = "Let the server make control groups: run it as root, or under systemd with Delegate=yes."
WALL_MS = 15_000
CPU_SHARE = 0.2
CPU_TOLERANCE = 2.0
"""A short measurement: the kernel hands out a quota by the tenth of a second."""
KEPT = 1024


STEP = b"."
"""Written by a program for each thing that it got, so that a limit which stands too high is seen."""


def ends_for(*reasons: str, said: bytes = b"", most: int = 0) -> Judge:
    """It must end for one of these reasons, or be told by the kernel that there is no more, after so many steps."""

    def judge(seen: Seen) -> bool:
        stopped = seen.outcome.ended.reason in reasons or bool(said and said in seen.everything)
        return stopped and seen.outcome.stdout.count(STEP) <= most

    return judge


def used_its_share(seen: Seen) -> bool:
    ended = seen.outcome.ended
    return ended.reason == "timeout" and ended.cpu_ms <= ended.wall_ms * CPU_SHARE * CPU_TOLERANCE


def output_was_cut(seen: Seen) -> bool:
    ended = seen.outcome.ended
    return ended.stdout_cut and len(seen.outcome.stdout) == KEPT and ended.stdout_bytes > MIB


def ended_in_time(seen: Seen) -> bool:
    return seen.outcome.ended.reason == "timeout" and seen.outcome.ended.wall_ms < 2000


LIMITS = (
    Attempt(
        promise="P5",
        name="time is over when it is over, whatever the program ignores",
        unwalled=True,
        limits=Limits(wall_ms=500),
        code="import signal\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\nwhile True: pass",
        holds=ended_in_time,
        remedy="Programs outlive their limit: the machine may be overloaded; else report this.",
    ),
    Attempt(
        promise="P5",
        name="memory ends where its limit is",
        unwalled=True,
        limits=Limits(wall_ms=WALL_MS, memory_bytes=64 * MIB, work_bytes=16 * MIB),
        code="import os\nx = []\nwhile True: x.append(bytearray(b'x') * (16 << 20)); os.write(1, b'.')",
        # A box's workspace counts too, and so does what its tier itself may take.
        holds=ends_for("memory_limit", said=b"MemoryError", most=(64 + 16 + 64 + 32) // 16),
        remedy=GROUPS,
    ),
    Attempt(
        promise="P5",
        name="processes end where their limit is",
        unwalled=True,
        limits=Limits(wall_ms=WALL_MS, processes=24),
        code="""
import os, time
try:
    for _ in range(5000):
        if os.fork() == 0:
            time.sleep(60)
        os.write(1, b".")
except OSError:
    os.write(1, b"REFUSED")
""",
        holds=ends_for("process_limit", said=b"REFUSED", most=24 + 3),
        remedy=GROUPS,
    ),
    Attempt(
        promise="P5",
        name="CPU time is shared out as its limit says",
        counted=True,
        limits=Limits(wall_ms=1500, cpus=CPU_SHARE),
        code="while True: pass",
        holds=used_its_share,
        remedy=GROUPS,
    ),
    Attempt(
        promise="P5",
        name="bytes on disk end where their limit is",
        limits=Limits(wall_ms=WALL_MS, work_bytes=16 * MIB),
        code="import os\nfor i in range(99): open(f'f{i}', 'wb').write(bytes(4 << 20)); os.write(1, b'.')",
        holds=ends_for("disk_limit", most=4),
        remedy="The workspace has no size: report this with the kernel's release.",
    ),
    Attempt(
        promise="P5",
        name="files on disk end where their limit is",
        limits=Limits(wall_ms=WALL_MS, inodes=128),
        code="import os\nfor i in range(5000): open(f'f{i}', 'w').close(); os.write(1, b'.')",
        holds=ends_for("disk_limit", most=128),
        remedy="The workspace takes any number of files: report this with the kernel's release.",
    ),
    Attempt(
        promise="P5",
        name="a file ends where its limit is",
        unwalled=True,
        limits=Limits(wall_ms=WALL_MS, file_bytes=2 * MIB),
        code="open('big', 'wb').write(bytes(3 << 20))",
        holds=ends_for(said=b"File too large"),
        remedy="RLIMIT_FSIZE is not in force: report this with the kernel's release.",
    ),
    Attempt(
        promise="P5",
        name="output is kept up to its limit and drained beyond it",
        unwalled=True,
        limits=Limits(wall_ms=WALL_MS, output_bytes=KEPT),
        code="import sys\nfor _ in range(40): sys.stdout.write('x' * 50_000)",
        holds=output_was_cut,
        remedy="Output is not bounded: report this.",
    ),
)
