"""Indexes with a login, indexes of a request's own, and no index at all."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from drydock.errors import BadSetting
from drydock.packages.index import Indexes
from drydock.settings import Settings
from tests.packages.shop import Shop
from tests.packages.test_hostile import scripted
from tests.standins.index import Index
from tests.standins.wheels import tarball, wheel

USER, PASSWORD = "buyer", "hunter22&more"
SECRETS = (PASSWORD, quote(PASSWORD), base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode())


def with_login(url: str) -> str:
    return url.replace("://", f"://{USER}:{quote(PASSWORD)}@")


@pytest.fixture
def private() -> Iterator[Index]:
    with Index(login=(USER, PASSWORD)) as made:
        yield made


def assert_untold(shop: Shop, *texts: str) -> None:
    shown = shop.log.getvalue() + "".join(texts)
    assert not [secret for secret in SECRETS if secret in shown]
    kept = [path for path in shop.settings.data.rglob("*") if path.is_file() and path.stat().st_size < 10 << 20]
    assert not [path for path in kept for secret in SECRETS if secret.encode() in path.read_bytes()]


def test_the_servers_own_private_index_is_used_and_its_login_told_to_nobody(
    make_shop: Callable[..., Shop], private: Index
) -> None:
    private.publish(wheel("alpha"), tarball("beta"))
    private.publish(scripted("import os, sys; print(os.environ, file=sys.stderr); sys.exit(1)"))
    shop = make_shop(python_index=with_login(private.pypi), npm_index=with_login(private.npm))
    assert shop.code("import alpha; print(1)", "alpha")["stdout"] == "1\n"
    assert shop.code("console.log(require('beta').version)", "beta", language="node")["stdout"] == "1.0.0\n"
    failed = shop.ask("1", "mallory").text
    missing = shop.ask("1", "no-such-package").text
    native = shop.post("/v1/executions", {"code": "1", "requirements": ["mallory"]}).text
    envs = shop.post("/code/envs", {"name": "ds", "requirements": ["no-such-package"]}).text
    assert "install_failed" in failed
    assert_untold(shop, failed, missing, native, envs)


def test_a_request_may_bring_an_index_of_an_allowed_host_with_a_login(
    make_shop: Callable[..., Shop], private: Index
) -> None:
    private.publish(wheel("alpha", "9.0"))
    shop = make_shop(python_index_allow=f"elsewhere.example, 127.0.0.1:{private.port}")
    code = "import alpha; print(alpha.__version__)"
    told = shop.ask(code, "alpha", python_index=with_login(private.pypi))
    assert told.json()["stdout"] == "9.0\n", told.text
    assert_untold(shop, told.text, shop.get("/v1/executions").text)


def test_what_a_login_opened_is_closed_to_whoever_has_none(make_shop: Callable[..., Shop], private: Index) -> None:
    private.publish(wheel("alpha"))
    shop = make_shop(python_index_allow=f"127.0.0.1:{private.port}")
    mine = with_login(private.pypi)
    assert shop.code("import alpha; print(1)", "alpha", python_index=mine)["stdout"] == "1\n"
    for index in (private.pypi, mine.replace(USER, "guest")):
        told = shop.code("import alpha; print(1)", "alpha", python_index=index)
        assert told["end_reason"] == "install_failed", "the layer was found by its name alone"
    assert shop.ask("import alpha; print(1)", "alpha", python_index=mine).headers["x-packages"].startswith("hit")


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/simple",
        "http://127.0.0.1.evil.example/simple",
        "http://127.0.0.1:1/simple",
        "file:///etc",
        "ftp://127.0.0.1/",
        "//127.0.0.1/",
        "http://127.0.0.1@evil.example/",
        "http://evil.example#@127.0.0.1/",
        "http://evil.example\\@127.0.0.1/",
        "http:///simple",
        "",
    ],
)
def test_an_index_of_another_host_is_refused_before_anything_is_asked(shop: Shop, index: Index, url: str) -> None:
    before = shop.started
    reply = shop.ask("1", "alpha", python_index=url)
    assert reply.status_code == 400
    assert "python_index" in reply.json()["error"] or "index" in reply.json()["error"]
    native = shop.post("/v1/executions", {"code": "1", "requirements": ["alpha"], "index": url})
    assert (native.status_code, native.json()["error"]["where"]) == (400, "index")
    assert (shop.started, index.asked) == (before, [])


def test_offline_serves_what_is_there_and_names_what_is_not(make_shop: Callable[..., Shop], index: Index) -> None:
    index.publish(wheel("alpha", "1.5"), wheel("beta"))
    online = make_shop()
    online.code("import alpha", "alpha", env_name="ds")
    online.close()
    asked = len(index.asked)
    shop = make_shop(offline=True)
    code = "import alpha; print(alpha.__version__)"
    assert shop.code(code, "alpha")["stdout"] == shop.code(code, env_name="ds")["stdout"] == "1.5\n"
    told = shop.code(code, "beta", "alpha")
    assert told["end_reason"] == "install_failed"
    assert "DRYDOCK_OFFLINE" in told["stderr"]
    assert "beta" in told["stderr"]
    assert len(index.asked) == asked


@pytest.mark.parametrize("setting", ["python_index", "npm_index"])
def test_an_index_setting_that_cannot_be_used_stops_the_start_and_is_not_repeated(tmp_path: Path, setting: str) -> None:
    settings = Settings(data=tmp_path, **{setting: f"https://{USER}:{PASSWORD}@in dex.example/"})  # type: ignore[arg-type]
    with pytest.raises(BadSetting) as refused:
        Indexes(settings)
    assert "INDEX" in refused.value.message
    assert PASSWORD not in refused.value.message


DIRECT = "alpha @ https://files.example/alpha-1.0-py3-none-any.whl"


def test_a_file_by_its_address_is_only_taken_where_the_operator_allows_it(
    shop: Shop, make_shop: Callable[..., Shop]
) -> None:
    assert shop.ask("1", DIRECT).json()["error"] == f'invalid requirement "{DIRECT}"'
    shop.close()
    allowing = make_shop(allow_url_requirements=True)
    for entry in ("alpha @ file:///etc/passwd", "git+https://files.example/x", "x @ https://user:pw@files.example/x"):
        assert allowing.ask("1", entry).status_code == 400, entry
    told = allowing.code("1", "alpha @ https://127.0.0.1/alpha-1.0-py3-none-any.whl")
    assert told["end_reason"] == "install_failed"
    assert "has an address of the kind loopback" in told["stderr"], "no requirement reaches what is not public"
    assert "127.0.0.1:8000" not in told["stderr"]
