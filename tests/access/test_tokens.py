"""Users' tokens: polychat.md, section 1.4, row by row, each refusal written from the attack."""

from __future__ import annotations

import time
from typing import Any

import pytest

from drydock.access.caller import Caller
from drydock.access.gate import Knock, admit, has_credential
from drydock.access.keys import Snapshot
from drydock.access.tokens import User, verify
from drydock.errors import Forbidden, Unauthorized
from drydock.settings import Settings
from tests.standins.tokens import SECRET, part, token

NOW = time.time()
NOBODY = Snapshot([])


def judged(text: str, secret: str = SECRET) -> User | None:
    return verify(text, secret, NOW)


def test_a_token_speaks_for_its_subject() -> None:
    assert judged(token("7")) == judged(token(7)) == judged(token("007")) == User(7)
    assert judged(token(plan="pro")) == User(7, "pro")


@pytest.mark.parametrize("name", ["iss", "aud", "iat", "nbf"])
def test_what_may_be_absent_may_be_absent(name: str) -> None:
    assert judged(token(without=name)) == User(7)


@pytest.mark.parametrize("empty", ["", None])
def test_an_empty_party_counts_as_absent(empty: Any) -> None:
    assert judged(token(iss=empty, aud=empty)) == User(7)


def test_padding_may_be_there() -> None:
    head, claims, signature = token().split(".")
    assert judged(f"{head}.{claims}.{signature}=") == User(7)


@pytest.mark.parametrize(
    "sub", ["", "0", "-7", "+7", "7.0", " 7", "0x7", "\u0667", "1" * 19, 0, -7, 7.5, True, None, [7]]
)
def test_a_subject_that_is_no_positive_number_is_nobody(sub: Any) -> None:
    assert judged(token(sub)) is None


@pytest.mark.parametrize("name", ["sub", "exp"])
def test_what_must_be_there_must_be_there(name: str) -> None:
    assert judged(token(without=name)) is None


OVER = [int(NOW), NOW - 0.001, 0, -1, "9999999999", None, True, [9999999999], float("inf")]


@pytest.mark.parametrize(
    "exp", OVER, ids=range(len(OVER))
)  # a name with the time in it would be another in each worker
def test_a_token_whose_time_is_up_or_is_no_time_is_refused(exp: Any) -> None:
    assert judged(token(exp=exp)) is None


def test_no_clock_skew_is_forgiven_on_either_side() -> None:
    assert judged(token(exp=NOW + 0.5)) == User(7)
    assert judged(token(nbf=NOW + 1)) is None
    assert judged(token(nbf=NOW)) == User(7)
    assert judged(token(nbf="9999999999")) == User(7), "only a number counts"


@pytest.mark.parametrize("party", ["Assistant", "assistant ", "other", ["assistant"], {"assistant": 1}, 5, False])
def test_another_issuer_or_audience_is_refused(party: Any) -> None:
    assert judged(token(iss=party)) is None
    assert judged(token(aud=party)) is None


@pytest.mark.parametrize("alg", ["none", "None", "NONE", "hs256", "HS384", "RS256", "", None, ["HS256"], 256])
def test_any_other_algorithm_is_refused_even_when_its_signature_would_do(alg: Any) -> None:
    assert judged(token(header={"alg": alg})) is None


def test_an_unsigned_token_is_refused() -> None:
    head, claims, _ = token(header={"alg": "none"}).split(".")
    assert judged(f"{head}.{claims}.") is None
    assert judged(f"{head}.{claims}") is None
    head, claims, _ = token().split(".")
    assert judged(f"{head}.{claims}.") is None


def test_a_token_signed_by_another_secret_or_changed_after_is_refused() -> None:
    assert judged(token(secret="another")) is None
    assert judged(token(digest="sha512")) is None
    head, _, signature = token("7").split(".")
    other = token("8").split(".")[1]
    assert judged(f"{head}.{other}.{signature}") is None


def test_without_a_secret_no_token_is_any_good() -> None:
    assert judged(token(secret="\0"), "") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.b",
        "a.b.c.d",
        "..",
        f"{part(b'[]')}.{part({})}.x",
        f"{part(b'{')}.{part({})}.x",
        f"{part(b'[' * 100_000)}.{part({})}.x",
        f"{part(b'1' * 9_000)}.{part({})}.x",
        "\u00e9.\u00e9.\u00e9",
        "a b.c.d",
    ],
)
def test_what_is_no_token_is_refused(text: str) -> None:
    assert judged(text) is None


def knock(text: str) -> Knock:
    return Knock("127.0.0.1", ["localhost"], [], [f"Bearer {text}"])


def test_a_secret_closes_every_door_and_a_token_opens_those_of_its_contract() -> None:
    settings = Settings(jwt_secret=f"  {SECRET}\n")
    assert has_credential(settings, NOBODY)
    caller = admit(settings, NOBODY, "127.0.0.1", knock(token("7")))
    assert caller == Caller("user:7", "user 7", "user", ("polychat",))
    caller.require("polychat")
    for scope in ("code", "native"):
        with pytest.raises(Forbidden):
            caller.require(scope)
    with pytest.raises(Unauthorized):
        admit(settings, NOBODY, "127.0.0.1", knock("none"))


def test_a_blank_secret_is_none() -> None:
    assert not has_credential(Settings(jwt_secret="  "), NOBODY)
