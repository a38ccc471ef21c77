"""Named environments: section 10 of the contract, the native routes, the command line, eviction."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from drydock.access.keys import Keys
from drydock.store.database import connect
from tests.packages.shop import Shop
from tests.standins.index import Index
from tests.standins.wheels import tarball, wheel

DRYDOCK = Path(sys.executable).with_name("drydock")
BOTH = "import alpha, beta; print(alpha.__version__, beta.__version__)"


HELD = """
import os, time
while True:
    assert os.path.getsize('/packages/alpha/data') == 600000
    time.sleep(0.01)
"""


def create(shop: Shop, name: str, *requirements: str, **fields: Any) -> httpx.Response:
    return shop.post("/code/envs", {"name": name, "requirements": list(requirements), **fields})


def names(shop: Shop) -> list[str]:
    return [each["name"] for each in shop.get("/code/envs").json()["environments"]]


def test_probe_48_a_name_made_with_a_requirement_serves_without_any_index(shop: Shop, index: Index) -> None:
    index.publish(wheel("alpha", "1.5"))
    code = "import alpha; print(alpha.__version__)"
    assert shop.code(code, "alpha", env_name="ds")["stdout"] == "1.5\n"
    asked = len(index.asked)
    began = time.monotonic()
    assert shop.code(code, env_name="ds")["stdout"] == "1.5\n"
    assert time.monotonic() - began < 1.0
    assert len(index.asked) == asked


def test_a_name_is_extended_by_what_it_lacks_and_keeps_what_it_has(shop: Shop, index: Index) -> None:
    index.publish(wheel("alpha", "1.0"), wheel("alpha", "2.0"), wheel("beta"))
    shop.code("pass", "alpha==1.0", env_name="ds")
    assert shop.code(BOTH, "beta", env_name="ds")["stdout"] == "1.0 1.0\n"
    assert shop.code(BOTH, "alpha>=2", env_name="ds")["stdout"] == "2.0 1.0\n"
    asked = len(index.asked)
    assert shop.code(BOTH, "beta", env_name="ds")["stdout"] == "2.0 1.0\n"
    assert len(index.asked) == asked
    [told] = shop.get("/code/envs").json()["environments"]
    assert list(told) == ["name", "packages", "python_version", "created_at", "last_used_at", "size_bytes"]
    assert (told["name"], told["packages"]) == ("ds", ["alpha==2.0", "beta==1.0"])
    assert told["python_version"].startswith("3.")
    assert told["size_bytes"] > 0
    assert shop.get("/health").json().get("environments", ["ds"]) == ["ds"]
    assert shop.get("/code/health").json()["environments"] == ["ds"]


def test_an_environment_is_created_listed_replaced_and_deleted(shop: Shop, index: Index) -> None:
    index.publish(wheel("alpha", "1.5"), wheel("beta"))
    first = create(shop, "ds", "alpha")
    assert (first.status_code, first.json()["packages"]) == (201, ["alpha==1.5"])
    second = create(shop, "ds", "beta")
    assert (second.status_code, second.json()["packages"]) == (200, ["beta==1.0"])
    assert create(shop, "other", "alpha").status_code == 201
    assert names(shop) == ["other", "ds"]
    shop.code("import beta", env_name="ds")
    assert names(shop) == ["ds", "other"]
    gone = shop.client.delete("/code/envs/ds")
    assert (gone.status_code, gone.content) == (204, b"")
    assert shop.client.delete("/code/envs/ds").status_code == 404
    assert shop.ask("1", env_name="ds").json() == {"error": 'environment "ds" not found'}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"requirements": ["x"]}, "name"),
        ({"name": "../x", "requirements": ["x"]}, "name"),
        ({"name": "A", "requirements": ["x"]}, "name"),
        ({"name": 5, "requirements": ["x"]}, "name"),
        ({"name": "ds"}, "requirements"),
        ({"name": "ds", "requirements": ["-r x"]}, "-r x"),
        ({"name": "ds", "requirements": ["x"], "language": "shell"}, "shell"),
        ({"name": "ds", "requirements": ["x"], "python_index": "https://u:hunter22@evil.example/"}, "evil.example"),
    ],
)
def test_a_bad_environment_is_refused_and_nothing_is_made(shop: Shop, body: dict[str, Any], named: str) -> None:
    reply = shop.post("/code/envs", body)
    assert reply.status_code == 400
    assert named in reply.json()["error"]
    assert "hunter22" not in reply.text
    assert names(shop) == []


def test_one_that_cannot_be_installed_is_told_and_not_kept(shop: Shop) -> None:
    reply = create(shop, "ds", "nonexistent-pkg-zz")
    assert reply.status_code == 400
    assert reply.json()["error"].startswith("package installation failed: ")
    assert "nonexistent-pkg-zz was not found in the package registry" in reply.json()["error"]
    assert names(shop) == []
    assert shop.layers() == []


def test_an_environment_of_one_language_is_refused_to_another(shop: Shop, index: Index) -> None:
    index.publish(wheel("alpha"), tarball("beta"))
    create(shop, "ds", "alpha")
    reply = shop.ask("1", "beta", env_name="ds", language="node")
    assert reply.status_code == 400
    assert create(shop, "js", "beta", language="node").json()["python_version"] is None
    assert shop.code("console.log(require('beta').version)", env_name="js", language="node")["stdout"] == "1.0.0\n"


def test_concurrent_creation_of_one_name_happens_once_and_loses_nothing(shop: Shop, index: Index) -> None:
    index.publish(wheel("alpha"), wheel("beta"))
    wanted = [("alpha",), ("alpha",), ("beta",)]
    threads = [threading.Thread(target=shop.code, args=("pass", *one), kwargs={"env_name": "ds"}) for one in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [told] = shop.get("/code/envs").json()["environments"]
    assert told["packages"] == ["alpha==1.0", "beta==1.0"]
    assert len([path for path in index.files.paths() if path.endswith("alpha-1.0-py3-none-any.whl")]) <= 2


def test_an_environment_outlives_a_restart(make_shop: Callable[..., Shop], index: Index) -> None:
    index.publish(wheel("alpha", "1.5"))
    first = make_shop()
    create(first, "ds", "alpha")
    first.close()
    again = make_shop()
    asked = len(index.asked)
    assert again.code("import alpha; print(alpha.__version__)", env_name="ds")["stdout"] == "1.5\n"
    assert again.code("import alpha; print(alpha.__version__)", "alpha")["stdout"] == "1.5\n"
    assert len(index.asked) == asked


def test_the_least_recently_used_goes_when_there_are_too_many(make_shop: Callable[..., Shop], index: Index) -> None:
    index.publish(wheel("alpha"), wheel("beta"), wheel("gamma"))
    shop = make_shop(envs_max=2)
    create(shop, "a", "alpha")
    create(shop, "b", "beta")
    shop.code("import alpha", env_name="a")
    create(shop, "c", "gamma")
    assert names(shop) == ["c", "a"]


def test_one_that_nobody_has_used_for_long_goes(make_shop: Callable[..., Shop], index: Index) -> None:
    index.publish(wheel("alpha"))
    shop = make_shop(envs_ttl=0.3)
    create(shop, "a", "alpha")
    shop.until(lambda: names(shop) == [])


def test_they_stay_under_their_bytes_but_never_lose_one_in_use(make_shop: Callable[..., Shop], index: Index) -> None:
    for name in ("alpha", "beta", "gamma"):
        index.publish(wheel(name, files={f"{name}/__init__.py": "x = 1", f"{name}/data": os.urandom(600_000)}))
    shop = make_shop(envs_bytes=1_400_000, layers_bytes=1 << 20)
    create(shop, "a", "alpha")
    body = {"code": HELD, "environment": "a", "wait": False, "limits": {"timeout_ms": 120_000}}
    held = shop.post("/v1/executions", body).json()["id"]
    shop.until(lambda: shop.get(f"/v1/executions/{held}").json()["state"] == "running")
    create(shop, "b", "beta")
    create(shop, "c", "gamma")
    assert names(shop) == ["c", "a"]
    assert shop.client.delete("/code/envs/a").status_code == 204
    ended = shop.client.delete(f"/v1/executions/{held}").json()
    assert (ended["ended"]["reason"], ended["stderr"]) == ("cancelled", "")
    shop.until(lambda: len(shop.layers()) == 2)  # one with its name, one within the bytes of those without


def test_every_caller_has_names_of_his_own(make_shop: Callable[..., Shop], index: Index) -> None:
    index.publish(wheel("alpha"))
    shop = make_shop(server_auth_token="a-long-enough-token")
    database = connect("", shop.settings.data)
    mine, theirs = ({"Authorization": f"Bearer {Keys(database).add(name).text}"} for name in ("mine", "theirs"))
    database.close()
    shop.until(lambda: shop.get("/code/envs", **theirs).status_code == 200)
    assert shop.post("/code/envs", {"name": "ds", "requirements": ["alpha"]}, **mine).status_code == 201
    assert shop.get("/code/envs", **theirs).json() == {"environments": []}
    assert shop.post("/code/execute", {"code": "1", "env_name": "ds"}, **theirs).status_code == 404
    assert shop.client.delete("/code/envs/ds", headers=theirs).status_code == 404
    assert shop.get("/code/health").json()["environments"] == [], "health needs no key"
    assert len(shop.get("/code/envs", **mine).json()["environments"]) == 1


def test_the_command_line_makes_lists_uses_and_deletes(shop: Shop, index: Index, tmp_path: Path) -> None:
    index.publish(wheel("alpha", "1.5"))

    def drydock(*arguments: str) -> subprocess.CompletedProcess[str]:
        own = {key: value for key, value in os.environ.items() if not key.startswith(("DRYDOCK_", "SANDBOX_"))}
        own["DRYDOCK_URL"] = shop.url
        return subprocess.run([DRYDOCK, *arguments], cwd=tmp_path, env=own, capture_output=True, text=True, timeout=60)

    made = drydock("envs", "create", "ds", "--requirement", "alpha")
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout.startswith("ds: alpha==1.5 (")
    (tmp_path / "main.py").write_text("import alpha; print(alpha.__version__)")
    assert drydock("exec", "main.py", "--environment", "ds").stdout == "1.5\n"
    assert "alpha==1.5" in drydock("envs", "list").stdout
    assert drydock("envs", "delete", "ds").returncode == 0
    gone = drydock("envs", "delete", "ds")
    assert (gone.returncode, "there is no such environment" in gone.stderr) == (1, True)
    nowhere = drydock("exec", "main.py", "--environment", "ds")
    assert (nowhere.returncode, "there is no environment 'ds'" in nowhere.stderr) == (125, True)
