"""uv in the build box: resolves once into a lock with hashes, installs exactly that."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence

from drydock.box.program import HOME, WORK, Layer, Program
from drydock.box.yard import Yard
from drydock.egress.grants import Ecosystem
from drydock.packages import tools
from drydock.packages.bench import Bench
from drydock.packages.installer import ENV, RELAY, Lock, Shown, asked, run
from drydock.packages.wanted import Wanted

UV_ENV = {
    **ENV,
    "UV_NO_CONFIG": "1",
    "UV_CACHE_DIR": f"{HOME}/cache",
    "UV_PYTHON_DOWNLOADS": "never",
    "UV_NO_PROGRESS": "1",
    "UV_HTTP_RETRIES": "1",
    "UV_DEFAULT_INDEX": f"{RELAY}/pypi/simple/",
    "UV_LINK_MODE": "hardlink",
    # A layer's files have new dates, and by default bytecode counts only for a source of the same date.
    "PYC_INVALIDATION_MODE": "UNCHECKED_HASH",
}
LOCK = f"{WORK}/lock.txt"
COMPILE = (tools.UV, "pip", "compile", "--no-header", "--no-annotate", "--generate-hashes")
INSTALL = (tools.UV, "pip", "install", "--target", f"{WORK}/packages", "--no-deps", "--compile-bytecode")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([A-Za-z0-9.!+_-]+)", re.MULTILINE)
_DIRECT = re.compile(r"^([A-Za-z0-9._-]+ @ https://[^\s;\\]+)", re.MULTILINE)


class Python:
    ecosystem: Ecosystem = "pypi"
    place = "/packages"
    tree = "work/packages"
    skip: Sequence[str] = (".lock",)

    def __init__(self, yard: Yard, version: str) -> None:
        self.version = version.rpartition(" ")[2]
        self._store = yard.store
        self._python = yard.host.interpreter.path
        minor = ".".join(map(str, yard.host.interpreter.version))
        self.runtime = f"{self._python} {minor} {platform.machine()}"

    def tools(self) -> Sequence[Layer]:
        return [tools.uv_layer(self._store)]

    async def install(self, bench: Bench, wanted: Wanted, shown: Shown) -> Lock:
        resolve = Program([*COMPILE, "--python", self._python, "-"], env=UV_ENV, stdin=_lines(asked(wanted)))
        text = (await run(bench, shown, "the requirements cannot be resolved", resolve)).stdout
        # An index that tells no hashes has none to require.
        strict = ["--require-hashes"] if b"--hash=" in text else []
        argv = [*INSTALL, *strict, "--python", self._python, "-r", LOCK]
        program = Program(argv, files={LOCK: text}, env=UV_ENV)
        await run(bench, shown, "the packages cannot be installed", program, keep=True)
        lock = shown.text(text)
        pins = [f"{name}=={version}" for name, version in _PIN.findall(lock)]
        return Lock(lock, sorted(pins + _DIRECT.findall(lock)))


def _lines(entries: Sequence[str]) -> bytes:
    return "".join(f"{entry}\n" for entry in entries).encode()
