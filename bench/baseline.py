"""The naive server that Drydock is measured against: no isolation, no limits, a new /usr/bin/python3 each time.

The bare standard library and nothing else, as quick as that can be: code by argument instead of by file, one write for
a reply, no delay of small packets.
"""

from __future__ import annotations

import json
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        self.answer({"status": "healthy"})

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        done = subprocess.run(["/usr/bin/python3", "-c", request["code"]], capture_output=True, text=True)
        self.answer({"stdout": done.stdout, "stderr": done.stderr, "exit_code": done.returncode})

    def answer(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a log line is not part of what is compared."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


if __name__ == "__main__":
    Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
