"""A model's full name: `provider:name`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

Provider = Literal["anthropic", "openai", "mistral", "google"]
PROVIDERS: tuple[Provider, ...] = get_args(Provider)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}")


@dataclass(frozen=True, slots=True)
class ModelName:
    provider: Provider
    name: str
    """As the provider knows it; it may hold colons itself (`qwen3:8b`)."""

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}"


def parse(text: str) -> ModelName | None:
    """None when it is not of that form, or of a provider that is not known here."""
    provider, colon, name = text.partition(":")
    if not colon or provider not in PROVIDERS or not _NAME.fullmatch(name):
        return None
    return ModelName(provider, name)
