"""The fake API over real HTTP on loopback, with connections that can be cut, reset and left silent."""

from __future__ import annotations

import select
import socket
import socketserver
import struct
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any, Final

from hikidashi.testing.api import FakeApi
from hikidashi.testing.wire import Reply

__all__ = ["Server", "nobody_url"]

#: Seconds between two looks at whether a silent connection has gone.
_LOOK: Final = 0.02


def nobody_url() -> str:
    """A loopback address where nobody listens: connections to it are refused."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


class Server:
    """Listens on a free port of 127.0.0.1 until it is closed; one thread a connection."""

    def __init__(self, api: FakeApi, sleep: Callable[[float], None] | None = None) -> None:
        self._tcp = _Tcp(api, sleep)
        self._thread = threading.Thread(target=self._tcp.serve_forever, args=(_LOOK,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Base URL without `/v1`."""
        return f"http://127.0.0.1:{self._tcp.server_address[1]}"

    def close(self) -> None:
        """End all connections and free the port."""
        self._tcp.closing.set()
        self._tcp.shutdown()
        self._tcp.end_connections()
        self._tcp.server_close()
        self._thread.join(timeout=5)


class _Tcp(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = False  # joined by server_close, so that no thread outlives its test
    request_queue_size = 128

    def __init__(self, api: FakeApi, sleep: Callable[[float], None] | None) -> None:
        self.api = api
        self.closing = threading.Event()
        self._sleep = sleep
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._to_reset: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def wait(self, seconds: float) -> None:
        """Wait as the fake was told to, or for real, but never past its end."""
        if seconds > 0 and self._sleep is not None:
            self._sleep(seconds)
        elif seconds > 0:
            self.closing.wait(seconds)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def reset(self, connection: socket.socket) -> None:
        """End `connection` with a reset once its handler returns."""
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with self._lock:
            self._to_reset.add(connection)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
            resets = request in self._to_reset
            self._to_reset.discard(request)
        if resets:  # an orderly shutdown first would hide the reset
            self.close_request(request)
        else:
            super().shutdown_request(request)

    def end_connections(self) -> None:
        """Wake the threads that wait for a next request on a connection that was kept."""
        with self._lock:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:  # the other side was faster
                    continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what many tests are about; anything else is shown."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Tcp

    def log_message(self, format: str, *args: object) -> None:
        """Keep a test's output quiet."""

    def do_HEAD(self) -> None:
        """Alive."""
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        reply = self.server.api.handle(self.command, self.path, dict(self.headers.items()), raw)
        self.server.wait(reply.wait)
        if not reply.before_headers:
            self._send(reply)
        if reply.ending != "whole":
            self.close_connection = True
        if reply.ending == "silence":
            self._stay_silent()
        elif reply.ending in ("reset", "refused"):
            self._reset()

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.length is None:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(reply.length))
        self.end_headers()
        for piece in reply.pieces:
            self.server.wait(reply.pause)
            self.wfile.write(piece if reply.length is not None else b"%x\r\n%s\r\n" % (len(piece), piece))
        if reply.length is None and reply.ending == "whole":
            self.wfile.write(b"0\r\n\r\n")

    def _reset(self) -> None:
        # What was sent before must have arrived: a reset throws away what the other side has not read yet.
        time.sleep(_LOOK)
        self.server.reset(self.connection)

    def _stay_silent(self) -> None:
        while not self.server.closing.is_set():
            readable, _, _ = select.select([self.connection], [], [], _LOOK)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                return
