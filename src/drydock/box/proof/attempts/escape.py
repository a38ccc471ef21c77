"""Out of the program and into more rights: root, namespaces, mounts, other processes' memory."""

from drydock.box.proof.attempt import Attempt, Seen

WALL = "A part of the wall is missing: do not run untrusted code here, and report this with the line above."
LIBC = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def attempt(what, work):
    try:
        result = work()
    except (OSError, ValueError):
        return
    if not (isinstance(result, int) and result < 0):
        print("BREACH", what)
"""


def says_42(seen: Seen) -> bool:
    return seen.outcome.stdout == b"42\n" and seen.outcome.ended.reason == "completed"


ESCAPE = (
    Attempt(
        promise="P7",
        name="a program runs and its end is told",
        code="print(6 * 7)",
        remedy="Nothing runs at all: look in the log for `box_failed` and its cause.",
        holds=says_42,
        unwalled=True,
    ),
    Attempt(
        promise="P1",
        name="a program is not root and has no capability",
        quick=True,
        code="""
import os
if 0 in (*os.getresuid(), *os.getresgid()):
    print("BREACH root")
for line in open("/proc/self/status"):
    name, _, value = line.partition(":")
    if name.startswith("Cap") and int(value, 16):
        print("BREACH", line.strip())
print("HELD")
""",
        remedy=WALL,
    ),
    Attempt(
        promise="P1",
        name="no namespace of its own can be had",
        quick=True,
        code=LIBC
        + """
for name, flag in {"user": 0x10000000, "user and mount": 0x10020000, "user and net": 0x50000000}.items():
    pid = os.fork()
    if pid == 0:
        attempt(name, lambda: libc.unshare(flag))
        import sys; sys.stdout.flush(); os._exit(0)
    os.waitpid(pid, 0)
try:
    with open("/proc/1/ns/net") as net:
        attempt("setns", lambda: libc.setns(net.fileno(), 0))
except OSError:
    pass
print("HELD")
""",
        remedy=WALL,
    ),
    Attempt(
        promise="P1",
        name="nothing can be mounted, unmounted or made writable",
        quick=True,
        code=LIBC
        + """
for place in (b"/", b"/usr", b"/proc", b"/box", b"/dev"):
    attempt(f"umount {place}", lambda: libc.umount2(place, 2))
    attempt(f"mount on {place}", lambda: libc.mount(b"none", place, b"tmpfs", 0, None))
    attempt(f"make {place} writable", lambda: libc.mount(b"none", place, None, 32 | 4096, None))
for folder in ("/", "/usr", "/usr/bin", "/etc", "/dev", "/packages"):
    attempt(f"write in {folder}", lambda: os.open(folder + "/mark", os.O_CREAT | os.O_WRONLY, 0o600))
attempt("chroot", lambda: os.chroot("/box"))
attempt("a device", lambda: os.mknod("disk", 0o60600, os.makedev(254, 0)))
print("HELD")
""",
        remedy=WALL,
    ),
    Attempt(
        promise="P1",
        name="no process above it can be traced, read or signalled",
        quick=True,
        code=LIBC
        + """
number = {"x86_64": 101, "aarch64": 117}[os.uname().machine]
for pid in {1, os.getppid()}:
    if pid > 0:
        seize = [ctypes.c_long(each) for each in (number, 0x4206, pid, 0, 0)]
        attempt(f"trace {pid}", lambda: libc.syscall(*seize))
        attempt(f"memory of {pid}", lambda: open(f"/proc/{pid}/mem", "rb").close())
        attempt(f"root of {pid}", lambda: os.readlink(f"/proc/{pid}/root"))
print("HELD")
""",
        remedy=WALL,
    ),
    Attempt(
        promise="P1",
        name="programs cannot gain rights",
        quick=True,
        code=LIBC + "if libc.prctl(39, 0, 0, 0, 0) != 1: print('BREACH no_new_privs is not set')\nprint('HELD')\n",
        remedy=WALL,
    ),
)
