#!/usr/bin/env bash
# Pin every package with its hashes. Universal, so that one lock serves each Python and machine we run on; no index
# address goes in, so that each reader's own package index is used. `lock.sh --upgrade` takes newer versions.
set -euo pipefail
cd "$(dirname "$0")/.."

pin() { .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header "$@"; }

pin "$@" pyproject.toml -o requirements.lock
pin "$@" --group build -o requirements-build.lock
pin "$@" -c requirements.lock -c requirements-build.lock pyproject.toml --group dev --group build -o requirements-dev.lock
