"""How this machine gets its packages: read when the image is built, mounted for the build, never written into it."""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

APT = Path("/etc/apt")


def release() -> str:
    """The code name of this machine's Debian, which the base will have too."""
    fields = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    return fields["VERSION_CODENAME"].strip('"')


def mirror() -> str:
    """The first address from which this machine takes that release."""
    for uri, suites in _sources():
        if release() in suites.split():
            return uri
    raise AssertionError(f"no source of {release()} in {APT}")


def _sources() -> Iterator[tuple[str, str]]:
    for each in sorted(APT.glob("sources.list.d/*.sources")):
        for block in each.read_text().split("\n\n"):
            fields = dict(re.findall(r"^(\w[\w-]*):[ \t]*(.*)$", block, re.MULTILINE))
            if "deb" in fields.get("Types", "").split():
                yield fields["URIs"].split()[0], fields["Suites"]
    for each in (APT / "sources.list", *sorted(APT.glob("sources.list.d/*.list"))):
        if each.exists():
            yield from re.findall(r"^deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)", each.read_text(), re.MULTILINE)


def mounts(folder: Path) -> Iterator[tuple[str, str]]:
    """Source and place of what a build has to see, read-only."""
    sources, apt, pip = folder / "sources.list", folder / "apt.conf", folder / "pip.conf"
    sources.write_text(f"deb {mirror()} {release()} main\n")
    yield str(sources), "/etc/apt/sources.list"
    apt.write_text(_said("apt-config", "dump", "Acquire"))
    yield str(apt), "/etc/apt/apt.conf.d/99machine"
    parser = configparser.RawConfigParser()
    parser["global"] = {name: value.replace("\n", "\n ") for name, value in _pip_options().items()}
    with pip.open("w") as out:
        parser.write(out)
    yield str(pip), "/etc/pip.conf"
    for path in sorted(_paths(apt.read_text() + pip.read_text())):
        yield path, path


def _paths(text: str) -> set[str]:
    """What there is on this machine of the paths in a text: indexes, folders of wheels, certificates."""
    found = re.findall(r"(?:file://|(?<![\w:/.]))(/[\w./-]+)", text)
    # An index of files keeps them beside its pages.
    return {path.removesuffix("/").removesuffix("/simple") for path in found if Path(path).exists()}


def _pip_options() -> dict[str, str]:
    """Of its files, then of the environment, which is stronger."""
    said = _said(sys.executable, "-m", "pip", "config", "list")
    listed = re.findall(r"^(\S+?)='(.*?)'$", said, re.MULTILINE | re.DOTALL)
    wanted = [pair for pair in listed if pair[0].startswith((":env:", "global.", "install."))]
    wanted.sort(key=lambda pair: pair[0].startswith(":env:"))
    return {name.rpartition(".")[2]: value.replace("\\n", "\n") for name, value in wanted}


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
