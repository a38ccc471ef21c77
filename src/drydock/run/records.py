"""The stores that hold runs, opened together over one database."""

from __future__ import annotations

from dataclasses import dataclass

from drydock.store.database import Database
from drydock.store.followers import Followers
from drydock.store.inbox import Inbox
from drydock.store.journal import Journal
from drydock.store.objects import ObjectStore
from drydock.store.runs import Runs
from drydock.store.steps import Steps


@dataclass(frozen=True, slots=True)
class Records:
    database: Database
    runs: Runs
    journal: Journal
    steps: Steps
    inbox: Inbox
    followers: Followers
    objects: ObjectStore

    @classmethod
    def open(cls, database: Database, objects: ObjectStore) -> Records:
        """On the event loop that the followers run on."""
        reader = Journal(database, lambda run, fresh: None)
        followers = Followers(reader.read)
        journal = Journal(database, followers.publish)
        return cls(database, Runs(database), journal, Steps(database, journal), Inbox(database), followers, objects)
