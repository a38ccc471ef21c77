from typing import Any

import pytest

from drydock.access.caller import Caller
from drydock.access.gate import Knock, admit, has_credential, is_loopback, must_have_credential
from drydock.access.keys import Key, NewKey, Snapshot, digest_of
from drydock.errors import BadSetting, CannotStart, Forbidden, Unauthorized
from drydock.settings import Settings
from tests.store.rows import START

NOBODY = Snapshot([])
TOKEN = "s3cret-token"
BIG = "x" * (1 << 20)


def new_key(key_id: str = "abcd2345", scopes: tuple[str, ...] = ("*",)) -> NewKey:
    secret = "A-_9" * 10 + "xyz"
    return NewKey(Key(key_id, "ci", digest_of(secret), scopes, START), f"ddk_{key_id}_{secret}")


KEY = new_key(scopes=("code",))
RING = Snapshot([KEY.key])


def settings(**told: Any) -> Settings:
    return Settings(**told)


def local(host: str = "localhost:8080", peer: str = "127.0.0.1", **shown: Any) -> Knock:
    return Knock(peer=peer, host=[host], **shown)


def open_to(knock: Knock, bound: str = "127.0.0.1", **told: Any) -> Caller:
    return admit(settings(**told), NOBODY, bound, knock)


def guarded(knock: Knock, bound: str = "0.0.0.0", keys: Snapshot = RING, **told: Any) -> Caller:
    return admit(settings(**told), keys, bound, knock)


# Open on loopback


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LocalHost:8080",
        "localhost:1",
        "localhost:65535",
        "127.0.0.1",
        "127.0.0.1:8080",
        "127.255.255.254:80",
        "[::1]",
        "[::1]:8080",
    ],
)
def test_a_local_caller_by_a_loopback_name_is_served_without_a_credential(host: str) -> None:
    assert open_to(local(host)) == Caller("local", "local", "local")


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.8.8", "::1"])
@pytest.mark.parametrize("bound", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_every_loopback_address_is_one(peer: str, bound: str) -> None:
    assert open_to(local(peer=peer), bound).kind == "local"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8080",
        "localhost.evil.example",
        "evil.localhost",
        "app.localhost:8080",
        "localhost.",
        "localhost.:8080",
        "127.0.0.1.",
        "127.0.0.1.nip.io",
        "127.0.0.1.evil.example:8080",
        "user@localhost",
        "localhost@evil.example",
        "evil.example@127.0.0.1",
        "localhost:8080@evil.example",
        "localhost:80:80",
        "localhost:",
        "localhost:http",
        "localhost:65536",
        "localhost:99999999",
        "localhost:-1",
        "localhost:+1",
        "localhost:\u0668\u0660",
        "localhost/",
        "localhost#",
        "localhost, evil.example",
        "localhost evil.example",
        " localhost",
        "localhost ",
        "localhost\n",
        "localhost\x00",
        "localhost\x00.evil.example",
        "loc\u0430lhost",
        "\uff4cocalhost",
        "http://localhost",
        "",
        ":8080",
        ".",
        "0",
        "0.0.0.0",
        "0.0.0.0:8080",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "127.0.0.01",
        "127.0.0.1.1",
        "127.0.0.256",
        "128.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "::1",
        "[::]",
        "[::1",
        "::1]",
        "[::1]x",
        "[[::1]]",
        "[::ffff:127.0.0.1]",
        "[::1%25lo]",
        "[::1%lo]",
        "[0:0:0:0:0:0:0:1]",
        "[fe80::1]",
        "localhost" * 1000,
        BIG,
    ],
)
def test_a_name_that_a_web_page_could_have_is_refused(host: str) -> None:
    with pytest.raises(Forbidden) as refused:
        open_to(local(host))
    assert len(refused.value.message) < 200


@pytest.mark.parametrize("hosts", [[], ["localhost", "localhost"], ["localhost", "evil.example"]])
def test_exactly_one_host_is_believed(hosts: list[str]) -> None:
    with pytest.raises(Forbidden):
        open_to(Knock(peer="127.0.0.1", host=hosts))


@pytest.mark.parametrize(
    "peer",
    ["10.0.0.1", "0.0.0.0", "192.168.1.2", "8.8.8.8", "::", "::ffff:127.0.0.1", "fe80::1%lo", "localhost.", "", "?"],
)
def test_a_peer_that_is_not_this_machine_is_refused(peer: str) -> None:
    with pytest.raises(Forbidden):
        open_to(local(peer=peer))


@pytest.mark.parametrize("bound", ["0.0.0.0", "::", "", "10.0.0.1", "myhost", "::ffff:127.0.0.1", "127.0.0.1.", "0"])
def test_a_server_bound_elsewhere_serves_nobody_without_a_credential(bound: str) -> None:
    assert not is_loopback(bound)
    with pytest.raises(Forbidden):
        open_to(local(), bound)


@pytest.mark.parametrize(
    ("host", "origin"),
    [("localhost:8080", "http://localhost:8080"), ("[::1]", "http://[::1]"), ("LOCALHOST:1", "http://localhost:1")],
)
def test_a_page_of_the_server_itself_is_served(host: str, origin: str) -> None:
    assert open_to(local(host, origin=[origin])).kind == "local"


@pytest.mark.parametrize(
    "origins",
    [
        ["null"],
        [""],
        ["http://evil.example"],
        ["http://localhost"],
        ["http://localhost:3000"],
        ["http://127.0.0.1:8080"],
        ["https://localhost:8080"],
        ["http://localhost:8080/"],
        ["http://localhost:8080.evil.example"],
        ["http://localhost:8080@evil.example"],
        ["http://evil.example#localhost:8080"],
        ["http://localhost:8080 http://evil.example"],
        ["http://localhost:8080\x00"],
        ["localhost:8080"],
        ["//localhost:8080"],
        ["file://"],
        ["chrome-extension://abcdef"],
        ["http://localhost:8080", "http://localhost:8080"],
        ["http://localhost:8080", "http://evil.example"],
        [BIG],
    ],
)
def test_a_page_of_another_origin_is_refused(origins: list[str]) -> None:
    with pytest.raises(Forbidden):
        open_to(local(origin=origins))


def test_a_rebound_name_is_refused_though_its_origin_agrees_with_it() -> None:
    with pytest.raises(Forbidden):
        open_to(local("evil.example:8080", origin=["http://evil.example:8080"]))


@pytest.mark.parametrize("name", [b"x-forwarded-for", b"forwarded", b"x-real-ip", b"x-forwarded-host", b"x-client-ip"])
def test_what_anybody_can_write_makes_nobody_local_and_nobody_foreign(name: bytes) -> None:
    headers = [(b"host", b"localhost"), (name, b"127.0.0.1")]
    with pytest.raises(Forbidden):
        open_to(Knock.of("203.0.113.9", headers))
    with pytest.raises(Forbidden):
        open_to(Knock.of("127.0.0.1", [(b"host", b"evil.example"), (name, b"localhost")]))
    assert open_to(Knock.of("127.0.0.1", [(b"host", b"localhost"), (name, b"203.0.113.9")])).kind == "local"


def test_a_credential_that_nobody_asked_for_changes_nothing() -> None:
    assert open_to(local(authorization=["Bearer anything"], api_key=["x"])).kind == "local"
    with pytest.raises(Forbidden):
        open_to(local("evil.example", authorization=["Bearer anything"]))
    with pytest.raises(Forbidden):
        open_to(local("evil.example", authorization=["Bearer "], api_key=[""]))


# With a credential configured


def test_headers_are_taken_in_any_case_and_as_often_as_they_came() -> None:
    knock = Knock.of(
        "::1",
        [(b"HOST", b"a"), (b"Host", b"b"), (b"Origin", b"o"), (b"AUTHORIZATION", b"\xff"), (b"X-Api-Key", b"k")],
    )
    assert knock == Knock("::1", ["a", "b"], ["o"], ["\xff"], ["k"])


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER ", "BeArEr  ", "Bearer \t"])
def test_a_key_opens_by_bearer_in_any_case(scheme: str) -> None:
    caller = guarded(Knock("8.8.8.8", authorization=[scheme + KEY.text]))
    assert caller == Caller("key:abcd2345", "ci", "key", ("code",))
    assert caller.key_id == "abcd2345"


def test_a_key_opens_by_its_own_header() -> None:
    assert guarded(Knock("8.8.8.8", api_key=[KEY.text])).kind == "key"
    assert guarded(Knock("8.8.8.8", api_key=[KEY.text], authorization=["Basic eDp5"])).kind == "key"


def test_the_token_opens_by_bearer_alone() -> None:
    told: dict[str, Any] = {"server_auth_token": TOKEN}
    assert guarded(Knock("8.8.8.8", authorization=[f"Bearer {TOKEN}"]), keys=NOBODY, **told).id == "token"
    assert guarded(Knock("8.8.8.8", authorization=[f"Bearer {KEY.text}"]), **told).kind == "key"
    with pytest.raises(Unauthorized):
        guarded(Knock("8.8.8.8", api_key=[TOKEN]), **told)


@pytest.mark.parametrize("told", [{"server_auth_token": TOKEN}, {"server_auth_token": " "}, {}])
def test_any_one_credential_closes_the_door_to_local_callers(told: dict[str, str]) -> None:
    keys = NOBODY if told else RING
    assert has_credential(settings(**told), keys)
    with pytest.raises(Unauthorized):
        guarded(local(), "127.0.0.1", keys, **told)
    with pytest.raises(Unauthorized):
        guarded(local(), "0.0.0.0", keys, open=True, **told)


@pytest.mark.parametrize(
    "authorization",
    [
        [],
        [""],
        ["Bearer"],
        ["Bearer "],
        ["Bearer null"],
        [TOKEN],
        [KEY.text],
        [f"Basic {TOKEN}"],
        [f"Token {KEY.text}"],
        [f"Bearer{TOKEN}"],
        [f"Bearer {TOKEN}x"],
        [f"Bearer {TOKEN[:-1]}"],
        [f"Bearer {TOKEN.upper()}"],
        [f"Bearer {TOKEN} {TOKEN}"],
        [f"Bearer Bearer {TOKEN}"],
        [f"Bearer {TOKEN},"],
        [f"Bearer {TOKEN}\x00"],
        [f"Bearer \x00{TOKEN}"],
        [f"Bearer {TOKEN}\n"],
        [f"Bearer\x00{TOKEN}"],
        [f"Bearer\u00a0{TOKEN}"],
        [f"Bearer {TOKEN}", f"Bearer {TOKEN}"],
        [f"Bearer {TOKEN}", "Bearer x"],
        [f"Bearer {KEY.text}\x00"],
        [f"Bearer {KEY.text[:20]}\x00{KEY.text[20:]}"],
        [f"Bearer {KEY.text[:-1]}"],
        [f"Bearer {KEY.text}A"],
        [f"Bearer {KEY.text}", f"Bearer {KEY.text}"],
        [f"Bearer ddk_zzzzzzzz_{KEY.text[13:]}"],
        [f"Bearer ddk_abcd2345_{'A' * 43}"],
        [f"Bearer {KEY.key.digest.hex()}"],
        ["Bearer \u20ac\udcff"],
        ["Bearer \xff\xfe"],
        [f"Bearer {BIG}"],
        [f"Bearer {BIG}{TOKEN}"],
        [f"Bearer {' ' * 100_000}{TOKEN}"],
        [BIG],
        ["Bearer eyJhbGciOiJub25lIn0.e30."],
    ],
)
def test_what_is_not_the_credential_is_unauthorized(authorization: list[str]) -> None:
    with pytest.raises(Unauthorized) as refused:
        guarded(local(authorization=authorization), "127.0.0.1", server_auth_token=TOKEN)
    assert TOKEN not in refused.value.message
    assert KEY.text not in refused.value.message


@pytest.mark.parametrize("sent", [[""], [KEY.text, KEY.text], [KEY.text + "\x00"], [f"Bearer {KEY.text}"], [BIG]])
def test_what_is_not_the_key_is_unauthorized(sent: list[str]) -> None:
    with pytest.raises(Unauthorized):
        guarded(local(api_key=sent))


def test_an_empty_token_is_no_token() -> None:
    for authorization in ([], [""], ["Bearer "], ["Bearer \t"]):
        with pytest.raises(Unauthorized):
            guarded(Knock("8.8.8.8", authorization=authorization), server_auth_token="")


def test_a_token_in_other_bytes_is_compared_as_bytes() -> None:
    told: dict[str, Any] = {"server_auth_token": "s\u00e9cret"}
    as_sent = "s\u00e9cret".encode().decode("latin-1")
    assert guarded(Knock("8.8.8.8", authorization=[f"Bearer {as_sent}"]), **told).kind == "token"
    with pytest.raises(Unauthorized):
        guarded(Knock("8.8.8.8", authorization=["Bearer s\u00e9cret"]), **told)


# Opened by the operator


def test_an_opened_server_serves_everybody_but_foreign_pages() -> None:
    everybody = Knock("8.8.8.8", host=["drydock.example:8080"])
    own = Knock("8.8.8.8", host=["drydock.example"], origin=["https://drydock.example"])
    foreign = Knock("8.8.8.8", host=["drydock.example"], origin=["https://evil.example"])
    assert open_to(everybody, "0.0.0.0", open=True).kind == "local"
    assert open_to(own, "0.0.0.0", open=True).kind == "local"
    for refused in (foreign, Knock("8.8.8.8"), Knock("8.8.8.8", host=["a", "b"]), Knock("8.8.8.8", host=["a@b"])):
        with pytest.raises(Forbidden):
            open_to(refused, "0.0.0.0", open=True)


def test_opening_changes_nothing_for_a_server_on_loopback() -> None:
    with pytest.raises(Forbidden):
        open_to(local("evil.example"), open=True)
    with pytest.raises(Forbidden):
        open_to(local(peer="8.8.8.8"), open=True)


# At start


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "myhost", "localhost.", "127.0.0.1.nip.io", "*"])
def test_a_server_that_others_reach_does_not_start_unguarded(host: str) -> None:
    with pytest.raises(CannotStart) as refused:
        must_have_credential(settings(host=host), NOBODY)
    for way in ("SERVER_AUTH_TOKEN", "drydock keys add", "DRYDOCK_OPEN=1"):
        assert way in refused.value.remedy
    must_have_credential(settings(host=host), RING)
    must_have_credential(settings(host=host, server_auth_token=TOKEN), NOBODY)
    must_have_credential(settings(host=host, open=True), NOBODY)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_a_server_on_loopback_starts_without_a_credential(host: str) -> None:
    must_have_credential(settings(host=host), NOBODY)


@pytest.mark.parametrize("token", [" ", "a b", "a\n", "a\x00", "caf\u00e9", "x" * 5000])
def test_a_token_that_no_request_can_carry_stops_the_start_without_being_shown(token: str) -> None:
    with pytest.raises(BadSetting) as refused:
        must_have_credential(settings(server_auth_token=token), NOBODY)
    assert token not in refused.value.message or token == " "
