"""What a program leaves for the server to pick up: links, pipes, names and sizes that are traps."""

from tests.attacks.row import Row, Scene

OUT = "import os\nfrom aids import *\nout = os.environ['OUTPUT_DIR']\nos.chdir(out)\n"
ONE_FILE = "import os\nopen(os.environ['OUTPUT_DIR'] + '/mine', 'w').write('x')\nprint('FINE')"


def nothing_came_back(scene: Scene) -> None:
    assert not scene.reply.get("files_produced"), list(scene.reply["files_produced"])


def skipped(**reasons: str) -> object:
    def judge(scene: Scene) -> None:
        told = {entry["name"]: entry["reason"] for entry in scene.reply.get("files_skipped", [])}
        assert told == reasons, told
        nothing_came_back(scene)

    return judge


def at_most_a_thousand_files(scene: Scene) -> None:
    assert len(scene.reply["files_produced"]) == 1000
    assert {entry["reason"] for entry in scene.reply.get("files_skipped", [])} == {"limit"}


def at_most_50_mib(scene: Scene) -> None:
    assert list(scene.reply["files_produced"]) == ["1"]
    assert scene.reply["files_skipped"] == [{"name": "2", "reason": "limit"}]


def bad_names_are_told(scene: Scene) -> None:
    assert {entry["reason"] for entry in scene.reply.get("files_skipped", [])} == {"bad_name"}
    assert set(scene.reply["files_produced"]) == {"a\nb", "\x1b[2J", "..\\..\\x", "\u202egnp.exe"}


ROWS = (
    Row(
        family="links",
        name="symbolic links to files and folders of the host",
        judge=skipped(file="symlink", folder="symlink", dots="symlink", passwd="symlink"),  # type: ignore[arg-type]
        attack=OUT
        + """
os.symlink("@HOST_FILE@", "file")
os.symlink("@DATA@", "folder")
os.symlink("../" * 20 + "@OPEN_FILE@", "dots")
os.symlink("/etc/passwd", "passwd")
print("HELD")
""",
        twin=ONE_FILE,
    ),
    Row(
        family="links",
        name="links into the server's own /proc",
        judge=skipped(environ="symlink", cmdline="symlink", maps="symlink", root="symlink"),  # type: ignore[arg-type]
        attack=OUT
        + """
os.symlink("/proc/self/environ", "environ")
os.symlink("/proc/self/cmdline", "cmdline")
os.symlink("/proc/self/maps", "maps")
os.symlink("/proc/self/root@HOST_FILE@", "root")
print("HELD")
""",
        twin=ONE_FILE,
    ),
    Row(
        family="links",
        name="the output folder itself made a link to the data folder",
        judge=skipped(output="symlink"),  # type: ignore[arg-type]
        attack=OUT
        + """
os.chdir("..")
os.rmdir("output")
os.symlink("@DATA@", "output")
print("HELD")
""",
        twin="import os, shutil\nshutil.rmtree(os.environ['OUTPUT_DIR'])\nprint('FINE')",
    ),
    Row(
        family="links",
        name="hard links to files of the host",
        judge=nothing_came_back,
        attack=OUT
        + """
for path in ("@HOST_FILE@", "@OPEN_FILE@", "@DATA_FILE@"):
    attempt("a hard link", os.link, path, "hard" + str(len(path)))
print("HELD")
""",
        twin="""
import os
os.link("aids.py", os.environ["OUTPUT_DIR"] + "/hard")
print("FINE")
""",
    ),
    Row(
        family="links",
        name="a child that goes on swapping folders for links after the end",
        judge=lambda scene: None,
        attack=OUT
        + """
os.mkdir("real")
open("real/environ", "w").close()
if os.fork() == 0:
    os.setsid()
    for fd in (0, 1, 2):
        os.close(fd)
    while True:
        try:
            os.rename("real", "aside")
            os.symlink("/proc/self", "real")
            os.unlink("real")
            os.rename("aside", "real")
        except OSError:
            continue
print("HELD")
""",
        twin=ONE_FILE,
    ),
    Row(
        family="links",
        name="a pipe, a socket and a device where a file is looked for",
        shared_kernel="pipes and sockets are in the memory of the kernel inside and never come to be on the host",
        within=3,
        judge=skipped(pipe="not_a_file", socket="not_a_file"),  # type: ignore[arg-type]
        attack=OUT
        + """
import socket
os.mkfifo("pipe")
socket.socket(socket.AF_UNIX).bind("socket")
attempt("a device", os.mknod, "device", 0o20666, os.makedev(1, 5))
print("HELD")
""",
        twin=ONE_FILE,
    ),
    Row(
        family="links",
        name="a file that claims three gigabytes and holds none",
        judge=nothing_came_back,
        within=4,
        attack=OUT
        + """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
fd = os.open("sparse", os.O_CREAT | os.O_WRONLY)
try:
    os.ftruncate(fd, 3 << 30)
except OSError as wrong:
    print(wrong)
    os.unlink("sparse")
print("HELD")
""",
        twin=ONE_FILE,
    ),
    Row(
        family="links",
        name="more files than are taken",
        judge=at_most_a_thousand_files,
        attack=OUT + "for n in range(2000):\n    open(f'{n:04}', 'w').close()\nprint('HELD')\n",
        twin=ONE_FILE,
    ),
    Row(
        family="links",
        name="more bytes than are taken",
        judge=at_most_50_mib,
        attack=OUT + "for n in (1, 2):\n    open(f'{n}', 'wb').write(bytes(30 << 20))\nprint('HELD')\n",
        twin=ONE_FILE,
    ),
    Row(
        family="links",
        name="names that are no text, or that deceive a reader",
        judge=bad_names_are_told,
        attack=OUT
        + """
for name in (b"\\xff\\xfe", b"a\\nb", b"\\x1b[2J", b"..\\\\..\\\\x", "\\u202egnp.exe".encode(), b"\\xed\\xa0\\x80"):
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
print("HELD")
""",
        twin=ONE_FILE,
    ),
)
