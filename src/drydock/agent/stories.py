"""Stories of a prd.json: read from a file that anybody may have written, chosen for a task, marked when done.

Contract polychat, 6.2.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_SHOWN = 8
MOST_STORIES = 1000
MOST_TASK = 300
MOST_TEXT = 400


@dataclass(frozen=True, slots=True)
class Story:
    index: int
    """Its place in the file, entries that are none counted."""
    id: str
    title: str
    description: str
    priority: float
    passes: bool

    @property
    def label(self) -> str:
        return f"{self.id} {self.title}".strip()

    def shown(self) -> str:
        number = f"{self.priority:g}" if math.isfinite(self.priority) else "none"
        head = f"- {self.label} (priority {number}, passes: {'yes' if self.passes else 'no'})"
        return f"{head}: {self.description[:MOST_TEXT]}" if self.description else head


@dataclass(frozen=True, slots=True)
class Prd:
    data: Mapping[str, Any]
    """As it stands in the file: keys that nobody here knows survive."""
    stories: Sequence[Story]

    def unfinished(self) -> list[Story]:
        return sorted((story for story in self.stories if not story.passes), key=lambda story: story.priority)

    def summary(self) -> str:
        """What a model is shown of it."""
        shown = self.unfinished() or sorted(self.stories, key=lambda story: story.priority)
        heads = [_text(self.data.get(name)) for name in ("project", "description")]
        lines = [
            f"{name}: {text[:MOST_TEXT]}" for name, text in zip(("Project", "Description"), heads, strict=True) if text
        ]
        return "\n".join([*lines, "Stories:", *(story.shown() for story in shown[:MOST_SHOWN])])

    def marked(self, story: Story, passes: bool) -> str | None:
        """The file with the story's outcome in it; None when it says so already."""
        entries = list(self.data["userStories"])
        if entries[story.index].get("passes") is passes:
            return None
        entries[story.index] = {**entries[story.index], "passes": passes}
        return json.dumps({**self.data, "userStories": entries}, indent=2, ensure_ascii=False) + "\n"


def read(text: str) -> Prd | None:
    """None when it has not the structure."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not isinstance(data.get("userStories"), list):
        return None
    entries = enumerate(data["userStories"][:MOST_STORIES])
    return Prd(data, [_story(index, entry) for index, entry in entries if isinstance(entry, dict)])


def _story(index: int, entry: Mapping[str, Any]) -> Story:
    return Story(
        index,
        _text(entry.get("id")),
        _text(entry.get("title")),
        _text(entry.get("description")),
        _priority(entry.get("priority")),
        entry.get("passes") is True,
    )


def _text(value: Any) -> str:
    """On one line."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = str(value)
    return " ".join(value.split()) if isinstance(value, str) else ""


def _priority(value: Any) -> float:
    """A number or its text; anything else comes last."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return math.inf
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return math.inf
    return number if math.isfinite(number) else math.inf


def choose(prd: Prd, plan: str, task: str) -> Story | None:
    """The unfinished story that plan and task are about: best score, then lowest priority, then order in the file."""
    waiting = prd.unfinished()
    scored = [(_score(story, plan) + _score(story, task), story) for story in waiting]
    return min(scored, key=lambda pair: (-pair[0], pair[1].priority, pair[1].index))[1] if scored else None


def _score(story: Story, text: str) -> int:
    lower, title = text.lower(), story.title.lower()
    score = 5 if story.id and re.search(rf"(?<!\w){re.escape(story.id.lower())}(?!\w)", lower) else 0
    score += 4 if title and title in lower else 0
    return score + sum(word in lower for word in re.findall(r"[^\W\d_]{4,}", title))


def progress_line(time: str, story: Story, *, passed: bool, gate: str, task: str) -> str:
    """One line, whatever the task holds."""
    short = " ".join(task.split())[:MOST_TASK]
    return f"[{time}] {story.label} :: {'PASSED' if passed else 'FAILED'} :: {gate} :: Task: {short}"
