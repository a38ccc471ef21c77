"""Out of the process and into the kernel: namespaces, other processes, devices, setuid programs, young system calls."""

from tests.attacks.row import Row

FORK = (
    "import os\npid = os.fork()\nif pid == 0: os._exit(7)\nprint('FINE' if os.waitpid(pid, 0)[1] == 7 << 8 else 'NO')"
)

ROWS = (
    Row(
        family="escape",
        name="becoming root of a user namespace of its own",
        attack="""
import os
from aids import *
for name, flag in {"user": 0x10000000, "user and mount": 0x10020000, "user and net": 0x50000000}.items():
    pid = os.fork()
    if pid == 0:
        attempt("unshare " + name, lambda: checked(libc.unshare(flag)))
        os._exit(0)
    os.waitpid(pid, 0)
print("HELD")
""",
        twin=FORK,
    ),
    Row(
        family="escape",
        name="the same by the tools of every distribution",
        language="shell",
        attack="""
unshare --user --map-root-user --mount /bin/true && echo BREACH root in a user namespace
unshare --user --map-root-user --net /bin/true && echo BREACH a network of its own
unshare --user --map-root-user --pid --fork /bin/true && echo BREACH pids of its own
echo HELD
""",
        twin="unshare --version && echo FINE",
    ),
    Row(
        family="escape",
        name="a new namespace by flags that clone3 hides from filters",
        attack="""
import os, struct
from aids import *
def clone3(flags):
    arguments = struct.pack("11Q", flags, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)
    pid = call(435, arguments, 88)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid
attempt("user namespace by clone3", clone3, 0x10000000)
attempt("user and pid namespaces by clone3", clone3, 0x30000000)
print("HELD")
""",
        twin=FORK,
    ),
    Row(
        family="escape",
        name="io_uring, which does system calls that no filter sees",
        attack="""
from aids import *
attempt("io_uring_setup", call, 425, 8, ctypes.create_string_buffer(120))
print("HELD")
""",
        twin="import select\npoll = select.epoll()\npoll.close()\nprint('FINE')",
    ),
    Row(
        family="escape",
        name="userfaultfd, perf_event_open and the keyring, beloved by kernel exploits",
        attack="""
import struct
from aids import *
attempt("userfaultfd", call, NUMBERS["userfaultfd"], 1)
software = struct.pack("IIQQQQQ", 1, 112, 0, 0, 0, 0, 0x1 | 1 << 5 | 1 << 6) + bytes(64)
attempt("perf_event_open", call, NUMBERS["perf"], software, 0, -1, -1, 0)
attempt("add_key", call, NUMBERS["add_key"], b"user", b"mine", b"kept", 4, -2)
attempt("keyctl", call, NUMBERS["keyctl"], 0, -5, 1)
print("HELD")
""",
        twin="import mmap\nmemory = mmap.mmap(-1, 4096)\nmemory[:4] = b'FINE'\nprint(memory[:4].decode())",
    ),
    Row(
        family="escape",
        name="ptrace and reading the memory of another process",
        attack="""
import os, signal, struct
from aids import *
secret = ctypes.create_string_buffer(b"in memory")
child = os.fork()
if child == 0:
    signal.pause()
into = ctypes.create_string_buffer(16)
local, remote = struct.pack("PN", ctypes.addressof(into), 9), struct.pack("PN", ctypes.addressof(secret), 9)
attempt("process_vm_readv", call, NUMBERS["readv"], child, local, 1, remote, 1, 0)
attempt("PTRACE_SEIZE", call, NUMBERS["ptrace"], 0x4206, child, 0, 0)
attempt("PTRACE_ATTACH", call, NUMBERS["ptrace"], 16, child, 0, 0)
os.kill(child, signal.SIGKILL)
print("HELD")
""",
        twin=FORK,
    ),
    Row(
        family="escape",
        name="looking into the processes that stand above it",
        shared_kernel="the one above it is inside with it, and has no variable and nothing to hide",
        attack="""
import os
from aids import *
for pid in parents():
    for name in ("environ", "mem", "maps", "auxv", "stack"):
        def look(path=f"/proc/{pid}/{name}"):
            with open(path, "rb") as file:
                return file.read(1) or 1 / 0
        try:
            attempt(f"{pid} {name}", look)
        except ZeroDivisionError:
            print("empty", pid, name)
    for name in ("root", "cwd", "exe", "ns/net", "ns/user", "ns/mnt"):
        attempt(f"{pid} {name}", os.readlink, f"/proc/{pid}/{name}")
    attempt(f"{pid} fd", os.listdir, f"/proc/{pid}/fd")
print("HELD")
""",
        twin="import os\nprint('FINE' if os.readlink('/proc/self/cwd') == os.getcwd() else 'NO')",
    ),
    Row(
        family="escape",
        name="seeing any process but its own",
        attack="""
import os
from aids import *
strangers = [pid for pid in others() if pid != 1]
if strangers:
    breach(f"{len(strangers)} processes")
print("HELD")
""",
        twin=FORK,
    ),
    Row(
        family="escape",
        name="gaining rights by a setuid program",
        attack="""
import glob, os, signal, stat, subprocess
from aids import *
for path in glob.glob("/usr/bin/*"):
    if os.path.isfile(path) and os.stat(path).st_mode & stat.S_ISUID and os.stat(path).st_uid != os.getuid():
        child = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            uids = set(read(f"/proc/{child.pid}/status").decode().partition("\\nUid:")[2].splitlines()[0].split())
        except OSError:
            uids = set()
        child.kill()
        child.communicate()
        if len(uids) > 1 or uids == {"0"}:
            breach(f"{path} ran as {uids}")
if libc.prctl(39, 0, 0, 0, 0) != 1:
    breach("programs may gain rights")
print("HELD")
""",
        twin="import subprocess\nprint(subprocess.run(['/bin/echo', 'FINE'], capture_output=True, text=True).stdout)",
    ),
    Row(
        family="escape",
        name="capabilities that could be had",
        attack="""
from aids import *
for line in read("/proc/self/status").decode().splitlines():
    name, _, value = line.partition(":\\t")
    if name.startswith("Cap") and int(value, 16):
        breach(line)
    if name == "Uid" and "0" in value.split():
        breach(line)
    if name == "Seccomp" and value != "2":
        breach(line)
print("HELD")
""",
        twin="import os\nprint('FINE' if os.getuid() > 0 else 'NO')",
    ),
    Row(
        family="escape",
        name="opening a device of the host",
        shared_kernel="the devices are those of the kernel inside",
        attack="""
import os
from aids import *
harmless = {"null", "zero", "full", "random", "urandom", "fd", "stdin", "stdout", "stderr", "shm"}
for name in set(os.listdir("/dev")) - harmless:
    breach("/dev/" + name)
attempt("a terminal of its own", os.open, "/dev/ptmx", os.O_RDWR)
attempt("the kernel's messages", os.open, "/dev/kmsg", os.O_RDONLY)
attempt("a disk of its making", os.mknod, "disk", 0o60600, os.makedev(254, 0))
print("HELD")
""",
        twin="print('FINE' if len(open('/dev/urandom', 'rb').read(16)) == 16 else 'NO')",
    ),
    Row(
        family="escape",
        name="folders of the host",
        shared_kernel="the kernel inside mounts a /sys of its own, which is empty",
        attack="""
import os
from aids import *
for name in ("/root", "/home", "/srv", "/opt", "/mnt", "/media", "/boot", "/sys", "/var/lib", "/var/log", "/run/lock"):
    if os.path.exists(name):
        breach(name)
for name in ("/etc/shadow", "/etc/machine-id", "/etc/hostname", "/etc/fstab", "/etc/ssh", "/etc/resolv.conf"):
    if os.path.lexists(name):
        breach(name)
print("HELD")
""",
        twin="import os\nprint('FINE' if os.path.isdir('/usr/lib') else 'NO')",
    ),
    Row(
        family="escape",
        name="writing anywhere but to its own folders",
        attack="""
import os, tempfile
from aids import *
own = [os.path.realpath(p) for p in (os.getcwd(), "/box", "/tmp", "/dev/shm")]
for folder, names, _ in os.walk("/"):
    real = os.path.realpath(folder)
    if real.startswith("/proc") or any(real == o or real.startswith(o + "/") for o in own) or folder.count("/") > 4:
        names[:] = []
    elif os.access(folder, os.W_OK):
        try:
            os.close(os.open(folder + "/mark-of-the-attack", os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError:
            continue
        os.unlink(folder + "/mark-of-the-attack")
        breach(folder)
print("HELD")
""",
        twin="""
import os, tempfile
for folder in (os.getcwd(), tempfile.gettempdir(), os.environ["HOME"], os.environ["OUTPUT_DIR"]):
    open(folder + "/mine", "w").close()
    os.unlink(folder + "/mine")
print("FINE")
""",
    ),
    Row(
        family="escape",
        name="turning the knobs of the processes above it: limits, priority, processors, signals to come",
        attack="""
import os, resource
from aids import *
for pid in parents():
    attempt(f"limit of {pid}", resource.prlimit, pid, resource.RLIMIT_NOFILE, (16, 16))
    attempt(f"priority of {pid}", os.setpriority, os.PRIO_PROCESS, pid, 19)
    attempt(f"processors of {pid}", os.sched_setaffinity, pid, {0})
    attempt(f"scheduler of {pid}", os.sched_setscheduler, pid, os.SCHED_IDLE, os.sched_param(0))
    def first_to_die(pid=pid):
        with open(f"/proc/{pid}/oom_score_adj", "w") as file:
            file.write("1000")
    attempt(f"first to die of memory: {pid}", first_to_die)
attempt("priority of all of the uid", os.setpriority, os.PRIO_USER, 0, 19)
print("HELD")
""",
        twin="""
import os
os.sched_setaffinity(0, {0})
first = os.nice(0)
print("FINE" if os.nice(5) == first + 5 else "NO")
""",
    ),
)
