"""What is written down of a refusal: all that a person needs, and nothing that a person must not see."""

from __future__ import annotations

import random
import string
from typing import get_args

import pytest

from drydock.egress.denial import SHOWN, DenialClass, Refused, place
from drydock.egress.grants import Credential, PackagesGrant, WebGrant
from drydock.errors import Invalid
from tests.egress.door import Door, request
from tests.egress.raw import Raw, answer
from tests.egress.spellings import spellings
from tests.egress.world import World

SECRET = "hunter2-s3cret"


@pytest.mark.parametrize(
    ("target", "host", "path"),
    [
        ("https://docs.example/a/b?token=x#y", "docs.example", "/a/b"),
        (f"https://user:{SECRET}@docs.example/a", "docs.example", "/a"),
        (f"https://{SECRET}@docs.example:8443/a", "docs.example:8443", "/a"),
        (f"https://a@{SECRET}@docs.example/", "docs.example", "/"),
        (f"https://user:{SECRET}%40docs.example/", "user", "/"),
        (f"//user:{SECRET}@docs.example/a", "docs.example", "/a"),
        (f"user:{SECRET}@docs.example:443", "docs.example:443", ""),
        (f"https:user:{SECRET}@docs.example/", "docs.example", "/"),
        (f"https://user:{SECRET}\\@docs.example/", "user", "\\docs.example/"),
        ("https://[::1]:8080/a", "[::1]:8080", "/a"),
        ("/npm/@scope/name?x", "", "/npm/@scope/name"),
        ("docs.example:443", "docs.example:443", ""),
        (f"/x/https://{SECRET}@docs.example/", "", "/x/https://docs.example/"),
        (f"/u:{SECRET}@docs.example/", "", "/docs.example/"),
        ("", "", ""),
    ],
)
def test_a_record_names_host_and_path_without_user_and_query(target: str, host: str, path: str) -> None:
    assert place(target)[0] == host
    assert SECRET not in "".join(place(target))
    assert place(target)[1] == path


def test_whatever_is_spelled_the_record_is_short_printable_and_tells_no_password() -> None:
    choose = random.Random(7)
    for text in spellings(8, 5_000):
        scheme, marks, rest = text.partition("//")
        denial = Refused("spelling", "x", path=f"{scheme}{marks}u:{SECRET}@{rest}").denial
        shown = denial.host + denial.path
        assert SECRET not in shown, text
        assert len(shown) <= 2 * SHOWN
        assert set(shown) <= set(string.printable) - set(string.whitespace), text
        noise = "".join(chr(choose.randrange(0x3000)) for _ in range(400))
        assert Refused("spelling", "x", host=noise, path=noise).denial.host.isascii()


def test_every_refusal_says_where_which_and_what_to_do(world: World) -> None:
    world.names["inside.example"] = ["10.0.0.1"]
    with Door(WebGrant(), **world.parts) as door:
        for target in ("https://inside.example/a?b", "http://inside.example/a", "https://inside.example:1/a"):
            door.say(request(target, target.split("/")[2]))
        records = [denial.as_dict() for denial in door.relay.denials]
    with Raw() as raw, Door(PackagesGrant.of("pypi", raw.index)) as door:
        raw.says["/simple/broken/"] = answer(b"", "Content-Type: image/png")
        for target in ("/npm/x", "/x/y?z", "/pypi/simple/broken/"):
            door.say(request(target))
        door.say(request("/x", method="PUT"))
        records += [denial.as_dict() for denial in door.relay.denials]
    assert [(record["class"], record["host"], record["path"]) for record in records] == [
        ("address", "inside.example", "/a"),
        ("scheme", "inside.example", "/a"),
        ("port", "inside.example", "/a"),
        ("grant", "", "/npm/x"),
        ("path", "", "/x/y"),
        ("page", "127.0.0.1", "/simple/broken/"),
        ("method", "", "/x"),
    ]
    for record in records:
        assert set(record) == {"host", "path", "class", "message"}
        assert record["class"] in get_args(DenialClass)
        assert 20 < len(record["message"]) < 400
        assert record["message"].isprintable()
        assert any(word in record["message"] for word in ("ask", "granted", "use"))


@pytest.mark.parametrize("status", ["401 No", "403 No", "500 No"])
def test_a_credential_is_in_no_refusal_that_it_leads_to(status: str) -> None:
    with Raw() as raw:
        told = f"Location: http://{SECRET}@x/", f"WWW-Authenticate: Basic {SECRET}", f"X-{SECRET}: {SECRET}"
        raw.says["/simple/alpha/"] = answer(SECRET.encode(), *told, status=status)
        raw.says["/simple/beta/"] = answer(b"", *told, status="302 Found")
        grant = PackagesGrant.of("pypi", raw.index.replace("//", f"//user:{SECRET}@"))
        with Door(grant) as door:
            replies = [door.get(f"/pypi/simple/{name}/") for name in ("alpha", "beta")]
            assert all(reply.status_code >= 400 for reply in replies)
            assert SECRET not in str([(reply.text, reply.headers) for reply in replies])
            assert SECRET not in str(door.relay.denials) + str(vars(door.relay)) + repr(grant)
            assert len(door.denied) == 2


@pytest.mark.parametrize("secret", ["", " ", "a\r\nX: y", "a\0b", "\u00e9", "a  b", " a", "a\tb", "a" * 5 + "\x7f"])
def test_a_credential_that_no_header_can_carry_is_refused_without_being_told(secret: str) -> None:
    with pytest.raises(Invalid) as refused:
        Credential(secret)
    assert secret.strip() == "" or secret not in str(refused.value)


def test_an_index_setting_that_cannot_be_used_is_refused_without_its_password() -> None:
    for index in (
        f"https://u:{SECRET}/x@h/simple",
        f"u:{SECRET}@h/simple",
        f"ftp://u:{SECRET}@h/",
        f"https://u:{SECRET}@h/?x",
    ):
        with pytest.raises(Invalid) as refused:
            PackagesGrant.of("pypi", index)
        assert SECRET not in str(refused.value)
    for mark in ("?", "#", "\\", "@", " ", "\t", "%", "[", "\u00e9"):
        with pytest.raises(Invalid):
            PackagesGrant.of("pypi", f"https://allowed.example{mark}@127.0.0.1:6379/simple")
    with pytest.raises(Invalid, match="colon"):
        PackagesGrant.of("pypi", f"https://a%3Ab:{SECRET}@h/simple")
