"""Packages made on the spot: wheels, source distributions and npm tarballs, benign or with any entry one asks for."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import stat
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Contents = Mapping[str, str | bytes]
EPOCH = (2020, 1, 1, 0, 0, 0)

BACKEND = '''\
"""A build backend that needs nothing but Python: puts what lies in `payload/` into a wheel."""
import base64, hashlib, os, zipfile

NAME, VERSION, METADATA = {name!r}, {version!r}, {metadata!r}


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    stem = NAME + "-" + VERSION
    entries = {{stem + ".dist-info/METADATA": METADATA.encode(),
               stem + ".dist-info/WHEEL": b"Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"}}
    for folder, _, names in os.walk("payload"):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                entries[os.path.relpath(path, "payload")] = file.read()
{script}
    record = "".join("%s,,\\n" % path for path in entries) + stem + ".dist-info/RECORD,,\\n"
    filename = stem + "-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, filename), "w") as wheel:
        for path, data in entries.items():
            wheel.writestr(path, data)
        wheel.writestr(stem + ".dist-info/RECORD", record)
    return filename
'''


@dataclass(frozen=True)
class Package:
    """One file that an index can serve."""

    ecosystem: Literal["pypi", "npm"]
    name: str
    version: str
    filename: str
    data: bytes
    metadata: bytes | None = None
    """METADATA of a wheel, package.json of a tarball."""
    requires_python: str | None = None

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def integrity(self) -> str:
        return "sha512-" + base64.b64encode(hashlib.sha512(self.data).digest()).decode()


@dataclass(frozen=True)
class Links:
    """Entries of an archive that are links: name -> where it points."""

    symbolic: Mapping[str, str] = field(default_factory=dict)
    hard: Mapping[str, str] = field(default_factory=dict)
    """Tarballs only; a zip has none."""


NO_LINKS = Links()


def wheel(
    name: str,
    version: str = "1.0",
    files: Contents | None = None,
    *,
    requires: Sequence[str] = (),
    requires_python: str | None = None,
    scripts: Mapping[str, str] | None = None,
    links: Links = NO_LINKS,
    after: Contents | None = None,
) -> Package:
    """A pure wheel; without `files` it holds one module that tells its version. `scripts` are console entry points
    (`{"tool": "module:function"}`). Names of files go in as they are, `../` and `/` included. `after` are entries
    that come after the links."""
    stem = f"{_snake(name)}-{version}"
    metadata = _metadata(name, version, requires, requires_python)
    entries = {path: _bytes(data) for path, data in (files or _module(name, version)).items()}
    entries[f"{stem}.dist-info/METADATA"] = metadata
    entries[f"{stem}.dist-info/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    if scripts:
        points = "".join(f"{script} = {target}\n" for script, target in scripts.items())
        entries[f"{stem}.dist-info/entry_points.txt"] = b"[console_scripts]\n" + points.encode()
    record = "".join(_record_line(path, data) for path, data in entries.items())
    entries[f"{stem}.dist-info/RECORD"] = f"{record}{stem}.dist-info/RECORD,,\n".encode()

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in entries.items():
            archive.writestr(zipfile.ZipInfo(path, EPOCH), data)
        for path, target in links.symbolic.items():
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.create_system = 3
            entry.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(entry, target)
        for path, late in (after or {}).items():
            archive.writestr(zipfile.ZipInfo(path, EPOCH), _bytes(late))
    return Package("pypi", name, version, f"{stem}-py3-none-any.whl", out.getvalue(), metadata, requires_python)


def sdist(
    name: str,
    version: str = "1.0",
    files: Contents | None = None,
    *,
    script: str = "",
    requires: Sequence[str] = (),
    requires_python: str | None = None,
    links: Links = NO_LINKS,
    extra: Contents | None = None,
) -> Package:
    """A source distribution with its own build backend, so a build needs no other package. `script` is Python that
    runs during the build, where `entries` (path -> bytes) is what the wheel will hold. `extra` are more entries of
    the tarball, by their names as they are."""
    stem = f"{_snake(name)}-{version}"
    metadata = _metadata(name, version, requires, requires_python)
    indented = "".join(f"    {line}\n" for line in script.splitlines())
    backend = BACKEND.format(name=_snake(name), version=version, metadata=metadata.decode(), script=indented)
    entries: dict[str, str | bytes] = {
        f"{stem}/PKG-INFO": metadata,
        f"{stem}/pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
        f"{stem}/backend.py": backend,
    }
    entries |= {f"{stem}/payload/{path}": data for path, data in (files or _module(name, version)).items()}
    data = _tar({**entries, **(extra or {})}, links)
    return Package("pypi", name, version, f"{stem}.tar.gz", data, None, requires_python)


def tarball(
    name: str,
    version: str = "1.0.0",
    files: Contents | None = None,
    *,
    package: Mapping[str, object] | None = None,
    links: Links = NO_LINKS,
    extra: Contents | None = None,
) -> Package:
    """An npm package; without `files` it exports its version. `package` is merged into package.json (dependencies,
    scripts, bin). `extra` are entries outside `package/`, by their names as they are."""
    manifest = json.dumps({"name": name, "version": version, "main": "index.js", **(package or {})}).encode()
    held = files or {"index.js": f"module.exports = {{ version: {json.dumps(version)} }};\n"}
    entries = {f"package/{path}": data for path, data in held.items()}
    data = _tar({"package/package.json": manifest, **entries, **(extra or {})}, links)
    return Package("npm", name, version, f"{name.split('/')[-1]}-{version}.tgz", data, manifest)


def _tar(entries: Contents, links: Links) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, data in entries.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(_bytes(data)), 0o644
            archive.addfile(entry, io.BytesIO(_bytes(data)))
        for kind, of_kind in ((tarfile.SYMTYPE, links.symbolic), (tarfile.LNKTYPE, links.hard)):
            for path, target in of_kind.items():
                entry = tarfile.TarInfo(path)
                entry.type, entry.linkname = kind, target
                archive.addfile(entry)
    return out.getvalue()


def _metadata(name: str, version: str, requires: Sequence[str], requires_python: str | None) -> bytes:
    lines = ["Metadata-Version: 2.2", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Python: {requires_python}"] if requires_python else []
    return "\n".join([*lines, *(f"Requires-Dist: {need}" for need in requires), "", ""]).encode()


def _module(name: str, version: str) -> Contents:
    return {f"{_snake(name)}/__init__.py": f"__version__ = {version!r}\n"}


def _snake(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _record_line(path: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(data)}\n"


def _bytes(data: str | bytes) -> bytes:
    return data.encode() if isinstance(data, str) else data
