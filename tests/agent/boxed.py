"""A site over a real held box, with nothing of a run behind it."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from drydock.agent.site import Done, Gone, Heard, OnOutput, Script
from drydock.box.held import HeldBox
from drydock.box.held_program import HeldProgram
from drydock.box.limits import MIB, Limits
from drydock.box.program import CODE, HOME, TMP, WORK, Program
from drydock.box.transcript import Piece
from drydock.box.yard import Yard
from drydock.errors import BoxFailed

REPO = "repo"
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": HOME, "TMPDIR": TMP, "LANG": "C.UTF-8"}


class BoxSite:
    root = f"{WORK}/{REPO}"

    def __init__(self, box: HeldBox) -> None:
        self.box = box
        self.networked: list[str] = []
        """What was run with the grant open."""
        self._programs: dict[int, HeldProgram] = {}
        self._numbers = itertools.count(1)

    @classmethod
    async def open(cls, yard: Yard, home: Path) -> BoxSite:
        return cls(await HeldBox.open(yard, home, Limits(), disk_bytes=32 * MIB))

    async def fill(self, files: dict[str, str]) -> None:
        """Nothing but these files in the repository."""
        await self.box.run(Program(argv=["/bin/rm", "-rf", REPO, "/box/home/x"], env=ENV))
        contents = {f"{WORK}/{REPO}/{name}": text.encode() for name, text in files.items()}
        folders = [REPO, *(f"{REPO}/{parent}" for name in files for parent in _parents(name))]
        filled = await self.box.run(Program(argv=["/bin/true"], files=contents, folders=folders, env=ENV))
        assert filled.ended.result().reason == "completed", filled.ended.result()

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
        if network and not isinstance(program, Script):
            self.networked.append(program[-1])
        held = await self.box.start(_program(program, stdin, read_only), wall_ms=int(timeout_s * 1000))
        if not stdin:
            held.close_stdin()
        if on_output is not None:
            decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}
            async for piece in held.output.follow():
                await on_output(piece.stream, decoders[piece.stream].decode(piece.data))
        await held.ended
        return replace(_done(held), stdout=held.stdout(), stderr=held.stderr())

    async def start(self, argv: Sequence[str], *, read_only: bool = False, network: bool = False) -> int:
        number = next(self._numbers)
        self._programs[number] = await self.box.start(_program(argv, b"", read_only), wall_ms=60_000)
        return number

    async def send(self, number: int, data: bytes, *, close: bool = False) -> None:
        held = self._program(number)
        await held.write(data)
        if close:
            held.close_stdin()

    async def hear(self, number: int, after: int, *, wait_s: float) -> Heard:
        held = self._program(number)
        pieces: list[Piece] = []
        for wait in (wait_s, 0):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    async for piece in held.output.follow(pieces[-1].cursor if pieces else after):
                        pieces.append(piece)
                        if wait:
                            break
        text = b"".join(piece.data for piece in pieces).decode("utf-8", "replace")
        done = _done(held) if held.ended.done() else None
        return Heard(pieces[-1].cursor if pieces else after, text, done)

    async def stop(self, number: int) -> Done:
        held = self._program(number)
        held.stop("cancelled")
        await held.ended
        return _done(held)

    def _program(self, number: int) -> HeldProgram:
        if number not in self._programs:
            raise Gone
        return self._programs[number]


def _program(program: Sequence[str] | Script, stdin: bytes, read_only: bool) -> Program:
    if isinstance(program, Script):
        script = f"{CODE}/hand.py"
        files = {script: program.source.encode()}
        return Program(script=script, files=files, env=ENV, cwd=REPO, stdin=stdin, read_only=read_only)
    return Program(argv=program, env=ENV, cwd=REPO, stdin=stdin, read_only=read_only)


def _done(held: HeldProgram) -> Done:
    result = held.ended.result()
    if result.reason == "box_failed":
        raise BoxFailed(result.detail or "the box broke")
    cut = result.stdout_cut or result.stderr_cut
    return Done(result.reason, result.exit_code, result.signal, cut=cut, wall_ms=result.wall_ms)


def _parents(name: str) -> list[str]:
    parts = name.split("/")[:-1]
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]
