"""run_command and run_parallel: what the policy says, what a person says, and then the command, in the box."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from drydock.agent.action import Action
from drydock.agent.bench import Bench, Observation
from drydock.agent.budget import more_commands
from drydock.agent.desk import Question
from drydock.agent.policy.judge import Rules, Verdict, judge
from drydock.agent.tools.run import INTERRUPTED, Record, Telling

SHELL = "/bin/bash"


async def run_command(bench: Bench, action: Action) -> Observation:
    command = action.text("command")
    verdict = judge(command, bench.rules)
    if (refused := await permission(bench, command, verdict)) is not None:
        return refused
    await more_commands(bench, 1)
    [record] = await run_all(bench, [command], read_only=bench.read_only, network=verdict.wants_network)
    return Observation(record.observed(command))


async def run_parallel(bench: Bench, action: Action) -> Observation:
    """Only what reads, and all of it or nothing."""
    commands: list[str] = action.arguments["commands"]
    rules = Rules(bench.task.trust, read_only=True, single=bench.task.single_commands)
    for command in commands:
        verdict = judge(command, rules)
        if verdict.effect != "run" or verdict.wants_network:
            return await _deny(bench, command, f"{verdict.reason or 'it would have to be asked for'}; none was run")
    await more_commands(bench, len(commands))
    records = await run_all(bench, commands, read_only=True, network=False)
    return Observation("\n\n".join(record.observed(command) for command, record in zip(commands, records, strict=True)))


async def permission(bench: Bench, command: str, verdict: Verdict) -> Observation | None:
    """None: it may run. A refusal by the policy counts as a failure, one by a person does not."""
    if verdict.effect == "deny":
        return await _deny(bench, command, verdict.reason)
    if verdict.effect == "run":
        return None
    window, escalate = verdict.window()
    why = f"{verdict.name}: {verdict.reason}" if verdict.reason else verdict.name
    message = f"The agent wants to run a command of the class {why}."
    answer = await bench.desk.ask(Question(command, verdict.asking, message, bench.step, window, escalate))
    if answer.approved:
        return None
    return Observation(f"Command: {command}\nIt was not run: {answer.reason}. Choose another way to go on.")


async def _deny(bench: Bench, command: str, reason: str) -> Observation:
    await bench.emit("command_failed", command=command, error=f"Refused by the command policy: {reason}.")
    bench.ledger.command_ended(well=False)
    return Observation(f"Command: {command}\nIt was refused by the command policy: {reason}. Choose another command.")


async def run_all(bench: Bench, commands: Sequence[str], *, read_only: bool, network: bool) -> list[Record]:
    """Side by side if there are several, as one step; their events in order."""
    await bench.checkpoint("command")
    first = bench.ledger.commands + 1
    bench.ledger.commands += len(commands)
    abouts: list[dict[str, Any]] = [
        {"command": command, "commandIndex": first + n, "commandTotal": bench.ledger.max_commands}
        for n, command in enumerate(commands)
    ]
    for about in abouts:
        await bench.emit("command_started", **about)

    async def one(about: dict[str, Any]) -> Record:
        async with Telling(bench.desk, "command_output", **about) as telling:
            done = await bench.site.run(
                [SHELL, "-c", about["command"]],
                timeout_s=bench.task.budget.command_s,
                read_only=read_only,
                network=network,
                on_output=telling.hear,
            )
        return Record.of(done)

    async def act() -> list[dict[str, Any]]:
        records = [record.to_json() for record in await asyncio.gather(*map(one, abouts))]
        if not read_only:
            await bench.desk.changed()
        return records

    told = await bench.desk.once(
        bench.name("command"), act, interrupted=lambda: [INTERRUPTED.to_json() for _ in commands]
    )
    records = [Record.from_json(record) for record in told]
    for about, record in zip(abouts, records, strict=True):
        await ended(bench, about, record)
    bench.ledger.wall_ms += max(record.wall_ms for record in records)
    await bench.checkpoint("command")
    return records


async def ended(bench: Bench, about: dict[str, Any], record: Record) -> None:
    bench.ledger.command_ended(well=record.ok)
    if record.ok:
        await bench.emit("command_completed", **about, exitCode=record.exit_code)
    elif record.exit_code is None:
        await bench.emit("command_failed", **about, error=record.error)
    else:
        await bench.emit("command_failed", **about, exitCode=record.exit_code, error=record.error)
