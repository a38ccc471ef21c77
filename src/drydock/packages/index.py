"""Which index packages come from: the server's own, one that the operator allows, or the installer's default."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence

from drydock.egress.grants import Ecosystem, PackagesGrant
from drydock.egress.url import URL
from drydock.errors import BadSetting, Invalid, Unavailable
from drydock.packages.failed import InstallFailed
from drydock.packages.tools import find_uv
from drydock.settings import Settings

ASK_S = 20.0
SETTING: dict[Ecosystem, str] = {"pypi": "SANDBOX_PYTHON_INDEX", "npm": "DRYDOCK_NPM_INDEX"}


class Indexes:
    def __init__(self, settings: Settings) -> None:
        self._told: dict[Ecosystem, str] = {"pypi": settings.python_index, "npm": settings.npm_index}
        for ecosystem, url in self._told.items():
            if url:
                _checked(ecosystem, url)
        self._allowed = {name.strip().lower() for name in settings.python_index_allow.split(",") if name.strip()}
        self._defaults: dict[Ecosystem, str] = {}

    def check(self, asked: str, ecosystem: Ecosystem, where: str = "index") -> None:
        """Judged as the relay will dial it, since a second reading of the same text could find another host in it.
        Invalid unless it is http(s) and its host is the configured index's or an allowed one."""
        try:
            index = PackagesGrant.of(ecosystem, asked).index
        except Invalid as wrong:
            raise Invalid(f"{where}: {wrong.message}", where=where) from None
        own = self._told[ecosystem]
        if not (own and index.origin == PackagesGrant.of(ecosystem, own).index.origin) and not self._allows(index):
            # The URL may hold credentials: of what was sent, the host alone is told again.
            raise Invalid(
                f'{where} "{index.host}" is not an index of this server',
                where=where,
                hint="An operator allows its host by DRYDOCK_PYTHON_INDEX_ALLOW.",
            )

    def _allows(self, index: URL) -> bool:
        return bool({index.host, index.authority, f"{index.authority}:{index.port}"} & self._allowed)

    async def grant(self, ecosystem: Ecosystem, asked: str | None) -> PackagesGrant:
        if asked is not None:
            self.check(asked, ecosystem)
            return PackagesGrant.of(ecosystem, asked)
        return PackagesGrant.of(ecosystem, self._told[ecosystem] or await self._default(ecosystem))

    async def _default(self, ecosystem: Ecosystem) -> str:
        """What the installer itself would use here, its own configuration files and variables included."""
        if ecosystem not in self._defaults:
            self._defaults[ecosystem] = await (_uv_default() if ecosystem == "pypi" else _npm_default())
        return self._defaults[ecosystem]


def _checked(ecosystem: Ecosystem, url: str) -> None:
    """At start already: an address that cannot be used would only show with the first requirement."""
    try:
        PackagesGrant.of(ecosystem, url)
    except Invalid as wrong:
        setting = SETTING[ecosystem]
        raise BadSetting(f"{setting}: {wrong.message}", where=setting) from None  # its value may hold a login


async def _uv_default() -> str:
    try:
        uv = str(find_uv())
    except Unavailable as missing:
        raise InstallFailed(missing.message) from None
    said = await _ask([uv, "pip", "compile", "--quiet", "--no-header", "--emit-index-url", "-"], "pypi")
    words = said.split()
    return words[words.index("--index-url") + 1] if "--index-url" in words[:-1] else _none("pypi")


async def _npm_default() -> str:
    npm = shutil.which("npm")
    if npm is None:
        raise InstallFailed("npm is not installed on this server; an operator adds it: apt-get install npm")
    return (await _ask([npm, "config", "get", "registry"], "npm")).strip() or _none("npm")


async def _ask(command: Sequence[str], ecosystem: Ecosystem) -> str:
    """On the trusted side, with the operator's own environment and no word of a caller's."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd="/",
        env=dict(os.environ),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), ASK_S)
    except TimeoutError:
        return _none(ecosystem)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return said.decode("utf-8", "replace")


def _none(ecosystem: Ecosystem) -> str:
    raise InstallFailed(f"this server knows no package index; an operator names one by {SETTING[ecosystem]}")
