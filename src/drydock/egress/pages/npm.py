"""npm's packuments: what an installer reads of one, and nothing else of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from drydock.egress.pages.bad_page import BadPage
from drydock.egress.pages.simple import Linked, Rewrite, read_json
from drydock.egress.url import URL, BadURL, join

SHORT_TYPE = "application/vnd.npm.install-v1+json"
_TOP = ("name", "modified", "time")
_VERSION = (
    "name",
    "version",
    "deprecated",
    "dependencies",
    "optionalDependencies",
    "devDependencies",
    "peerDependencies",
    "peerDependenciesMeta",
    "acceptDependencies",
    "bundleDependencies",
    "bundledDependencies",
    "bin",
    "directories",
    "engines",
    "os",
    "cpu",
    "libc",
    "hasInstallScript",
    "_hasShrinkwrap",
)
"""The abbreviated form that npm's own registry serves to installers."""
_DIST = ("integrity", "shasum", "fileCount", "unpackedSize")


def rewrite_packument(body: bytes, at: URL, rewrite: Rewrite) -> bytes:
    page = read_json(body)
    versions = {version: _version(entry, file, rewrite) for version, entry, file in _versions(page, at)}
    tags = page.get("dist-tags")
    known = {tag: one for tag, one in tags.items() if one in versions} if isinstance(tags, dict) else {}
    return json.dumps({**_kept(page, _TOP), "dist-tags": known, "versions": versions}).encode()


def tarball(body: bytes, at: URL, filename: str) -> Linked | None:
    """The file of this name that a packument links to."""
    return next((file for _, _, file in _versions(read_json(body), at) if file.filename == filename), None)


def _versions(page: dict[str, Any], at: URL) -> Iterator[tuple[str, dict[str, Any], Linked]]:
    """Versions whose tarball can be asked for. Those of another scheme or spelling are left out."""
    versions = page.get("versions")
    if not isinstance(versions, dict):
        raise BadPage("its JSON has no versions")
    for version, entry in versions.items():
        dist = entry.get("dist") if isinstance(entry, dict) else None
        link = dist.get("tarball") if isinstance(dist, dict) else None
        if not isinstance(link, str):
            continue
        try:
            url, _ = join(at, link)
        except BadURL:
            continue
        if at.scheme == "https" and url.scheme != "https":
            continue
        yield version, entry, Linked(url.path.rpartition("/")[2] or "package.tgz", url, {})


def _version(entry: dict[str, Any], file: Linked, rewrite: Rewrite) -> dict[str, Any]:
    return {**_kept(entry, _VERSION), "dist": {**_kept(entry["dist"], _DIST), "tarball": rewrite(file)}}


def _kept(given: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: given[name] for name in names if name in given}
