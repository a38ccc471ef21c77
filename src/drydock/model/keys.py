"""Where a provider's key comes from: a setting, else a sealed secret of the variable's name."""

from __future__ import annotations

from collections.abc import Callable

from drydock.model.name import Provider
from drydock.settings import Settings

Sealed = Callable[[str], str | None]
"""A sealed secret by its name; `Secrets.get`."""

VARIABLES: dict[Provider, str] = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "google": "GOOGLE_API_KEY",
}


class Keys:
    def __init__(self, settings: Settings, sealed: Sealed) -> None:
        self._told: dict[Provider, str] = {
            "anthropic": settings.anthropic_api_key,
            "openai": settings.openai_api_key,
            "mistral": settings.mistral_api_key,
            "google": settings.google_api_key,
        }
        self._sealed = sealed

    def of(self, provider: Provider) -> str:
        """Empty when there is none. Asked anew for each call, so that a secret set later is found."""
        return self._told[provider] or self._sealed(VARIABLES[provider]) or ""

    def named(self, secret: str) -> str:
        """A sealed secret; one that is called as a provider's key is that key, wherever it was set."""
        for provider, variable in VARIABLES.items():
            if secret == variable:
                return self.of(provider)
        return self._sealed(secret) or ""
