"""What may be cloned: an address or a folder, judged before any process starts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from drydock.egress.address import Kind
from drydock.egress.url import URL, BadURL, parse, plain
from drydock.errors import RepositoryRefused
from drydock.settings import Settings

_SLUG = re.compile(r"(?!\.{1,2}/)[A-Za-z0-9_.-]+/(?!\.{1,2}\Z)[A-Za-z0-9_.-]+")
_SERVICE = re.compile(r"/(?:info/refs|git-upload-pack|git-receive-pack)/?\Z")


@dataclass(frozen=True, slots=True)
class Remote:
    url: URL
    """Without a slash at its end, and without user, query and fragment."""
    furthest: Kind
    """The kind of address that it may have."""

    def __str__(self) -> str:
        return str(self.url)


@dataclass(frozen=True, slots=True)
class Local:
    folder: Path
    """Resolved, and below one that the operator allows."""

    def __str__(self) -> str:
        return self.folder.name


Source = Remote | Local


class Sources:
    """Which repositories this server works with."""

    def __init__(self, hosts: Iterable[str], folders: Iterable[Path], server: str = "https://github.com") -> None:
        """`hosts`, as `git.example` or `git.example:8443`, may be private and may speak plain http. `server` is where
        a repository is that is written as `owner/name`."""
        self._server = server.rstrip("/")
        self._hosts = frozenset(host.strip().lower() for host in hosts if host.strip())
        self._folders = tuple(folders)

    @classmethod
    def of(cls, settings: Settings) -> Sources:
        folders = (Path(folder.strip()) for folder in settings.git_folders.split(",") if folder.strip())
        return cls(settings.git_hosts_allow.split(","), folders, settings.github_server_url)

    def read(self, text: str, *, where: str = "repo") -> Source:
        """RepositoryRefused for all that is not one of the three forms."""
        if _SLUG.fullmatch(text):
            return self._remote(f"{self._server}/{text.removesuffix('.git')}.git", where)
        if text.startswith("/"):
            return self._local(text, where)
        if text.startswith("file:///"):
            return self._local(text.removeprefix("file://"), where)
        return self._remote(text, where)

    def _remote(self, text: str, where: str) -> Remote:
        try:
            url = parse(text.rstrip("/"))
        except BadURL as wrong:
            raise RepositoryRefused(
                f"this is no address of a repository: {wrong}",
                where=where,
                hint="Give https://HOST/OWNER/NAME.git; a credential goes beside it, never into it.",
            ) from None
        if url.query or url.path == "/" or not plain(url.path) or _SERVICE.search(url.path):
            raise RepositoryRefused("an address of a repository ends with its plain path, no query", where=where)
        allowed = url.host in self._hosts or f"{url.host}:{url.port}" in self._hosts
        if url.scheme != "https" and not allowed:
            raise RepositoryRefused(
                f"{url.host} is asked for by plain http, over which anybody may change what is cloned",
                where=where,
                hint="Use https, or have an operator add the host to DRYDOCK_GIT_HOSTS_ALLOW.",
            )
        return Remote(url, Kind.LOOPBACK if allowed else Kind.PUBLIC)

    def _local(self, text: str, where: str) -> Local:
        refused = RepositoryRefused(
            "folders of this machine are cloned only below those that its operator allows, and this is none of them",
            where=where,
            hint="Give an https address, or have an operator add the folder to DRYDOCK_GIT_FOLDERS.",
        )
        if not text.isprintable() or len(text) > 4096:
            raise refused
        try:
            folder = Path(text).resolve(strict=True)
            allowed = [each.resolve(strict=True) for each in self._folders if each.is_absolute() and each.exists()]
        except (OSError, RuntimeError):  # a loop of links is the latter
            raise refused from None
        if not folder.is_dir() or not any(folder.is_relative_to(each) for each in allowed):
            raise refused
        return Local(folder)
