"""Requirements through the native API and the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.packages.shop import Shop
from tests.standins.index import Index, slow
from tests.standins.server import events_of
from tests.standins.wheels import wheel

DRYDOCK = Path(sys.executable).with_name("drydock")


def test_the_reply_carries_lock_time_and_hit_or_miss(shop: Shop, index: Index) -> None:
    index.publish(wheel("alpha", "1.5", requires=["beta"]), wheel("beta", "2.0"))
    first = shop.native("import alpha; print(alpha.__version__)", "alpha")
    again = shop.native("import alpha; print(alpha.__version__)", "alpha")
    assert first["stdout"] == again["stdout"] == "1.5\n"
    packages = first["packages"]
    assert (packages["cache"], packages["lock"], packages["denials"]) == ("miss", ["alpha==1.5", "beta==2.0"], [])
    assert again["packages"] | {"time_ms": 0} == packages | {"cache": "hit", "time_ms": 0}
    assert packages["time_ms"] > again["packages"]["time_ms"]
    assert packages["layer"] in shop.layers()
    assert first["ended"]["wall_ms"] < packages["time_ms"]
    assert shop.get(f"/v1/executions/{first['id']}").json()["packages"] == packages
    assert "packages" not in first["ended"]


def test_what_was_refused_to_the_installation_is_told(shop: Shop, index: Index) -> None:
    index.publish(wheel("alpha"))
    index.files.close()
    told = shop.native("import alpha", "alpha")
    assert told["ended"]["reason"] == "install_failed"
    assert {denial["class"] for denial in told["packages"]["denials"]} == {"upstream"}
    assert "relay: 127.0.0.1 cannot be reached" in told["stderr"]


def test_progress_is_told_while_it_is_installed_and_never_recorded(shop: Shop, index: Index) -> None:
    index.publish(wheel("alpha"))
    body = {"code": "import alpha; print('ran')", "requirements": ["alpha"]}
    reply = shop.post("/v1/executions", body, accept="text/event-stream")
    blocks = reply.text.split("\n\n")
    progress = [block for block in blocks if block.startswith("event: progress")]
    assert '"installing alpha"' in progress[0]
    assert blocks.index(progress[-1]) < next(place for place, block in enumerate(blocks) if "event: stdout" in block)
    numbered = "\n\n".join(block for block in blocks if block not in progress)
    later = shop.get(f"/v1/executions/{reply.headers['x-run-id']}/events").text
    assert events_of(numbered) == events_of(later)


def test_one_who_cancels_an_installation_ends_it(shop: Shop, index: Index) -> None:
    index.publish(wheel("alpha"))
    index.behave("/simple/alpha/", slow)
    body = {"code": "import alpha", "requirements": ["alpha"], "wait": False}
    started = shop.post("/v1/executions", body).json()
    shop.until(lambda: index.asked != [])
    ended = shop.client.delete(f"/v1/executions/{started['id']}").json()
    assert ended["ended"]["reason"] == "cancelled"
    shop.until(lambda: shop.remains() == [])
    assert shop.get("/health").json()["current_load"] == 0


def execute(shop: Shop, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    own = {key: value for key, value in os.environ.items() if not key.startswith(("DRYDOCK_", "SANDBOX_"))}
    command = [str(DRYDOCK), "exec", "--url", shop.url, *arguments]
    return subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, timeout=60)


def test_the_command_line_takes_requirements(shop: Shop, index: Index, tmp_path: Path) -> None:
    index.publish(wheel("alpha", "1.5"))
    (tmp_path / "main.py").write_text("import alpha; print(alpha.__version__)")
    first = execute(shop, tmp_path, "main.py", "--requirement", "alpha>=1")
    assert (first.returncode, first.stdout, first.stderr) == (0, "1.5\n", "drydock: installing alpha>=1\n")
    again = execute(shop, tmp_path, "main.py", "--requirement", "alpha>=1")
    assert (again.returncode, again.stdout, again.stderr) == (0, "1.5\n", "")
    missing = execute(shop, tmp_path, "main.py", "-r", "nowhere")
    assert missing.returncode == 125
    assert "package installation failed: " in missing.stderr
