"""One question to models as the server joins them; the waits between tries are noted in place of waited."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from drydock.errors import ModelFailed
from drydock.model.conversation import Answer, Message, Tool
from drydock.model.models import Models
from drydock.settings import Settings
from tests.standins.model import ModelServer

PROVIDERS = {
    "anthropic": "anthropic:claude-sonnet-4-6",
    "openai": "openai:gpt-4o",
    "mistral": "mistral:mistral-large-latest",
    "google": "google:gemini-2.5-pro",
}
KEY = "key-of-the-house-4711"
GO = (Message("system", "Be brief."), Message("user", "Go."))
READ_FILE = Tool("read_file", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})


@dataclass
class House:
    settings: Settings
    sealed: Mapping[str, str] = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)

    def ask(self, name: str = "", said: Sequence[Message] = GO, tools: Sequence[Tool] = ()) -> Answer:
        return asyncio.run(self._ask(name, said, tools))

    def refused(self, name: str = "") -> ModelFailed:
        with pytest.raises(ModelFailed) as caught:
            self.ask(name)
        return caught.value

    async def _ask(self, name: str, said: Sequence[Message], tools: Sequence[Tool]) -> Answer:
        models = Models(self.settings, self.sealed.get, self._note)
        try:
            return await models.answer(name, said, tools)
        finally:
            await models.close()

    async def _note(self, seconds: float) -> None:
        self.waits.append(seconds)


def house(server: ModelServer, script: str = "x", sealed: Mapping[str, str] | None = None, **told: Any) -> House:
    """All four providers at that script, each with its key."""
    at = server.address(script)
    settings: dict[str, Any] = {f"{provider}_api_key": KEY for provider in PROVIDERS}
    settings |= {f"{provider}_base_url": at for provider in PROVIDERS} | {"openai_base_url": f"{at}/v1"}
    return House(Settings(**{**settings, **told}), sealed or {})
