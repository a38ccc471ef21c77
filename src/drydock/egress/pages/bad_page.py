"""Why what an index sent is not taken for one of its pages."""

from __future__ import annotations

MARKS = 1_000_000
"""Values of a page in JSON, tags and attributes of one in HTML: three bytes of either can become seventy in memory, and
a microsecond's work. The largest honest pages have half as many."""


class BadPage(ValueError):
    """A sentence about what the index sent."""
