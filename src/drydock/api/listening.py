"""The address that the server answers at, taken before anything is started."""

from __future__ import annotations

import socket

from drydock.errors import CannotStart

BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """A bound, listening socket, or CannotStart naming the address."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as wrong:
        raise CannotStart(f"cannot listen on {shown(host, port)}: {wrong.strerror}", where="--host") from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as wrong:
        listener.close()
        reason = (wrong.strerror or str(wrong)).lower()
        raise CannotStart(
            f"cannot listen on {shown(host, port)}: {reason}",
            where="--port",
            hint="Stop what listens there, or choose another address with --host and --port (0 takes a free port).",
        ) from None
    listener.setblocking(False)
    return listener


def shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return shown(host, port)
