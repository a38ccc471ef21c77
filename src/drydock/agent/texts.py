"""Texts that are too long for where they go: cut in the middle, and said so."""

from __future__ import annotations


def cut(text: str, most: int) -> str:
    """Head and tail, with how many characters are missing between them."""
    text = text.strip()
    if len(text) <= most:
        return text
    head = most // 2
    return f"{text[:head]}\n... ({len(text) - most} characters left out) ...\n{text[len(text) - (most - head) :]}"


def fenced(text: str, language: str = "") -> str:
    """In a fence that is longer than any that the text holds, so that nothing in it can end it."""
    longest = run = 0
    for sign in text:
        run = run + 1 if sign == "`" else 0
        longest = max(longest, run)
    mark = "`" * max(3, longest + 1)
    return f"{mark}{language}\n{text}\n{mark}"
