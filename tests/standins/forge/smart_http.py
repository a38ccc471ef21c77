"""Git's smart protocol, answered by the real `git http-backend`."""

from __future__ import annotations

import os
import subprocess
import tempfile
from typing import TYPE_CHECKING

from tests.standins.forge.repositories import ENV

if TYPE_CHECKING:
    from tests.standins.forge.server import Exchange

REALM = {"WWW-Authenticate": 'Basic realm="forge"'}


def serve(exchange: Exchange, name: str, tail: str, query: str) -> None:
    forge = exchange.forge
    pushes = "receive-pack" in tail or "receive-pack" in query
    grant = forge.tokens.of(exchange.headers.get("Authorization", ""))
    if (name in forge.private or pushes) and grant is None:
        exchange.send(401, REALM, b"who are you?\n")
        return
    if name not in forge.repositories:
        exchange.send(404, {}, b"no such repository\n")
        return
    if grant and grant.repositories is not None and name not in grant.repositories:
        exchange.send(404, {}, b"no such repository\n")
        return
    if pushes and grant is not None and not grant.write:
        exchange.send(403, {}, b"you may read only\n")
        return
    _backend(exchange, name, tail, query)


def _backend(exchange: Exchange, name: str, tail: str, query: str) -> None:
    headers = exchange.headers
    env = {
        **ENV,
        "GIT_PROJECT_ROOT": str(exchange.forge.root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{name}.git/{tail}",
        "REQUEST_METHOD": exchange.command,
        "QUERY_STRING": query,
        "REMOTE_USER": "octocat",
        "CONTENT_TYPE": headers.get("Content-Type", ""),
        "HTTP_CONTENT_ENCODING": headers.get("Content-Encoding", ""),
        "GIT_PROTOCOL": headers.get("Git-Protocol", ""),
    }
    with tempfile.TemporaryFile() as spool:
        for piece in exchange.body():
            spool.write(piece)
        if exchange.command == "POST":
            env["CONTENT_LENGTH"] = str(spool.tell())
        spool.seek(0)
        done = subprocess.run(
            ["git", "http-backend"], stdin=spool, capture_output=True, env={**env, "HOME": os.devnull}, check=False
        )
    head, _, answer = done.stdout.partition(b"\r\n\r\n")
    told = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n") if line)
    status = int(told.pop("Status", "200").split()[0])
    exchange.send(status, told, answer)
