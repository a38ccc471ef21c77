"""What goes wrong on a forge. Each is put in the place of an answer: `forge.behave(path, fault)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.standins.forge.server import Exchange

Fault = Callable[["Exchange"], bool]
"""True when it has answered; False lets the real answer follow."""


def status(code: int, **headers: str) -> Fault:
    """`headers` by name, `_` for `-`."""

    def answer(exchange: Exchange) -> bool:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        exchange.send(code, {"Content-Type": "text/plain", **named}, b"no such luck\n")
        return True

    return answer


def redirect(url: str, code: int = 301) -> Fault:
    return status(code, Location=url)


def silent(exchange: Exchange) -> bool:
    """Take the request and say nothing until the forge closes."""
    exchange.forge.closing.wait()
    exchange.close_connection = True
    return True


TALK = b"fff0" + b"\2" + b"x" * 65515
"""A packet of a remote's words, as large as one may be."""


def drip(kind: str, begin: bytes = b"") -> Fault:
    """Begin as the right answer does, and go on by a byte every fiftieth of a second."""

    def answer(exchange: Exchange) -> bool:
        exchange.begin(200, {"Content-Type": kind, "Transfer-Encoding": "chunked"})
        for byte in begin + TALK:
            if exchange.forge.closing.wait(0.02):
                break
            exchange.wfile.write(b"1\r\n%c\r\n" % byte)
            exchange.wfile.flush()
        return True

    return answer


def endless(kind: str, begin: bytes = b"") -> Fault:
    """As fast as it is read, and without end."""

    def answer(exchange: Exchange) -> bool:
        exchange.begin(200, {"Content-Type": kind, "Transfer-Encoding": "chunked"})
        piece = begin + TALK
        while not exchange.forge.closing.is_set():
            exchange.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            piece = TALK
        return True

    return answer


def cut_after(size: int) -> Fault:
    """The right answer's beginning, then the end of the connection."""

    def answer(exchange: Exchange) -> bool:
        exchange.cut_at = size
        return False

    return answer


def lost_answer(exchange: Exchange) -> bool:
    """Do what was asked for, and end the connection without a word."""
    exchange.cut_at = 0
    return False


def instead(kind: str, body: bytes) -> Fault:
    def answer(exchange: Exchange) -> bool:
        exchange.send(200, {"Content-Type": kind}, body)
        return True

    return answer


def none(exchange: Exchange) -> bool:
    """The truth, for once."""
    return False


def before(act: Callable[[], object]) -> Fault:
    """Somebody else is quicker: `act`, then the real answer."""

    def answer(exchange: Exchange) -> bool:
        act()
        return False

    return answer
