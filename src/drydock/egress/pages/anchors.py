"""The links of an HTML page. An index page is a list of anchors, so this is no HTML parser: it knows tags, attributes
and comments, and takes time linear to the page's size whatever stands in it, which the standard library's does not."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from drydock.egress.pages.bad_page import MARKS, BadPage

_TAG = re.compile(r"<(?:!--|([A-Za-z][A-Za-z0-9]*+))")
_ATTRIBUTE = re.compile(r"[\s/]*+([^\s=>\"'/<]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"'<]++)))?+")


_READ = {"href", "data-requires-python", "data-yanked", "data-core-metadata", "data-dist-info-metadata"}
LONGEST = 8192
"""Characters of an attribute's value; a longer one is left out."""


def anchors(page: str) -> Iterator[tuple[str, dict[str, str], str]]:
    """Every `a` and `base`: its name, the attributes that an index page has, and the text up to the next tag."""
    at = marks = 0
    while found := _TAG.search(page, at):
        at = found.end()
        marks += 1
        name = (found[1] or "").lower()
        if found[1] is None:
            at = page.find("-->", at) + 3
            if at < 3:
                return
            continue
        attributes: dict[str, str] = {}
        while given := _ATTRIBUTE.match(page, at):
            at = given.end()
            marks += 1
            if marks > MARKS:
                break
            value = next((one for one in given.groups()[1:] if one is not None), "")
            known = given[1].lower() if name in ("a", "base") else ""
            if known in _READ and len(value) <= LONGEST:
                attributes.setdefault(known, html.unescape(value))
        if marks > MARKS:
            raise BadPage(f"its HTML has over {MARKS} tags and attributes")
        closing = page.find(">", at, at + 64)
        at = closing + 1 if closing >= 0 else at
        if name in ("a", "base"):
            text = page[at : at + 512].partition("<")[0]
            yield name, attributes, html.unescape(text).strip()
