"""A fake Messages API on loopback, just enough for Claude Code to run a scripted session against.

Requests that offer the `Bash` tool are the session itself and take the next scripted turn; any other request
(titles, summaries) is answered with one word.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar

Block = dict[str, Any]


def say(text: str) -> Block:
    """A text block of the model's answer."""
    return {"type": "text", "text": text}


def run(command: str, description: str = "Run a command") -> Block:
    """A call of the Bash tool."""
    return {"type": "tool_use", "name": "Bash", "input": {"command": command, "description": description}}


def _events(blocks: Sequence[Block], number: int) -> list[tuple[str, dict[str, Any]]]:
    message: dict[str, Any] = {
        "id": f"msg_{number:06d}",
        "type": "message",
        "role": "assistant",
        "model": "fake-model",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 1},
    }
    events: list[tuple[str, dict[str, Any]]] = [("message_start", {"message": message})]
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            start: Block = {"type": "text", "text": ""}
            delta: Block = {"type": "text_delta", "text": block["text"]}
        else:
            start = {"type": "tool_use", "id": f"toolu_{number:06d}_{index}", "name": block["name"], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events.append(("content_block_start", {"index": index, "content_block": start}))
        events.append(("content_block_delta", {"index": index, "delta": delta}))
        events.append(("content_block_stop", {"index": index}))
    stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
    delta = {"stop_reason": stop, "stop_sequence": None}
    events.append(("message_delta", {"delta": delta, "usage": {"output_tokens": 20}}))
    events.append(("message_stop", {}))
    return events


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake: ClassVar[FakeMessages]

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output quiet."""

    def _json(self, data: object) -> None:
        body = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self) -> None:
        self._json({})

    def do_GET(self) -> None:
        self._json({})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if "count_tokens" in self.path:
            self._json({"input_tokens": 100})
        elif self.path.startswith("/v1/messages"):
            self._stream(body)
        else:
            self._json({})

    def _stream(self, body: dict[str, Any]) -> None:
        blocks, number = self.fake.answer(body)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for name, data in _events(blocks, number):
            line = json.dumps({"type": name, **data})
            self.wfile.write(f"event: {name}\ndata: {line}\n\n".encode())
        self.wfile.flush()
        self.close_connection = True


class FakeMessages:
    """The server; a context manager. `requests` holds the bodies of the session's requests."""

    def __init__(self, turns: Sequence[Sequence[Block]]) -> None:
        self._turns = list(turns)
        self._count = 0
        self._lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        handler = type("Handler", (_Handler,), {"fake": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Base URL without `/v1`."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, body: dict[str, Any]) -> tuple[Sequence[Block], int]:
        """The next scripted turn for the session's own requests."""
        with self._lock:
            self._count += 1
            if "Bash" not in {tool.get("name") for tool in body.get("tools") or []}:
                return [say("ok")], self._count
            self.requests.append(body)
            turn = self._turns.pop(0) if self._turns else [say("Done.")]
            return turn, self._count

    def __enter__(self) -> FakeMessages:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)
