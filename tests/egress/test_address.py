"""What kind of address a host has: our lists against Python's, and every way to hide IPv4 in IPv6."""

from __future__ import annotations

import random
from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest

from drydock.egress.address import Kind, kind_of, read

INNER = ("127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.0.1", "8.8.8.8", "93.184.215.14")


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize(
    "form",
    [
        "::ffff:{}",
        "::{}",
        "::ffff:0:{}",
        "64:ff9b::{}",
        "64:ff9b:1::{}",
        "64:ff9b:1:ffff::{}",
        "2002:{hex}::1",
        "2001:0:{hex}::1",
        "2001:0:4136:e378:8000:63bf:{flipped}",
        "2606:4700::5efe:{}",
        "2606:4700::200:5efe:{}",
        "fe80::5efe:{}",
    ],
)
def test_ipv4_in_ipv6_is_never_public(inner: str, form: str) -> None:
    number = int(IPv4Address(inner))
    flipped = number ^ 0xFFFFFFFF
    parts = {"hex": f"{number >> 16:x}:{number & 0xFFFF:x}", "flipped": f"{flipped >> 16:x}:{flipped & 0xFFFF:x}"}
    assert kind_of(read(form.format(inner, **parts))) is not Kind.PUBLIC


def test_what_python_takes_for_private_is_never_public_here() -> None:
    choose = random.Random(11)
    blocks = [0x2000 << 112, 0xFC00 << 112, 0xFE80 << 112, 0, 0x0064FF9B << 96, 0x2001 << 112, 0x2002 << 112]
    public = 0
    for _ in range(50_000):
        for address in (
            IPv4Address(choose.getrandbits(32)),
            IPv6Address(choose.choice(blocks) + choose.getrandbits(choose.choice((16, 64, 112)))),
        ):
            if kind_of(address) is Kind.PUBLIC:
                public += 1
                assert address.is_global, address
                odd = (address.is_multicast, address.is_reserved, address.is_unspecified, address.is_link_local)
                assert not any(odd), address
    assert public > 50_000


@pytest.mark.parametrize(
    "block",
    [
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "fc00::/7",
        "fe80::/10",
        "fec0::/10",
        "ff00::/8",
        "2001:db8::/32",
        "::/8",
    ],
)
def test_a_block_is_closed_from_its_first_address_to_its_last(block: str) -> None:
    network = ip_network(block)
    for at in (0, 1, network.num_addresses // 2, network.num_addresses - 1):
        assert kind_of(network[at]) is not Kind.PUBLIC


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.215.14", "11.0.0.0", "172.32.0.1", "2606:4700::1111", "2a00::1"]
)
def test_the_rest_of_the_world_is_public(address: str) -> None:
    assert kind_of(read(address)) is Kind.PUBLIC
