"""Drydock with one defence taken out: which lines of the product that changes, and the rows that have to notice.

A knock-out is made on a copy of the package, never by a switch in the product: what can be switched off for a test can
be switched off by an attacker. Where several layers stand behind one another for one promise they go together, since
that is the defence that a row can tell the absence of.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import drydock

PACKAGE = Path(drydock.__file__).parent


class Edit(NamedTuple):
    file: str
    """Below the package."""
    old: str
    """Stands there exactly once; else the product has changed, and this knock-out with it."""
    new: str


@dataclass(frozen=True)
class Knockout:
    name: str
    edits: Sequence[Edit]
    noticed_by: Sequence[str]
    """Names of rows, every one of which must fail."""


def copy_without(defence: Knockout, folder: Path) -> Path:
    """A folder for PYTHONPATH that holds the package without this defence."""
    source = folder / "source"
    shutil.copytree(PACKAGE, source / "drydock", ignore=shutil.ignore_patterns("__pycache__"))
    for edit in (NO_PROOF, *defence.edits):
        path = source / "drydock" / edit.file
        text = path.read_text("utf-8")
        assert text.count(edit.old) == 1, f"{defence.name}: {edit.file} has {edit.old!r} {text.count(edit.old)} times"
        path.write_text(text.replace(edit.old, edit.new), "utf-8")
    return source


KERNEL = "box/inside/kernel.py"
STAGE = "box/inside/stage.py"
TENANT = "box/inside/tenant.py"
ZYGOTE = "box/inside/zygote.py"
CGROUP = "box/cgroup.py"
CARRY = "box/carry.py"
COLLECT = "box/collect.py"
WALL = "box/wall.py"
LAUNCH = "box/launch.py"
SLOT = "box/slot.py"
RUNNING = "box/running.py"

NO_PROOF = Edit("box/tiers.py", "            await proof.quick(tier, name)\n", "")
"""Else a server that has lost a wall does not even start, and no row is asked."""
NO_FILTER = Edit(
    KERNEL, '_check(_libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, where, 0, 0), "prctl(PR_SET_SECCOMP)")', "where"
)
KEEPS_CAPABILITIES = Edit(TENANT, "    kernel.drop_capabilities()\n", "")
NO_PID_NAMESPACE = Edit(KERNEL, "CLONE_VM | CLONE_NEWPID | _SIGCHLD", "CLONE_VM | _SIGCHLD")

UIDS = (
    Knockout(
        "the drop of root",
        [
            Edit(LAUNCH, '        os.setresgid(order["uid"], order["uid"], order["uid"])\n', ""),
            Edit(LAUNCH, '        os.setresuid(order["uid"], order["uid"], order["uid"])\n', ""),
        ],
        [],
    ),
    Knockout(
        "a uid for each place",
        [
            Edit(
                "box/host.py",
                "        while True:\n            uid, self._next",
                "        for taken in self._locks:\n            return taken\n"
                "        while True:\n            uid, self._next",
            )
        ],
        [],
    ),
)
"""Not for rows: what a program is on the host shows only from outside."""

KNOCKOUTS = (
    Knockout(
        "the system call filter",
        [NO_FILTER],
        [
            "becoming root of a user namespace of its own",
            "io_uring, which does system calls that no filter sees",
            "capabilities that could be had",
        ],
    ),
    Knockout(
        "the drop of capabilities",
        [KEEPS_CAPABILITIES],
        ["capabilities that could be had"],
    ),
    Knockout(
        "capabilities and the filter, behind which mounts hide",
        [NO_FILTER, KEEPS_CAPABILITIES],
        ["mounts undone or covered from within"],
    ),
    Knockout(
        "the box's own pid namespace",
        [NO_PID_NAMESPACE],
        ["seeing any process but its own", "a daemon that has left its session twice"],
    ),
    Knockout(
        "the zygote's memory, which only its uid guards then",
        [
            NO_PID_NAMESPACE,
            KEEPS_CAPABILITIES,
            Edit(
                ZYGOTE, "    kernel.set_dumpable(False)  # no process", "    kernel.set_dumpable(True)  # any process"
            ),
        ],
        ["memory of the warm interpreter overwritten through the process that it came from"],
    ),
    Knockout(
        "a /proc of the box's own",
        [Edit(ZYGOTE, "        stage.mount_proc(whole=bool(self._gvisor))\n", "")],
        ["seeing any process but its own"],
    ),
    Knockout(
        "the mask over the kernel's command line",
        [Edit(STAGE, "    if not whole:\n", "    if False:\n")],
        ["mounts undone or covered from within"],
    ),
    Knockout(
        "the end of all when the program ends",
        [
            Edit(ZYGOTE, "            signal.pidfd_send_signal(handle, signal.SIGKILL)\n", ""),
            Edit(ZYGOTE, "            os.waitpid(sleeper, 0)  # returns", "            # returns"),
            Edit(KERNEL, "    if _stack_top is None:", "    if True:  # several sleepers, and none may share a stack"),
        ],
        ["a daemon that has left its session twice"],
    ),
    Knockout(
        "the kill at the deadline, with what backs it up",
        [
            Edit(SLOT, "            signal.pidfd_send_signal(sleeper, signal.SIGKILL)\n", "            pass\n"),
            Edit(RUNNING, "BACKSTOP_S = 0.5", "BACKSTOP_S = 5"),
        ],
        ["stopping itself for ever", "a child that holds stdout while its parent sleeps past the limit"],
    ),
    Knockout(
        "the deadline",
        [Edit(RUNNING, "limits.wall_ms / 1000", "limits.wall_ms / 100")],
        ["stopping itself for ever"],
    ),
    Knockout(
        "the limit of memory",
        [Edit(CGROUP, "memory = limits.memory_bytes +", "memory = (4 << 30) +")],
        [
            "half a gigabyte in one process",
            "memory shared out among processes, each of which is modest",
            "memory in files that have no name",
            "memory in System V segments",
            "a build script that takes four hundred megabytes",
        ],
    ),
    Knockout(
        "the limit of processes",
        [Edit(CGROUP, "processes = limits.processes *", "processes = 600 *")],
        [
            "a hundred and fifty processes",
            "two hundred dead processes that nobody waits for",
            "three hundred threads",
        ],
    ),
    Knockout(
        "the limit of processors",
        [Edit(CGROUP, "int(limits.cpus * period)", "int(limits.cpus * period) * 4")],
        ["two processors instead of one"],
    ),
    Knockout(
        "the limit of open files",
        [Edit(RUNNING, '"NOFILE": limits.open_files', '"NOFILE": 1024')],
        ["three hundred descriptors, after lifting its own limit"],
    ),
    Knockout(
        "the limit of a file's size",
        [Edit(RUNNING, '"FSIZE": limits.file_bytes', '"FSIZE": 1 << 42')],
        ["a single file larger than is allowed"],
    ),
    Knockout(
        "the quota of disk",
        [Edit(STAGE, 'b"size=%d,nr_inodes=%d,mode=0711" % (work_bytes, inodes)', 'b"size=1g,mode=0711"')],
        ["filling the disk", "filling every other place that looks like a disk", "ten thousand files"],
    ),
    Knockout(
        "the cut of output",
        [
            Edit(RUNNING, f"Capture(limits.output_bytes, {name})", f"Capture(1 << 30, {name})")
            for name in ("out", "err")
        ],
        ["thirty megabytes of output on both streams"],
    ),
    Knockout(
        "a fresh folder for each program",
        [
            Edit(ZYGOTE, "        stage.mount_tmpfs(self._tmpfs)\n", ""),
            Edit(
                ZYGOTE,
                "        self._store.hide()\n",
                "        self._store.hide()\n        stage.mount_tmpfs(self._tmpfs)\n",
            ),
        ],
        ["files left for the next in every place that can be written"],
    ),
    Knockout(
        "an ipc namespace for each program",
        [Edit(ZYGOTE, "kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC", "kernel.CLONE_NEWNS")],
        ["System V memory, semaphores and queues, and POSIX queues, left behind"],
    ),
    Knockout(
        "a new network namespace after one that was used",
        [Edit(ZYGOTE, "            if self._loopback.was_used():", "            if False:")],
        ["a port in use, a connection that lingers and an abstract name held"],
    ),
    Knockout(
        "the network namespace",
        [
            Edit(WALL, '("pid", "net", "ipc", "uts")', '("pid", "ipc", "uts")'),
            Edit(ZYGOTE, "            if self._loopback.was_used():", "            if False:"),
        ],
        [
            "a service on the host's loopback, by IPv4 and IPv6",
            "the server that it runs on",
            "an abstract unix socket of the host, and one in a folder",
            "a build script that asks services of the host",
        ],
    ),
    Knockout(
        "the empty environment, at each step of the way in",
        [
            Edit(SLOT, "                env={},\n", ""),
            Edit(LAUNCH, '*order["command"]], {})', '*order["command"]], os.environ)'),
            Edit(WALL, '"--clearenv", ', ""),
            Edit(STAGE, "    os.environ.clear()\n", ""),
        ],
        [
            "the environment of every process",
            "files and variables of the host by node",
            "a build script that takes the server's secrets and the host's files",
            "an install script that takes the server's secrets and the host's files",
        ],
    ),
    Knockout(
        "folders of the host kept out, all but /usr",
        [
            Edit(
                WALL,
                '    to += ["--ro-bind", "/usr", "/usr"]\n',
                '    to += ["--ro-bind", "/usr", "/usr", "--ro-bind", "/opt", "/opt"]\n',
            )
        ],
        ["folders of the host"],
    ),
    Knockout(
        "the read-only root of the box",
        [Edit(LAUNCH, '    arguments += ["--remount-ro", "/"]\n', "")],
        ["writing anywhere but to its own folders", "the folder of the warm interpreter's own code rewritten"],
    ),
    Knockout(
        "the store out of sight",
        [Edit(STAGE, "        kernel.umount(STORE)\n", "")],
        ["paths of the host in mount tables, memory maps, links and command lines"],
    ),
    Knockout(
        "the collector's refusal of links, at each step",
        [
            Edit(COLLECT, "_RESOLVE = 0x01 | 0x02 | 0x04 | 0x08", "_RESOLVE = 0"),
            Edit(COLLECT, "os.O_CLOEXEC | os.O_NOFOLLOW |", "os.O_CLOEXEC |"),
            Edit(COLLECT, "follow_symlinks=False", "follow_symlinks=True"),
        ],
        [
            "symbolic links to files and folders of the host",
            "links into the server's own /proc",
            "the output folder itself made a link to the data folder",
        ],
    ),
    Knockout(
        "the collector's refusal of what is no file",
        [
            Edit(COLLECT, "elif not stat.S_ISREG(kind):", "elif False:"),
            Edit(COLLECT, "if not stat.S_ISREG(about.st_mode):", "if False:"),
        ],
        ["a pipe, a socket and a device where a file is looked for"],
    ),
    Knockout(
        "the collector's bounds",
        [
            Edit(
                COLLECT,
                "total_bytes: int = 50 << 20\n    files: int = 1000",
                "total_bytes: int = 1 << 30\n    files: int = 5000",
            )
        ],
        ["more files than are taken", "more bytes than are taken"],
    ),
    Knockout(
        "the question who asked for a renewal",
        [Edit(ZYGOTE, "status == _RENEW_EXIT << 8 and self._was_asked()", "status == _RENEW_EXIT << 8")],
        ["the status by which an interpreter says that it renews itself"],
    ),
    Knockout(
        "the control socket closed before the program begins",
        [Edit(TENANT, "        os.close(ctl.detach())\n", "        ctl.detach()\n")],
        ["results forged on every descriptor", "descriptors of the supervisor that were left open"],
    ),
    Knockout(
        "descriptors closed before the program begins",
        [
            Edit(TENANT, "    os.closerange(keep + 1, _HIGHEST_FD)\n", ""),
            Edit(ZYGOTE, "    os.set_inheritable(CTL, False)\n", ""),
        ],
        [
            "descriptors of the supervisor that were left open",
            "descriptors of the supervisor that another program inherits",
        ],
    ),
)
