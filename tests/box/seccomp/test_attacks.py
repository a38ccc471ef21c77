"""Ways out, and ways to the kernel's young or huge corners, each beside a harmless twin that has to pass.

The filter is a marked one: what is expected here is its own answer, so that a refusal by the kernel, for want of a
capability or of a driver, cannot pass for one of ours. Written from what attackers do; numbers are from headers.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from drydock.box.seccomp import bpf, program_bytes
from drydock.box.seccomp.compiler import compile_policy
from drydock.box.seccomp.policy import Policy, Verdict, load
from tests.box.seccomp.probe import MACHINE, MARK, PASSED, Call, Probe, marked
from tests.box.seccomp.reading import NUMBERS

HIGH = 0xDEAD << 32


class Try(NamedTuple):
    what: str
    call: str
    arguments: Sequence[int]
    refused_with: str


class Twin(NamedTuple):
    what: str
    call: str
    arguments: Sequence[int]


ATTACKS = [
    # namespaces: root inside one, and every mount, netfilter and traffic control bug is in reach
    Try("a user namespace by unshare", "unshare", [0x10000000], "EPERM"),
    Try("a user and net namespace by clone", "clone", [0x50000011], "EPERM"),
    Try("a user namespace by clone, upper half set", "clone", [HIGH | 0x10000011], "EPERM"),
    Try("a mount namespace by clone", "clone", [0x20011], "EPERM"),
    Try("a cgroup namespace by clone", "clone", [0x02000011], "EPERM"),
    Try("a pid namespace by clone with the flags of a thread beside", "clone", [0x203D0F00], "EPERM"),
    Try("flags out of a filter's sight", "clone3", [0x1000, 88], "ENOSYS"),
    Try("a child for the box's first process", "clone", [0x8011], "EPERM"),
    Try("into the host's namespaces", "setns", [3, 0], "EPERM"),
    Try("a file system over a folder", "mount", [0, 0, 0, 4096, 0], "EPERM"),
    Try("taking a cover off", "umount2", [0, 2], "EPERM"),
    Try("the new mount calls", "fsopen", [0, 0], "EPERM"),
    Try("a detached copy of a mount", "open_tree", [-100, 0, 1], "EPERM"),
    Try("the same with attributes", "open_tree_attr", [-100, 0, 1, 0, 0], "EPERM"),
    Try("a read-only mount made writable", "mount_setattr", [-100, 0, 0, 0, 32], "EPERM"),
    Try("another root", "pivot_root", [0, 0], "EPERM"),
    Try("chroot and climb", "chroot", [0], "EPERM"),
    Try("a file by its handle (shocker)", "open_by_handle_at", [3, 0, 0], "EPERM"),
    # other processes of the same uid
    Try("writing into another process", "ptrace", [16, 1], "EPERM"),
    Try("ptrace, upper half set", "ptrace", [HIGH | 16, 1], "EPERM"),
    Try("reading another's memory", "process_vm_readv", [1, 0, 0, 0, 0, 0], "EPERM"),
    Try("writing another's memory", "process_vm_writev", [1, 0, 0, 0, 0, 0], "EPERM"),
    Try("taking another's descriptor", "pidfd_getfd", [3, 0, 0], "EPERM"),
    Try("comparing kernel addresses", "kcmp", [1, 1, 0, 0, 0], "EPERM"),
    Try("lowering the limits of pid 1", "prlimit64", [1, 7, 0x1000, 0], "EPERM"),
    Try("the same, upper half set", "prlimit64", [HIGH | 1, 7, 0x1000, 0], "EPERM"),
    Try("starving pid 1", "setpriority", [0, 1, 19], "EPERM"),
    Try("the same, upper half set", "setpriority", [HIGH, HIGH | 1, 19], "EPERM"),
    Try("starving all of the uid", "setpriority", [2, 0, 19], "EPERM"),
    Try("starving a group", "setpriority", [1, 1, 19], "EPERM"),
    Try("idling pid 1", "sched_setscheduler", [1, 5, 0x1000], "EPERM"),
    Try("pinning pid 1", "sched_setaffinity", [1, 8, 0x1000], "EPERM"),
    Try("pid 1's disk behind all others", "ioprio_set", [1, 1, 0x6000], "EPERM"),
    Try("real time for itself", "sched_setscheduler", [0, 1, 0x1000], "EPERM"),
    Try("the same, hidden by reset-on-fork", "sched_setscheduler", [0, 0x40000002, 0x1000], "EPERM"),
    Try("a deadline for itself", "sched_setattr", [0, 0x1000, 0], "EPERM"),
    # sockets beyond the four kinds
    Try("raw packets", "socket", [2, 3, 1], "EPERM"),
    Try("raw packets without waiting", "socket", [2, 3 | 0o4000 | 0o2000000, 255], "EPERM"),
    Try("frames", "socket", [17, 3, 0x0300], "EAFNOSUPPORT"),
    Try("frames by the obsolete type", "socket", [2, 10, 0x0300], "EPROTONOSUPPORT"),
    Try("the hypervisor", "socket", [40, 1, 0], "EAFNOSUPPORT"),
    Try("the kernel's ciphers", "socket", [38, 5, 0], "EAFNOSUPPORT"),
    Try("bluetooth", "socket", [31, 3, 1], "EAFNOSUPPORT"),
    Try("can", "socket", [29, 3, 1], "EAFNOSUPPORT"),
    Try("tipc", "socket", [30, 2, 0], "EAFNOSUPPORT"),
    Try("xdp", "socket", [44, 3, 0], "EAFNOSUPPORT"),
    Try("smc by family", "socket", [43, 1, 0], "EAFNOSUPPORT"),
    Try("smc by protocol", "socket", [2, 1, 256], "EPROTONOSUPPORT"),
    Try("mptcp", "socket", [2, 1, 262], "EPROTONOSUPPORT"),
    Try("mptcp over v6, upper half set", "socket", [HIGH | 10, HIGH | 1, HIGH | 262], "EPROTONOSUPPORT"),
    Try("sctp as a stream", "socket", [2, 1, 132], "EPROTONOSUPPORT"),
    Try("sctp as packets", "socket", [2, 5, 132], "EPROTONOSUPPORT"),
    Try("dccp", "socket", [2, 6, 33], "EPROTONOSUPPORT"),
    Try("udp-lite", "socket", [2, 2, 136], "EPROTONOSUPPORT"),
    Try("ping", "socket", [2, 2, 1], "EPROTONOSUPPORT"),
    Try("ping over v6", "socket", [10, 2, 58], "EPROTONOSUPPORT"),
    Try("l2tp", "socket", [2, 2, 115], "EPROTONOSUPPORT"),
    Try("netfilter's netlink", "socket", [16, 3, 12], "EPROTONOSUPPORT"),
    Try("xfrm's netlink", "socket", [16, 3, 6], "EPROTONOSUPPORT"),
    Try("generic netlink", "socket", [16, 2, 16], "EPROTONOSUPPORT"),
    Try("socket diagnosis", "socket", [16, 3, 4], "EPROTONOSUPPORT"),
    Try("device events", "socket", [16, 2, 15], "EPROTONOSUPPORT"),
    Try("a pair of tipc", "socketpair", [30, 1, 0], "EAFNOSUPPORT"),
    Try("a raw unix pair", "socketpair", [1, 3, 0], "EPROTONOSUPPORT"),
    Try("urgent data on a unix socket", "sendto", [3, 0, 1, 1], "EOPNOTSUPP"),
    Try("the same by message", "sendmsg", [3, 0, 0x4001], "EOPNOTSUPP"),
    Try("the same by many messages", "sendmmsg", [3, 0, 1, HIGH | 1], "EOPNOTSUPP"),
    # options that lead elsewhere
    Try("a program for the kernel on a socket", "setsockopt", [3, 1, 26, 0, 16], "ENOPROTOOPT"),
    Try("the same for eBPF", "setsockopt", [3, 1, 50, 0, 4], "ENOPROTOOPT"),
    Try("the same for a group of sockets", "setsockopt", [3, 1, 51, 0, 16], "ENOPROTOOPT"),
    Try("tls, smc or espintcp under tcp", "setsockopt", [3, 6, 31, 0, 4], "ENOPROTOOPT"),
    Try("the same, upper half set", "setsockopt", [3, HIGH | 6, HIGH | 31, 0, 4], "ENOPROTOOPT"),
    Try("ipsec in udp", "setsockopt", [3, 17, 100, 0, 4], "ENOPROTOOPT"),
    Try("the firewall's tables", "setsockopt", [3, 0, 64, 0, 4], "ENOPROTOOPT"),
    Try("the firewall's tables for v6", "setsockopt", [3, 41, 64, 0, 4], "ENOPROTOOPT"),
    Try("multicast routing", "setsockopt", [3, 0, 200, 0, 4], "ENOPROTOOPT"),
    Try("an ipsec policy", "setsockopt", [3, 0, 17, 0, 4], "ENOPROTOOPT"),
    Try("a v6 socket turned v4", "setsockopt", [3, 41, 1, 0, 4], "ENOPROTOOPT"),
    Try("packet rings", "setsockopt", [3, 263, 5, 0, 16], "ENOPROTOOPT"),
    Try("buffers past the limit", "setsockopt", [3, 1, 33, 0, 4], "ENOPROTOOPT"),
    # ioctl
    Try("typing into the terminal", "ioctl", [0, 0x5412, 0], "ENOTTY"),
    Try("typing into the terminal, upper half set", "ioctl", [0, 0x100005412, 0], "ENOTTY"),
    Try("pasting into the console", "ioctl", [0, 0x541C, 0], "ENOTTY"),
    Try("taking the console over", "ioctl", [0, 0x541D, 0], "ENOTTY"),
    Try("a line discipline", "ioctl", [0, 0x5423, 0], "ENOTTY"),
    Try("out of the project quota", "ioctl", [3, 0x401C5820, 0], "ENOTTY"),
    Try("an immutable file", "ioctl", [3, 0x40086602, 0], "ENOTTY"),
    Try("guessing what a file holds", "ioctl", [3, 0xC0189436, 0], "ENOTTY"),
    Try("a watch queue", "ioctl", [3, 0x5760, 0], "ENOTTY"),
    Try("namespaces of a process", "ioctl", [3, 0xFF01, 0], "ENOTTY"),
    Try("the parent of a namespace", "ioctl", [3, 0xB702, 0], "ENOTTY"),
    Try("answering another's calls", "ioctl", [3, 0xC0502100, 0], "ENOTTY"),
    Try("a user-space page fault device", "ioctl", [3, 0xAA00, 0], "ENOTTY"),
    Try("kvm", "ioctl", [3, 0xAE01, 0], "ENOTTY"),
    # prctl, personality and the like
    Try("another /proc/self/exe", "prctl", [35, 14], "EINVAL"),
    Try("a core to share with a neighbour", "prctl", [62, 1], "EINVAL"),
    Try("same-page merging", "prctl", [67, 1], "EINVAL"),
    Try("a mitigation off", "prctl", [53, 1, 2], "EINVAL"),
    Try("capabilities raised", "prctl", [47, 2, 21], "EINVAL"),
    Try("capabilities raised, hidden in the upper half", "prctl", [47, HIGH | 4, 21], "EINVAL"),
    Try("an option that no kernel has yet", "prctl", [0x7777], "EINVAL"),
    Try("pages below zero by an old ABI", "personality", [0x0100000], "EPERM"),
    Try("all data executable", "personality", [0x0400000], "EPERM"),
    Try("a listener over its children's calls", "seccomp", [1, 8, 0x1000], "EINVAL"),
    # the kernel's machine rooms
    Try("eBPF", "bpf", [5, 0, 0], "EPERM"),
    Try("performance counters", "perf_event_open", [0, 0, -1, -1, 0], "EPERM"),
    Try("rings that work past any filter", "io_uring_setup", [8, 0x1000], "EPERM"),
    Try("faults handled by the attacker", "userfaultfd", [0], "EPERM"),
    Try("secret memory", "memfd_secret", [0], "EPERM"),
    Try("pages gifted to a pipe", "vmsplice", [1, 0, 0, 0], "EPERM"),
    Try("keys of the uid", "keyctl", [0, -3, 1], "EPERM"),
    Try("a key in a keyring", "add_key", [0, 0, 0, 0, -3], "EPERM"),
    Try("a key asked for", "request_key", [0, 0, 0, -3], "EPERM"),
    Try("the requeue of Towelroot", "futex", [0, 12, 1, 1, 0x1000, 0], "ENOSYS"),
    Try("the same, private and by the other clock", "futex", [0, 11 | 128 | 256, 0, 0, 0x1000], "ENOSYS"),
    Try("all events of a file system", "fanotify_init", [0, 0], "EPERM"),
    Try("the kernel's log", "syslog", [3, 0, 0], "EPERM"),
    Try("a module", "finit_module", [3, 0, 0], "EPERM"),
    Try("another kernel", "kexec_file_load", [3, 3, 0, 0, 0], "EPERM"),
    Try("the host off", "reboot", [-18751827, 672274793, 0x4321FEDC], "EPERM"),
    Try("the clock", "clock_settime", [0, 0x1000], "EPERM"),
    Try("the clock's pace", "clock_adjtime", [0, 0x1000], "EPERM"),
    # what belongs to the whole host
    Try("huge pages of the host", "mmap", [0, 1 << 21, 3, 0x40022, -1, 0], "ENOMEM"),
    Try("huge pages of 1 GiB", "mmap", [0, 1 << 30, 3, 0x40022 | 30 << 26, -1, 0], "ENOMEM"),
    Try("huge pages by a descriptor", "memfd_create", [0x1000, 4], "ENOMEM"),
    Try("huge pages by System V", "shmget", [0, 1 << 21, 0o4600], "ENOMEM"),
    Try("the host's count of asynchronous requests", "io_setup", [65536, 0x1000], "ENOSYS"),
    Try("pages shared with whoever has the same", "madvise", [0, 4096, 12], "EINVAL"),
    Try("a page of the machine poisoned", "madvise", [0, 4096, 100], "EINVAL"),
    Try("memory nodes", "mbind", [0, 4096, 2, 0, 0, 0], "EPERM"),
    Try("another's pages moved", "move_pages", [1, 1, 0, 0, 0, 0], "EPERM"),
    Try("who has read a shared file", "cachestat", [3, 0, 0, 0], "EPERM"),
    Try("a file that nobody can open while its holder is frozen", "fcntl", [3, 1024, 1], "EINVAL"),
    Try("the same for a folder", "fcntl", [3, 1040, 0x1000], "EINVAL"),
    Try("a device", "mknodat", [-100, 0, 0o60666, 0x0801], "EPERM"),
    Try("a file that overlayfs takes for deleted", "mknodat", [-100, 0, 0o20000, 0], "EPERM"),
    Try("the same by renaming", "renameat2", [-100, 0, -100, 0, 4], "EINVAL"),
    Try("a number of a kernel to come", "read", [], "ENOSYS")._replace(call="600"),
]

TWINS = [
    Twin("a thread", "clone", [0x3D0F00]),
    Twin("a fork", "clone", [0x01200011]),
    Twin("a child by posix_spawn", "clone", [0x4111]),
    Twin("a child with a pidfd", "clone", [0x1011]),
    Twin("its own limits", "prlimit64", [0, 7, 0, 0x1000]),
    Twin("itself nicer", "setpriority", [0, 0, 10]),
    Twin("a child nicer", "setpriority", [0, 1234, 10]),
    Twin("batch for itself", "sched_setscheduler", [0, 3, 0x1000]),
    Twin("a thread pinned by its id", "sched_setaffinity", [1234, 8, 0x1000]),
    Twin("its own disk priority", "ioprio_set", [1, 0, 0x6000]),
    Twin("tcp", "socket", [2, 1, 0]),
    Twin("tcp by name, without waiting", "socket", [10, 1 | 0o4000 | 0o2000000, 6]),
    Twin("udp", "socket", [2, 2 | 0o2000000, 17]),
    Twin("a unix stream", "socket", [1, 1 | 0o2004000, 0]),
    Twin("addresses of its interfaces", "socket", [16, 3 | 0o2000000, 0]),
    Twin("a pair for a child", "socketpair", [1, 1, 0]),
    Twin("data", "sendto", [3, 0, 1, 0x4000]),
    Twin("a quick small packet", "setsockopt", [3, 6, 1, 0, 4]),
    Twin("a port again", "setsockopt", [3, 1, 2, 0, 4]),
    Twin("v6 alone", "setsockopt", [3, 41, 26, 0, 4]),
    Twin("a terminal's size", "ioctl", [0, 0x5413, 0]),
    Twin("what waits to be read, as Python passes it", "ioctl", [0, 0x541B, 0]),
    Twin("a terminal of its own", "ioctl", [0, -2147199952, 0]),  # TIOCGPTN, negative as an int
    Twin("a name for a thread", "prctl", [15, 0x1000]),
    Twin("a name for memory", "prctl", [0x53564D41, 0, 0x1000, 4096, 0x1000]),
    Twin("giving capabilities up", "prctl", [47, 4]),
    Twin("no randomisation, as sanitizers want", "personality", [0x0040000]),
    Twin("a tighter filter for a child", "seccomp", [1, 0, 0x1000]),
    Twin("landlock", "landlock_create_ruleset", [0x1000, 16, 0]),
    Twin("memory", "mmap", [0, 4096, 3, 0x22, -1, 0]),
    Twin("memory in a file", "memfd_create", [0x1000, 3]),
    Twin("transparent huge pages", "madvise", [0, 1 << 21, 14]),
    Twin("memory given back", "madvise", [0, 4096, 4]),
    Twin("a lock", "futex", [0x1000, 128, 0, 0]),
    Twin("an inheriting lock", "futex", [0x1000, 6 | 128, 0, 0]),
    Twin("a lock on a file", "fcntl", [3, 6, 0x1000]),
    Twin("a fifo", "mknodat", [-100, 0x1000, 0o10644, 0]),
    Twin("a name exchanged", "renameat2", [-100, 0x1000, -100, 0x1000, 2]),
    Twin("a pidfd", "pidfd_open", [1234, 0]),
    Twin("a splice", "splice", [3, 0, 4, 0, 4096, 0]),
]


def _number(call: str) -> int:
    return int(call) if call.isdigit() else NUMBERS[MACHINE][call]


def test_every_attack_is_refused_by_the_filter_itself(under_filter: Probe) -> None:
    calls = [Call(_number(attack.call), attack.arguments) for attack in ATTACKS]
    outcomes = under_filter.calls(marked(program_bytes(MACHINE)), calls)
    wanted = {(a.what, a.call): ("result", -MARK - getattr(errno, a.refused_with)) for a in ATTACKS}
    assert {(a.what, a.call): outcome for a, outcome in zip(ATTACKS, outcomes, strict=True)} == wanted


def test_every_harmless_twin_passes(under_filter: Probe) -> None:
    calls = [Call(_number(twin.call), twin.arguments) for twin in TWINS]
    outcomes = under_filter.calls(marked(program_bytes(MACHINE)), calls)
    assert {t.what: o for t, o in zip(TWINS, outcomes, strict=True)} == {t.what: ("result", -PASSED) for t in TWINS}


def test_as_shipped_the_attacks_get_the_answers_that_programs_expect(under_filter: Probe) -> None:
    calls = [Call(_number(attack.call), attack.arguments) for attack in ATTACKS]
    outcomes = under_filter.calls(program_bytes(MACHINE), calls)
    for attack, outcome in zip(ATTACKS, outcomes, strict=True):
        assert outcome == ("result", -getattr(errno, attack.refused_with)), attack.what


@pytest.mark.parametrize("knocked_out", ["ptrace", "unshare", "socket", "ioctl", "clone"])
def test_the_attacks_notice_when_one_guard_is_gone(under_filter: Probe, knocked_out: str) -> None:
    """A control: with one call let through, the attacks that use it are seen to pass."""
    policy, numbers = load()
    holed = Policy({**policy.calls, knocked_out: Verdict(bpf.ALLOW)}, policy.unknown, policy.foreign)
    program = bpf.pack(compile_policy(holed, numbers[MACHINE], MACHINE))
    attacks = [attack for attack in ATTACKS if attack.call == knocked_out]
    outcomes = under_filter.calls(marked(program), [Call(_number(a.call), a.arguments) for a in attacks])
    assert outcomes == [("result", -PASSED)] * len(attacks)
