"""The docs say what the program does: nothing is missing from them, nothing in them leads nowhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import click
import pytest

from drydock.api.executions.events import Kind
from drydock.cli.main import root
from drydock.errors import DrydockError
from drydock.settings import Settings, aliases, flag, is_secret, variable
from scripts import reference

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]*)(#[^)\s]*)?\)")


def page(name: str) -> str:
    return (ROOT / "docs" / "reference" / name).read_text("utf-8")


@pytest.mark.parametrize("name", reference.pages())
def test_a_generated_page_is_what_the_program_says_now(name: str) -> None:
    assert page(name) == reference.pages()[name], "run `make docs`"


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_has_its_line_with_every_way_to_set_it(name: str) -> None:
    [line] = [line for line in page("settings.md").splitlines() if line.startswith(f"| `{name}` |")]
    assert f"`{variable(name)}`" in line
    assert is_secret(name) or f"`{flag(name)}`" in line
    assert all(f"`{alias}`" in line for alias in aliases(name))


@pytest.mark.parametrize("error", [error for error, _ in reference.tree()], ids=lambda error: error.code)
def test_every_error_has_its_line_with_its_remedy(error: type[DrydockError]) -> None:
    [line] = [line for line in page("errors.md").splitlines() if re.match(rf"\| (&nbsp;)*`{error.code}` \|", line)]
    assert error.hint in line


def test_no_two_errors_share_a_code() -> None:
    codes = [error.code for error, _ in reference.tree()]
    assert len(codes) == len(set(codes))


def test_every_route_has_its_line() -> None:
    lines = page("routes.md").splitlines()
    for path, operations in reference.routes().items():
        for method in operations:
            assert any(line.startswith(f"| {method.upper()} | `{path}` |") for line in lines), (method, path)


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_event_of_a_stream_has_its_line(kind: str) -> None:
    assert len([line for line in page("routes.md").splitlines() if line.startswith(f"| `{kind}` |")]) == 1


def test_every_command_and_option_is_on_the_page_of_commands() -> None:
    text = page("cli.md")
    for context in reference.commands(root, "drydock"):
        assert f"\n## {context.command_path}\n" in text
        for parameter in context.command.params:
            if isinstance(parameter, click.Option):
                assert all(option in text for option in parameter.opts), parameter.opts


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_link_leads_nowhere(path: Path) -> None:
    targets = [target for target, _ in LINK.findall(path.read_text("utf-8")) if target and "://" not in target]
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    to_see = [ROOT / "README.md"]
    while to_see:
        path = to_see.pop()
        if path in seen or path.suffix != ".md" or not path.is_file():
            continue
        seen.add(path)
        to_see += [(path.parent / target).resolve() for target, _ in LINK.findall(path.read_text("utf-8")) if target]
    decisions = set((ROOT / "docs" / "decisions").glob("*.md"))
    assert {path for path in PAGES if path not in seen} - decisions == {ROOT / "CHANGELOG.md"}
