"""The system call profile that a container engine needs to run our image: deploy/seccomp.json.

    python -m scripts.outer_filter [--check]

Engines' own profiles forbid what boxes are made of. Ours allows what tenants may call (box/seccomp/policy.toml, there
bound to arguments as well; that filter stays in force) and what the server calls beside; nothing else.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from drydock.box.seccomp import bpf, policy
from drydock.box.seccomp.compiler import MAKES_BOXES

OUTPUT = Path(__file__).resolve().parent.parent / "deploy" / "seccomp.json"
EPERM, ENOSYS = 1, 38
BESIDE: Mapping[str, Iterable[str]] = {
    "A slot's zygote makes its boxes of namespaces and mounts.": MAKES_BOXES,
    "bubblewrap makes the slot itself, and gives it a host name.": ("pivot_root", "sethostname"),
    "clone, as newer C libraries ask for it.": ("clone3",),
}


def profile() -> dict[str, Any]:
    rules, numbers = policy.load()
    known = {name for table in numbers.values() for name in table}
    tenants = {name for name, verdict in rules.calls.items() if passes(verdict)}
    groups = {
        "What programs in boxes may call. All that the server calls is among it, but for what follows.": sorted(tenants)
    }
    for why, names in BESIDE.items():
        if unknown := set(names) - known:
            raise policy.PolicyError(f"no such calls: {sorted(unknown)}")
        groups[why] = sorted(set(names) - tenants)
    allowed = {name for names in groups.values() for name in names}
    syscalls: list[dict[str, Any]] = [
        {"comment": why, "names": names, "action": "SCMP_ACT_ALLOW"} for why, names in groups.items() if names
    ]
    syscalls.append(
        {
            "comment": "Known and not needed. A call that is not listed at all is newer than this file: ENOSYS.",
            "names": sorted(known - allowed),
            "action": "SCMP_ACT_ERRNO",
            "errnoRet": EPERM,
        }
    )
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": ENOSYS,
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"],
        "syscalls": syscalls,
    }


def passes(verdict: policy.Verdict) -> bool:
    """With some arguments at least."""
    return verdict.otherwise == bpf.ALLOW or any(case.answer == bpf.ALLOW for case in verdict.cases)


def text() -> str:
    return json.dumps(profile(), indent=1) + "\n"


def main() -> int:
    if "--check" in sys.argv[1:]:
        if not OUTPUT.exists() or OUTPUT.read_text("utf-8") != text():
            print(f"{OUTPUT.name} is not what the policy makes of it: make docs", file=sys.stderr)
            return 1
        return 0
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(text(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
