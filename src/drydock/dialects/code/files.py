"""Input files: base64 of the standard alphabet, padded; line breaks inside are skipped."""

from __future__ import annotations

import binascii
from collections.abc import Mapping

from drydock.api.executions.names import bad_name
from drydock.errors import Invalid


def decode_files(files: Mapping[str, str], output_dir: str) -> dict[str, bytes]:
    wrong = bad_name(files, output_dir)
    if wrong is not None:
        raise Invalid(f'invalid file name "{wrong}"', where="files")
    return {name: _decode(name, text) for name, text in files.items()}


def _decode(name: str, text: str) -> bytes:
    try:
        return binascii.a2b_base64(text.replace("\r", "").replace("\n", ""), strict_mode=True)
    except (binascii.Error, ValueError) as wrong:
        reason = "illegal base64 data: " + str(wrong).lower()
        raise Invalid(f'failed to decode file "{name}": {reason}', where="files") from None
