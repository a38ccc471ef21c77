"""The naive server: HTTP and subprocess, and nothing between the code and the machine.

    python3 bare_server.py FOLDER [PYPI NPM]      prints its port

Packages come from the indexes PYPI and NPM, by an installer that is just as naive, into one folder for everybody.

The attacks of tests/attacks are run against it, and each has to succeed here: an attack that this server withstands
proves nothing about Drydock.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

INSTALLER = Path(__file__).with_name("naive_installer.py")
PACKAGES = {"python": "packages", "node": "node_modules"}
"""Folders of the server's own, where every program finds them."""
COMMANDS = {"python": ["/usr/bin/python3", "main"], "shell": ["/bin/bash", "main"], "node": ["node", "main"]}
load = 0
counting = threading.Lock()


def execute(asked: dict[str, Any], folder: Path) -> dict[str, Any]:
    output = folder / "output"
    output.mkdir()
    for name, data in asked.get("files", {}).items():
        (folder / name).write_bytes(base64.b64decode(data))
    (folder / "main").write_text(asked["code"])
    packages = folder.parent / PACKAGES["python"]
    environ = {**os.environ, "OUTPUT_DIR": str(output), "PYTHONPATH": f"{folder}:{packages}"}
    environ["PATH"] = f"{packages}/bin:{os.environ['PATH']}"
    if asked.get("requirements") and (failed := install(asked, folder.parent)):
        return {"status": "error", "stdout": "", "stderr": failed, "exit_code": -1, "end_reason": "install_failed"}
    try:
        done = subprocess.run(
            COMMANDS[asked.get("language", "python")],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=asked.get("timeout_seconds", 30),
            check=False,
        )
        code, stdout, stderr, reason = done.returncode, done.stdout, done.stderr, "exit"
    except subprocess.TimeoutExpired as late:
        code, stdout, stderr, reason = -1, late.stdout or b"", late.stderr or b"", "timeout"
    if code < 0 and reason == "exit":
        reason = "signal"
    reply: dict[str, Any] = {
        "status": "error" if code else "success",
        "stdout": stdout.decode("utf-8", "replace"),
        "stderr": stderr.decode("utf-8", "replace"),
        "exit_code": code,
        "files_produced": {
            str(path.relative_to(output)): base64.b64encode(path.read_bytes()).decode()
            for path in output.rglob("*")
            if not path.is_dir()
        },
    }
    if code:
        reply["end_reason"] = reason
    return reply


def install(asked: dict[str, Any], folder: Path) -> str:
    """Why it failed; empty when it did not."""
    kind, index = ("npm", sys.argv[3]) if asked.get("language") == "node" else ("pypi", sys.argv[2])
    target = folder / PACKAGES[asked.get("language", "python")]
    target.mkdir(exist_ok=True)
    command = [sys.executable, str(INSTALLER), kind, asked.get("python_index") or index, str(target)]
    done = subprocess.run([*command, *asked["requirements"]], stdin=subprocess.DEVNULL, capture_output=True)
    return (done.stdout + done.stderr).decode("utf-8", "replace") if done.returncode else ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer({"status": "healthy", "current_load": load})

    def do_POST(self) -> None:
        global load
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with counting:
            load += 1
        try:
            with tempfile.TemporaryDirectory(dir=sys.argv[1]) as folder:
                reply = execute(asked, Path(folder))
        finally:
            with counting:
                load -= 1
        self._answer(reply)

    def _answer(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


def main() -> None:
    # The first process of the test's pid namespace cannot be signalled from inside; a server elsewhere can be.
    if os.getpid() == 1 and (child := os.fork()):
        os.waitpid(child, 0)
        return
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
