"""A desk in memory: the same promises as the real one, and a run that can be played again from what it wrote down."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from drydock.agent.desk import Answer, Instruction, Question, Stopped


class Died(BaseException):
    """The worker is gone: nothing below may catch it."""


class Notebook:
    """What outlives a worker: steps, events, what a person said."""

    def __init__(self) -> None:
        self.steps: dict[str, str | None] = {}
        """A step's result as JSON; None of one that was begun and never ended."""
        self.events: dict[str, dict[str, Any]] = {}
        self.checkpoints: dict[str, list[Instruction]] = {}
        self.waiting: list[Instruction] = []
        self.answers: list[Answer] = []
        self.questions: list[Question] = []
        self.answered: dict[str, Answer] = {}
        self.changes = 0
        self.die_in: str = ""
        self.stop_at: str = ""

    def types(self) -> list[str]:
        return [event["type"] for event in self.events.values()]

    def of(self, *types: str) -> list[dict[str, Any]]:
        return [event for event in self.events.values() if event["type"] in types]


class NotebookDesk:
    def __init__(self, notebook: Notebook) -> None:
        self.book = notebook
        self._last, self._at, self._inside = "start", 0, ""
        self._phases: list[str] = []

    async def emit(self, type: str, **data: Any) -> None:
        self._at += 1
        key = f"{self._last}{self._inside}/{self._at}"
        event = json.loads(json.dumps({"type": type, **{k: v for k, v in data.items() if v is not None}}))
        known = self.book.events.setdefault(key, event)
        assert known == event, f"a replay told {event} where {known} was told"

    async def once(
        self, name: str, act: Callable[[], Awaitable[Any]], *, interrupted: Callable[[], Any] | None = None
    ) -> Any:
        began = name in self.book.steps
        known = self.book.steps.get(name)
        if known is None:
            if began and interrupted is not None:
                result = interrupted()
            else:
                self.book.steps[name] = None
                if self.book.die_in == name:
                    self.book.die_in = ""
                    raise Died
                self._inside = f"/in {name} {began}"
                try:
                    result = await act()
                finally:
                    self._inside = ""
            known = json.dumps(result)
            self.book.steps[name] = known
        self._last, self._at = name, 0
        return json.loads(known)

    async def checkpoint(self, phase: str) -> Sequence[Instruction]:
        if self.book.stop_at == phase:
            raise Stopped("cancelled", "Cancelled by user request")
        self._phases.append(phase)
        key = f"{len(self._phases)} {phase}"
        if key not in self.book.checkpoints:
            self.book.checkpoints[key], self.book.waiting = self.book.waiting, []
        return self.book.checkpoints[key]

    async def ask(self, question: Question) -> Answer:
        key = f"{self._last}/{self._at}"
        if key not in self.book.answered:
            self.book.questions.append(question)
            self.book.answered[key] = (
                self.book.answers.pop(0) if self.book.answers else Answer(False, "Approval request timed out")
            )
        return self.book.answered[key]

    async def changed(self) -> None:
        self.book.changes += 1
