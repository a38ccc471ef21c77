"""podman with a store of its own, so that it leaves this machine's alone; and how we run in it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
SECCOMP = ("--security-opt", f"seccomp={CHECKOUT / 'deploy' / 'seccomp.json'}")
UNMASK = ("--security-opt", "unmask=ALL")
NO_RIGHTS = ("--cap-drop", "ALL", "--security-opt", "no-new-privileges")
READ_ONLY = ("--read-only", "--tmpfs", "/tmp")
FLAGS = (*SECCOMP, *UNMASK, *NO_RIGHTS, *READ_ONLY)
"""As docs/guides/image.md has them."""
HERE = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096")
"""podman's defaults are above what a machine such as this one allows itself."""


class Podman:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.program = folder / "podman"
        """The engine as one word, as `make` wants it."""
        options = f"--root {folder}/store --runroot {folder}/run --tmpdir {folder}/tmp"
        self.program.write_text(f'#!/bin/sh\nexec podman {options} --runtime runc --cgroup-manager cgroupfs "$@"\n')
        self.program.chmod(0o755)

    def __call__(self, *arguments: str, within: float = 120, check: bool = True) -> str:
        """What it prints."""
        done = subprocess.run(
            [str(self.program), *arguments], capture_output=True, text=True, timeout=within, check=False
        )
        assert done.returncode == 0 or not check, f"podman {arguments[0]}: {done.stderr[-3000:]}"
        return done.stdout + ("" if check else done.stderr)

    def make(self, verb: str, **variables: str) -> str:
        """One of the Makefile's verbs, with this engine."""
        told = [f"{name}={value}" for name, value in {"CONTAINER": str(self.program), **variables}.items()]
        done = subprocess.run(["make", verb, *told], cwd=CHECKOUT, capture_output=True, text=True, timeout=280)
        assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
        return done.stdout

    def run(self, image: str, *arguments: str, flags: Sequence[str] = (), command: str = "") -> str:
        """A container that comes to its end; what it says, on both streams."""
        entry = ("--entrypoint", command) if command else ()
        given = ("run", "--rm", "--no-healthcheck", *HERE, *flags, *entry, image, *arguments)
        return self(*given, check=False)

    def close(self) -> None:
        self("rm", "--all", "--force", "--time", "2", check=False)
        self("rmi", "--all", "--force", check=False)
        for mount in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
            place = mount.split()[4]
            if place.startswith(f"{self._folder}/"):
                subprocess.run(["umount", "--lazy", place], check=True)
        shutil.rmtree(self._folder)


@dataclass(frozen=True, slots=True)
class Run:
    """A server of ours in a container: see tests/attacks/started.py."""

    podman: Podman
    image: str
    uid: int
    folder: Path
    """Seen in the container at the same path, so that programs may name what is in it."""
    flags: Sequence[str] = FLAGS

    def command(self, serve: Sequence[str], environ: Mapping[str, str]) -> list[str]:
        told = [word for name in environ for word in ("--env", name)]  # by name: podman has them in its own
        network = ("--network", "host", "--no-healthcheck", "--volume", f"{self.folder}:{self.folder}")
        user = ("--user", f"{self.uid}:0")
        # The last of two flags counts: with every dialect, as the attacks ask for.
        return [
            str(self.podman.program),
            "run",
            "--rm",
            *network,
            *user,
            *HERE,
            *self.flags,
            *told,
            self.image,
            "--only",
            "",
        ]
