"""The way out of a run's box: a relay to the package indexes, there only while a command runs that was granted it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from drydock.egress.grants import PackagesGrant
from drydock.egress.relay import Relay

PORT = 8000
"""Of the door, on the box's own loopback. It is always there; nobody answers behind it without a grant."""
_RELAY = f"http://127.0.0.1:{PORT}"
ENV: Mapping[str, str] = {
    "PIP_INDEX_URL": f"{_RELAY}/pypi/simple/",
    "UV_DEFAULT_INDEX": f"{_RELAY}/pypi/simple/",
    "NPM_CONFIG_REGISTRY": f"{_RELAY}/npm/",
    "npm_config_registry": f"{_RELAY}/npm/",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "NPM_CONFIG_UPDATE_NOTIFIER": "false",
}
"""Where the usual installers look then."""
Grants = Callable[[], Awaitable[Sequence[PackagesGrant]]]


class WayOut:
    """A relay is made with the first command that has the grant and ends with the last one, its connections too."""

    def __init__(self, grants: Grants) -> None:
        self._grants = grants
        self._relay: Relay | None = None
        self._open = 0
        self._making = asyncio.Lock()

    async def handler(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        relay = self._relay
        if relay is None:
            writer.close()
            return
        await relay.handler(reader, writer)

    @asynccontextmanager
    async def granted(self) -> AsyncGenerator[Mapping[str, str], None]:
        """Open for as long as this lasts; what the command's environment needs for it."""
        async with self._making:
            if self._relay is None:
                self._relay = Relay(await self._grants())
            self._open += 1
        try:
            yield ENV
        finally:
            self._open -= 1
            if self._open == 0:
                relay, self._relay = self._relay, None
                await relay.close()
