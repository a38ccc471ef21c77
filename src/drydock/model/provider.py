"""The libraries that speak to providers, each imported on its first use.

Together they cost 230 MB and 9 s of imports, and a server that asks no model, or one provider's alone, must not pay for
the rest. So nothing of pydantic-ai is imported when this module is; and the import happens on a thread, since it would
hold up every other request for its second.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from drydock.model.catalog import Model
from drydock.model.name import Provider
from drydock.settings import Settings

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model as Voice

NO_KEY = "none"
"""What libraries send where a server asks for no key; they refuse to send nothing."""
MAY_BE_KEYLESS: Provider = "openai"
"""The one whose protocol servers of one's own speak: Ollama, vLLM, llama.cpp."""

_Maker = tuple[type[Any], Any]
"""The class of a model, and the provider that it is made with."""


class Providers:
    """One connection pool for each provider, address and key; `close` ends them."""

    def __init__(self, settings: Settings) -> None:
        self._addresses: dict[Provider, str] = {
            "anthropic": settings.anthropic_base_url,
            "openai": settings.openai_base_url,
            "mistral": settings.mistral_base_url,
            "google": settings.google_base_url,
        }
        self._own = str(Settings.model_fields["openai_base_url"].default)
        self._timeout = settings.model_timeout
        self._makers: dict[tuple[Provider, str, str], _Maker] = {}
        self._clients: list[httpx2.AsyncClient] = []
        self._making = asyncio.Lock()

    def address(self, model: Model) -> str:
        return model.entry.address or self._addresses[model.name.provider]

    def may_be_keyless(self, model: Model) -> bool:
        if model.entry.address:
            return not model.entry.key
        return model.name.provider == MAY_BE_KEYLESS and self.address(model) != self._own

    async def voice(self, model: Model, key: str) -> Voice:
        """The library's model, ready to be asked."""
        provider, address = model.name.provider, _root(model.name.provider, self.address(model))
        async with self._making:
            which = (provider, address, key)
            if which not in self._makers:
                self._makers[which] = await asyncio.to_thread(self._make, provider, address, key or NO_KEY)
        kind, made_with = self._makers[which]
        voice: Voice = kind(model.name.name, provider=made_with)
        return voice

    async def close(self) -> None:
        for client in self._clients:
            await client.aclose()
        self._clients.clear()
        self._makers.clear()

    def _make(self, provider: Provider, address: str, key: str) -> _Maker:
        told: dict[str, Any] = {"base_url": address, "api_key": key, "http_client": self._client()}
        match provider:
            case "anthropic":
                from pydantic_ai.models.anthropic import AnthropicModel
                from pydantic_ai.providers.anthropic import AnthropicProvider

                return AnthropicModel, AnthropicProvider(**told)
            case "openai":
                from pydantic_ai.models.openai import OpenAIChatModel
                from pydantic_ai.providers.openai import OpenAIProvider

                return OpenAIChatModel, OpenAIProvider(**told)
            case "mistral":
                from pydantic_ai.models.mistral import MistralModel
                from pydantic_ai.providers.mistral import MistralProvider

                return MistralModel, MistralProvider(**told)
            case "google":
                from pydantic_ai.models.google import GoogleModel
                from pydantic_ai.providers.google import GoogleProvider

                return GoogleModel, GoogleProvider(**told)

    def _client(self) -> httpx2.AsyncClient:
        """It follows no redirect, which could carry the key to another host."""
        import httpx2

        from drydock.model.bounded import HEADERS, Bounded

        timeout = httpx2.Timeout(self._timeout, connect=10)
        client = httpx2.AsyncClient(timeout=timeout, follow_redirects=False, transport=Bounded(), headers=HEADERS)
        self._clients.append(client)
        return client


def _root(provider: Provider, address: str) -> str:
    """All but OpenAI's library add `/v1` themselves, and many an address is copied with it."""
    address = address.rstrip("/")
    return address if provider == "openai" else address.removesuffix("/v1")
