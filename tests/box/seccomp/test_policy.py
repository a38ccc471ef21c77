"""The committed data: whole, free of contradictions, and the same as the kernel's headers."""

from __future__ import annotations

import copy
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from drydock.box.seccomp.policy import PolicyError, load, parse
from tests.box.seccomp.probe import MACHINE
from tests.box.seccomp.reading import NUMBERS, POLICY

# Values that the headers of Debian 12 (Linux 6.1) do not have yet; where a machine's headers do, those count.
NEWER_CONSTANTS = {
    "SO_PASSPIDFD": 76,
    "PR_SET_MDWE": 65,
    "PR_GET_MDWE": 66,
    "PR_GET_AUXV": 0x41555856,
    "PR_GET_SHADOW_STACK_STATUS": 74,
    "PR_SET_SHADOW_STACK_STATUS": 75,
    "PR_LOCK_SHADOW_STACK_STATUS": 76,
    "ARCH_GET_UNTAG_MASK": 0x4001,
    "ARCH_ENABLE_TAGGED_ADDR": 0x4002,
    "ARCH_GET_MAX_TAG_BITS": 0x4003,
    "ARCH_SHSTK_ENABLE": 0x5001,
    "ARCH_SHSTK_DISABLE": 0x5002,
    "ARCH_SHSTK_LOCK": 0x5003,
    "ARCH_SHSTK_STATUS": 0x5005,
    "MADV_SOFT_OFFLINE": 101,
    "F_SETDELEG": 1024 + 16,
}
OUR_CONSTANTS = {"BOX_INIT": 1, "PER_QUERY": 0xFFFFFFFF}
ENUMERATED = {"IOPRIO_WHO_PROCESS", "PER_LINUX", "ADDR_NO_RANDOMIZE"}
HEADERS = [
    "stdio.h",
    "fcntl.h",
    "sched.h",
    "sys/stat.h",
    "sys/mman.h",
    "sys/shm.h",
    "sys/resource.h",
    "sys/socket.h",
    "linux/fs.h",
    "asm/socket.h",
    "asm/ioctls.h",
    "asm/termbits.h",
    "linux/sockios.h",
    "linux/prctl.h",
    "linux/in.h",
    "linux/in6.h",
    "linux/tcp.h",
    "linux/udp.h",
    "linux/netlink.h",
    "linux/futex.h",
    "linux/seccomp.h",
    "linux/memfd.h",
    "linux/personality.h",
    "linux/ioprio.h",
]

# What arm64's own asm/unistd.h asks of the generic table.
ARM64_WANTS = ["RENAMEAT", "NEW_STAT", "SET_GET_RLIMIT", "SYS_CLONE3", "MEMFD_SECRET"]


def test_every_call_of_either_machine_has_exactly_one_place() -> None:
    placed = Counter(name for kind in ("allow", "rule", "refuse") for group in POLICY[kind] for name in group["calls"])
    assert {name for name, count in placed.items() if count > 1} == set()
    assert set(placed) == {name for table in NUMBERS.values() for name in table}


def test_no_number_has_two_names() -> None:
    for table in NUMBERS.values():
        assert len(set(table.values())) == len(table)


def test_every_constant_is_used() -> None:
    used = str(POLICY["rule"])
    assert [name for name in POLICY["constants"] if f"'{name}'" not in used] == []


def test_constants_are_those_of_the_kernels_headers(tmp_path: Path) -> None:
    names = [name for name in POLICY["constants"] if name not in OUR_CONSTANTS]
    lines = [
        f'printf("{name} %u\\n", (unsigned)({name}));'
        if name in ENUMERATED
        else f'\n#ifdef {name}\nprintf("{name} %u\\n", (unsigned)({name}));\n#endif'
        for name in names
    ]
    includes = "".join(f"#include <{header}>\n" for header in HEADERS)
    if MACHINE == "x86_64":
        includes += "#include <asm/prctl.h>\n"
    source = tmp_path / "constants.c"
    source.write_text(f"#define _GNU_SOURCE\n{includes}int main(void) {{\n{chr(10).join(lines)}\n}}\n")
    subprocess.run(["gcc", "-w", "-o", str(tmp_path / "constants"), str(source)], check=True)
    printed = subprocess.run([str(tmp_path / "constants")], check=True, capture_output=True, text=True).stdout
    known = {name: int(number) for name, number in (line.split() for line in printed.splitlines())}
    if MACHINE != "x86_64":
        known |= {name: number for name, number in POLICY["constants"].items() if name.startswith("ARCH_")}
    assert {**OUR_CONSTANTS, **NEWER_CONSTANTS, **known} == POLICY["constants"]


@pytest.mark.parametrize("machine", sorted({MACHINE, "aarch64"}))
def test_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    generic = "".join(f"#define __ARCH_WANT_{want}\n" for want in ARM64_WANTS) + "#include <asm-generic/unistd.h>\n"
    source = "#include <asm/unistd.h>\n" if machine == MACHINE else generic
    printed = subprocess.run(["gcc", "-E", "-dM", "-"], input=source, capture_output=True, text=True, check=True).stdout
    defined = dict(re.findall(r"^#define (__NR\w*) (\w+)$", printed, re.MULTILINE))
    header = {}
    for name, number in defined.items():
        while number in defined:
            number = defined[number]
        if (
            name.startswith("__NR_")
            and number.isdigit()
            and name not in ("__NR_syscalls", "__NR_arch_specific_syscall")
        ):
            header[name.removeprefix("__NR_")] = int(number)
    newest = max(NUMBERS[machine].values())
    assert {n: v for n, v in header.items() if v <= newest and NUMBERS[machine].get(n) != v} == {}
    later = NUMBERS[machine].keys() - header.keys()
    # 335 and 336 were given out late.
    assert {name for name in later if NUMBERS[machine][name] <= max(header.values())} <= {"uretprobe", "uprobe"}


def test_the_policy_is_read_without_complaint() -> None:
    policy, numbers = load()
    assert set(numbers) == {"x86_64", "aarch64"}
    assert "read" in policy.calls


def _first(policy: dict[str, Any], call: str) -> dict[str, Any]:
    rule: dict[str, Any] = next(rule for rule in policy["rule"] if call in rule["calls"])
    return rule


def _strange_key(policy: dict[str, Any]) -> None:
    policy["allows"] = []


def _strange_condition(policy: dict[str, Any]) -> None:
    _first(policy, "clone")["case"][0]["arg0"] = {"within": [1]}


def _strange_argument(policy: dict[str, Any]) -> None:
    _first(policy, "clone")["case"][0]["arg6"] = {"in": [1]}


def _strange_answer(policy: dict[str, Any]) -> None:
    _first(policy, "clone")["otherwise"] = "EPREM"


def _case_without_condition(policy: dict[str, Any]) -> None:
    _first(policy, "clone")["case"][0] = {"answer": "ALLOW"}


def _value_outside_of_its_mask(policy: dict[str, Any]) -> None:
    _first(policy, "mknod")["case"][0]["arg1"]["in"] = [1]


def _empty_list(policy: dict[str, Any]) -> None:
    _first(policy, "madvise")["case"][0]["arg2"]["in"] = []


def _no_flags(policy: dict[str, Any]) -> None:
    _first(policy, "clone")["case"][0]["arg0"]["without"] = []


def _wide_refusal(policy: dict[str, Any]) -> None:
    _first(policy, "setpriority")["case"][0]["arg1"] = {"not_in": [1], "bits": 64}


def _one_call_twice(policy: dict[str, Any]) -> None:
    policy["allow"][0]["calls"].append("ptrace")


def _no_reason(policy: dict[str, Any]) -> None:
    policy["allow"][0]["why"] = " "


@pytest.mark.parametrize(
    "spoil",
    [
        _strange_key,
        _strange_condition,
        _strange_argument,
        _strange_answer,
        _case_without_condition,
        _value_outside_of_its_mask,
        _empty_list,
        _no_flags,
        _wide_refusal,
        _one_call_twice,
        _no_reason,
    ],
)
def test_a_spoilt_policy_is_refused_whole(spoil: Any) -> None:
    policy = copy.deepcopy(POLICY)
    spoil(policy)
    with pytest.raises(PolicyError):
        parse(policy)


def test_an_unknown_constant_is_refused() -> None:
    policy = copy.deepcopy(POLICY)
    _first(policy, "clone")["case"][0]["arg0"]["without"].append("CLONE_NEWTHING")
    with pytest.raises(PolicyError, match="CLONE_NEWTHING"):
        parse(policy)
