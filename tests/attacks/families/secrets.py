"""Planted secrets, searched for wherever a program can look. What is found is printed, and the reply tells on it."""

from tests.attacks.row import Row

ROWS = (
    Row(
        family="secrets",
        name="the environment of every process",
        attack="""
import glob, os
from aids import *
for text in os.environb.values():
    search(text)
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/task/*/environ"):
    try:
        search(read(path))
    except OSError as wrong:
        print(path, wrong)
allowed = {"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "OUTPUT_DIR", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}
allowed |= {"LC_CTYPE"}
for name in set(os.environ) - allowed:
    breach("variable " + name)
print("HELD")
""",
        twin="import os\nprint('FINE' if 'PATH' in os.environ else 'NO')",
    ),
    Row(
        family="secrets",
        name="the memory of every process, its own included",
        attack="""
import glob, re
from aids import *
for folder in glob.glob("/proc/[0-9]*"):
    try:
        maps, memory = read(folder + "/maps").decode(), open(folder + "/mem", "rb", 0)
    except OSError as wrong:
        print(folder, wrong)
        continue
    for low, high in re.findall("^([0-9a-f]+)-([0-9a-f]+) r", maps, re.M):
        low, high = int(low, 16), int(high, 16)
        if high - low < 64 << 20 and high < 1 << 63:
            try:
                memory.seek(low)
                search(memory.read(high - low))
            except (OSError, ValueError):
                continue
print("HELD")
""",
        twin="print('FINE' if len(open('/proc/self/maps', 'rb', 0).name) else 'NO')",
    ),
    Row(
        family="secrets",
        name="every object that the warm interpreter still holds, and the frames above the code",
        attack="""
import ctypes, gc, os, sys
from aids import *
gc.unfreeze() if hasattr(gc, "unfreeze") else None
seen = 0
for thing in gc.get_objects():
    if isinstance(thing, dict):
        for value in list(thing.values()):
            if isinstance(value, (str, bytes)):
                seen += 1
                search(value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value)
frame = sys._getframe()
while frame:
    for value in frame.f_locals.values():
        if isinstance(value, (str, bytes)):
            search(value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value)
    frame = frame.f_back
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
at = 0
while environ[at]:
    search(environ[at])
    at += 1
print("looked at", seen)
print("HELD")
""",
        twin="import gc\ngc.unfreeze()\nprint('FINE' if len(gc.get_objects()) > 100 else 'NO')",
    ),
    Row(
        family="secrets",
        name="paths of the host in mount tables, memory maps, links and command lines",
        attack="""
import glob, os
from aids import *
for pattern in ("mountinfo", "mounts", "mountstats", "maps", "cmdline", "cgroup", "comm", "stat", "net/unix"):
    for path in glob.glob("/proc/[0-9]*/" + pattern):
        try:
            text = read(path)
        except OSError as wrong:
            continue
        search(text)
        print(path, text.decode(errors="replace")[:4000])
for path in glob.glob("/proc/[0-9]*/cwd") + glob.glob("/proc/[0-9]*/exe") + glob.glob("/proc/[0-9]*/fd/*"):
    try:
        target = os.readlink(path)
    except OSError:
        continue
    search(target.encode())
    print(path, target)
print("HELD")
""",
        twin="print('FINE' if open('/proc/self/mountinfo').read() else 'NO')",
    ),
    Row(
        family="secrets",
        name="files of the host by their own paths",
        attack="""
from aids import *
for path in ("@HOST_FILE@", "@OPEN_FILE@", "@DATA_FILE@"):
    attempt("a file of the host", lambda: search(read(path)) or len(read(path)))
print("HELD")
""",
        twin="print('FINE' if open('/usr/bin/env', 'rb').read(4) == b'\\x7fELF' else 'NO')",
    ),
    Row(
        family="secrets",
        name="files of the host by roundabout paths",
        attack="""
import os
from aids import *
spellings = []
for path in ("@HOST_FILE@", "@OPEN_FILE@", "@DATA_FILE@"):
    spellings += ["/proc/self/root" + path, "/proc/1/root" + path, f"/proc/{os.getppid()}/root" + path]
    spellings += ["../" * 30 + path, "/proc/self/cwd/" + "../" * 30 + path, "/dev/fd/../../.." + path, "//" + path]
    for link in ("link", "/tmp/link"):
        if os.path.lexists(link):
            os.unlink(link)
        os.symlink(path, link)
        spellings.append(link)
        try:
            search(read(link))
        except OSError as wrong:
            print(wrong.errno)
for fd in range(64):
    spellings += [f"/proc/self/fd/{fd}/" + "../" * 20 + p for p in ("@HOST_FILE@", "@OPEN_FILE@")]
for path in spellings:
    try:
        search(read(path))
        breach("a roundabout path")
    except OSError:
        continue
print("HELD")
""",
        twin="import os\nos.symlink('aids.py', 'to-aids')\nprint('FINE' if open('to-aids').read() else 'NO')",
    ),
    Row(
        family="secrets",
        name="files of the host from a language that is not Python",
        language="shell",
        attack="""
cat '@HOST_FILE@' '@OPEN_FILE@' '@DATA_FILE@' /proc/1/environ /proc/$PPID/environ 2>/dev/null | tr '\\0' '\\n'
env
cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'
echo HELD
""",
        twin="cat aids.py > /dev/null && echo FINE",
    ),
    Row(
        family="secrets",
        name="files and variables of the host by node",
        language="node",
        attack="""
const fs = require("fs");
for (const path of ["@HOST_FILE@", "@OPEN_FILE@", "@DATA_FILE@", "/proc/1/environ", `/proc/${process.ppid}/environ`]) {
  try { console.log(fs.readFileSync(path, "latin1")); } catch (wrong) { console.log(wrong.code); }
}
console.log(JSON.stringify(process.env));
console.log("HELD");
""",
        twin="console.log(require('fs').existsSync('aids.py') ? 'FINE' : 'NO')",
    ),
)
