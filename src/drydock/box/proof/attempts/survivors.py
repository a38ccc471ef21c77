"""What wants to live on: after its program's end, after its time, or in the next program's box."""

from __future__ import annotations

from drydock.box.limits import Limits
from drydock.box.proof.attempt import Attempt, Seen, held

KILL = "Processes outlive their box: stop the server, and report this with the kernel's release."


def nothing_is_left(seen: Seen) -> bool:
    return held(seen) and seen.outcome.ended.survivors == 0


def nothing_is_left_after_its_time(seen: Seen) -> bool:
    ended = seen.outcome.ended
    return ended.reason == "timeout" and ended.survivors == 0 and ended.wall_ms < 2000


IGNORE = """
import os, signal, time
for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        pass
"""

SURVIVORS = (
    Attempt(
        promise="P8",
        name="a child that leaves its session does not outlive it",
        unwalled=True,
        code=IGNORE
        + """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(3600)
    time.sleep(3600)
print("HELD", flush=True)
""",
        holds=nothing_is_left,
        remedy=KILL,
    ),
    Attempt(
        promise="P8",
        name="thirty children that ignore every signal end with its time",
        unwalled=True,
        limits=Limits(wall_ms=700),
        code=IGNORE
        + """
for _ in range(30):
    if os.fork() == 0:
        os.setsid()
        time.sleep(3600)
time.sleep(3600)
""",
        holds=nothing_is_left_after_its_time,
        remedy=KILL,
    ),
    Attempt(
        promise="P4",
        name="a program leaves a file, a daemon and shared memory behind (the next line looks for them)",
        code=IGNORE
        + """
import ctypes
for folder in ("/tmp", "/box/home", "/dev/shm", "/box/work"):
    open(folder + "/left", "w").close()
ctypes.CDLL(None).shmget(4242, 4096, 0o1666)
if os.fork() == 0:
    os.setsid()
    time.sleep(3600)
print("HELD", flush=True)
""",
        holds=nothing_is_left,
        remedy=KILL,
    ),
    Attempt(
        promise="P4",
        name="the next program finds nothing of the last",
        code="""
import ctypes, os
for folder in ("/tmp", "/box/home", "/dev/shm", "/box/work"):
    if os.path.exists(folder + "/left"):
        print("BREACH", folder)
if ctypes.CDLL(None).shmget(4242, 4096, 0o666) != -1:
    print("BREACH shared memory")
if len([name for name in os.listdir("/proc") if name.isdigit()]) > 2:
    print("BREACH a process")
print("HELD")
""",
        remedy="Boxes share a place that they should not: report this, and give tenants machines of their own.",
    ),
)
