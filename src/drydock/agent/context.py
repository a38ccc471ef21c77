"""What a model is told of a repository beforehand: names, the files that explain it, and what its owners want done.

Contract polychat, 4.6. Collected in the box, bounded, and shown between marks as text that nobody has checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from drydock.agent import hand, stories
from drydock.agent.site import Site
from drydock.agent.texts import cut, fenced

EXPLAINING = (
    "README.md",
    "README",
    "package.json",
    "pnpm-workspace.yaml",
    "tsconfig.json",
    "pyproject.toml",
    "Cargo.toml",
    "go.mod",
    "requirements.txt",
)
HOUSE_RULES = ("AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md")
"""At the root; they stand after the README."""
MOST_NAMES = 80
MOST_FILES = 10
MOST_LINES = 120
MOST_CHARACTERS = 5_000
DEPTH = 4
MOST_PATHS = 5_000
MOST_RELEVANT = 6
RELEVANT_LINES = 80
RELEVANT_CHARACTERS = 2_500
_PRD = re.compile(r"prd\.json|prd\.md|PRD\.md|docs/prd\.md|docs/PRD\.md|(?:.*/)?tasks/prd-[^/]*\.md")
_IMPLEMENT = re.compile(r"\.implement(?:\.md)?")
Source = Literal["prd", "implement", "none"]


@dataclass(frozen=True, slots=True)
class Context:
    top: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    relevant: Mapping[str, str] = field(default_factory=dict)
    """Files that the task names, or whose names are among its words."""
    source: Source = "none"
    instruction_path: str = ""
    instruction: str = ""
    has_prd: bool = False

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Context:
        return cls(**data)

    @property
    def message(self) -> str:
        count = len(self.files) + len(self.relevant) + bool(self.instruction)
        return f"{count} file{'' if count == 1 else 's'}"

    def shown(self) -> str:
        """For a prompt, each piece named and in a fence that it cannot end."""
        parts = [f"Top level:\n{fenced(chr(10).join(self.top))}"]
        parts += [f"{path}:\n{fenced(text)}" for path, text in {**self.files, **self.relevant}.items()]
        if self.instruction:
            parts.append(f"What the repository's owners ask for, {self.instruction_path}:\n{fenced(self.instruction)}")
        return "\n\n".join(["REPOSITORY TEXT", *parts, "END"])


async def collect(site: Site, task: str) -> Context:
    told = await hand.ask(site, "survey", depth=DEPTH, most=MOST_PATHS, names=MOST_NAMES)
    if told.error:
        return Context()
    paths = sorted(set(told.texts("paths")))
    explaining, relevant = explaining_files(paths), relevant_files(paths, task)
    source, instruction, has_prd = instruction_file(paths)
    wanted = [path for path in relevant if path not in explaining and path != instruction]
    heads = await _heads(site, [*explaining], MOST_LINES, MOST_CHARACTERS)
    snippets = await _heads(site, wanted, RELEVANT_LINES, RELEVANT_CHARACTERS)
    text = (await _heads(site, [instruction], 4000, 200_000)).get(instruction, "") if instruction else ""
    if instruction == "prd.json" and (prd := stories.read(text)) is not None:
        text = prd.summary()
    return Context(
        told.texts("top")[:MOST_NAMES], heads, snippets, source, instruction, cut(text, MOST_CHARACTERS), has_prd
    )


async def _heads(site: Site, paths: Sequence[str], lines: int, most: int) -> dict[str, str]:
    if not paths:
        return {}
    told = await hand.ask(site, "heads", paths=list(paths), lines=lines, most=2 * most)
    found = told.by_name("files")
    return {path: cut(found[path], most) for path in paths if path in found}


def explaining_files(paths: Sequence[str]) -> list[str]:
    """The first ten of those names by path, with the root's house rules after its README."""
    found = [path for path in paths if path.rpartition("/")[2] in EXPLAINING][:MOST_FILES]
    rules = [path for path in HOUSE_RULES if path in paths]
    after = max((at for at, path in enumerate(found) if path in ("README.md", "README")), default=-1) + 1
    return [*found[:after], *rules, *found[after:]]


def instruction_file(paths: Sequence[str]) -> tuple[Source, str, bool]:
    """What the owners ask for: the first PRD file, the root's prd.json before all, else the first `.implement`."""
    prds = sorted((path for path in paths if _PRD.fullmatch(path)), key=lambda path: (path != "prd.json", path))
    if prds:
        return "prd", prds[0], True
    implements = sorted(path for path in paths if _IMPLEMENT.fullmatch(path))
    return ("implement", implements[0], False) if implements else ("none", "", False)


def relevant_files(paths: Sequence[str], task: str) -> list[str]:
    """Those that the task names first, then those whose names hold a word of it."""
    lower = task.lower()
    names = {name.strip(".") for name in re.findall(r"[\w.-]+", lower) if "." in name.strip(".")}
    words = set(re.findall(r"[a-z]{4,}", lower))
    called = [(path, path.rpartition("/")[2].lower()) for path in paths]
    named = [path for path, name in called if name in names]
    alike = [path for path, name in called if words & set(re.findall(r"[a-z]{4,}", name))]
    return list(dict.fromkeys([*named, *alike]))[:MOST_RELEVANT]
