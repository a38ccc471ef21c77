"""Plays attempts on a tier: all of them, one program each, or the quick ones as one program at a server's start."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from drydock.box import collect
from drydock.box.limits import Limits
from drydock.box.program import CODE, HOME, TMP, WORK, Program
from drydock.box.proof.attempt import Attempt, Judge, Seen, held
from drydock.box.proof.attempts import ATTEMPTS
from drydock.box.proof.planted import Planted, plant
from drydock.box.running import Outcome
from drydock.box.tier import Isolation, Tier
from drydock.errors import BoxFailed

OUTPUT = "output"
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": HOME, "TMPDIR": TMP, "LANG": "C.UTF-8"}
QUICK_MS: Mapping[Isolation, int] = {"process": 5_000, "box": 5_000, "gvisor": 20_000}
"""On a machine with nothing else to do it takes a hundredth of that; gVisor's start alone is a quarter of a second of a
processor, and a tier is not refused because others work."""
MARK = "== "

State = Literal["holds", "fails", "not promised"]


@dataclass(frozen=True, slots=True)
class Finding:
    promise: str
    name: str
    state: State
    seen: str = ""
    """Of one that failed: what came of the attempt."""
    remedy: str = ""


async def examine(tier: Tier, name: Isolation, *, grouped: bool) -> AsyncIterator[Finding]:
    """Every attempt on it, in turn. `grouped`: control groups count there."""
    fell = {finding.name: finding for finding in await at_start(tier, name) if finding.state == "fails"}
    with plant() as planted:
        for attempt in ATTEMPTS:
            if attempt.name in fell:
                yield fell[attempt.name]
            elif _promised(attempt, name, grouped):
                yield _find(attempt, await _play(tier, attempt, planted))
            else:
                yield Finding(attempt.promise, attempt.name, "not promised")


async def quick(tier: Tier, name: Isolation) -> None:
    """BoxFailed with what got through."""
    for finding in await at_start(tier, name):
        if finding.state == "fails":
            raise BoxFailed(f"tier `{name}` does not hold here: not true that {finding.name}")


async def at_start(tier: Tier, name: Isolation) -> list[Finding]:
    """The quick attempts as one program, the first of its tier: it is over before anyone has noticed."""
    attempts = [attempt for attempt in ATTEMPTS if attempt.quick and _promised(attempt, name, True)]
    with plant() as planted:
        outcome, _ = await _run(tier, _joined(attempts, planted), Limits(wall_ms=QUICK_MS[name]))
    said = outcome.stdout.decode("utf-8", "replace").split(MARK)[1:]
    if outcome.ended.reason != "completed" or len(said) != len(attempts):
        raise BoxFailed(f"a first program in tier `{name}` came to a bad end: {outcome.ended.reason}")
    parts = [replace(outcome, stdout=text.encode(), stderr=b"") for text in said]
    return [_find(attempt, Seen(part, {}, planted), judge=held) for attempt, part in zip(attempts, parts, strict=True)]


def _promised(attempt: Attempt, name: Isolation, grouped: bool) -> bool:
    return (attempt.unwalled or name != "process") and (grouped or not attempt.counted)


def _joined(attempts: list[Attempt], planted: Planted) -> str:
    """Each as it stands, with names of its own, whatever becomes of the one before it."""
    lines = ["import sys"]
    for attempt in attempts:
        code = attempt.program(planted)
        lines += [
            f"print({MARK!r}, end='', flush=True)",
            f"try: exec({code!r}, {{'__name__': '__main__'}})",
            "except Exception as wrong: print('FAILED', type(wrong).__name__, wrong)",
            "sys.stdout.flush()",
        ]
    return "\n".join(lines)


async def _play(tier: Tier, attempt: Attempt, planted: Planted) -> Seen:
    outcome, files = await _run(tier, attempt.program(planted), attempt.limits)
    return Seen(outcome, files, planted)


async def _run(tier: Tier, code: str, limits: Limits) -> tuple[Outcome, dict[str, bytes]]:
    found = collect.Collected()

    async def take_out(root: int) -> None:
        nonlocal found
        found = collect.collect(root, f"work/{OUTPUT}")

    script = f"{CODE}/main.py"
    program = Program(None, script, {script: code.encode()}, (OUTPUT,), ENV | {"OUTPUT_DIR": f"{WORK}/{OUTPUT}"})
    outcome = await tier.run(program, limits, collect=take_out)
    return outcome, found.files


def _find(attempt: Attempt, seen: Seen, judge: Judge | None = None) -> Finding:
    finding = functools.partial(Finding, attempt.promise, attempt.name)
    if (judge or attempt.holds)(seen):
        return finding("holds")
    ended = seen.outcome.ended
    told = (seen.outcome.stdout[:300] + seen.outcome.stderr[-300:]).decode("utf-8", "replace").strip()
    return finding("fails", f"{ended.reason}, survivors {ended.survivors}: {told}", attempt.remedy)
