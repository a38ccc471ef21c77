"""The story of a run: chosen, marked by what the gate says, written down in progress.txt. Contract polychat, 6.2."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from drydock.agent import hand, stories
from drydock.agent.desk import Desk, Instruction
from drydock.agent.gate.gate import Outcome
from drydock.agent.hand import Told
from drydock.agent.plan import Plan
from drydock.agent.site import Site
from drydock.agent.stories import Prd, Story
from drydock.agent.task import READ_ONLY, Task

PRD = "prd.json"
PROGRESS = "progress.txt"
MOST_LINES = MOST_CHARACTERS = 1_000_000


async def track(task: Task, plan: Plan, gate: Outcome, desk: Desk, site: Site) -> tuple[str, Sequence[Instruction]]:
    """Its sentence for the run's summary, and what a person said meanwhile. A gate that was skipped marks nothing."""
    if task.type in READ_ONLY:
        return await _skip(desk, "A task that changes nothing tracks no story.")
    prd = stories.read(await _read(desk, site))
    story = stories.choose(prd, plan.text, task.text) if prd is not None else None
    if prd is None or story is None:
        return await _skip(desk, "No unfinished story in prd.json." if prd is not None else "There is no prd.json.")
    if gate.skipped:
        return await _skip(desk, f"The gate was skipped, so {story.label} stays as it is.")
    about: dict[str, Any] = {"storyId": story.id or None, "storyTitle": story.title}
    await desk.emit("story_tracker_selected", **about, message=f"tracking {story.label}")
    await _mark(prd, story, gate, desk, site, about)
    await _note(task, story, gate, desk, site, about)
    said = await desk.checkpoint("tracker")
    return f"Story {story.label} is {'done' if gate.passed else 'not done'}.", said


async def _skip(desk: Desk, why: str) -> tuple[str, Sequence[Instruction]]:
    await desk.emit("story_tracker_skipped", message=why)
    return "", await desk.checkpoint("tracker")


async def _read(desk: Desk, site: Site) -> str:
    async def act() -> str:
        return (await hand.ask(site, "read", path=PRD, start=1, end=MOST_LINES, most=MOST_CHARACTERS)).text("text")

    return str(await desk.once("story-read", act))


async def _mark(prd: Prd, story: Story, gate: Outcome, desk: Desk, site: Site, about: dict[str, Any]) -> None:
    text = prd.marked(story, gate.passed)
    told = Told({})
    if text is not None:
        told = await _write(desk, site, "story-mark", "write", path=PRD, content=text)
    message = told.error or (f"set to {str(gate.passed).lower()}" if text is not None else "it says so already")
    updated = text is not None and not told.error
    await desk.emit("story_tracker_prd_updated", **about, updated=updated, message=message, path=PRD)


async def _note(task: Task, story: Story, gate: Outcome, desk: Desk, site: Site, about: dict[str, Any]) -> None:
    async def act() -> dict[str, Any]:
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = stories.progress_line(time, story, passed=gate.passed, gate=gate.summary, task=task.text)
        told = await hand.ask(site, "add", read_only=False, path=PROGRESS, content=line + "\n")
        await desk.changed()
        return dict(told.data)

    told = Told(await desk.once("story-note", act))
    message = told.error or "appended"
    await desk.emit("story_tracker_progress_updated", **about, updated=not told.error, message=message, path=PROGRESS)


async def _write(desk: Desk, site: Site, name: str, do: str, **request: Any) -> Told:
    """Again after a crash: the workspace is put back first, so that it is written once."""

    async def act() -> dict[str, Any]:
        told = await hand.ask(site, do, read_only=False, **request)
        await desk.changed()
        return dict(told.data)

    return Told(await desk.once(name, act))
