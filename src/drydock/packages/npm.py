"""npm in the build box: one installation, and the lock that it writes about it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from drydock.box.program import HOME, WORK, Layer, Program
from drydock.egress.grants import Ecosystem
from drydock.packages.bench import Bench
from drydock.packages.failed import InstallFailed
from drydock.packages.installer import ENV, RELAY, Lock, Shown, asked, run
from drydock.packages.wanted import Wanted

PLACES = ("/usr/local/bin/npm", "/usr/bin/npm")
FLAGS = (
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--no-progress",
    "--omit=dev",
    "--omit-lockfile-registry-resolved",
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=500",
    "--loglevel=http",
    f"--registry={RELAY}/npm/",
    f"--cache={HOME}/cache",
    f"--userconfig={HOME}/none",
    f"--globalconfig={HOME}/no-global",
)
MANIFEST = b'{"name": "layer", "version": "1.0.0", "private": true}'
_MODULES = "node_modules/"


class Npm:
    ecosystem: Ecosystem = "npm"
    place = "/node_modules"
    tree = "work/tree/node_modules"
    # .bin holds links to programs that packages bring; `require` looks at none of these.
    skip: Sequence[str] = (".bin", ".package-lock.json", ".cache")

    def __init__(self, node: str) -> None:
        """`node` is its version: native parts are built for one."""
        self.runtime = f"node {node}"
        self.version = node

    def tools(self) -> Sequence[Layer]:
        return []

    async def install(self, bench: Bench, wanted: Wanted, shown: Shown) -> Lock:
        npm = next((path for path in PLACES if os.access(path, os.X_OK)), None)
        if npm is None:
            raise InstallFailed("npm is not installed on this server; an operator adds it: apt-get install npm")
        # Its lock comes back on stdout; npm's own words go to stderr, where they are heard.
        argv = ["/bin/sh", "-c", '"$@" >&2 && exec /bin/cat package-lock.json', "sh", npm, "install", *FLAGS]
        files = {f"{WORK}/tree/package.json": MANIFEST}
        program = Program([*argv, "--", *asked(wanted)], files=files, env=ENV, cwd="tree")
        done = await run(bench, shown, "the packages cannot be installed", program, keep=True)
        return read_lock(done.stdout)


def read_lock(text: bytes) -> Lock:
    """What was installed where, and its hash; addresses in it are the relay's and of no use to anybody."""
    try:
        told = json.loads(text)["packages"]
        entries = {path: about for path, about in told.items() if path and isinstance(about, dict)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InstallFailed("the lock that npm wrote cannot be read") from None
    kept = {path: [str(about.get("version")), str(about.get("integrity"))] for path, about in entries.items()}
    names = {f"{path.rpartition(_MODULES)[2]}@{version}" for path, (version, _) in kept.items()}
    return Lock(json.dumps(kept, sort_keys=True), sorted(names))
