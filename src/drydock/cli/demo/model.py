"""The scripted model: OpenAI's Chat Completions on a free port of loopback.

It keeps no conversation: what it says next follows from the number of answers in the request, so that a request which
is sent again gets the same answer. A request without a system message is the one for a plan.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATH = "/v1/chat/completions"
WORDS_A_TOKEN = 4
"""Characters, as a rule of thumb: what the demo counts is not billed."""


@contextmanager
def playing(plan: str, steps: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Its address, with `/v1`."""

    class Exchange(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            try:
                status, told = 200, completion(json.loads(body), plan, steps)
            except (ValueError, KeyError, IndexError, TypeError):
                status, told = 400, {"error": {"message": "the demo's story has no answer to this"}}
            text = json.dumps(told).encode()
            self.send_response(status if self.path == PATH else 404)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: the run's own events tell what was asked."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Exchange)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="demo model")
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def completion(asked: Mapping[str, Any], plan: str, steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    messages = asked["messages"]
    if not any(message["role"] in ("system", "developer") for message in messages):
        said: dict[str, Any] = {"role": "assistant", "content": plan}
    else:
        step = steps[sum(message["role"] == "assistant" for message in messages)]
        call = {"name": step["tool"], "arguments": json.dumps(step["arguments"])}
        calls = [{"id": f"call{len(messages):05d}", "type": "function", "function": call}]
        said = {"role": "assistant", "content": step["text"], "tool_calls": calls}
    given, made = len(json.dumps(messages)) // WORDS_A_TOKEN, len(json.dumps(said)) // WORDS_A_TOKEN
    return {
        "id": "chatcmpl-demo",
        "object": "chat.completion",
        "created": 0,
        "model": asked["model"],
        "choices": [{"index": 0, "message": said, "finish_reason": "tool_calls" if "tool_calls" in said else "stop"}],
        "usage": {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made},
    }
