"""What lies between two trees: a patch that applies byte by byte, and what happened to each file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from drydock.errors import NotFound
from drydock.forge.git.box import GitBox

Kind = Literal["added", "deleted", "modified", "renamed", "copied", "type_changed"]
_KINDS: dict[str, Kind] = {
    "A": "added",
    "D": "deleted",
    "M": "modified",
    "R": "renamed",
    "C": "copied",
    "T": "type_changed",
}
_FORM = ("--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", "-M", "-l1000")
_WITHOUT_SPACE = ("--ignore-all-space", "--ignore-blank-lines")


@dataclass(frozen=True, slots=True)
class Changed:
    path: str
    """What is not UTF-8 shows as surrogates, so that `os.fsencode` gives the bytes back."""
    kind: Kind
    old_path: str | None
    """Of a rename."""
    old_mode: str
    mode: str
    """`100644`, `100755`, `120000`, `160000`; `000000` where there is nothing."""
    binary: bool
    added: int
    removed: int
    """Lines; 0 in a binary file."""


@dataclass(frozen=True, slots=True)
class Diff:
    patch: bytes
    files: tuple[Changed, ...]

    @property
    def text(self) -> str:
        """For people; only the bytes are sure to apply."""
        return self.patch.decode("utf-8", "replace")


async def compare(
    box: GitBox,
    old: str,
    new: str,
    *,
    paths: Sequence[str] = (),
    ignore_space: bool = False,
    binary: bool = True,
) -> Diff:
    """From one tree or commit to another. Of `paths`, a renamed file is there under either name."""
    how = [*_FORM, *(_WITHOUT_SPACE if ignore_space else ())]
    told = await box.git("diff-tree", "-r", "-z", "--raw", "--numstat", "--no-abbrev", *how, old, new, doing=_DOING)
    files = [each for each in _read(told.out) if not paths or each.path in paths or each.old_path in paths]
    missing = set(paths) - {name for each in files for name in (each.path, each.old_path)}
    if missing:
        raise NotFound(
            f"{min(missing)!r} is not among the files that changed", hint="Look at the list of changed files."
        )
    if not files:
        return Diff(b"", ())
    only = sorted({name for each in files for name in (each.path, each.old_path) if name}) if paths else []
    argv = ["diff-tree", "-r", "-p", "--full-index", *(["--binary"] if binary else []), *how, old, new, "--", *only]
    patch = await box.git(*argv, doing=_DOING)
    return Diff(patch.out, tuple(files))


_DOING = "the change could not be shown"


def _read(told: bytes) -> Iterator[Changed]:
    """First modes and names of each file, then its counts, unless white space is all that changed in it."""
    fields = iter(told.decode("utf-8", "surrogateescape").split("\0"))
    raw: list[tuple[list[str], str | None, str]] = []
    counts: dict[str, tuple[str, str]] = {}
    for field in fields:
        if field.startswith(":"):
            about, first = field[1:].split(" "), next(fields)
            moved = about[4][0] in "RC"
            raw.append((about, first if moved else None, next(fields) if moved else first))
        elif field:
            added, removed, path = field.split("\t", 2)
            if not path:  # of a rename both names follow
                next(fields)
                path = next(fields)
            counts[path] = (added, removed)
    for about, old_path, path in raw:
        if path in counts:
            added, removed = counts[path]
            binary = added == "-"
            lines = (0, 0) if binary else (int(added), int(removed))
            yield Changed(path, _KINDS[about[4][0]], old_path, about[0], about[1], binary, *lines)
