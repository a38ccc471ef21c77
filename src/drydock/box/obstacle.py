"""Why no box can be made here, and what to turn: in a container mostly a flag of the engine that runs it.

Looked for only once boxes have failed. The kernel answers most refusals with the same EPERM, so each is told apart by
the step at which it comes and by what is in force around it.
"""

from __future__ import annotations

import errno
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

FOOTING = Path(__file__).with_name("footing.py")
PATIENCE_S = 20

SECCOMP = (
    "Docker and Podman: --security-opt seccomp=FILE with deploy/seccomp.json, which the image has as "
    "/opt/drydock/seccomp.json. Kubernetes: securityContext.seccompProfile of type Localhost with that file."
)
APPARMOR = (
    "Docker and Podman: --security-opt apparmor=unconfined. Kubernetes: securityContext.appArmorProfile of type "
    "Unconfined."
)
PROC = (
    "Docker: --security-opt systempaths=unconfined. Podman: --security-opt unmask=ALL. "
    "Kubernetes: securityContext.procMount: Unmasked, and hostUsers: false for the pod, which it asks for."
)
SYSCTLS = (
    ("user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000"),
    ("kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"),
)
WHAT = {
    "user": "make a user namespace",
    "uid": "take a uid in its user namespace",
    "namespaces": "make its namespaces",
    "mount": "mount its file systems",
    "proc": "mount a /proc of its own",
    "enter": "go from one namespace to another",
    "layer": "mount a layer of packages",
    "root": "change its root folder",
}


@dataclass(frozen=True, slots=True)
class Around:
    """What is in force around this process."""

    filtered: bool
    """By a system call filter, such as every engine's own profile."""
    confined: bool
    """By an AppArmor profile."""
    masked: bool = False
    """Parts of /proc are covered."""
    sysctls: tuple[str, ...] = ()
    """Commands that lift what the host's own settings forbid."""

    @classmethod
    def look(cls, proc: Path = Path("/proc")) -> Around:
        status = _read(proc / "self/status")
        sysctls = tuple(lift for name, forbids, lift in SYSCTLS if _read(proc / "sys" / name) == forbids)
        label = _read(proc / "self/attr/current")
        masked = any(line.split()[4].startswith("/proc/") for line in _read(proc / "self/mountinfo").splitlines())
        return cls("Seccomp:\t2" in status, label not in ("", "unconfined"), masked, sysctls)


def find_obstacle(python: str) -> tuple[str, str] | None:
    """What a box is refused, and what to turn for it; None when each step by itself works."""
    said = subprocess.run(
        [python, "-I", "-S", str(FOOTING)], capture_output=True, text=True, timeout=PATIENCE_S, check=False, env={}
    ).stdout
    try:
        found = json.loads(said)
    except ValueError:
        return None  # it died of something that is no answer of the kernel
    return explain(found["step"], found["errno"], Around.look()) if found else None


def explain(step: str, code: int, around: Around) -> tuple[str, str]:
    fact = f"a box may not {WHAT[step]} here ({errno.errorcode.get(code, code)})"
    why, remedy = _cause(step, code, around)
    if around.masked and remedy != PROC:
        remedy += f" Then its masked /proc will be in the way: {PROC}"
    return fact + why, remedy


def _cause(step: str, code: int, around: Around) -> tuple[str, str]:
    if step == "proc" and code == errno.EPERM and around.masked:
        return ", since parts of this container's /proc are masked", PROC
    if around.sysctls and step in ("user", "uid", "namespaces"):
        return " by the host's own settings", f"On the host, as root: {'; '.join(around.sysctls)}."
    if around.confined and (code == errno.EACCES or not around.filtered):
        return " by the AppArmor profile of the container", APPARMOR
    if around.filtered:
        return " by the system call filter that is in force", SECCOMP
    return "", "Run it where unprivileged user namespaces are allowed."


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip("\0 \n")
    except OSError:
        return ""
