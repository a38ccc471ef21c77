"""What kind of address a host turned out to have. Data: the registries of special-purpose addresses (RFC 6890), and
the addresses at which clouds keep their machines' credentials."""

from __future__ import annotations

from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

Address = IPv4Address | IPv6Address


class Kind(IntEnum):
    """In the order of what they may lead to: from an address of one kind only to its own kind and those before it."""

    PUBLIC = 0
    ODD = 1
    """Reserved; some networks map the outside world to such. Only an index that has such an address leads there."""
    PRIVATE = 2
    LOOPBACK = 3
    NEVER = 4


_NEVER = [
    ip_network(block)
    for block in (
        "0.0.0.0/8",
        "169.254.0.0/16",  # link-local: metadata of most clouds
        "100.100.100.200/32",  # metadata: Alibaba
        "168.63.129.16/32",  # metadata: Azure
        "192.0.0.192/32",  # metadata: Oracle
        "224.0.0.0/4",
        "255.255.255.255/32",
        "::/128",
        "::ffff:0:0/96",  # an IPv4 address in disguise, and so are the next ones
        "::/96",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2002::/16",
        "2001::/32",
        "fd00:ec2::/32",  # metadata: Amazon
        "fd20:ce::254/128",  # metadata: Google
        "fe80::/10",
        "fec0::/10",
        "ff00::/8",
    )
]
_LOOPBACK = [ip_network("127.0.0.0/8"), ip_network("::1/128")]
_PRIVATE = [
    ip_network(block) for block in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
]
_ODD = [
    ip_network(block)
    for block in (
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "240.0.0.0/4",
        "100::/64",
        "2001::/23",
        "2001:db8::/32",
        "3fff::/20",
        "5f00::/16",
    )
]
_UNICAST = ip_network("2000::/3")
_ISATAP = (0x00005EFE, 0x02005EFE)
"""The upper half of an interface's id that holds an IPv4 address in the lower half, under any prefix (RFC 5214)."""


def kind_of(address: Address) -> Kind:
    """Public only if no list of ours and none of Python's own says otherwise."""
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return Kind.NEVER
    if address in _LOOPBACK[address.version == 6]:
        return Kind.LOOPBACK
    if address.version == 6 and int(address) >> 32 & 0xFFFFFFFF in _ISATAP:
        return Kind.NEVER
    for kind, blocks in ((Kind.NEVER, _NEVER), (Kind.PRIVATE, _PRIVATE), (Kind.ODD, _ODD)):
        if any(address in block for block in blocks if block.version == address.version):
            return kind
    unicast = address.version == 4 or address in _UNICAST
    return Kind.PUBLIC if unicast and address.is_global and not address.is_multicast else Kind.ODD


def read(text: str) -> Address:
    """ValueError if it is none."""
    return ip_address(text)
