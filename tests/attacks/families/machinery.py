"""Attacks on what only Drydock has: the warm interpreter that serves one tenant after the other, its control socket,
the status by which it renews itself. The bare server starts a fresh interpreter each time and has nothing of that
kind, so that these rows are noticed is shown by the knock-outs alone."""

from tests.attacks.row import Row, Scene


def says_77(scene: Scene) -> None:
    assert scene.reply["exit_code"] == 77
    assert "end_reason" not in scene.reply


def says_3_and_nothing_else(scene: Scene) -> None:
    assert scene.reply["exit_code"] == 3
    assert "end_reason" not in scene.reply
    assert "signal" not in scene.reply


STATE = """
import atexit, builtins, encodings, gc, io, os, sys, threading, warnings
print(sorted(sys.modules) == sorted(set(sys.modules)), len(sys.path), sys.getrecursionlimit(), gc.isenabled())
print(builtins.print is print, builtins.open is io.open, sys.excepthook is sys.__excepthook__, sys.flags)
print(sorted(name for name in sys.modules if "former" in name), warnings.filters)
print([type(finder).__name__ for finder in sys.meta_path])
print(sys.gettrace(), sys.getprofile(), threading.active_count(), atexit._ncallbacks(), len(sys.path_hooks))
print(int.__add__(1, 2), "x".upper(), sorted(vars(builtins)) == sorted(dir(builtins)), sys.getswitchinterval())
print(len(gc.callbacks), sys.stdout.encoding, sys.stdout.errors, sys.int_info, hasattr(builtins, "of_the_former"))
"""

ROWS = (
    Row(
        family="machinery",
        name="the interpreter poisoned for whoever comes next",
        machinery=True,
        single=True,
        later=STATE,
        later_as_before=True,
        attack="""
import atexit, builtins, ctypes, gc, io, os, signal, sys, threading, types, warnings
builtins.of_the_former = 1
real = builtins.print
sys.modules["json"] = types.ModuleType("json")
sys.modules["former"] = types.ModuleType("former")
sys.path.insert(0, "/tmp/of-the-former")
sys.setrecursionlimit(77)
sys.excepthook = sys.displayhook = lambda *a: real("poisoned")
sys.meta_path.insert(0, type("F", (), {"find_spec": staticmethod(lambda *a: None)}))
warnings.simplefilter("error")
gc.disable()
gc.callbacks.append(lambda *a: None)
atexit.register(lambda: os.write(1, b""))
sys.setswitchinterval(1)
small = ctypes.c_ssize_t.from_address(id(7) + 24)
os.environ["PYTHONSTARTUP"] = "/tmp/x"
frame = sys._getframe()
while frame:
    frame.f_globals["of_the_former"] = 1
    frame = frame.f_back
for module in list(sys.modules.values()):
    try:
        module.of_the_former = 1
    except (AttributeError, TypeError):
        pass
os.write(1, b"HELD")
os._exit(0)
""",
        twin="import builtins\nbuiltins.mine = 'FINE'\nprint(mine)",
    ),
    Row(
        family="machinery",
        name="memory of the warm interpreter overwritten through the process that it came from",
        shared_kernel="there is no warm interpreter",
        machinery=True,
        single=True,
        later_as_before=True,
        later=STATE,
        attack="""
import os
from aids import *
for pid in {1, *others()}:
    attempt(f"memory of {pid}", os.open, f"/proc/{pid}/mem", os.O_RDWR)
attempt("descriptors of 1", os.listdir, "/proc/1/fd")
attempt("map of 1", lambda: read("/proc/1/maps") or 1)
print("HELD")
""",
        twin="import os\nos.close(os.open('/proc/self/maps', os.O_RDONLY))\nprint('FINE')",
    ),
    Row(
        family="machinery",
        name="the status by which an interpreter says that it renews itself",
        machinery=True,
        single=True,
        ends=("exit",),
        judge=says_77,
        attack="import os\nos._exit(77)\n",
        twin="import sys\nprint('FINE')\nsys.exit(0)",
    ),
    Row(
        family="machinery",
        name="results forged on every descriptor",
        machinery=True,
        ends=("exit",),
        judge=says_3_and_nothing_else,
        attack="""
import array, json, marshal, os, socket
forged = [marshal.dumps({"ended": 0, "survivors": 0, "cpu_us": 0, "id": 0}, 2), marshal.dumps({"parked": True}, 2),
          marshal.dumps({"fault": "forged", "id": 0}, 2), marshal.dumps({"failed": "forged"}, 2),
          json.dumps({"status": "success", "exit_code": 0}).encode(), b"\\0" * 64, b"77"]
rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1]))]
for fd in range(1024):
    if fd in (1, 2):
        continue
    for message in forged:
        try:
            os.write(fd, message)
            print("wrote to", fd)
        except OSError:
            pass
        try:
            copy = socket.socket(fileno=os.dup(fd))
            copy.sendmsg([message], rights)
            print("BREACH sent on", fd)
        except OSError:
            pass
os._exit(3)
""",
        twin="import os\nr, w = os.pipe()\nos.write(w, b'FINE')\nprint(os.read(r, 4).decode())",
    ),
    Row(
        family="machinery",
        name="descriptors of the supervisor that were left open",
        machinery=True,
        attack="""
import os
from aids import *
for name in os.listdir("/proc/self/fd"):
    try:
        target = os.readlink("/proc/self/fd/" + name)
    except OSError:
        continue
    if int(name) > 2 and target != "/proc/" + str(os.getpid()) + "/fd":
        breach(f"{name} -> {target}")
    if "socket" in target or "pidfd" in target:
        breach(f"{name} -> {target}")
print("HELD")
""",
        twin="import os\nprint('FINE' if len(os.listdir('/proc/self/fd')) >= 3 else 'NO')",
    ),
    Row(
        family="machinery",
        name="descriptors of the supervisor that another program inherits",
        machinery=True,
        language="shell",
        attack="""
for fd in /proc/self/fd/*; do
  case $(readlink $fd) in *socket*|*pidfd*|*ns*) echo BREACH $fd $(readlink $fd);; esac
done
echo HELD
""",
        twin="for fd in /proc/self/fd/*; do readlink $fd > /dev/null && echo FINE; done; true",
    ),
    Row(
        family="machinery",
        name="the folder of the warm interpreter's own code rewritten",
        machinery=True,
        single=True,
        later="print('CLEAN')",
        attack="""
import glob, os
from aids import *
for path in ["/drydock", *glob.glob("/drydock/*"), *glob.glob("/drydock/*/*")]:
    attempt("mode of " + path, os.chmod, path, 0o777)
    attempt("rename of " + path, os.rename, path, path + "x")
    if not os.path.isdir(path):
        attempt("write to " + path, open, path, "w")
print("HELD")
""",
        twin="import os\nopen('x', 'w').close()\nos.chmod('x', 0o777)\nprint('FINE')",
    ),
    Row(
        family="machinery",
        name="mounts undone or covered from within",
        machinery=True,
        attack="""
import os
from aids import *
for target in (b"/proc", b"/box", b"/proc/cmdline", b"/usr", b"/", b"/dev"):
    attempt("umount " + target.decode(), lambda: checked(libc.umount2(target, 2)))
    attempt("mount on " + target.decode(), lambda: checked(libc.mount(b"none", target, b"tmpfs", 0, None)))
    attempt("writable " + target.decode(), lambda: checked(libc.mount(b"none", target, None, 32 | 4096, None)))
attempt("chroot", os.chroot, "/box/work")
attempt("setns", lambda: checked(libc.setns(os.open("/proc/self/ns/net", 0), 0)))
if read("/proc/cmdline").rstrip() not in (b"", b"BOOT_IMAGE=/vmlinuz-4.4.0-gvisor quiet"):
    breach("the kernel's command line")
print("HELD")
""",
        twin="import os\nprint('FINE' if not os.access('/', os.W_OK) else 'NO')",
    ),
)
