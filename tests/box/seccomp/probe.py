"""Programs and single calls under a filter, in the real kernel."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from drydock.box.seccomp import bpf, program_bytes

MACHINE = os.uname().machine

MARK = 3000
"""Added to every errno of a marked filter: no kernel answers so, hence the filter did. An allowed call says `PASSED`
instead of being made, so that it cannot do anything."""
PASSED = MARK + 999
_MOST_ERRNO = 4095

Outcome = tuple[str, int]
"""`result`, `signal`, `exited` with its number, or `blocked` with 0."""


@dataclass(frozen=True, slots=True)
class Call:
    number: int
    arguments: Sequence[int] = ()
    abi: int = 64


@dataclass(frozen=True, slots=True)
class Probe:
    path: Path
    filters: Path

    def calls(self, program: bytes, calls: Iterable[Call]) -> list[Outcome]:
        wanted = [
            f"{call.abi} {call.number} {' '.join(str(_signed(a)) for a in [*call.arguments, 0, 0, 0, 0, 0, 0][:6])}\n"
            for call in calls
        ]
        command = [str(self.path), str(self._save(program)), "calls"]
        done = subprocess.run(command, input="".join(wanted), capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0, done.stderr
        outcomes = [line.split() for line in done.stdout.splitlines()]
        assert len(outcomes) == len(wanted), done.stderr
        return [(kind, int(value[0]) if value else 0) for kind, *value in outcomes]

    def run(
        self, argv: Sequence[str], cwd: Path, *, timeout: float = 60, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """A whole program under the filter as it is shipped."""
        command = [str(self.path), str(self._save(program_bytes(MACHINE))), "exec", *argv]
        clean = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(cwd), "LANG": "C.UTF-8", **(env or {})}
        return subprocess.run(
            command,
            cwd=cwd,
            env=clean,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def _save(self, program: bytes) -> Path:
        path = self.filters / f"{hash(program) & 0xFFFFFFFF:08x}.bpf"
        path.write_bytes(program)
        return path


def build(folder: Path) -> Probe:
    path = folder / "probe"
    source = Path(__file__).with_name("probe.c")
    subprocess.run(["gcc", "-O1", "-Wall", "-Werror", "-o", str(path), str(source)], check=True)
    return Probe(path, folder)


def marked(program: bytes) -> bytes:
    """The same program, with answers that only it can have given."""

    def mark(instruction: bpf.Instruction) -> bpf.Instruction:
        if instruction.code != bpf.RETURN:
            return instruction
        if instruction.k == bpf.ALLOW:
            return instruction._replace(k=bpf.ERRNO | PASSED)
        if instruction.k & 0xFFFF0000 == bpf.ERRNO:
            assert MARK + (instruction.k & 0xFFFF) < PASSED <= _MOST_ERRNO
            return instruction._replace(k=instruction.k + MARK)
        return instruction

    return bpf.pack(mark(instruction) for instruction in bpf.unpack(program))


def _signed(argument: int) -> int:
    """C reads a long."""
    argument &= 0xFFFFFFFFFFFFFFFF
    return argument - (1 << 64) if argument >> 63 else argument
