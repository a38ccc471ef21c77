"""Programs that will not end, or that end others: sessions, stopped processes, held streams, signals to all."""

from tests.attacks.row import Row

OWN_CHILD = """
import os, signal
child = os.fork()
if child == 0:
    signal.pause()
os.kill(child, signal.SIGTERM)
print("FINE" if os.waitpid(child, 0)[1] == signal.SIGTERM else "NO")
"""
BACKGROUND = "import subprocess\nsubprocess.run(['true'], start_new_session=True)\nprint('FINE')"
IGNORE_ALL = """
import os, signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
"""

ROWS = (
    Row(
        family="kill",
        name="a daemon that has left its session twice",
        limit=2,
        within=1,
        tight=True,
        attack="""
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        while True:
            open("beat", "a").write("x")
            time.sleep(0.01)
    os._exit(0)
os.wait()
print("HELD")
""",
        twin=BACKGROUND,
    ),
    Row(
        family="kill",
        name="a child that holds stdout after its parent has left",
        limit=3,
        within=1,
        tight=True,
        attack="""
import subprocess
subprocess.Popen(["sleep", "5"])
print("HELD")
""",
        twin=BACKGROUND,
    ),
    Row(
        family="kill",
        name="a child that holds stdout while its parent sleeps past the limit",
        limit=1,
        tight=True,
        ends=("timeout",),
        attack=IGNORE_ALL
        + """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv("/bin/sleep", ["sleep", "6"])
    time.sleep(6)
while True:
    time.sleep(6)
""",
        twin=OWN_CHILD,
    ),
    Row(
        family="kill",
        name="a child that ignores every signal, stopped, in a session of its own",
        limit=1,
        tight=True,
        ends=("timeout",),
        attack=IGNORE_ALL
        + """
for _ in range(10):
    if os.fork() == 0:
        os.setsid()
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(20)
time.sleep(20)
""",
        twin=OWN_CHILD,
    ),
    Row(
        family="kill",
        name="stopping the processes above it",
        limit=1,
        tight=True,
        ends=("timeout", "completed"),
        attack="""
import os, signal, time
from aids import *
for pid in parents():
    for number in (signal.SIGSTOP, signal.SIGTSTP):
        try:
            os.kill(pid, number)
        except OSError as wrong:
            print(wrong)
print("HELD", flush=True)
time.sleep(5)
""",
        twin=OWN_CHILD,
    ),
    Row(
        family="kill",
        name="stopping itself for ever",
        limit=1,
        tight=True,
        ends=("timeout",),
        attack="""
import os, signal
child = os.fork()
if child == 0:
    os.setsid()
    os.kill(os.getpid(), signal.SIGSTOP)
# gVisor hangs up on a group that has stopped when one of it leaves the session, so that comes first.
os.waitpid(child, os.WUNTRACED)
os.kill(os.getpid(), signal.SIGSTOP)
""",
        twin=OWN_CHILD,
    ),
    Row(
        family="kill",
        name="a chain that forks and exits without rest, so that no list of it is ever true",
        limit=1,
        tight=True,
        ends=("timeout",),
        attack="""
import os, time
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        os.close(1), os.close(2)
        give_up = time.monotonic() + 8
        while time.monotonic() < give_up:
            try:
                if os.fork():
                    os._exit(0)
            except OSError:
                pass
time.sleep(8)
""",
        twin=OWN_CHILD,
    ),
    Row(
        family="kill",
        name="children in thirty sessions that survive their parents by every prctl there is",
        limit=3,
        within=2,
        attack="""
import os, signal, time
from aids import *
libc.prctl(36, 1, 0, 0, 0)
read_end, write_end = os.pipe()
for _ in range(30):
    if os.fork() == 0:
        os.setsid()
        libc.prctl(1, 0, 0, 0, 0)
        libc.prctl(15, b"kworker/0:1", 0, 0, 0)
        libc.prctl(36, 1, 0, 0, 0)
        for number in (1, 2, 3, 15):
            signal.signal(number, signal.SIG_IGN)
        os.write(write_end, b"!")
        for fd in range(3):
            os.close(fd)
        time.sleep(10)
for _ in range(30):
    os.read(read_end, 1)
print("HELD")
""",
        twin=BACKGROUND,
    ),
    Row(
        family="kill",
        name="every signal to the processes above it",
        ends=("completed", "signal"),
        attack="""
import os, signal
from aids import *
for pid in parents():
    for number in (1, 2, 3, 10, 12, 13, 14, 15, 17, 6, 11, 9):
        try:
            os.kill(pid, number)
        except OSError as wrong:
            print(wrong)
print("HELD")
""",
        twin=OWN_CHILD,
    ),
    Row(
        family="kill",
        name="a signal to everybody",
        ends=("completed", "signal"),
        attack="""
import os, signal
signal.signal(signal.SIGINT, signal.SIG_IGN), signal.signal(signal.SIGTERM, signal.SIG_IGN)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
    try:
        os.kill(-1, number)
    except OSError as wrong:
        print(wrong)
print("HELD")
""",
        twin=OWN_CHILD,
    ),
    Row(
        family="kill",
        name="a signal to the whole group that it was born into",
        ends=("signal",),
        attack="import os, signal\nos.killpg(0, signal.SIGKILL)\n",
        twin=OWN_CHILD,
    ),
)
