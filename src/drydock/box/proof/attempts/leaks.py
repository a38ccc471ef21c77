"""What a box could see or reach of its host: environment, files, processes, descriptors, network, outputs by links."""

from drydock.box.proof.attempt import Attempt, Seen, held
from drydock.box.proof.attempts.escape import WALL
from drydock.box.proof.planted import CANARY_PROCESS


def held_and_no_file_came_back(seen: Seen) -> bool:
    return held(seen) and not seen.files


LEAKS = (
    Attempt(
        promise="P2",
        name="no environment of the host is seen",
        quick=True,
        code="""
import glob
for path in glob.glob("/proc/*/environ"):
    try:
        print(open(path, "rb").read())
    except OSError:
        pass
print("HELD")
""",
        remedy=WALL,
    ),
    Attempt(
        promise="P2",
        name="no file of the host is seen",
        quick=True,
        code="""
import os
try:
    print("BREACH", open(<file>).read())
except OSError:
    pass
for name in ("/root", "/home", "/var/lib", "/var/log", "/boot", "/etc/shadow", "/etc/machine-id", "/etc/hostname"):
    if os.path.lexists(name):
        print("BREACH", name)
print("HELD")
""",
        remedy=WALL,
    ),
    Attempt(
        promise="P2",
        name="no process of the host is seen",
        quick=True,
        code=f"""
import os
for name in os.listdir("/proc"):
    if name.isdigit():
        try:
            if {CANARY_PROCESS!r} in open(f"/proc/{{name}}/cmdline").read():
                print("BREACH a process of the host")
        except OSError:
            pass
if len([name for name in os.listdir("/proc") if name.isdigit()]) > 8:
    print("BREACH too many processes are seen")
print("HELD")
""",
        remedy=WALL,
    ),
    Attempt(
        promise="P2",
        name="no descriptor of the server is left open",
        quick=True,
        code="""
import os
for name in os.listdir("/proc/self/fd"):
    try:
        target = os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        continue
    if int(name) > 2 and not target.startswith(f"/proc/{os.getpid()}"):
        print("BREACH", name, target)
print("HELD")
""",
        remedy=WALL,
    ),
    Attempt(
        promise="P2",
        name="its mount table names no folder of the server",
        quick=True,
        code="""
import os
if os.path.dirname(<file>) in open("/proc/self/mounts").read():
    print("BREACH the mount table")
if os.listdir("/store"):
    print("BREACH the store")
print("HELD")
""",
        remedy=WALL,
    ),
    Attempt(
        promise="P3",
        name="no network, not even to the host itself",
        quick=True,
        code="""
import socket
def reached(family, address):
    with socket.socket(family) as one:
        one.settimeout(2)
        try:
            one.connect(address)
        except OSError:
            return
        print("BREACH", address)
reached(socket.AF_INET, ("127.0.0.1", <port>))
try:
    reached(socket.AF_UNIX, "\\0" + <abstract>)
except OSError:
    pass
names = [name for _, name in socket.if_nameindex() if name != "lo"]
if names:
    print("BREACH", names)
print("HELD")
""",
        remedy=WALL,
    ),
    Attempt(
        promise="P10",
        name="no link out of the box is followed by what takes its files out",
        code="""
import os
os.symlink(<file>, "output/link"); os.symlink("/", "output/all"); os.mkfifo("output/pipe")
print("HELD")
""",
        remedy="The collector follows links: report this, and ask for no outputs until it is mended.",
        holds=held_and_no_file_came_back,
        unwalled=True,
    ),
)
