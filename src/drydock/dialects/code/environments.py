"""What an environment's name may look like."""

from __future__ import annotations

import re

from drydock.errors import Invalid

ENVIRONMENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


def check_environment(name: str) -> None:
    if not ENVIRONMENT.fullmatch(name):
        raise Invalid(f'invalid env_name "{name[:128]}"', where="env_name")
