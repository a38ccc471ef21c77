"""Ask a model by its name: up to three tries, then the next that stands in for it, then the error that says why."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drydock.errors import ModelAuth, ModelBadAnswer, ModelFailed, ModelMissing, ModelRateLimited
from drydock.model.catalog import Catalog, Model
from drydock.model.conversation import Answer, Message, Tool
from drydock.model.failure import EMPTY, MISSING, Failure, Kind, read
from drydock.model.keys import VARIABLES, Keys, Sealed
from drydock.model.patience import TRIES, wait_before
from drydock.model.prices import usage_of
from drydock.model.provider import Providers
from drydock.model.usage import Usage
from drydock.settings import Settings

log = logging.getLogger(__name__)
ERRORS: dict[Kind, type[ModelFailed]] = {
    "missing": ModelMissing,
    "auth": ModelAuth,
    "rate_limited": ModelRateLimited,
    "error": ModelFailed,
    "bad_answer": ModelBadAnswer,
}


@dataclass
class Asking:
    """One question on its way through tries and fallbacks."""

    conversation: Sequence[Message]
    tools: Sequence[Tool]
    settings: Mapping[str, Any]
    tries: int = 0
    used: Usage = field(default_factory=Usage)
    failed: list[tuple[Model, Failure, int]] = field(default_factory=list)
    """Who gave up, why at last, after how many tries."""


class Models:
    def __init__(
        self, settings: Settings, sealed: Sealed, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self.catalog = Catalog(settings.models, settings.model)
        self._keys = Keys(settings, sealed)
        self._providers = Providers(settings)
        self._timeout = settings.model_timeout
        self._pause = pause

    async def answer(
        self,
        name: str,
        conversation: Sequence[Message],
        tools: Sequence[Tool] = (),
        settings: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Of that alias or full name, or of the default where it is empty. A ModelFailed when nobody answers."""
        asking = Asking(conversation, tools, settings or {})
        for model in self.catalog.chain(name):
            answer = await self._patiently(model, asking)
            if answer is not None:
                return answer
        raise _error(asking.failed)

    def calls_tools(self, name: str) -> bool:
        """Whether that model and all that stand in for it call tools natively."""
        return all(model.entry.tools for model in self.catalog.chain(name))

    def has_key(self, model: Model) -> bool:
        """Or needs none."""
        return self._providers.may_be_keyless(model) or bool(self._key(model))

    def address(self, model: Model) -> str:
        return self._providers.address(model)

    async def close(self) -> None:
        await self._providers.close()

    async def _patiently(self, model: Model, asking: Asking) -> Answer | None:
        key = await asyncio.to_thread(self._key, model)
        if not key and not self._providers.may_be_keyless(model):
            asking.failed.append((model, MISSING, 0))
            return None
        attempt = 0
        while True:
            attempt += 1
            asking.tries += 1
            told = await self._once(model, key, asking)
            if isinstance(told, Answer):
                return told
            wait = wait_before(attempt + 1, told.retry_after) if told.retryable and attempt < TRIES else None
            goes_on = "not asked again" if wait is None else f"asked again in {wait:.1f} s"
            log.warning("%s %s (try %d): %s", model, told.text, attempt, goes_on)
            if wait is None:
                asking.failed.append((model, told, attempt))
                return None
            await self._pause(wait)

    async def _once(self, model: Model, key: str, asking: Asking) -> Answer | Failure:
        voice = await self._providers.voice(model, key)
        from pydantic_ai.direct import model_request

        from drydock.model import wire

        said: dict[str, Any] = {
            "messages": wire.messages(asking.conversation),
            "model_settings": wire.settings(self._timeout, asking.settings),
            "model_request_parameters": wire.parameters(asking.tools if model.entry.tools else ()),
        }
        try:
            response = await model_request(voice, **said)
        except Exception as raised:
            failure = read(raised, key)
            if failure is None:
                raise
            return failure
        asking.used += usage_of(model, response.usage)
        if wire.is_empty(response):
            return EMPTY
        return wire.answer(response, str(model), asking.used, asking.tries)

    def _key(self, model: Model) -> str:
        """An entry's own address gets the key that the entry names, and no other: it may be anybody's."""
        if model.entry.address:
            return self._keys.named(model.entry.key) if model.entry.key else ""
        return self._keys.of(model.name.provider)


def _error(failed: Sequence[tuple[Model, Failure, int]]) -> ModelFailed:
    """Of the first that may answer later, else of the first; the message tells of all."""
    model, failure, _ = next((each for each in failed if each[1].retryable), failed[0])
    told = "; ".join(_told(*each) for each in failed)
    hint = None
    if failure.kind == "missing":
        variable = model.entry.key or VARIABLES[model.name.provider]
        hint = f"Run `drydock secrets set {variable}`, or name a model whose key is there."
    return ERRORS[failure.kind](
        f"No model answered: {told}.", hint=hint, retryable=failure.retryable, retry_after=failure.retry_after
    )


def _told(model: Model, failure: Failure, tries: int) -> str:
    return f"{model} {failure.text}" + (f", {tries} times" if tries > 1 else "")
