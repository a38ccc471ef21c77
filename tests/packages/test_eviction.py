"""The slow proof of eviction: a hundred layers of fifty megabytes through a store that holds twenty."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.packages.shop import Shop
from tests.standins.index import Index
from tests.standins.wheels import wheel

SIZE = 50 << 20
MOST = 20 * SIZE
HELD = """
import os, time
end = time.monotonic() + 3000
while time.monotonic() < end and not os.path.exists('/box/work/never'):
    assert os.path.getsize('/packages/held/data') == 52428800
    with open('/packages/held/data', 'rb') as file:
        assert file.read(4096) == bytes(4096)
    print('still there', flush=True)
    time.sleep(1)
"""


def size(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_hundred_layers_of_50_mb_stay_under_the_limit_and_never_lose_one_in_use(tmp_path: Path, index: Index) -> None:
    for name in ("held", *(f"big{number}" for number in range(100))):
        index.publish(wheel(name, files={f"{name}/__init__.py": "", f"{name}/data": bytes(SIZE)}))
    with Shop(tmp_path / "data", python_index=index.pypi, layers_bytes=MOST) as shop:
        body = {"code": HELD, "requirements": ["held"], "wait": False, "limits": {"timeout_ms": 3_000_000}}
        held = shop.post("/v1/executions", body).json()
        shop.until(lambda: len(shop.layers()) == 1, within=60)
        sizes = []
        for number in range(100):
            told = shop.code(f"import os; print(os.path.getsize('/packages/big{number}/data'))", f"big{number}")
            assert told["stdout"] == f"{SIZE}\n", told
            shop.until(lambda: shop.remains() == [], within=60)
            sizes.append(size(shop.store))
        ended: dict[str, Any] = shop.client.delete(f"/v1/executions/{held['id']}").json()
        assert ended["ended"]["reason"] == "cancelled", ended["stderr"]
        assert ended["stdout"].count("still there") > 10
        assert max(sizes) <= MOST + (64 << 20), "beside the layers there is uv's own program"
        assert min(sizes[-50:]) > MOST - 2 * SIZE, "and it is made use of"
    assert threading.active_count() < 10
