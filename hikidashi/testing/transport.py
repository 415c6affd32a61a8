"""The fake API as a transport of `httpx2`: no network, no thread, no waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx2

from hikidashi.testing.api import FakeApi
from hikidashi.testing.wire import Reply

__all__ = ["InProcess"]


class InProcess(httpx2.BaseTransport):
    """Answers each request from the API. A wait longer than the request's read timeout is that timeout, at once."""

    def __init__(self, api: FakeApi, sleep: Callable[[float], None] | None = None) -> None:
        self._api = api
        self._sleep = sleep

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer `request`, or fail as the network would."""
        raw = request.read()
        target = request.url.raw_path.decode("ascii")
        reply = self._api.handle(request.method, target, dict(request.headers.items()), raw)
        self._wait(reply.wait, request)
        if reply.before_headers:
            _end(reply, request)
        headers = dict(reply.headers)
        if reply.length is not None:
            headers["content-length"] = str(reply.length)
        return httpx2.Response(reply.status, headers=headers, stream=_Pieces(reply, request, self._wait))

    def _wait(self, seconds: float, request: httpx2.Request) -> None:
        if seconds <= 0:
            return
        limit = request.extensions.get("timeout", {}).get("read")
        late = limit is not None and seconds > limit
        if self._sleep is not None:
            self._sleep(limit if late else seconds)
        if late:
            raise httpx2.ReadTimeout("The read operation timed out", request=request)


class _Pieces(httpx2.SyncByteStream):
    def __init__(self, reply: Reply, request: httpx2.Request, wait: Callable[[float, httpx2.Request], None]) -> None:
        self._reply = reply
        self._request = request
        self._wait = wait

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._reply.pieces:
            self._wait(self._reply.pause, self._request)
            yield piece
        _end(self._reply, self._request)


def _end(reply: Reply, request: httpx2.Request) -> None:
    if reply.ending == "cut":
        message = "peer closed connection without sending complete message body"
        raise httpx2.RemoteProtocolError(message, request=request)
    if reply.ending == "reset":
        raise httpx2.ReadError("[Errno 104] Connection reset by peer", request=request)
    if reply.ending == "refused":
        raise httpx2.ConnectError("[Errno 111] Connection refused", request=request)
    if reply.ending == "silence":
        raise httpx2.ReadTimeout("The read operation timed out", request=request)
