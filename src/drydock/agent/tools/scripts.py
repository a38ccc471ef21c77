"""run_script: several lines of code, run by an interpreter of the box. Always without network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drydock.agent.action import Action
from drydock.agent.bench import Bench, Observation
from drydock.agent.budget import more_commands
from drydock.agent.tools.commands import SHELL
from drydock.agent.tools.run import INTERRUPTED, Record, Telling

MOST_TOLD = 2000
DEFAULT = "javascript"
INTERPRETERS: Mapping[str, Sequence[str]] = {
    "python": ("python3", "-"),
    "shell": (SHELL, "-s"),
    "javascript": ("node", "-"),
    "typescript": ("node", "--experimental-strip-types", "--input-type=module-typescript", "-"),
}
_ALIASES = {"py": "python", "python3": "python", "bash": "shell", "sh": "shell", "js": "javascript", "ts": "typescript"}


async def run_script(bench: Bench, action: Action) -> Observation:
    code, language = action.text("code"), (action.text("language") or DEFAULT).lower()
    language = _ALIASES.get(language, language)
    if (why := _refusal(bench, language)) is not None:
        bench.ledger.command_ended(well=False)
        await bench.emit("script_failed", language=language, error=why)
        return Observation(f"Script ({language}) was not run: {why} Choose another way to go on.")
    await more_commands(bench, 1)
    await bench.checkpoint("command")
    bench.ledger.commands += 1
    about = {"commandIndex": bench.ledger.commands, "commandTotal": bench.ledger.max_commands}
    await bench.emit("script_started", code=code[:MOST_TOLD], language=language, **about)

    async def act() -> dict[str, Any]:
        async with Telling(bench.desk, "command_output", command=f"<{language} script>", **about) as telling:
            done = await bench.site.run(
                INTERPRETERS[language],
                stdin=code.encode("utf-8", "replace"),
                timeout_s=bench.task.budget.command_s,
                on_output=telling.hear,
            )
        await bench.desk.changed()
        return Record.of(done).to_json()

    told = await bench.desk.once(bench.name("script"), act, interrupted=INTERRUPTED.to_json)
    record = Record.from_json(told)
    bench.ledger.command_ended(well=record.ok)
    bench.ledger.wall_ms += record.wall_ms
    if record.ok:
        await bench.emit("script_completed", **about, exitCode=record.exit_code)
    else:
        await bench.emit("script_failed", **about, error=record.error)
    await bench.checkpoint("command")
    return Observation(record.observed(f"({language} script)"))


def _refusal(bench: Bench, language: str) -> str | None:
    if bench.read_only:
        return "this task changes nothing, and what a script does cannot be told beforehand."
    if bench.task.trust == "strict":
        return "under strict trust each command is judged by itself; run single commands."
    if language not in INTERPRETERS:
        return f"there is no language `{language[:40]}`; there are {', '.join(INTERPRETERS)}."
    return None
