"""What a first version of an installer does: it believes pages, unpacks names as they are, runs what it finds.

    python3 naive_installer.py pypi|npm INDEX FOLDER REQUIREMENT...

The bare server installs with it, on the host, into one folder for everybody. An attack by a package that this installer
withstands proves nothing about Drydock.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
import stat
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit
from urllib.request import Request, urlopen

SCRIPTS = ("preinstall", "install", "postinstall")


class Installer:
    def __init__(self, index: str, target: Path) -> None:
        self.target = target
        parts = urlsplit(index)
        login = base64.b64encode(unquote(parts.netloc.rpartition("@")[0]).encode()).decode()
        self.headers = {"Authorization": f"Basic {login}"} if "@" in parts.netloc else {}
        self.index = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

    def fetch(self, url: str) -> bytes:
        """The login goes along to whoever is asked."""
        headers = self.headers if url.startswith("http") else {}
        with urlopen(Request(url, headers=headers)) as answer:
            return bytes(answer.read())

    def python(self, entry: str) -> None:
        if entry.startswith("--index-url="):
            self.index = entry.partition("=")[2]
            self.fetch(self.index)
            return
        if entry.startswith("-r "):
            for line in Path(entry[3:]).read_text().splitlines():
                self.python(line)
            return
        if " @ " in entry:
            print(self.fetch(entry.partition(" @ ")[2]))
            return
        found = re.fullmatch(r"([A-Za-z0-9._-]+)(==.*)?", entry)
        if found is None:
            raise SystemExit(f"cannot read the requirement {entry!r}")
        name = found[1]
        if (self.target / name.replace("-", "_")).exists():
            print(f"{name} is already satisfied")
            return
        page = urljoin(self.index, f"{name}/")
        link = re.findall(r'href="([^"]+)"', self.fetch(page).decode())[-1].partition("#")[0]
        data = self.fetch(urljoin(page, link))
        self.wheel(data if link.endswith(".whl") else self.built(data))

    def built(self, data: bytes) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            unpack(data, Path(folder))
            [source] = Path(folder).iterdir()
            code = f"import backend; backend.build_wheel({folder!r})"
            subprocess.run([sys.executable, "-c", code], cwd=source, check=True)
            return next(Path(folder).glob("*.whl")).read_bytes()

    def wheel(self, data: bytes) -> None:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist():
                name = re.sub(r"^[^/]+\.data/(scripts/)?", lambda found: "bin/" if found[1] else "", entry.filename)
                path = self.target / name
                path.parent.mkdir(parents=True, exist_ok=True)
                if stat.S_ISLNK(entry.external_attr >> 16):
                    path.symlink_to(archive.read(entry).decode())
                    continue
                path.write_bytes(archive.read(entry))
                path.chmod(0o755)

    def node(self, entry: str) -> None:
        name = entry[0] + entry[1:].partition("@")[0]
        folder = self.target / name
        if folder.exists():
            return
        page = json.loads(self.fetch(self.index + name))
        about = page["versions"][page["dist-tags"]["latest"]]
        for needed in about.get("dependencies", {}):
            self.node(needed)
        folder.mkdir(parents=True)
        unpack(self.fetch(about["dist"]["tarball"]), folder, "package/")
        scripts = json.loads((folder / "package.json").read_text()).get("scripts", {})
        for script in filter(None, map(scripts.get, SCRIPTS)):
            subprocess.run(["/bin/sh", "-c", script], cwd=folder, check=True)


def unpack(data: bytes, folder: Path, stripped: str = "") -> None:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for entry in archive:
            path = folder / entry.name.removeprefix(stripped)
            path.parent.mkdir(parents=True, exist_ok=True)
            if entry.issym():
                path.symlink_to(entry.linkname)
            elif entry.islnk():
                os.link(entry.linkname, path)
            elif (file := archive.extractfile(entry)) is not None:
                path.write_bytes(file.read())


def main() -> None:
    kind, index, target, *entries = sys.argv[1:]
    installer = Installer(index, Path(target))
    for entry in entries:
        installer.python(entry) if kind == "pypi" else installer.node(entry)


if __name__ == "__main__":
    main()
