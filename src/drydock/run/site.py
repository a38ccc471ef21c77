"""The site of one run: what `agent.site.Site` promises, kept over a held box of that run."""

from __future__ import annotations

import asyncio
import codecs
import itertools
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress

from drydock.agent.site import Done, Gone, Heard, OnOutput, Script, Stream
from drydock.box.held_program import HeldProgram
from drydock.box.program import CODE, HOME, TMP, WORK, Program
from drydock.errors import BoxFailed, Conflict
from drydock.packages.tools import PLACE
from drydock.run.berth import Berth
from drydock.run.workspace import REPO

ENVIRONMENT = f"{HOME}/python"
"""Where the repository's Python packages are, if it names any: first in the PATH of whatever runs."""
ENV = {
    "PATH": f"{ENVIRONMENT}/bin:/usr/local/bin:/usr/bin:/bin:{PLACE}",
    "HOME": HOME,
    "TMPDIR": TMP,
    "LANG": "C.UTF-8",
    "CI": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "PYTHONPYCACHEPREFIX": f"{TMP}/pycache",  # else a check's bytecode would be part of the change
}
LONGEST_MS = 24 * 3_600_000
NUMBERS_OF_ONE_PLAY = 20
"""Bits of a program's number."""


class BoxSite:
    root = f"{WORK}/{REPO}"

    def __init__(self, berth: Berth, epoch: int) -> None:
        """The epoch keeps numbers of programs apart that were started before and after the run was taken up again."""
        self._berth = berth
        self._numbers = itertools.count((epoch << NUMBERS_OF_ONE_PLAY) + 1)
        self._started: dict[int, HeldProgram] = {}
        self._closing: dict[int, asyncio.Task[None]] = {}

    async def run(
        self,
        program: Sequence[str] | Script,
        *,
        stdin: bytes = b"",
        timeout_s: float,
        read_only: bool = False,
        network: bool = False,
        on_output: OnOutput | None = None,
    ) -> Done:
        async with AsyncExitStack() as granted:
            env = await granted.enter_async_context(self._berth.way_out.granted()) if network else {}
            made = _program(program, stdin, read_only, env)
            return await self._run(made, timeout_s, on_output)

    async def _run(self, made: Program, timeout_s: float, on_output: OnOutput | None) -> Done:
        interrupts = self._berth.interrupts
        held = await self._begin(made, max(1, int(timeout_s * 1000)))
        try:
            if self._berth.interrupts > interrupts:
                held.stop("cancelled")  # meant while it was still on its way
            if not made.stdin:
                held.close_stdin()
            if on_output is not None:
                await _tell(held, on_output)
            await asyncio.shield(held.ended)
        except asyncio.CancelledError:
            held.stop("cancelled")
            raise
        return _done(held)

    async def start(self, argv: Sequence[str], *, read_only: bool = False, network: bool = False) -> int:
        granted = AsyncExitStack()
        env = await granted.enter_async_context(self._berth.way_out.granted()) if network else {}
        try:
            held = await self._begin(_program(argv, b"", read_only, env), LONGEST_MS)
        except BaseException:
            await granted.aclose()
            raise
        number = next(self._numbers)
        self._started[number] = held
        self._closing[number] = asyncio.ensure_future(_close_after(held, granted))
        return number

    async def _begin(self, program: Program, wall_ms: int) -> HeldProgram:
        """In the box when the run is not paused; a pause may come between any two words of this."""
        while True:
            box = await self._berth.box()
            try:
                return await box.start(program, wall_ms=wall_ms)
            except Conflict:
                continue

    async def send(self, number: int, data: bytes, *, close: bool = False) -> None:
        held = self._find(number)
        await held.write(data)
        if close:
            held.close_stdin()

    async def hear(self, number: int, after: int, *, wait_s: float) -> Heard:
        held = self._find(number)
        pieces = []
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                async for piece in held.output.follow(after):
                    pieces.append(piece)
                    if piece.cursor >= held.output.cursor:
                        break
        text = b"".join(piece.data for piece in pieces).decode("utf-8", "replace")
        cursor = pieces[-1].cursor if pieces else after
        return Heard(cursor, text, _done(held, heard=True) if held.ended.done() else None)

    async def stop(self, number: int) -> Done:
        held = self._find(number)
        held.stop("cancelled")
        await asyncio.shield(held.ended)
        return _done(held)

    def _find(self, number: int) -> HeldProgram:
        held = self._started.get(number)
        if held is None:
            raise Gone(f"no program {number} runs here")
        return held


async def _close_after(held: HeldProgram, granted: AsyncExitStack) -> None:
    """What it was granted ends with it."""
    await asyncio.wait([held.ended])
    await granted.aclose()


def _program(program: Sequence[str] | Script, stdin: bytes, read_only: bool, env: Mapping[str, str]) -> Program:
    if isinstance(program, Script):
        script = f"{CODE}/main.py"
        return Program(
            script=script,
            files={script: program.source.encode()},
            env={**ENV, **env},
            cwd=REPO,
            stdin=stdin,
            read_only=read_only,
        )
    return Program(argv=program, env={**ENV, **env}, cwd=REPO, stdin=stdin, read_only=read_only)


async def _tell(held: HeldProgram, on_output: OnOutput) -> None:
    """Each piece as text; a character that two pieces share waits for its second half."""
    decoders: dict[Stream, codecs.IncrementalDecoder] = {
        stream: codecs.getincrementaldecoder("utf-8")("replace") for stream in ("stdout", "stderr")
    }
    async for piece in held.output.follow():
        if text := decoders[piece.stream].decode(piece.data):
            await on_output(piece.stream, text)


def _done(held: HeldProgram, *, heard: bool = False) -> Done:
    ended = held.ended.result()
    if ended.reason == "box_failed":
        raise BoxFailed(ended.detail or "the box broke")
    return Done(
        ended.reason,
        ended.exit_code,
        ended.signal,
        b"" if heard else held.stdout(),
        b"" if heard else held.stderr(),
        ended.stdout_cut or ended.stderr_cut,
        ended.wall_ms,
    )
