"""A model that says what a test wrote down for it, and keeps what it was asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from drydock.errors import DrydockError
from drydock.model.conversation import Answer, Message, Tool, ToolCall
from drydock.model.usage import Usage

USAGE = Usage(100, 10, cost_usd=Decimal("0.01"))
PLAN = """## Files
- `sums.py`: add subtracts

## Steps
1. mend add
2. run its test

## Validation commands
```sh
python3 -m unittest -q tests.test_sums
```

## Risks
- none that I see
"""


def said(action: str, **fields: Any) -> str:
    return json.dumps({"action": action, **fields})


class ScriptedMind:
    def __init__(self, *answers: str | Answer | DrydockError | Callable[[], str], native: bool = False) -> None:
        self.native_tools = native
        self._answers = answers
        self.asked: list[list[Message]] = []
        self.offered: list[list[str]] = []

    async def answer(self, conversation: Sequence[Message], tools: Sequence[Tool]) -> Answer:
        """The next by how many it has given in this conversation: the same when a run is played again."""
        self.asked.append(list(conversation))
        self.offered.append([tool.name for tool in tools])
        index = sum(message.role == "assistant" for message in conversation)
        index += 1 if conversation[0].role == "system" else 0
        answer = self._answers[min(index, len(self._answers) - 1)]
        if isinstance(answer, DrydockError):
            raise answer
        if callable(answer):
            answer = answer()
        return answer if isinstance(answer, Answer) else reply(answer)


def reply(text: str, calls: tuple[ToolCall, ...] = (), raw: Any = None) -> Answer:
    return Answer(text, calls, "", "test:scripted", USAGE, raw)


def called(*calls: tuple[str, dict[str, Any]], text: str = "") -> Answer:
    made = tuple(ToolCall(f"c{number}", name, arguments) for number, (name, arguments) in enumerate(calls))
    return reply(text, made, raw={"own": "form"})
