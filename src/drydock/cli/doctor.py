"""`drydock doctor`: the wall proved on this host, by programs that try to get through it.

A version number or a kernel option says what should hold; these say what does. Each proof is written from the attack
and must see the attack fail, beside one that must succeed, since a box in which nothing runs would pass all others.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from drydock.app import OwnedExecutor
    from drydock.code.executor import Executor
    from drydock.code.request import ExecutionRequest, ExecutionResult

CANARY_VARIABLE = "DRYDOCK_DOCTOR_CANARY"
"""Set in our own environment only once the settings have been read."""
CANARY_PROCESS = "drydock-doctor-canary"


@dataclass(frozen=True)
class Host:
    """What an attack looks for: things of this host that no box may see."""

    canary: str
    file: str
    port: int
    abstract: str
    pid: int


@dataclass(frozen=True)
class Proof:
    name: str
    code: str
    holds: Callable[[ExecutionResult, Host], bool]
    timeout_ms: int = 10_000

    def request(self, host: Host) -> ExecutionRequest:
        from drydock.code.request import ExecutionRequest

        code = self.code
        for name in ("file", "pid", "port", "abstract"):
            code = code.replace(f"<{name}>", repr(getattr(host, name)))
        return ExecutionRequest("python", code, timeout_ms=self.timeout_ms)


def _printed(text: bytes) -> Callable[[ExecutionResult, Host], bool]:
    return lambda result, host: result.stdout == text and result.ended.reason == "completed"


def _no_canary(result: ExecutionResult, host: Host) -> bool:
    everything = b"".join([result.stdout, result.stderr, *result.files.values()])
    return result.ended.reason == "completed" and b"looked" in result.stdout and host.canary.encode() not in everything


PROOFS = (
    Proof("a program runs and its end is told", "print(6 * 7)", _printed(b"42\n")),
    Proof("it is not root", "import os; print(0 in (os.getuid(), os.geteuid(), os.getgid()))", _printed(b"False\n")),
    Proof(
        "no environment of the host",
        """
import glob
for path in glob.glob("/proc/*/environ"):
    try:
        print(open(path, "rb").read())
    except OSError:
        pass
print("looked")
""",
        _no_canary,
    ),
    Proof(
        "no file of the host",
        """
try:
    print(open(<file>).read())
except OSError:
    pass
print("looked")
""",
        _no_canary,
    ),
    Proof(
        "no link out of the box is followed",
        "import os; os.symlink(<file>, 'output/link'); os.symlink('/', 'output/all'); print('looked')",
        lambda result, host: _no_canary(result, host) and not result.files,
    ),
    Proof(
        "no process of the host",
        """
import os, signal
try:
    os.kill(<pid>, 0)
    print("there is a process with that number")
    print(open(f"/proc/{<pid>}/cmdline").read())
except OSError:
    pass
print(len([name for name in os.listdir("/proc") if name.isdigit()]) < 8)
""",
        lambda result, host: CANARY_PROCESS.encode() not in result.stdout and result.stdout.endswith(b"True\n"),
    ),
    Proof(
        "no network, not even to the host itself",
        """
import socket
def reached(family, address):
    with socket.socket(family) as one:
        one.settimeout(2)
        try:
            one.connect(address)
            return True
        except OSError:
            return False
print(reached(socket.AF_INET, ("127.0.0.1", <port>)), end=" ")
try:
    print(reached(socket.AF_UNIX, "\\0" + <abstract>))
except OSError:
    print(False)
""",
        _printed(b"False False\n"),
    ),
    Proof(
        "a child that leaves its session does not outlive it",
        """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    for number in range(1, 32):
        try:
            signal.signal(number, signal.SIG_IGN)
        except OSError:
            pass
    if os.fork() == 0:
        time.sleep(3600)
    time.sleep(3600)
print("gone", flush=True)
""",
        lambda result, host: result.stdout == b"gone\n" and result.ended.survivors == 0,
    ),
    Proof(
        "its time is over when it is over",
        "while True: pass",
        lambda result, host: result.ended.reason == "timeout" and result.ended.wall_ms < 2000,
        timeout_ms=500,
    ),
    Proof(
        "memory ends where its limit is",
        "x = []\nwhile True: x.append(bytearray(b'x') * (16 << 20))",
        lambda result, host: result.ended.reason in ("memory_limit", "exit_nonzero"),
    ),
    Proof(
        "processes end where their limit is",
        """
import os, time
count = 0
try:
    while count < 20000:
        if os.fork() == 0:
            time.sleep(3600)
        count += 1
except OSError:
    print("refused")
""",
        lambda result, host: result.stdout == b"refused\n" or result.ended.reason == "process_limit",
    ),
)


@click.command()
def doctor() -> None:
    """Prove on this host that boxes hold, with programs that try to get out.

    Ends with 1 when one of them succeeds. Runs beside a server without disturbing it.
    """
    from drydock.app import boxes
    from drydock.settings import load

    with tempfile.TemporaryDirectory(prefix="drydock-doctor-") as folder:
        settings = load({"data": folder, "max_concurrent": 1})
        with planted(Path(folder)) as host:
            sound = asyncio.run(_examine(boxes(settings), host))
    sys.exit(0 if sound else 1)


async def _examine(executor: OwnedExecutor, host: Host) -> bool:
    await executor.open()
    try:
        click.echo(f"isolation: {executor.isolation}; languages: {', '.join(executor.languages)}")
        for lost in executor.lost_promises:
            click.echo(f"not here: {lost}")
        return all([await _prove(executor, proof, host) for proof in PROOFS])
    finally:
        await executor.close()


async def _prove(executor: Executor, proof: Proof, host: Host) -> bool:
    result = await executor.execute(proof.request(host))
    holds = proof.holds(result, host)
    click.echo(f"{'ok    ' if holds else 'FAILED'}  {proof.name}")
    if not holds:
        click.echo(f"        {result.ended}\n        {result.stdout[:500]!r} {result.stderr[-500:]!r}")
    return holds


@contextmanager
def planted(folder: Path) -> Iterator[Host]:
    """What the attacks look for, there for as long as the proofs take: a canary in our environment, in a file, and in
    the environment of another process, and a listener of each kind."""
    canary = secrets.token_hex(16)
    file = folder / "canary"
    file.write_text(canary)
    file.chmod(0o644)
    os.environ[CANARY_VARIABLE] = canary
    abstract = f"drydock-doctor-{canary}"
    # A process of its own, since the kernel shows the environment that a process was started with, and not ours of now.
    other = subprocess.Popen([CANARY_PROCESS, "3600"], executable="/bin/sleep", env={CANARY_VARIABLE: canary})
    try:
        with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
            unix.bind(f"\0{abstract}")
            unix.listen()
            yield Host(canary, str(file), tcp.getsockname()[1], abstract, other.pid)
    finally:
        del os.environ[CANARY_VARIABLE]
        other.kill()
        other.wait()
