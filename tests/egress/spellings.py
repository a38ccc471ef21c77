"""URLs as an attacker spells them: a grammar of what parsers have disagreed about, and mutations of it. Seeded."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address

NAMES = (
    "docs.example",
    "DOCS.Example",
    "inside.example",
    "localhost",
    "metadata.google.internal",
    "xn--bcher-kva.example",
    "b\u00fccher.example",
    "xn--a.example",
    "a.b-c.d1.example",
    "1.example",
    "0x7f.example",
    "example.0x",
    "example.127",
    "a" * 64 + ".example",
    "_dmarc.example",
    "-a.example",
    "127.0.0.1.nip.example",
)
ADDRESSES = ("127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1", "0.0.0.0", "93.184.215.14", "8.8.8.8")
ADDRESSES6 = ("::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2606:2800:21f:cb07:6820:80da:af6b:8b2c")
ODD = (
    *"\0\t\n\r \\/@#?:;%.,_-*^|<>\"'`{}[]()&=+$!~",
    *("%00", "%2e", "%2f", "%40", "%5c", "%09", "%0d%0a", "%23", "..", "//", "@@", "::"),
    *("\u3002", "\uff0e", "\uff61", "\u00ad", "\u200d", "\u2488", "\uff11", "\u2460", "\u212a", "\u0130", "\ufeff"),
)
"""Separators, their encodings, and characters that a mapping of Unicode turns into dots, digits, letters or nothing."""
Choose = random.Random


def spellings(seed: int, count: int) -> Iterator[str]:
    """Absolute URLs, or what tries to pass for one."""
    choose = random.Random(seed)
    for _ in range(count):
        yield _mutated(choose, _url(choose))


def references(seed: int, count: int) -> Iterator[str]:
    """What stands in a Location header or an href."""
    choose = random.Random(seed)
    for _ in range(count):
        url = _url(choose)
        cuts = (0, 0, url.find(":") + 1, url.find("//") if "//" in url else 0, url.find("@") + 1)
        yield _mutated(
            choose, choose.choice(("", "", "", "/", "\\", "./", "../", "?", ";")) + url[choose.choice(cuts) :]
        )


def _url(choose: Choose) -> str:
    scheme = _mostly(choose, "https", ("HTTPS", "hTTps", "http", "ftp", "file", "https:https", "", "javascript"))
    marks = _mostly(choose, "://", (":", ":/", ":///", ":\\\\", "//", ":/\\", "://\t", ":////"))
    user = _mostly(choose, "", ("user@", "user:pass@", "docs.example@", "docs.example%40", "a@b@", "@", ":@", "[@"))
    port = _mostly(choose, "", (":443", ":80", ":0443", ":", ":65536", ":-1", ":443:443", ":\uff14", ":4 43", ":1e2"))
    path = choose.choice(("/", "", "/a/b?c=d", "/../x", "/%2e%2E/x", "//evil.example/", "?@evil.example/", "#@a", "\\"))
    return scheme + marks + user + _host(choose) + port + path


def _host(choose: Choose) -> str:
    make = choose.choice((_name, _name, _address, _address6))
    return make(choose)


def _name(choose: Choose) -> str:
    return choose.choice(NAMES) + _mostly(choose, "", (".", "..", "%2e", "\u3002"))


def _address(choose: Choose) -> str:
    number = int(IPv4Address(choose.choice(ADDRESSES)))
    octets = [number >> shift & 255 for shift in (24, 16, 8, 0)]
    parts = choose.choice(
        (octets, octets, octets, [number], [octets[0], number & 0xFFFFFF], [*octets[:2], number & 0xFFFF])
    )
    if choose.random() < 0.1:
        parts = [*parts[:-1], parts[-1] + (1 << choose.choice((8, 32)))]
    return ".".join(choose.choice(FORMS)(part) for part in parts) + _mostly(choose, "", (".", "..", "%2e", "\u3002"))


FORMS: tuple[Callable[[int], str], ...] = (
    *(str, str, str, str),
    *("0{:o}".format, "0x{:x}".format, "0X{:X}".format, "{:03d}".format, "0o{:o}".format, "{:d}_".format),
    lambda part: "".join(chr(0xFF10 + int(digit)) for digit in str(part)),
    lambda part: "".join(f"%{ord(digit):02x}" for digit in str(part)),
)


def _address6(choose: Choose) -> str:
    if choose.random() < 0.5:
        four = IPv4Address(choose.choice(ADDRESSES))
        prefix = choose.choice(
            ("::ffff:", "::", "64:ff9b::", "::ffff:0:", "2001:db8::5efe:", "2002:7f00:1::", "0::ffff:")
        )
        text = prefix + choose.choice((str(four), f"{int(four) >> 16:x}:{int(four) & 0xFFFF:x}"))
    else:
        one = IPv6Address(choose.choice(ADDRESSES6))
        text = choose.choice((one.compressed, one.exploded, one.compressed.upper(), one.compressed + "%25eth0"))
    return choose.choice(("[{}]", "[{}]", "[{}]", "{}", "[{}", "[[{}]]", "[v1.{}]", "[{}%lo]", "[{}].example")).format(
        text
    )


def _mutated(choose: Choose, text: str) -> str:
    while choose.random() < 0.3:
        at, to = sorted((choose.randint(0, len(text)), choose.randint(0, len(text))))
        kind = choose.randrange(5)
        if kind < 2:
            text = text[:at] + choose.choice(ODD) + text[at:]
        elif kind == 2:
            text = text[:at] + text[at + 1 :]
        elif kind == 3:
            text = text[:at] + text[at:to].swapcase() + text[to:]
        else:
            text = (text[:to] + text[at:])[:2000]
    return text


def _mostly(choose: Choose, usual: str, others: tuple[str, ...]) -> str:
    return usual if choose.random() < 0.85 else choose.choice(others)
