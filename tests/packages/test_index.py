"""Callers name an index: the one that is judged is the one that is dialled."""

from __future__ import annotations

import pytest

from tests.egress.raw import Raw
from tests.packages.shop import Shop
from tests.standins.index import Index

NAMED = (
    "{own}?@{other}/simple/",
    "{own}#@{other}/simple/",
    "{own}\\@{other}/simple/",
    "{own}?x@{other}/simple/",
    "{own}%40{other}/simple/",
    "{own}@{other}/simple/",
    "{own}:x@{other}/simple/",
    "http://{other}/simple/",
    "http://{other}/?{own}",
    "http://{other}#{own}",
    "{own}0/simple/",
    "{own}/simple/?x",
    "//{other}/simple/",
    "file:///etc/passwd",
)


@pytest.mark.parametrize("named", NAMED)
def test_an_index_that_is_spelled_to_be_another_is_refused_and_nobody_is_dialled(
    shop: Shop, index: Index, named: str
) -> None:
    with Raw() as raw:
        url = named.format(own=index.origin, other=f"127.0.0.1:{raw.port}")
        reply = shop.ask("print(1)", "alpha", python_index=url)
        assert reply.status_code == 400, reply.text
        assert "python_index" in reply.text
        assert raw.asked == []
    assert index.asked == []
    assert shop.remains() == []
    assert shop.layers() == []
