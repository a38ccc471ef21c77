"""A model that says what a test wrote down for it, and keeps what it was asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from drydock.agent.mind import Call, Message, Reply, Tool, Usage
from drydock.errors import DrydockError

USAGE = Usage(100, 10, 0, 0.01)
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
    def __init__(self, *answers: str | Reply | DrydockError | Callable[[], str], native: bool = False) -> None:
        self.native_tools = native
        self._answers = answers
        self.asked: list[list[Message]] = []
        self.offered: list[list[str]] = []

    async def answer(self, conversation: Sequence[Message], tools: Sequence[Tool]) -> Reply:
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
        return answer if isinstance(answer, Reply) else Reply(answer, usage=USAGE)


def called(*calls: tuple[str, dict[str, Any]], text: str = "") -> Reply:
    made = tuple(Call(f"c{number}", name, arguments) for number, (name, arguments) in enumerate(calls))
    return Reply(text, made, USAGE, raw={"own": "form"})
