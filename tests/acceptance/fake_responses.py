"""A fake of the Responses API over HTTP, for sessions of the real Codex CLI.

    with FakeResponses([[say("I deploy."), run("make deploy")], [say("Done.")]]) as fake:
        …  # a provider whose base_url is fake.url

Each request takes the next turn of the script; a request past its end gets "Done.". A turn that is a function is asked
with the request's body. `requests` holds the bodies.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

__all__ = ["FakeResponses", "Item", "Turn", "call", "custom", "run", "say"]

#: An output item of an answer.
Item = dict[str, Any]
#: What one request is answered with.
Turn = Sequence[Item] | Callable[[dict[str, Any]], Sequence[Item]]


def say(text: str) -> Item:
    """A message of the model."""
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def call(name: str, arguments: dict[str, Any]) -> Item:
    """A call of a function tool."""
    return {"type": "function_call", "name": name, "arguments": json.dumps(arguments)}


def custom(name: str, given: str) -> Item:
    """A call of a tool that takes free text."""
    return {"type": "custom_tool_call", "name": name, "input": given, "status": "completed"}


def run(command: str, **more: Any) -> Item:
    """A call of the shell."""
    return call("exec_command", {"cmd": command, **more})


class FakeResponses:
    """Serves a script on a port of the loopback address while it is entered."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = list(turns)
        self._lock = threading.Lock()
        #: Bodies of the requests, in order.
        self.requests: list[dict[str, Any]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """What a provider's `base_url` is set to."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """The stream's events for one request."""
        with self._lock:
            number = len(self.requests)
            self.requests.append(body)
            turn = self._turns.pop(0) if self._turns else [say("Done.")]
        items = turn(body) if callable(turn) else turn
        response = {"id": f"resp_{number}", "object": "response", "status": "in_progress", "output": []}
        events: list[dict[str, Any]] = [{"type": "response.created", "response": response}]
        for place, item in enumerate(items):
            made = {"id": f"item_{number}_{place}", **item}
            if "name" in item:
                made["call_id"] = f"call_{number}_{place}"
            events.append({"type": "response.output_item.done", "output_index": place, "item": made})
        usage = {
            "input_tokens": 1000 + number,
            "input_tokens_details": {"cached_tokens": 400},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 1020 + number,
        }
        completed = {**response, "status": "completed", "usage": usage}
        return [*events, {"type": "response.completed", "response": completed}]

    def _handler(fake) -> type[BaseHTTPRequestHandler]:  # noqa: N805  the handler has a self of its own
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                if not self.path.endswith("/responses"):
                    self._send(b"{}", "application/json", 404)
                    return
                events = fake.answer(json.loads(body))
                stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
                self._send(stream.encode(), "text/event-stream", 200)

            def do_GET(self) -> None:
                self._send(b'{"object": "list", "data": [], "models": []}', "application/json", 200)

            def _send(self, data: bytes, kind: str, status: int) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_arguments: object) -> None:
                """Say nothing."""

        return Handler
