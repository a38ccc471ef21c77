"""Which failures are worth another try, and how long to wait before it."""

from __future__ import annotations

import random

TRIES = 3
RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""529 is Anthropic's way to say 503."""
FIRST_MS = 500
JITTER_MS = 125
MOST_MS = 2500
LONGEST = 60.0
"""Seconds that a provider may ask for. Beyond it a fallback, or the caller who tries again later, is the better way."""


def wait_before(next_try: int, retry_after: float | None) -> float | None:
    """Seconds before that try (2 is the first that waits). None: do not, the provider asks for too long a wait."""
    own: float = min(FIRST_MS * 2 ** (next_try - 2) + random.randrange(JITTER_MS), MOST_MS) / 1000
    if retry_after is None:
        return own
    return None if retry_after > LONGEST else max(own, retry_after)
