"""JSON as the doors read and write it: read strictly, written so that any string survives."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from drydock.errors import Invalid

HUGE = 10**30
"""Stands for an integer with more digits than Python converts: every bound that we clamp to is far below."""
SURROGATE = re.compile("[\ud800-\udfff]")


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _clamped(digits: str) -> int:
    return int(digits) if len(digits) < 30 else HUGE * (-1 if digits[0] == "-" else 1)


_strict = json.JSONDecoder(parse_constant=_refuse)
_strict_with_huge_numbers = json.JSONDecoder(parse_constant=_refuse, parse_int=_clamped)
_written = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))


def parse(raw: bytes) -> Any:
    """The value, or Invalid with a reason that quotes nothing of the text."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as wrong:
        raise Invalid(f"the body is not UTF-8 (byte {wrong.start})", where="body") from None
    if not text.strip(" \t\r\n"):
        raise Invalid("the body is empty", where="body")
    try:
        return _strict.decode(text)
    except json.JSONDecodeError as wrong:
        reason = wrong.msg[0].lower() + wrong.msg[1:]
        raise Invalid(f"malformed JSON: {reason} (byte {wrong.pos})", where="body") from None
    except RecursionError:
        raise Invalid("malformed JSON: nested too deeply", where="body") from None
    except ValueError as wrong:
        # Python refuses to convert integers of over 4300 digits; they are valid JSON all the same.
        if "digits" not in str(wrong):
            raise Invalid(f"malformed JSON: {wrong}", where="body") from None
    try:
        return _strict_with_huge_numbers.decode(text)
    except (ValueError, RecursionError):
        raise Invalid("malformed JSON", where="body") from None


def write(value: object) -> bytes:
    """One line of JSON. A lone surrogate, which UTF-8 cannot hold, becomes its JSON escape."""
    return _written.encode(value).encode("utf-8", "backslashreplace")


def has_surrogate(text: str) -> bool:
    return not text.isascii() and SURROGATE.search(text) is not None


def type_name(value: object) -> str:
    """What JSON calls it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    names = {int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "unknown")
