"""An executor with no walls: real programs as plain subprocesses. For tests of the doors alone."""

from __future__ import annotations

import asyncio
import fnmatch
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from drydock.box.ended import Ended, Reason, signal_name
from drydock.box.stop import Stop, StopReason
from drydock.box.tier import Isolation
from drydock.box.tiers import check
from drydock.box.yard import Yard
from drydock.code.executor import OnOutput, OnProgress, StreamName
from drydock.code.request import ExecutionRequest, ExecutionResult, Skipped

COMMANDS = {"python": [sys.executable, "-I"], "shell": ["/bin/bash"]}
ENDINGS = {"python": ".py", "shell": ".sh"}


class PlainExecutor:
    def __init__(self, capacity: int = 3, keep: int = 10 << 20, output_dir: str = "output") -> None:
        self.default_language = "python"
        self.languages: Mapping[str, str] = {"python": f"Python {sys.version.split()[0]}", "shell": "GNU bash"}
        self.capacity = capacity
        self.load = 0
        self.broken = False
        self.isolation: Isolation = "process"
        self.lost_promises: Sequence[str] = ("there are no walls",)
        self.packages = None
        self.yard: Yard | None = None
        self.preinstalled: Sequence[str] = ()
        self.started = 0
        self.folders = Path(tempfile.mkdtemp(prefix="plain-"))
        self._keep = keep
        self._output_dir = output_dir

    def check_isolation(self, wanted: str) -> Isolation:
        return check(wanted, self.isolation)

    async def open(self) -> None:
        self.folders.mkdir(exist_ok=True)

    async def close(self) -> None:
        shutil.rmtree(self.folders, ignore_errors=True)

    async def execute(
        self,
        request: ExecutionRequest,
        *,
        stop: Stop | None = None,
        on_output: OnOutput | None = None,
        on_progress: OnProgress | None = None,
        queue: bool = False,
    ) -> ExecutionResult:
        self.load += 1
        self.started += 1
        folder = Path(tempfile.mkdtemp(dir=self.folders))
        try:
            return await self._run(folder, request, stop or Stop(), on_output)
        finally:
            self.load -= 1
            shutil.rmtree(folder, ignore_errors=True)

    async def _run(
        self, folder: Path, request: ExecutionRequest, stop: Stop, on_output: OnOutput | None
    ) -> ExecutionResult:
        output = folder / self._output_dir
        output.mkdir()
        for name, data in request.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        began = time.monotonic()
        given = tempfile.TemporaryFile(dir=self.folders)  # noqa: SIM115 - the program's from here on
        given.write(request.stdin)
        given.seek(0)
        process = await asyncio.create_subprocess_exec(
            *self._command(request),
            cwd=folder,
            env={"PATH": os.environ["PATH"], "OUTPUT_DIR": str(output), **request.env},
            stdin=given,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        given.close()
        why: list[Reason] = []

        def kill(reason: StopReason | Reason) -> None:
            why.append(reason)
            os.killpg(process.pid, signal.SIGKILL)

        timer = asyncio.get_running_loop().call_later(request.timeout_ms / 1000, kill, "timeout")
        stop.then(kill)
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            stdout, stderr, _ = await asyncio.gather(
                self._read(process.stdout, "stdout", on_output),
                self._read(process.stderr, "stderr", on_output),
                process.wait(),
            )
        finally:
            timer.cancel()
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        code = process.returncode or 0
        reason: Reason = why[0] if why else "signal" if code < 0 else "exit_nonzero" if code else "completed"
        files, skipped = _collect(output, request.outputs)
        ended = Ended(
            reason,
            exit_code=code if code >= 0 else None,
            signal=signal_name(-code) if code < 0 else None,
            wall_ms=round((time.monotonic() - began) * 1000),
            stdout_bytes=stdout[1],
            stderr_bytes=stderr[1],
            stdout_cut=stdout[1] > len(stdout[0]),
            stderr_cut=stderr[1] > len(stderr[0]),
        )
        return ExecutionResult(ended, stdout[0], stderr[0], files, skipped)

    def _command(self, request: ExecutionRequest) -> Sequence[str]:
        if request.argv is not None:
            return request.argv
        file = tempfile.NamedTemporaryFile(  # noqa: SIM115 - goes with its folder
            "w", dir=self.folders, suffix=ENDINGS[request.language], delete=False, encoding="utf-8"
        )
        with file:
            file.write(request.code or "")
        return [*COMMANDS[request.language], file.name]

    async def _read(
        self, stream: asyncio.StreamReader, name: StreamName, on_output: OnOutput | None
    ) -> tuple[bytes, int]:
        kept = bytearray()
        total = 0
        while data := await stream.read(65536):
            total += len(data)
            kept += data[: self._keep - len(kept)]
            if on_output:
                on_output(name, data)
        return bytes(kept), total


def _collect(output: Path, patterns: Sequence[str] | None) -> tuple[dict[str, bytes], list[Skipped]]:
    files: dict[str, bytes] = {}
    skipped: list[Skipped] = []
    for path in sorted(output.rglob("*")):
        name = str(path.relative_to(output))
        if path.is_symlink():
            skipped.append(Skipped(name, "symlink"))
        elif path.is_file() and (patterns is None or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)):
            files[name] = path.read_bytes()
        elif not path.is_dir() and not path.is_file():
            skipped.append(Skipped(name, "not_a_file"))
    return files, skipped
