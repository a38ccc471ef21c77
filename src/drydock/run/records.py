"""The stores that hold runs, opened together over one database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from drydock.errors import Unavailable
from drydock.store.database import Database
from drydock.store.followers import Followers
from drydock.store.inbox import Inbox
from drydock.store.journal import Journal
from drydock.store.lent import Lent
from drydock.store.objects import ObjectStore
from drydock.store.runs import Runs
from drydock.store.sealing import Sealer
from drydock.store.steps import Steps


def no_sealer() -> Sealer:
    raise Unavailable("this server keeps no credentials of runs")


@dataclass(frozen=True, slots=True)
class Records:
    database: Database
    runs: Runs
    journal: Journal
    steps: Steps
    inbox: Inbox
    followers: Followers
    objects: ObjectStore
    lent: Lent

    @classmethod
    def open(cls, database: Database, objects: ObjectStore, sealer: Callable[[], Sealer] = no_sealer) -> Records:
        """On the event loop that the followers run on."""
        reader = Journal(database, lambda run, fresh: None)
        followers = Followers(reader.read)
        journal = Journal(database, followers.publish)
        steps, inbox, lent = Steps(database, journal), Inbox(database), Lent(database, sealer)
        return cls(database, Runs(database), journal, steps, inbox, followers, objects, lent)
