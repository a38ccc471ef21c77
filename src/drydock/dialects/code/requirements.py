"""What a requirement, an environment's name and an index may look like."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from drydock.errors import Invalid

PYTHON = re.compile(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"  # name
    r"\s*(?:\[[A-Za-z0-9._, -]*\])?"  # extras
    r"\s*\(?(?:(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+\s*,?\s*)*\)?"  # versions
    r"\s*(?:;[A-Za-z0-9_.'\"<>=!~,() *+-]+)?"  # marker
)
NODE = re.compile(r"(?:@[a-z0-9~-][a-z0-9._~-]*/)?[A-Za-z0-9~-][A-Za-z0-9._~-]*(?:@[A-Za-z0-9.*^~<>=| +-]+)?")
ENVIRONMENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
LONGEST = 512


def check_requirements(entries: Iterable[str], language: str) -> None:
    """Nothing but names, extras, versions and markers: no option, path, URL or second line gets to the installer."""
    form = NODE if language == "node" else PYTHON
    for entry in entries:
        if len(entry) > LONGEST or not entry.isprintable() or not form.fullmatch(entry.strip(" ")):
            raise Invalid(f'invalid requirement "{entry[:LONGEST]}"', where="requirements")


def check_environment(name: str) -> None:
    if not ENVIRONMENT.fullmatch(name):
        raise Invalid(f'invalid env_name "{name[:128]}"', where="env_name")


def check_index(url: str, configured: str) -> None:
    """http(s), and the host of the configured index."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    allowed = urlsplit(configured)
    if not host or parts.scheme not in ("http", "https") or (host, port) != (allowed.hostname, allowed.port):
        # The URL may hold credentials: of what was sent, the host alone is told again.
        raise Invalid(f'python_index "{host or "without a host"}" is not an index of this server', where="python_index")
