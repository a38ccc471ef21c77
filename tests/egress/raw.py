"""A host outside that sends exactly the bytes it is told to, HTTP or not."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping
from types import TracebackType

from tests.standins.index import SIMPLE_JSON

Say = Callable[[socket.socket], None]


class Raw:
    """`says` maps paths to bytes, or to a function that has the connection; the connection ends after either."""

    def __init__(self, **files: bytes) -> None:
        self.asked: list[bytes] = []
        """The heads that came."""
        self.says: dict[str, bytes | Say] = {}
        self.closing = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.origin = f"http://127.0.0.1:{self.port}"
        self.index = f"{self.origin}/simple/"
        self.page("alpha", {f"{name}-1.0.tar.gz": f"/f/{name}" for name in files})
        self.says |= {f"/f/{name}": said for name, said in files.items()}
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def page(self, name: str, files: Mapping[str, str]) -> None:
        """An index page of these files and links."""
        listed = [{"filename": filename, "url": url, "hashes": {}} for filename, url in files.items()]
        body = json.dumps({"meta": {"api-version": "1.0"}, "name": name, "files": listed}).encode()
        self.says[f"/simple/{name}/"] = answer(body, f"Content-Type: {SIMPLE_JSON}")

    def _accept(self) -> None:
        while True:
            line, _ = self._listener.accept()
            if self.closing.is_set():
                line.close()
                return
            threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        with line:
            head = b""
            while b"\r\n\r\n" not in head:
                piece = line.recv(65536)
                if not piece:
                    return
                head += piece
            self.asked.append(head)
            said = self.says.get(head.split(b" ")[1].decode(), answer(b"no such page", status="404 Not Found"))
            try:
                if callable(said):
                    said(line)
                else:
                    line.sendall(said)
                    line.shutdown(socket.SHUT_WR)
                    while line.recv(65536):
                        pass
            except OSError:
                pass  # the relay has heard enough

    def close(self) -> None:
        self.closing.set()
        socket.create_connection(("127.0.0.1", self.port)).close()
        self._thread.join()
        self._listener.close()

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body
