"""The parts of one play of a run, put together from its record and from what this server has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from drydock.box.yard import Yard
from drydock.errors import Unavailable
from drydock.forge.git.credential import Credential, of_token
from drydock.forge.git.repository import Author, Terms
from drydock.forge.git.source import Source, Sources
from drydock.model.models import Models
from drydock.run.parts import Parts
from drydock.run.phases.agency import LoopAgency
from drydock.run.phases.change import Changes
from drydock.run.phases.checkout import Checkout
from drydock.run.phases.deliver import Delivering
from drydock.run.phases.earlier import Legacies
from drydock.run.phases.gate import Judging
from drydock.run.phases.prepare import Preparing
from drydock.run.room import folder_of
from drydock.run.spec import Spec
from drydock.settings import Settings
from drydock.store.lent import Lent
from drydock.store.objects import ObjectStore
from drydock.store.run import Run


class RealParts:
    def __init__(
        self,
        settings: Settings,
        yard: Callable[[], Yard | None],
        models: Models,
        lent: Lent,
        legacies: Legacies,
        objects: ObjectStore,
    ) -> None:
        self._settings, self._yard, self._models = settings, yard, models
        self._lent, self._legacies, self._objects = lent, legacies, objects

    def __call__(self, run: Run, spec: Spec) -> Parts:
        settings = self._settings

        def source() -> Source | None:
            return Sources.of(settings).read(spec.repo) if spec.repo else None

        async def credential() -> Credential | None:
            token = await asyncio.to_thread(self._lent.of, run.id)
            return None if token is None else of_token(token)

        checkout = Checkout(self._terms, folder_of(settings.data, run) / "git", source, credential)
        changes = Changes(run.id, checkout, self._objects)
        judging, agency = Judging(changes), LoopAgency(self._models, spec)

        async def keep_conversation() -> None:
            await asyncio.to_thread(self._legacies.keep, run.id, agency.conversation)

        return Parts(
            Preparing(checkout, self._legacies, spec.model or settings.model),
            agency,
            judging,
            Delivering(checkout, changes, judging, Author.of(settings), keep_conversation),
            checkout.close,
        )

    def _terms(self) -> Terms:
        yard = self._yard()
        if yard is None:
            raise Unavailable("runs need a box, and this server's isolation has none to hold")
        return Terms.of(self._settings, yard)
