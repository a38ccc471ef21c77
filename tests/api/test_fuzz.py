"""The whole document against the whole server: whatever is sent, no 5xx and no answer of an unknown form."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.standins.server import Server

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def test_no_request_that_the_document_allows_or_forbids_breaks_the_server(
    make_server: Callable[..., Server], tmp_path: Path
) -> None:
    server = make_server(code_max_timeout=1, offline=True)
    schemathesis = Path(sys.executable).with_name("schemathesis")
    options = ["--max-examples", "25", "--checks", CHECKS, "--workers", "1", "--no-color"]
    done = subprocess.run(
        [schemathesis, "run", f"{server.url}/openapi.json", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout[-8000:]
    assert '"event": "internal"' not in server.log.getvalue()
