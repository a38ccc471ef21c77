"""Programs that go on beside the other tools: servers, and programs that are talked to."""

from __future__ import annotations

from typing import Any

from drydock.agent.action import Action
from drydock.agent.bench import Bench, Observation, Process
from drydock.agent.budget import more_commands
from drydock.agent.policy.judge import judge
from drydock.agent.site import Done, Gone, Heard
from drydock.agent.texts import cut, fenced
from drydock.agent.tools.commands import SHELL, ended, permission
from drydock.agent.tools.run import FRAME, INTERRUPTED, MOST_OBSERVED, MOST_RECORDED, Record

WAIT_S = 5
MOST_WAIT_S = 60
MOST_AT_ONCE = 8
_LOST = "it ended when the server restarted; start it again if you need it"


async def start_process(bench: Bench, action: Action) -> Observation:
    command = action.text("command")
    verdict = judge(command, bench.rules)
    if (refused := await permission(bench, command, verdict)) is not None:
        return refused
    if sum(not process.ended for process in bench.processes.values()) >= MOST_AT_ONCE:
        return Observation(f"Command: {command}\nIt was not started: {MOST_AT_ONCE} programs run already; stop one.")
    await more_commands(bench, 1)
    await bench.checkpoint("command")
    bench.ledger.commands += 1
    process = Process(command, bench.ledger.commands)
    await bench.emit("command_started", **_about(bench, process))

    async def act() -> int:
        argv = [SHELL, "-c", command]
        return await bench.site.start(argv, read_only=bench.read_only, network=verdict.wants_network)

    process.at_site = await bench.desk.once(bench.name("start"), act, interrupted=lambda: 0)
    if not process.at_site:
        await ended(bench, _about(bench, process), INTERRUPTED)
        return Observation(f"Command: {command}\nIt was not started: the server restarted meanwhile.")
    number = len(bench.processes) + 1
    bench.processes[number] = process
    await bench.checkpoint("command")
    return Observation(f"Process {number} was started: {command}\nread_output shows what it writes.")


async def send_input(bench: Bench, action: Action) -> Observation:
    number = action.number("process", 0)
    if number not in bench.processes:
        return _unknown(bench, number)
    data, close = action.text("input").encode("utf-8", "replace"), action.flag("close")

    async def act() -> str:
        try:
            await bench.site.send(bench.processes[number].at_site, data, close=close)
        except BrokenPipeError:
            return "it reads no more input"
        except Gone:
            return _LOST
        await bench.desk.changed()
        return ""

    wrong = await bench.desk.once(bench.name("send"), act, interrupted=lambda: _LOST)
    if wrong:
        return Observation(f"Process {number}: nothing was sent: {wrong}.")
    return Observation(f"Process {number}: {len(data)} bytes were sent.")


async def read_output(bench: Bench, action: Action) -> Observation:
    number = action.number("process", 0)
    if number not in bench.processes:
        return _unknown(bench, number)
    wait_s = min(MOST_WAIT_S, max(0, action.number("waitSeconds", WAIT_S)))
    return await _hear(bench, number, wait_s=wait_s)


async def stop_process(bench: Bench, action: Action) -> Observation:
    number = action.number("process", 0)
    if number not in bench.processes:
        return _unknown(bench, number)
    return await _hear(bench, number, wait_s=0, stop=True)


async def stop_all(bench: Bench) -> None:
    """At the end of the work: nothing that it started goes on."""
    for number, process in bench.processes.items():
        if not process.ended:
            await _hear(bench, number, wait_s=0, stop=True)


async def _hear(bench: Bench, number: int, *, wait_s: float, stop: bool = False) -> Observation:
    process = bench.processes[number]

    async def act() -> dict[str, Any]:
        try:
            done = await bench.site.stop(process.at_site) if stop else None
            heard = await bench.site.hear(process.at_site, process.cursor, wait_s=wait_s)
        except Gone:
            return {"lost": True}
        for at in range(0, len(heard.text), FRAME):
            frame = heard.text[at : at + FRAME]
            await bench.desk.emit("command_output", **_about(bench, process), stream="stdout", output=frame)
        if not bench.read_only and (heard.done or done):
            await bench.desk.changed()
        return _record(heard, heard.done or done)

    told = await bench.desk.once(bench.name("hear"), act, interrupted=lambda: {"lost": True})
    if told.get("lost"):
        if not process.ended:
            process.ended = True
            await ended(bench, _about(bench, process), INTERRUPTED)
        return Observation(f"Process {number}: {_LOST}.")
    process.cursor = told["cursor"]
    text = fenced(cut(told["text"], MOST_OBSERVED)) if told["text"].strip() else "nothing new"
    state = "It runs."
    if told["done"] is not None:
        record = Record.from_json(told["done"])
        state = f"It has ended: {_end(record)}"
        if not process.ended:
            process.ended = True
            # Stopping it was asked for, so that is no failure of its command.
            await ended(bench, _about(bench, process), record if not stop else _STOPPED)
    return Observation(f"Process {number}: {process.command}\n{state}\nOutput since the last look: {text}")


_STOPPED = Record("completed", 0, None, "", "", 0)


def _record(heard: Heard, done: Done | None) -> dict[str, Any]:
    ending = Record.of(done).to_json() if done is not None else None
    return {"cursor": heard.cursor, "text": cut(heard.text, MOST_RECORDED), "done": ending}


def _end(record: Record) -> str:
    return record.why or f"exit code {record.exit_code}."


def _about(bench: Bench, process: Process) -> dict[str, Any]:
    return {"command": process.command, "commandIndex": process.index, "commandTotal": bench.ledger.max_commands}


def _unknown(bench: Bench, number: int) -> Observation:
    known = ", ".join(map(str, bench.processes)) or "none was started"
    return Observation(f"There is no process {number}; there are: {known}.")
