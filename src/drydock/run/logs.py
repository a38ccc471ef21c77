"""The log of a run: each command, its exit and what it wrote, out of the journal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from drydock.store.run import Event

MOST = 80_000
CUT = "\n... (truncated)\n"
BEGINS = ("command_started", "quality_gate_check_started")
OUTPUT = ("command_output", "quality_gate_output")
ENDS = ("command_completed", "command_failed", "quality_gate_check_passed", "quality_gate_check_failed")


@dataclass(slots=True)
class Block:
    head: str
    exit_code: int | None = None
    streams: dict[str, list[str]] = field(default_factory=lambda: {"stdout": [], "stderr": []})

    def shown(self) -> str:
        code = [] if self.exit_code is None else [f"exit_code={self.exit_code}"]
        written = ["".join(pieces).strip() for pieces in self.streams.values()]
        return "\n".join([self.head, *code, *filter(None, written)])


def read(events: Iterable[Event]) -> str:
    """As a result has it."""
    return cut(whole(events))


def whole(events: Iterable[Event]) -> str:
    """Every block, as the artefact has it."""
    blocks: list[Block] = []
    running: dict[tuple[bool, int], Block] = {}
    """By gate or not, and the command's number."""
    for event in events:
        gate, number = event.type.startswith("quality_gate"), int(event.data.get("commandIndex", 0))
        if event.type == "repo_clone_completed":
            blocks.append(Block(f"$ git clone {event.data['repo']}", 0))
        elif event.type in BEGINS:
            mark = "[quality-gate] " if gate else ""
            running[gate, number] = Block(f"$ {mark}{event.data['command']}")
            blocks.append(running[gate, number])
        elif event.type in OUTPUT and (gate, number) in running:
            running[gate, number].streams[str(event.data["stream"])].append(str(event.data["output"]))
        elif event.type in ENDS and (block := running.pop((gate, number), None)) is not None:
            block.exit_code = event.data.get("exitCode")
    return "\n".join(block.shown() for block in blocks)


def cut(text: str) -> str:
    """Beginning and end of a long one."""
    return text if len(text) <= MOST else text[: MOST // 2] + CUT + text[-MOST // 2 :]
