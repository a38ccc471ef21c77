"""What attempts look for: things of this host that no box may see or reach, there for as long as the proof takes."""

from __future__ import annotations

import secrets
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CANARY_VARIABLE = "DRYDOCK_PROOF_CANARY"
CANARY_PROCESS = "drydock-proof-canary"


@dataclass(frozen=True, slots=True)
class Planted:
    canary: str
    file: str
    pid: int
    port: int
    abstract: str

    def places(self) -> dict[str, str | int]:
        return {"file": self.file, "pid": self.pid, "port": self.port, "abstract": self.abstract}


@contextmanager
def plant() -> Iterator[Planted]:
    """A canary in a file that everybody may read and in the environment of a process, and a listener of each kind."""
    canary = secrets.token_hex(16)
    abstract = f"drydock-proof-{secrets.token_hex(8)}"
    with tempfile.TemporaryDirectory(prefix="drydock-proof-") as folder:
        Path(folder).chmod(0o755)
        file = Path(folder, "canary")
        file.write_text(canary)
        file.chmod(0o644)
        # A process of its own, since the kernel shows the environment that a process was started with.
        other = subprocess.Popen([CANARY_PROCESS, "3600"], executable="/bin/sleep", env={CANARY_VARIABLE: canary})
        try:
            with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
                unix.bind(f"\0{abstract}")
                unix.listen()
                yield Planted(canary, str(file), other.pid, tcp.getsockname()[1], abstract)
        finally:
            other.kill()
            other.wait()
