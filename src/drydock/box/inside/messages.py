"""Messages between supervisor and slot: one marshalled value, descriptors beside it.

marshal, because decoding it touches a tenth of the memory pages that json does, and each page that a fresh fork
touches is copied (1 us). Both ends of it are ours: the caller's words in it are strings to whoever reads them.
"""

from __future__ import annotations

import _socket
import marshal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MESSAGE_BYTES = 65536
MOST_FDS = 24
FORMAT = 2
"""Of marshal; read by every Python that can run in a box."""

_INT_BYTES = 4
_ANCILLARY_BYTES = _socket.CMSG_SPACE(MOST_FDS * _INT_BYTES)


def send(ctl: _socket.socket, message: dict[str, Any], fds: list[int]) -> None:
    rights = b"".join([fd.to_bytes(_INT_BYTES, "little") for fd in fds])
    beside = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)] if fds else []
    ctl.sendmsg([marshal.dumps(message, FORMAT)], beside)


def receive(ctl: _socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """The next message, or None when the other end is gone."""
    raw, beside, _, _ = ctl.recvmsg(MESSAGE_BYTES, _ANCILLARY_BYTES, _socket.MSG_CMSG_CLOEXEC)
    if not raw:
        return None, []
    rights = beside[0][2] if beside else b""
    fds = [int.from_bytes(rights[at : at + _INT_BYTES], "little") for at in range(0, len(rights), _INT_BYTES)]
    return marshal.loads(raw), fds
