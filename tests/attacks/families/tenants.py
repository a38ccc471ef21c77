"""From one tenant to the next in the same place, and to the one beside: nothing stays, nothing is seen."""

from tests.attacks.row import Row

LEFTOVERS = """
import os
from aids import *
for folder in ("/tmp", "/dev/shm", "/var/tmp", os.environ["HOME"], os.getcwd(), os.environ["OUTPUT_DIR"]):
    for root, _, names in os.walk(folder):
        for name in names:
            if "of-the-former" in name:
                breach(os.path.join(root, name))
print("CLEAN")
"""

ROWS = (
    Row(
        family="tenants",
        name="files left for the next in every place that can be written",
        single=True,
        attack="""
import os
for folder in ("/tmp", "/dev/shm", "/var/tmp", os.environ["HOME"], os.getcwd()):
    open(folder + "/of-the-former", "w").write("x")
print("HELD")
""",
        later=LEFTOVERS,
        twin="open('/tmp/mine', 'w').write('x')\nprint('FINE')",
    ),
    Row(
        family="tenants",
        name="System V memory, semaphores and queues, and POSIX queues, left behind",
        single=True,
        attack="""
from aids import *
libc.shmget(0x1234, 4096, 0o1666), libc.semget(0x1234, 1, 0o1666), libc.msgget(0x1234, 0o1666)
libc.mq_open(b"/of-the-former", 0o102, 0o666, None)
print("HELD")
""",
        later="""
from aids import *
for name, found in {"memory": libc.shmget(0x1234, 0, 0), "semaphores": libc.semget(0x1234, 0, 0),
                    "queue": libc.msgget(0x1234, 0), "POSIX queue": libc.mq_open(b"/of-the-former", 0)}.items():
    if found >= 0:
        breach(name)
print("CLEAN")
""",
        twin="from aids import *\nprint('FINE' if libc.semget(0, 1, 0o1600) >= 0 else 'NO')",
    ),
    Row(
        family="tenants",
        name="a port in use, a connection that lingers and an abstract name held",
        single=True,
        attack="""
import os, socket, time
listener = socket.socket()
listener.bind(("127.0.0.1", 45454))
listener.listen()
client = socket.create_connection(("127.0.0.1", 45454))
served = listener.accept()[0]
served.close(), client.close(), listener.close()
if os.fork() == 0:
    os.setsid()
    for fd in range(3):
        os.close(fd)
    held = socket.socket(socket.AF_UNIX)
    held.bind("\\0of-the-former")
    held.listen()
    time.sleep(5)
print("HELD")
""",
        later="""
import socket
from aids import *
for table in ("/proc/net/tcp", "/proc/net/unix"):
    text = read(table)
    if b"B18E" in text or b"of-the-former" in text:
        breach(table)
fresh = socket.socket()
fresh.bind(("127.0.0.1", 45454))
print("CLEAN")
""",
        twin="import socket\nsocket.socket().bind(('127.0.0.1', 45455))\nprint('FINE')",
    ),
    Row(
        family="tenants",
        name="code that the next interpreter would load by itself",
        single=True,
        attack="""
import os, site, sys
payload = "import sys\\nprint('BREACH poisoned by ' + __name__)\\n"
home = os.environ["HOME"]
places = [home + "/usercustomize.py", home + "/.pythonrc", os.getcwd() + "/sitecustomize.py", "/tmp/json.py"]
places += [site.getusersitepackages() + "/" + n for n in ("usercustomize.py", "sitecustomize.py")]
places += [folder + "/sitecustomize.py" for folder in sys.path if folder] + ["/usr/lib/python3/poison.pth"]
places += [os.path.join(os.path.dirname(os.__file__), "__pycache__", "json.cpython-311.pyc")]
for place in places:
    try:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        open(place, "w").write(payload)
        print("wrote", place)
    except OSError as wrong:
        print(place, wrong)
print("HELD")
""",
        later="import json, site\nprint('CLEAN')",
        twin="open('helper.py', 'w').write('x = 1')\nimport helper\nprint('FINE')",
    ),
    Row(
        family="tenants",
        name="limits, priority, processors and file mode bits bequeathed to the next",
        single=True,
        later_as_before=True,
        attack="""
import os, resource, signal
from aids import *
os.umask(0o777)
for pid in [0, *parents()]:
    for change in (
        lambda: resource.prlimit(pid, resource.RLIMIT_NPROC, (60, 60)),
        lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (32, 32)),
        lambda: os.setpriority(os.PRIO_PROCESS, pid, 10),
        lambda: os.sched_setaffinity(pid, {0}),
        lambda: open(f"/proc/{pid or 'self'}/oom_score_adj", "w").write("777"),
        lambda: open(f"/proc/{pid or 'self'}/timerslack_ns", "w").write("777777"),
        lambda: open(f"/proc/{pid or 'self'}/comm", "w").write("poisoned"),
    ):
        try:
            change()
        except (OSError, ValueError) as wrong:
            print(wrong)
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
os.environ["OF_THE_FORMER"] = "1"
print("HELD")
""",
        later="""
import os, resource, signal
print(oct(os.umask(0)), os.getpriority(0, 0), os.sched_getaffinity(0), sorted(os.environ), os.getcwd().count("/"))
print([resource.getrlimit(kind) for kind in range(16)])
print(signal.pthread_sigmask(signal.SIG_BLOCK, []), [signal.getsignal(n) for n in (1, 2, 13, 15, 17)])
for name in ("oom_score_adj", "comm", "coredump_filter", "personality"):
    if os.path.exists("/proc/self/" + name):
        print(name, open("/proc/self/" + name).read().strip())
""",
        twin="import os\nos.umask(0o77)\nos.nice(1)\nprint('FINE')",
    ),
    Row(
        family="tenants",
        name="the program of another tenant that runs at the same time",
        limit=8,
        victim="""
import os, sys, tempfile, time
with tempfile.NamedTemporaryFile("w", prefix="victim") as file:
    file.write("of the victim"), file.flush()
    shared = tempfile.gettempdir() + "/victim-shared"
    open(shared, "w").write("of the victim")
    time.sleep(2.5)
    ok = open(shared).read() == "of the victim" and os.getpriority(0, 0) == 0
print("UNHARMED" if ok else "HARMED")
""",
        attack="""
import glob, os, signal, time
from aids import *
give_up = time.monotonic() + 1
while time.monotonic() < give_up:
    for path in glob.glob("/tmp/*victim*") + glob.glob("/tmp/*/*victim*"):
        try:
            open(path, "w").write("of the attacker")
            breach(path)
        except OSError:
            pass
    for pid in others():
        try:
            if pid != os.getppid() and pid > 1 and b"main" in read(f"/proc/{pid}/cmdline"):
                breach(f"saw {pid}")
                os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
print("HELD")
""",
        twin="import os\nprint('FINE' if os.listdir('/proc/self/fd') else 'NO')",
    ),
)
