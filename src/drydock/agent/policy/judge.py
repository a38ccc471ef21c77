"""The verdict on a command, in the order malformed, forbidden, read-only, then ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from drydock.agent.desk import Asking
from drydock.agent.policy import classes, read_only, shell
from drydock.agent.policy.classes import HIGHEST_FIRST, Class
from drydock.agent.policy.shell import Line
from drydock.agent.task import READ_ONLY, Task, Trust


@dataclass(frozen=True, slots=True)
class Rules:
    trust: Trust = "balanced"
    read_only: bool = False
    single: bool = False
    """One command a line: chaining, pipes and substitution outside quotes are refused."""

    @classmethod
    def of(cls, task: Task) -> Rules:
        return cls(task.trust, task.type in READ_ONLY, task.single_commands)


@dataclass(frozen=True, slots=True)
class Verdict:
    effect: Literal["run", "ask", "deny"]
    name: str
    """The class, or for a refusal what it offends against."""
    reason: str = ""
    asking: Asking = "risky"
    wants_network: bool = False
    """Once it may run, by trust or by a person's yes, it gets the grant."""

    def window(self) -> tuple[float, float]:
        window, escalate = classes.table()["windows"][self.asking]
        return float(window), float(escalate)


def judge(command: str, rules: Rules) -> Verdict:
    most = classes.table()["most_characters"]
    if not command.strip() or len(command) > most:
        return _deny(
            "malformed", f"it has {len(command)} characters; 1 to {most} are allowed, a longer one is a script"
        )
    if any(sign in command for sign in "\r\n\0"):
        return _deny("malformed", "it holds a line break; several lines are a script")
    try:
        line = shell.read(command)
    except shell.Malformed as wrong:
        return _deny("malformed", str(wrong))
    except shell.Unread as wrong:
        return _judge_unread(command, rules, str(wrong))
    if rules.single and (line.chained or line.evaluated):
        return _deny("chaining", "one command a line: no chaining, pipes or substitution outside quotes")
    name, why = _highest(line)
    if name == "forbidden":
        return _deny(name, f"`{why}` is refused at every trust level")
    if rules.read_only and (objection := read_only.objection(line)):
        return _deny("read-only", f"this task changes nothing, and {objection}")
    return _by_trust(name, why, rules.trust)


def _highest(line: Line) -> tuple[Class, str]:
    """The highest class among the commands of a line and what its shells are given."""
    found: tuple[Class, str] = ("low", "")
    waiting, looked_at = list(line.commands), 0
    while waiting:
        looked_at += 1
        if looked_at > classes.table()["most_characters"]:
            return "unread", "it is nested too deeply"
        classed = classes.classify(waiting.pop())
        waiting.extend(classed.nested)
        if HIGHEST_FIRST.index(classed.name) < HIGHEST_FIRST.index(found[0]):
            found = (classed.name, classed.why)
    return found


def _judge_unread(command: str, rules: Rules, why: str) -> Verdict:
    if rules.single:
        return _deny("chaining", f"one command a line, and {why}")
    if rules.read_only:
        return _deny("read-only", f"this task changes nothing, and {why}")
    name, word = classes.by_text(command)
    if name == "forbidden":
        return _deny(name, f"`{word}` is refused at every trust level")
    asked = _by_trust("unread", why, rules.trust)
    if name in ("network", "fetch"):
        return Verdict("ask", "unread", f"{why}, and `{word}` in it wants the network", "network", wants_network=True)
    return asked


def _by_trust(name: Class, why: str, trust: Trust) -> Verdict:
    row = classes.table()[name]
    effect = row[trust]
    return Verdict(
        effect, name, why, row["ask"], wants_network=row["grant"] and (effect == "ask" or trust == "trusted")
    )


def _deny(name: str, reason: str) -> Verdict:
    return Verdict("deny", name, reason)
