"""The sockets of the scripted model: which script, which step, which fault; what was asked."""

from __future__ import annotations

import gzip
import json
import re
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType, TracebackType
from typing import Any

from tests.standins.model import anthropic, google, openai
from tests.standins.model.script import Fault, Script, Step

FORMS: tuple[tuple[str, ModuleType], ...] = (
    (r"/v1/messages", anthropic),
    (r"/v1/chat/completions", openai),
    (r"/v1beta/models/[^/:]+:(?:generateContent|streamGenerateContent)", google),
)

SHUTDOWN_WITHIN = 0.02
"""Seconds after which the thread that accepts looks whether it should end."""


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    script: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Mapping[str, Any]

    @property
    def key(self) -> str:
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return self.headers.get("x-api-key") or self.headers.get("x-goog-api-key") or bearer


class ModelServer:
    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.ending = threading.Event()
        self._scripts: dict[str, Script] = {}
        self._faults: dict[tuple[str, int], int] = {}
        self._lock = threading.Lock()
        self._http = _Server(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(SHUTDOWN_WITHIN,), name="model stand-in")

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.ending.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def play(self, name: str, *steps: Step, key: str = "", plan: Step | None = None) -> str:
        """The address at which it plays."""
        return self.play_script(name, Script(steps, key, plan))

    def play_script(self, name: str, script: Script) -> str:
        self._scripts[name] = script
        return self.address(name)

    def address(self, name: str) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/s/{name}"

    def of(self, name: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.script == name]

    def note(self, asked: Asked) -> Script | None:
        with self._lock:
            self.asked.append(asked)
            return self._scripts.get(asked.script)

    def next_fault(self, name: str, at: int, step: Step) -> Fault | None:
        with self._lock:
            used = self._faults.get((name, at), 0)
            self._faults[name, at] = used + 1
        return step.faults[used] if used < len(step.faults) else None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, owner: ModelServer) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Exchange)


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Tests read `asked` instead."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        found = re.fullmatch(r"/s/([\w.-]+)(/[^?]*)(\?.*)?", self.path)
        name, path = (found[1], found[2]) if found else ("", self.path)
        headers = {each.lower(): value for each, value in self.headers.items()}
        asked = Asked(name, path, headers, body)
        script = self.server.owner.note(asked)
        form = next((form for pattern, form in FORMS if re.fullmatch(pattern, path)), None)
        if script is None or form is None:
            self._send(404, {"error": {"message": f"nothing is played at {self.path}"}})
        elif script.key and asked.key != script.key:
            self._send(401, form.error(401, f"invalid key: {asked.key}"))
        else:
            self._play(form, script, asked)

    def _play(self, form: ModuleType, script: Script, asked: Asked) -> None:
        if script.plan is not None and not form.has_system(asked.body):
            self._answer(form, script.plan, asked)
            return
        at = form.answers_before(asked.body)
        if at >= len(script.steps):
            self._send(400, form.error(400, f"script {asked.script} has no step {at}"))
            return
        step = script.steps[at]
        fault = self.server.owner.next_fault(asked.script, at, step)
        if fault is None:
            self._answer(form, step, asked)
        else:
            self._fail(form, step, asked, fault)

    def _answer(self, form: ModuleType, step: Step, asked: Asked) -> None:
        if asked.body.get("stream") or "stream" in asked.path:
            self._stream(form.stream(step, asked.body))
        else:
            self._send(200, form.plain(step, asked.body))

    def _fail(self, form: ModuleType, step: Step, asked: Asked, fault: Fault) -> None:
        match fault.kind:
            case "status":
                body = fault.body or json.dumps(form.error(fault.status, "scripted failure"))
                self._send_text(fault.status, body, fault.headers)
            case "empty":
                self._answer(form, Step(usage=step.usage), asked)
            case "garbage":
                self._send_text(200, "{ this is not JSON")
            case "shape":
                self._send(200, {"weather": "fine"})
            case "slow":
                self.server.owner.ending.wait()
                self.close_connection = True
            case "cut":
                self._cut(form, step, asked)
            case "reset":
                self._drop()
            case "endless":
                self._endless()
            case "packed":
                self._packed(json.dumps(form.plain(step, asked.body)).encode())

    def _cut(self, form: ModuleType, step: Step, asked: Asked) -> None:
        if asked.body.get("stream"):
            pieces = list(form.stream(step, asked.body))
            self._stream(pieces[: len(pieces) // 2], ends=False)
        else:
            body = json.dumps(form.plain(step, asked.body)).encode()
            self._head(200, {"content-length": str(len(body))})
            self.wfile.write(body[: len(body) // 2])
        self._drop()

    def _endless(self) -> None:
        self._head(200, {"transfer-encoding": "chunked"})
        piece = b" " * (1 << 20)
        while not self.server.owner.ending.is_set():
            try:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            except OSError:  # whoever asked has had enough
                break
        self.close_connection = True

    def _packed(self, body: bytes) -> None:
        packed = gzip.compress(body)
        self._head(200, {"content-length": str(len(packed)), "content-encoding": "gzip"})
        self.wfile.write(packed)

    def _drop(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def _stream(self, pieces: Iterable[str] | Iterator[str], ends: bool = True) -> None:
        self._head(200, {"transfer-encoding": "chunked"}, "text/event-stream")
        for piece in pieces:
            data = piece.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        if ends:
            self.wfile.write(b"0\r\n\r\n")

    def _send(self, status: int, body: Mapping[str, Any]) -> None:
        self._send_text(status, json.dumps(body))

    def _send_text(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        body = text.encode()
        self._head(status, {"content-length": str(len(body)), **(headers or {})})
        self.wfile.write(body)

    def _head(self, status: int, headers: Mapping[str, str], kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
