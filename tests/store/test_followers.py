import asyncio
from collections.abc import Sequence

import pytest

from drydock.store import followers as room
from drydock.store.database import Database
from drydock.store.followers import Followers, TooSlow
from drydock.store.journal import Entry, Journal
from drydock.store.run import Event, Run
from drydock.store.runs import Runs
from tests.store.runs_rows import queued


class Scene:
    """A journal whose followers live on the running loop."""

    def __init__(self, database: Database) -> None:
        self.followers = Followers(lambda run, after: self.journal.read(run, after))
        self.journal = Journal(database, self.followers.publish)
        run = Runs(database).create(queued())
        assert isinstance(run, Run)
        self.run = run.id

    async def tell(self, *keys: str) -> None:
        await asyncio.to_thread(self.journal.append, self.run, [Entry("told", key) for key in keys])

    async def until(self, key: str, after: int = 0) -> Sequence[Event]:
        seen = []
        async for event in self.followers.follow(self.run, after):
            seen.append(event)
            if event.key == key:
                break
        return seen


def test_replay_and_live_join_without_gap_or_repeat(either: Database) -> None:
    async def scene() -> None:
        here = Scene(either)
        await here.tell("a", "b")
        followers = [asyncio.create_task(here.until("last", after)) for after in (0, 1, 2) for _ in range(5)]
        for number in range(30):
            await here.tell(str(number))
        await here.tell("last")
        for after, follower in zip([0] * 5 + [1] * 5 + [2] * 5, followers, strict=True):
            assert [event.seq for event in await follower] == list(range(after + 1, 34))

    asyncio.run(scene())


def test_what_another_process_wrote_is_fetched_when_the_next_event_is_told(either: Database) -> None:
    async def scene() -> None:
        here = Scene(either)
        elsewhere = Journal(either, lambda run, fresh: None)
        follower = asyncio.create_task(here.until("b"))
        await asyncio.to_thread(elsewhere.append, here.run, [Entry("told", "a")])
        await here.tell("b")
        assert [event.key for event in await follower] == ["a", "b"]

    asyncio.run(scene())


def test_a_listener_that_does_not_keep_up_is_dropped(either: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_WAITING", 5)

    async def scene() -> None:
        here = Scene(either)
        await here.tell("a")
        slow = here.followers.follow(here.run)
        assert (await anext(slow)).key == "a"
        await here.tell(*(str(number) for number in range(6)))
        with pytest.raises(TooSlow):
            await anext(slow)
        assert len(await here.until("5", after=1)) == 6

    asyncio.run(scene())


def test_silence_is_an_empty_page_and_what_comes_together_is_one(either: Database) -> None:
    async def scene() -> None:
        here = Scene(either)
        pages = here.followers.pages(here.run, idle_s=0.05)
        assert await anext(pages) == ()
        await here.tell("a", "b")
        await here.tell("c")
        seen = [event.key for event in await anext(pages)]
        while seen != ["a", "b", "c"]:
            seen += [event.key for event in await anext(pages)]
            assert len(seen) <= 3
        assert await anext(pages) == ()
        await pages.aclose()

    asyncio.run(scene())
