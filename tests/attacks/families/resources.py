"""More than one's share: processes, memory of every kind, disk, descriptors, output. Amounts are bounded by the
programs themselves, a little above what Drydock grants, so that they harm no machine on which nothing stops them."""

from tests.attacks.row import FINE, Row, Scene

MIB = 1 << 20


def output_is_cut(scene: Scene) -> None:
    for stream in ("stdout", "stderr"):
        assert len(scene.reply[stream]) <= MIB + 64, f"{len(scene.reply[stream])} characters of {stream}"


ROWS = (
    Row(
        family="resources",
        name="a hundred and fifty processes",
        ends=("completed", "process_limit", "memory_limit"),
        attack="""
import os, signal
from aids import *
alive = 0
try:
    while alive < 150:
        if os.fork() == 0:
            signal.pause()
        alive += 1
except OSError as wrong:
    print("refused after", alive, wrong)
else:
    breach(f"{alive} processes")
print("HELD")
""",
        twin="""
import os, subprocess
children = [subprocess.Popen(["sleep", "0.1"]) for _ in range(20)]
print("FINE" if [child.wait() for child in children] == [0] * 20 else "NO")
""",
    ),
    Row(
        family="resources",
        name="two hundred dead processes that nobody waits for",
        attack="""
import os
from aids import *
dead = 0
try:
    while dead < 200:
        if os.fork() == 0:
            os._exit(0)
        dead += 1
except OSError as wrong:
    print("refused after", dead, wrong)
else:
    breach(f"{dead} zombies")
print("HELD")
""",
        twin="import os\nfor _ in range(100):\n    os.fork() or os._exit(0)\n    os.wait()\nprint('FINE')",
    ),
    Row(
        family="resources",
        name="three hundred threads",
        attack="""
import threading
from aids import *
stop = threading.Event()
threads = []
try:
    while len(threads) < 300:
        thread = threading.Thread(target=stop.wait)
        thread.start()
        threads.append(thread)
except RuntimeError as wrong:
    print("refused after", len(threads), wrong)
else:
    breach(f"{len(threads)} threads")
stop.set()
print("HELD")
""",
        twin="""
import threading
threads = [threading.Thread(target=print, args=("FINE",)) for _ in range(20)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
""",
    ),
    Row(
        family="resources",
        name="a fork bomb of bash",
        language="shell",
        limit=2,
        ends=("timeout", "exit", "process_limit", "signal", "completed"),
        attack="f() { f | f & }; f; f; while :; do :; done\n",
        twin="f() { [ $1 = 0 ] && return; f $(($1 - 1)) & wait; }; f 5; echo FINE",
    ),
    Row(
        family="resources",
        name="a fork bomb whose processes never rest",
        limit=2,
        # Behind gVisor as many processes as are allowed may need more memory than is, and then that is what ends them.
        ends=("timeout", "exit", "process_limit", "memory_limit", "signal"),
        attack="""
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
""",
        twin="import os\nfor _ in range(30):\n    os.fork() or os._exit(0)\n    os.wait()\nprint('FINE')",
    ),
    Row(
        family="resources",
        name="half a gigabyte in one process",
        ends=("completed", "memory_limit", "exit"),
        attack="""
from aids import *
held = []
for step in range(512):
    held.append(bytearray(1 << 20))
breach("512 MiB")
""",
        twin="held = bytearray(40 << 20)\nprint('FINE')",
    ),
    Row(
        family="resources",
        name="memory shared out among processes, each of which is modest",
        ends=("completed", "memory_limit", "exit"),
        attack="""
import os, time
from aids import *
children, told = [], []
for _ in range(10):
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        held = bytearray(48 << 20)
        os.write(write_end, b"!")
        time.sleep(30)
    os.close(write_end)
    children.append(child)
    told.append(read_end)
has_it = [os.read(read_end, 1) for read_end in told]  # nothing of one that was killed over it
alive = sum(os.waitpid(child, os.WNOHANG) == (0, 0) for child in children)
if alive == len(has_it) == 10:
    breach("480 MiB in ten processes")
print("HELD")
""",
        limit=4,
        twin="""
import os
for _ in range(4):
    os.fork() or [bytearray(10 << 20), os._exit(0)]
    os.wait()
print("FINE")
""",
    ),
    Row(
        family="resources",
        name="memory in files that have no name",
        ends=("completed", "memory_limit", "exit"),
        attack="""
import os
from aids import *
written = 0
for number in range(12):
    fd = os.memfd_create(f"hoard{number}")
    for _ in range(40):
        try:
            written += os.write(fd, bytes(1 << 20))
        except OSError as wrong:
            print(wrong)
            break
if written >= 400 << 20:
    breach(f"{written >> 20} MiB in memfds")
print("HELD")
""",
        twin="import os\nfd = os.memfd_create('mine')\nos.write(fd, b'FINE')\nprint(os.pread(fd, 4, 0).decode())",
    ),
    Row(
        family="resources",
        name="memory in System V segments",
        ends=("completed", "memory_limit", "exit"),
        attack="""
from aids import *
libc.shmat.restype = ctypes.c_void_p
held = 0
for _ in range(40):
    segment = libc.shmget(0, 10 << 20, 0o1600)
    if segment < 0:
        print("refused after", held)
        break
    place = libc.shmat(segment, None, 0)
    ctypes.memset(place, 1, 10 << 20)
    held += 10
if held >= 400:
    breach(f"{held} MiB in shared memory")
print("HELD")
""",
        twin="""
from aids import *
libc.shmat.restype = ctypes.c_void_p
segment = libc.shmget(0, 4096, 0o1600)
place = libc.shmat(segment, None, 0)
ctypes.memmove(place, b"FINE", 5)
print(ctypes.string_at(place).decode())
libc.shmctl(segment, 0, None)
""",
    ),
    Row(
        family="resources",
        name="memory in the buffers of unix sockets",
        ends=("completed", "memory_limit", "exit", "timeout"),
        limit=6,
        attack="""
import os, socket
from aids import *
read_end, write_end = os.pipe()
CHILDREN, PAIRS = 30, 50
for _ in range(CHILDREN):
    if os.fork() == 0:
        pairs, sent = [], 0
        try:
            for _ in range(PAIRS):
                one, two = socket.socketpair()
                pairs.append((one, two))
                for end in (one, two):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)
                    end.setblocking(False)
                    try:
                        while True:
                            sent += end.send(bytes(65536))
                    except BlockingIOError:
                        pass
        except OSError:
            pass
        os.write(write_end, sent.to_bytes(8, "little"))
        os.read(read_end, 0)
        import signal
        signal.pause()
total = 0
for _ in range(CHILDREN):
    total += int.from_bytes(os.read(read_end, 8), "little")
if total > 400 << 20:
    breach(f"{total >> 20} MiB in unix sockets")
print(total >> 20, "MiB")
print("HELD")
""",
        twin="import socket\none, two = socket.socketpair()\none.send(b'FINE')\nprint(two.recv(4).decode())",
    ),
    Row(
        family="resources",
        name="memory in the buffers of connections to itself",
        ends=("completed", "memory_limit", "exit", "timeout"),
        limit=6,
        attack="""
import os, signal, socket
from aids import *
read_end, write_end = os.pipe()
CHILDREN, PAIRS = 20, 40
for _ in range(CHILDREN):
    if os.fork() == 0:
        held, sent = [], 0
        try:
            listener = socket.create_server(("127.0.0.1", 0))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
            for _ in range(PAIRS):
                one = socket.create_connection(listener.getsockname(), 0.5)
                held += [one, listener.accept()[0]]
                for end in held[-2:]:
                    end.setblocking(False)
                    try:
                        while True:
                            sent += end.send(bytes(65536))
                    except BlockingIOError:
                        pass
        except OSError:
            pass
        os.write(write_end, sent.to_bytes(8, "little"))
        signal.pause()
total = 0
for _ in range(CHILDREN):
    total += int.from_bytes(os.read(read_end, 8), "little")
if total > 400 << 20:
    breach(f"{total >> 20} MiB in TCP")
print(total >> 20, "MiB")
print("HELD")
""",
        twin="""
import socket
listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname())
listener.accept()[0].sendall(b"FINE")
print(client.recv(4).decode())
""",
    ),
    Row(
        family="resources",
        name="source that makes the compiler use all memory",
        ends=("memory_limit", "exit", "signal", "timeout"),
        limit=12,
        attack="a = [" + "(" * 20 + "1" + ")" * 20 + ",[[x**x for x in range(9)]for y in{1:2}]" * 40000 + "]\n"
        "import resource\n"
        "if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 250 << 10:\n    print('BREACH')\n"
        "else:\n    print('BREACH: compiled in little, so this row is no test')\n",
        twin="a = [" + "[1, 2, 3]," * 2000 + "]\nprint('FINE')",
    ),
    Row(
        family="resources",
        name="filling the disk",
        attack="""
import os
from aids import *
written = 0
try:
    for number in range(200):
        with open(f"fill{number}", "wb") as file:
            file.write(bytes(1 << 20))
        written += 1
except OSError as wrong:
    print("refused after", written, wrong)
else:
    breach(f"{written} MiB on disk")
print("HELD")
""",
        twin="open('mine', 'wb').write(bytes(20 << 20))\nprint('FINE')",
    ),
    Row(
        family="resources",
        name="filling every other place that looks like a disk",
        attack="""
import os
from aids import *
written = 0
for folder in ("/tmp", "/dev/shm", "/var/tmp", os.environ["HOME"], os.environ["OUTPUT_DIR"]):
    names = []
    for number in range(40):
        try:
            with open(f"{folder}/attack{written}", "wb") as file:
                names.append(file.name)
                file.write(bytes(1 << 20))
            written += 1
        except OSError as wrong:
            print(folder, wrong)
            break
if written > 100:
    breach(f"{written} MiB in all")
print("HELD")
""",
        twin="open('/dev/shm/mine', 'w').write('x')\nopen('/tmp/mine', 'w').write('x')\nprint('FINE')",
    ),
    Row(
        family="resources",
        name="ten thousand files",
        attack="""
import os
from aids import *
made = 0
try:
    while made < 10000:
        os.close(os.open(f"f{made}", os.O_CREAT | os.O_WRONLY))
        made += 1
except OSError as wrong:
    print("refused after", made, wrong)
else:
    breach(f"{made} files")
print("HELD")
""",
        twin="for n in range(1000):\n    open(f'f{n}', 'w').close()\nprint('FINE')",
    ),
    Row(
        family="resources",
        name="three hundred descriptors, after lifting its own limit",
        attack="""
import os, resource
from aids import *
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
for wanted in ((100000, 100000), (hard, hard)):
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, wanted)
    except (OSError, ValueError) as wrong:
        print(wrong)
fds = []
try:
    while len(fds) < 300:
        fds.append(os.open("/dev/null", os.O_RDONLY))
except OSError as wrong:
    print("refused after", len(fds), wrong)
else:
    breach("300 descriptors")
for fd in fds[:50]:
    os.close(fd)
print("HELD")
""",
        twin="fds = [open('/dev/null') for _ in range(80)]\nprint('FINE')",
    ),
    Row(
        family="resources",
        name="a single file larger than is allowed",
        attack="""
import os, signal
from aids import *
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
fd = os.open("big", os.O_CREAT | os.O_WRONLY)
attempt("a byte at 60 MiB", os.pwrite, fd, b"x", 60 << 20)
attempt("a length of 1 TiB", os.ftruncate, fd, 1 << 40)
attempt("room of 60 MiB", os.posix_fallocate, fd, 0, 60 << 20)
print("HELD")
""",
        twin="open('mine', 'wb').truncate(30 << 20)\nprint('FINE')",
    ),
    Row(
        family="resources",
        name="thirty megabytes of output on both streams",
        judge=output_is_cut,
        ends=("completed", "exit"),
        attack="""
import os
for _ in range(30):
    os.write(1, b"o" * (1 << 20))
    os.write(2, b"e" * (1 << 20))
os._exit(1)
""",
        twin="print('FINE' + ' ' * 100000)",
    ),
    Row(
        family="resources",
        name="output without end",
        limit=2,
        ends=("timeout",),
        judge=output_is_cut,
        attack="import os\nwhile True: os.write(1, b'endless ' * 8192)\n",
        twin="print('FINE')",
    ),
    Row(
        family="resources",
        name="two processors instead of one",
        greedy=True,
        shared_kernel="the clock inside counts time that the host held back; the doctor looks at the host's",
        limit=8,
        attack="""
import os, resource, time
from aids import *
began = time.monotonic()
for _ in range(4):
    if os.fork() == 0:
        while time.monotonic() - began < 2:
            pass
        os._exit(0)
for _ in range(4):
    os.wait()
wall = time.monotonic() - began
used = resource.getrusage(resource.RUSAGE_CHILDREN)
share = (used.ru_utime + used.ru_stime) / wall
if share > 1.15:
    breach(f"{share:.2f} processors")
print("HELD")
""",
        twin="print('FINE' if sum(range(100000)) else 'NO')",
    ),
    Row(
        family="resources",
        name="every pipe page that its uid may have",
        limit=6,
        meanwhile="import fcntl, os\nprint('FINE' if fcntl.fcntl(os.pipe()[0], 1032) == 65536 else 'NO')",
        attack="""
import fcntl, os, time
from aids import *
pipes = []
for _ in range(20):
    if os.fork() == 0:
        for _ in range(50):
            read_end, write_end = os.pipe()
            pipes.append((read_end, write_end))
            try:
                fcntl.fcntl(read_end, 1031, 1 << 20)
            except OSError:
                pass
        time.sleep(1.5)
        os._exit(0)
for _ in range(20):
    os.wait()
print("HELD")
""",
        twin="import fcntl, os\nprint('FINE' if fcntl.fcntl(os.pipe()[0], 1032) == 65536 else 'NO')",
    ),
    Row(
        family="resources",
        name="every inotify instance that its uid may have",
        limit=6,
        meanwhile="from aids import *\nprint('FINE' if libc.inotify_init() >= 0 else 'NO')",
        attack="""
import os, time
from aids import *
for _ in range(10):
    if os.fork() == 0:
        while libc.inotify_init() >= 0:
            pass
        time.sleep(1.5)
        os._exit(0)
for _ in range(10):
    os.wait()
print("HELD")
""",
        twin="from aids import *\nprint('FINE' if libc.inotify_init() >= 0 else 'NO')",
    ),
    Row(
        family="resources",
        name="folders three thousand deep",
        judge=lambda scene: None if scene.reply.get("files_skipped") else _no_account(scene),
        attack="""
import os
os.chdir(os.environ["OUTPUT_DIR"])
for _ in range(3000):
    os.mkdir("d")
    os.chdir("d")
open("bottom", "w").close()
print("HELD")
""",
        twin="import os\nos.makedirs(os.environ['OUTPUT_DIR'] + '/a' * 20)\nprint('FINE')",
    ),
    Row(
        family="resources",
        name="a program that lowers its own rank with the killer of memory hogs",
        shared_kernel="the rank inside is that of the kernel inside, and moves nothing on the host",
        ends=("memory_limit", "exit"),
        attack="""
from aids import *
import os
mine = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
attempt("it will be killed last", os.write, mine, b"-1000")
try:
    os.write(mine, b"0")
except OSError as wrong:
    print(wrong)
held = []
while len(held) < 512:
    held.append(bytearray(1 << 20))
breach("512 MiB")
""",
        twin="print('FINE' if open('/proc/self/oom_score_adj').read() else 'NO')",
    ),
)


def _no_account(scene: Scene) -> None:
    raise AssertionError(f"nothing is said of what was left out, {FINE} or not: {list(scene.reply)}")
