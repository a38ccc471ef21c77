"""The rules of this repository that a program can check, over every file that git would commit.

Each pattern is spelled so that this file does not match itself.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Rule:
    pattern: re.Pattern[str]
    why: str
    files: str = ""
    """Only paths that end so; empty is every file."""


def _hosts(*names: str) -> re.Pattern[str]:
    return re.compile("|".join(r"\b" + re.escape(name) for name in names), re.IGNORECASE)


RULES = (
    Rule(
        _hosts(
            "py" + "pi.org", "python" + "hosted.org", "registry.npm" + "js", "registry.yarn" + "pkg", "deb.deb" + "ian"
        ),
        "a package registry's address: packages are named, and each reader's own index serves them",
    ),
    Rule(
        re.compile(r"/work/(?:main|shared|\.library)\b|/[.]pyenv\b|/opt/" + "pypi"),
        "a path of the machine it was written on",
    ),
    Rule(re.compile(r'"resolved"\s*:|--index-url\s+http|--hash=md5'), "an address or a weak hash in a lock", ".lock"),
    Rule(re.compile(r"#\s*type:\s*ignor[e](?!\[)"), "an ignore must name the error it ignores", ".py"),
    Rule(re.compile(r"#\s*noq[a](?!:\s*[A-Z])"), "a noqa must name its rule", ".py"),
    Rule(re.compile(r"#\s*(?:ruff:\s*noq[a]|mypy:\s*(?:ignore|disable))"), "no file is exempt as a whole", ".py"),
    Rule(re.compile(r"\b(?:TOD[O]|FIXM[E]|XX[X])\b"), "unfinished work belongs into an issue", ".py"),
    Rule(
        re.compile(r"mark\.(?:ski[p]|skipi[f]|xfai[l])|pytest\.(?:ski[p]|xfai[l]|importorski[p])\("),
        "a test runs: what it needs is installed by set-up",
        ".py",
    ),
    Rule(re.compile(r"unittest[.]mock|\bMagicMoc[k]\b"), "no mocks: a stand-in is a small real program", ".py"),
)


def committed(root: Path = ROOT) -> Iterator[Path]:
    """Tracked files and new ones that no ignore rule names."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
    )
    for name in listed.stdout.decode().split("\0"):
        path = root / name
        if name and path.is_file() and not path.is_symlink():
            yield path


def breaches(path: Path, root: Path = ROOT) -> Iterator[str]:
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        return
    name = path.relative_to(root).as_posix()
    for rule in RULES:
        if not name.endswith(rule.files):
            continue
        for hit in rule.pattern.finditer(text):
            line = text.count("\n", 0, hit.start()) + 1
            yield f"{name}:{line}: {hit.group(0)!r}: {rule.why}"


def main() -> int:
    found = [breach for path in committed() for breach in breaches(path)]
    for breach in found:
        print(breach)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
