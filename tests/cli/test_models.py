"""`drydock models` as an operator calls it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.test_keys import drydock

CANARY = b"canary-77ab"


def test_it_lists_aliases_and_providers_and_whether_a_key_is_there(tmp_path: Path) -> None:
    table = 'model = "best"\n[models]\nbest = "anthropic:large"\n[models.mine]\nmodel = "openai:small"\n'
    (tmp_path / "drydock.toml").write_text(table + 'address = "http://127.0.0.1:9/v1"\n')
    drydock(tmp_path, "secrets", "set", "ANTHROPIC_API_KEY", "--data", "data", stdin=CANARY)
    done = drydock(tmp_path, "models", "--json", "--data", "data")
    told = json.loads(done.stdout)
    assert told["default"] == "best"
    assert {row["name"]: row["key"] for row in told["models"]} == {
        "best": True,
        "mine": True,
        "anthropic:NAME": True,
        "openai:NAME": False,
        "mistral:NAME": False,
        "google:NAME": False,
    }
    assert CANARY.decode() not in str(done.stdout) + str(done.stderr)


def test_it_needs_and_makes_no_data_folder(tmp_path: Path) -> None:
    done = drydock(tmp_path, "models", "--data", "data")
    assert done.returncode == 0
    assert "no key" in str(done.stdout)
    assert not (tmp_path / "data").exists()


def test_a_wrong_table_is_told_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "drydock.toml").write_text('[models]\nbest = "large"\n')
    done = drydock(tmp_path, "models", "--data", "data")
    assert done.returncode == 1
    assert "drydock: best.model in [models]: must be PROVIDER:NAME" in str(done.stderr)
