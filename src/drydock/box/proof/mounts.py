"""Links that a box's mounts would meet: tried from outside, since only the second opening of a box can fall for them.

A bubblewrap without the fix for CVE-2026-87766 makes a mount's destination through links that it meets on the way, on
the host. Our walls name no destination below a folder that a tenant has written; this is what holds them to it.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from drydock.box.held import HeldBox
from drydock.box.limits import MIB, Limits
from drydock.box.program import CODE, Program
from drydock.box.proof.attempts.escape import WALL
from drydock.box.proof.examine import ENV, Finding
from drydock.box.yard import Yard
from drydock.errors import DrydockError

DISK_BYTES = 8 * MIB
NAME = "links at mount destinations lead nowhere"
OLD_ROOT = "/oldroot"
"""Where bubblewrap keeps the host's root folder while it makes a box."""
_LINKS = """
import os, shutil
for name in ("tmp", "home", "code", "work"):
    path = "/box/" + name
    shutil.rmtree(path, ignore_errors=True)
    try:
        os.rename(path, path + "-away")
    except OSError:
        pass
    os.symlink({target!r}, path)
print("HELD")
"""


async def links_at_mounts(yard: Yard) -> Finding:
    """A held box whose tenant has put links in place of all its folders, opened again over the same disk."""
    with tempfile.TemporaryDirectory(prefix="drydock-proof-") as folder:
        victim = Path(folder, "victim")
        for path in (Path(folder), victim):
            path.mkdir(exist_ok=True)
            path.chmod(0o777)
        home = Path(folder, "box")
        for target in (OLD_ROOT + str(victim), str(victim)):
            await _with_links(yard, home, target)
        fell = follows_links(yard.host.bwrap)
        made = sorted(os.listdir(victim))
    if made:
        return Finding("P1", NAME, "fails", f"made on the host: {', '.join(made)}", WALL)
    note = "this bubblewrap follows them by itself; no box of ours names one" if fell else ""
    return Finding("P1", NAME, "holds", note)


async def _with_links(yard: Yard, home: Path, target: str) -> None:
    limits = Limits(wall_ms=10_000)
    first = await HeldBox.open(yard, home, limits, disk_bytes=DISK_BYTES)
    try:
        await first.run(_python(_LINKS.format(target=target)))
    finally:
        await first.close()
    second = await HeldBox.open(yard, home, limits, disk_bytes=DISK_BYTES)
    try:
        await second.run(_python("open('/tmp/made', 'w')"))
    except DrydockError:
        return  # it may well refuse: then nothing was made either
    finally:
        await second.discard()


def _python(code: str) -> Program:
    script = f"{CODE}/main.py"
    return Program(None, script, {script: code.encode()}, (), ENV)


def follows_links(bwrap: str) -> bool:
    """Whether this bubblewrap makes a destination through a link, which it should not whoever asks it to."""
    with tempfile.TemporaryDirectory(prefix="drydock-proof-") as folder:
        victim, tenant = Path(folder, "victim"), Path(folder, "tenant")
        for path in (victim, tenant):
            path.mkdir()
        os.symlink(OLD_ROOT + str(victim), tenant / "link")
        wall = [bwrap, "--unshare-all", "--ro-bind", "/usr", "/usr", "--bind", str(tenant), "/box"]
        subprocess.run([*wall, "--dir", "/box/link/made", "/usr/bin/true"], capture_output=True, check=False, env={})
        return bool(os.listdir(victim))
