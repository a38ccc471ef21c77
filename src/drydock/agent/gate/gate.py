"""The gate: each check on the untouched base and on the change, and what that says about the work.

A check that fails on both was broken before: it is shown and does not count. When that is true of all of them nothing
is shown, and the gate counts as skipped; but a bug's fix has to turn something good, so there it has failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from drydock.agent import hand
from drydock.agent.desk import Desk, Instruction
from drydock.agent.gate.select import programs, select
from drydock.agent.site import Site
from drydock.agent.task import READ_ONLY, Task
from drydock.agent.texts import cut, fenced
from drydock.agent.tools.commands import SHELL
from drydock.agent.tools.run import Record, Telling

CHECK_S = 900.0
MOST_TAIL = 4_000
NONE_NAMED = "Quality gate skipped: the plan names no command that checks the work."
NOTHING_SHOWN = "Quality gate skipped: every check fails without the change too, so none shows anything."


class Grounds(Protocol):
    """Clean checkouts with the dependencies that were prepared. Opened when a check has to run, and not before."""

    async def base(self) -> Site:
        """The repository as it was cloned."""

    async def change(self, round: int) -> Site:
        """The same with nothing but the patch of the work applied, as it stood after this round."""


@dataclass(frozen=True, slots=True)
class Check:
    command: str
    change: Record
    base: Record | None = None
    """None for a task that changes nothing: it has no other side."""

    @property
    def passed(self) -> bool:
        return self.change.ok

    @property
    def failed_before(self) -> bool:
        return self.base is not None and not self.base.ok

    def to_json(self) -> dict[str, Any]:
        """A line of the account, for the run's result."""
        shown: dict[str, Any] = {"command": self.command, "passed": self.passed, **_shown(self.change)}
        if self.base is not None:
            shown |= {"failedBefore": self.failed_before, "base": {"passed": self.base.ok, **_shown(self.base)}}
        return shown


@dataclass(frozen=True, slots=True)
class Outcome:
    passed: bool
    summary: str
    checks: Sequence[Check] = ()
    skipped: bool = False

    def to_json(self) -> dict[str, Any]:
        checks = [check.to_json() for check in self.checks]
        return {"passed": self.passed, "skipped": self.skipped, "summary": self.summary, "checks": checks}

    def repair(self) -> str:
        """What the agent is told when it shall mend it."""
        return "\n\n".join([self.summary, *map(_told, self.checks)])


def _shown(record: Record) -> dict[str, Any]:
    output = "\n".join(part for part in (record.why, record.stdout, record.stderr) if part)
    shown: dict[str, Any] = {"output": output[-MOST_TAIL:], "ms": record.wall_ms}
    return shown if record.exit_code is None else {"exitCode": record.exit_code, **shown}


def _told(check: Check) -> str:
    if check.passed:
        return f"Passed: {check.command}"
    before = "It fails without your change too." if check.failed_before else "Without your change it passes."
    return f"Failed: {check.command}\n{before}\n{fenced(cut(check.change.error, MOST_TAIL))}"


def judged(task: Task, checks: Sequence[Check]) -> Outcome:
    counted = [check for check in checks if check.passed or not check.failed_before]
    if not counted and task.type != "bug-fix":
        return Outcome(True, NOTHING_SHOWN, checks, skipped=True)
    left_out = len(checks) - len(counted) if counted else 0
    counted = counted or list(checks)
    well = sum(check.passed for check in counted)
    passed = well == len(counted)
    summary = f"Quality gate {'passed' if passed else 'failed'} ({well}/{len(counted)} checks passed)."
    if left_out:
        summary += f" {left_out} that fail{'s' if left_out == 1 else ''} without the change too did not count."
    return Outcome(passed, summary, checks)


class Gate:
    """Of one run: the base is looked at once for each check, the change in each round."""

    def __init__(self, task: Task, desk: Desk, grounds: Grounds) -> None:
        self._task, self._desk, self._grounds = task, desk, grounds
        self._read_only = task.type in READ_ONLY
        self._bases: dict[str, Record] = {}
        self.heard: list[Instruction] = []
        """What a person said meanwhile: for the round of repair that follows, if one does."""

    async def examine(self, plans: Sequence[str], site: Site, *, round: int) -> Outcome:
        """`plans` as they stood at the end and at first; `site` is where the work was done. `round` from 0."""
        await self._checkpoint("gate")
        commands = await self._choose(plans, site, round)
        if not commands:
            await self._desk.emit("quality_gate_skipped", message=NONE_NAMED)
            return Outcome(True, NONE_NAMED, skipped=True)
        await self._desk.emit("quality_gate_started", commandTotal=len(commands), message="running checks")
        checks = []
        for number, command in enumerate(commands, 1):
            checks.append(await self._check(command, number, len(commands), round))
        outcome = judged(self._task, checks)
        await self._desk.emit("quality_gate_completed", message=outcome.summary)
        await self._checkpoint("gate")
        return outcome

    async def _checkpoint(self, phase: str) -> None:
        self.heard.extend(await self._desk.checkpoint(phase))

    async def _choose(self, plans: Sequence[str], site: Site, round: int) -> list[str]:
        words = programs(plans)

        async def look() -> list[str]:
            return (await hand.ask(site, "which", words=words)).texts("there")

        there = set(await self._desk.once(f"gate-programs-{round}", look)) if words else set[str]()
        commands = select(plans, there.__contains__, read_only=self._read_only)
        await self._desk.emit("quality_gate_commands_selected", commandTotal=len(commands), commands=commands)
        return commands

    async def _check(self, command: str, number: int, total: int, round: int) -> Check:
        await self._checkpoint("check")
        about = {"command": command, "commandIndex": number, "commandTotal": total}
        await self._desk.emit("quality_gate_check_started", **about)
        base = None if self._read_only else await self._on_base(command)
        check = Check(command, await self._on_change(about, round), base)
        more = {"failedBefore": True} if check.failed_before and not check.passed else {}
        if check.passed:
            await self._desk.emit("quality_gate_check_passed", **about, exitCode=check.change.exit_code)
        else:
            exit_code, error = check.change.exit_code, check.change.error
            await self._desk.emit("quality_gate_check_failed", **about, exitCode=exit_code, error=error, **more)
        await self._checkpoint("check")
        return check

    async def _on_base(self, command: str) -> Record:
        if command not in self._bases:

            async def act() -> dict[str, Any]:
                site = await self._grounds.base()
                return Record.of(await site.run([SHELL, "-c", command], timeout_s=CHECK_S)).to_json()

            told = await self._desk.once(f"gate-base-{len(self._bases) + 1}", act)
            self._bases[command] = Record.from_json(told)
        return self._bases[command]

    async def _on_change(self, about: dict[str, Any], round: int) -> Record:
        """No word of an interruption: a check changes nothing that is kept, so it is run again."""

        async def act() -> dict[str, Any]:
            site = await self._grounds.change(round)
            async with Telling(self._desk, "quality_gate_output", **about) as telling:
                argv = [SHELL, "-c", about["command"]]
                done = await site.run(argv, timeout_s=CHECK_S, read_only=self._read_only, on_output=telling.hear)
            return Record.of(done).to_json()

        return Record.from_json(await self._desk.once(f"gate-change-{round}-{about['commandIndex']}", act))
