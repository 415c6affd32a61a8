"""The way to a server: which addresses a connection may lead to, through which proxy, and how long a request may take.

The SDK is given this transport instead of its own, since three promises can only be kept where the connection is made:
the address that a name stands for is looked at and then used, not looked up a second time; a server that trickles one
byte after another is given up after `request_seconds`, its headers included; and loopback is reached without a proxy.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import time
import urllib.request
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import httpcore2
import httpx2

from hikidashi.errors import BadSettings
from hikidashi.model.endpoint import Endpoint, is_loopback

__all__ = ["AnswerTooLarge", "TookTooLong", "make_transport", "step_limits"]

#: Seconds to make a connection: a server on the way up, or a handshake through a slow proxy, takes less.
_CONNECT_SECONDS: Final = 20.0

#: Bytes of one answer; the longest that any model gives is a few megabytes of events.
_MAX_ANSWER_BYTES: Final = 256 * 1024 * 1024


class TookTooLong(httpcore2.TimeoutException):
    """The whole request took longer than it may."""


class AnswerTooLarge(httpcore2.ProtocolError):
    """The server sends more than any answer has."""


class _Stream(httpcore2.NetworkStream):
    """A connection of which no read or write goes on past the request's deadline."""

    def __init__(self, inner: httpcore2.NetworkStream, network: _Network) -> None:
        self._inner = inner
        self._network = network

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        timeout = self._network.rest(timeout)
        try:
            return self._inner.read(max_bytes, timeout)
        except httpcore2.TimeoutException:
            self._network.rest(timeout)  # the deadline's error, where it was the deadline that ended it
            raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._network.rest(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        inner = self._inner.start_tls(ssl_context, server_hostname, self._network.rest(timeout))
        return _Stream(inner, self._network)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Network(httpcore2.NetworkBackend):
    """Makes connections, only to addresses that `endpoint` allows. Serves one request at a time."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._inner = httpcore2.SyncBackend()
        self._deadline = float("inf")

    def start(self) -> None:
        """A request begins."""
        self._deadline = time.monotonic() + self._endpoint.request_seconds

    def rest(self, timeout: float | None) -> float | None:
        """`timeout`, or what is left of the request where that is less. Raises `TookTooLong` past its end."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TookTooLong(f"{self._endpoint.request_seconds:g} seconds")
        return left if timeout is None else min(timeout, left)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        error: httpcore2.ConnectError | httpcore2.ConnectTimeout | None = None
        for address in self._addresses(host, port):
            try:
                inner = self._inner.connect_tcp(address, port, self.rest(timeout), local_address, socket_options or ())
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as exc:
                error = exc
            else:
                return _Stream(inner, self)
        raise error or httpcore2.ConnectError("the name stands for no address")

    def _addresses(self, host: str, port: int) -> list[str]:
        """The addresses behind a name. Raises `BadSettings` when one is not loopback and has to be."""
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as exc:
            raise httpcore2.ConnectError(f"the name is not known ({getattr(exc, 'strerror', None) or exc})") from exc
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        if self._endpoint.must_be_loopback and not all(map(is_loopback, addresses)):
            raise self._endpoint.not_loopback()
        return addresses


class _Body(httpx2.SyncByteStream):
    """An answer's bytes, up to a size."""

    def __init__(self, stream: Iterable[bytes]) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        count = 0
        for part in self._stream:
            count += len(part)
            if count > _MAX_ANSWER_BYTES:
                raise AnswerTooLarge(f"more than {_MAX_ANSWER_BYTES:,} bytes")
            yield part

    def close(self) -> None:
        close = getattr(self._stream, "close", None)
        if close is not None:
            close()


class _Transport(httpx2.BaseTransport):
    def __init__(self, pool: httpcore2.ConnectionPool, network: _Network) -> None:
        self._pool = pool
        self._network = network

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        assert isinstance(request.stream, httpx2.SyncByteStream)
        self._network.start()
        url = request.url
        answer = self._pool.handle_request(
            httpcore2.Request(
                method=request.method,
                url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        assert isinstance(answer.stream, Iterable)
        return httpx2.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=_Body(answer.stream),
            extensions=answer.extensions,
        )

    def close(self) -> None:
        self._pool.close()


def step_limits(endpoint: Endpoint) -> httpx2.Timeout:
    """The limits of a request's single steps; the whole of it is limited by the transport."""
    idle = endpoint.idle_seconds
    return httpx2.Timeout(idle, connect=min(_CONNECT_SECONDS, idle), pool=_CONNECT_SECONDS)


def make_transport(endpoint: Endpoint) -> httpx2.BaseTransport:
    """The transport for requests to `endpoint`. Raises `BadSettings` for a proxy of a kind that is not supported."""
    network = _Network(endpoint)
    proxy = _proxy(endpoint)
    # A connection is not kept for long: minutes may pass between two requests, and servers close idle ones.
    shared: dict[str, Any] = {
        "ssl_context": httpcore2.default_ssl_context(),
        "max_keepalive_connections": 1,
        "keepalive_expiry": 5.0,
        "network_backend": network,
    }
    pool = httpcore2.ConnectionPool(**shared) if proxy is None else httpcore2.HTTPProxy(**proxy, **shared)
    return _Transport(pool, network)


def _proxy(endpoint: Endpoint) -> dict[str, Any] | None:
    """How to reach the proxy that the environment names for this server; None for no proxy.

    Never for this machine's own servers: a proxy elsewhere would reach another machine under the same name.
    """
    host = endpoint.host.rstrip(".")
    if endpoint.must_be_loopback or host == "localhost" or host.endswith(".localhost"):
        return None
    if _is_here(host) or urllib.request.proxy_bypass(host):
        return None
    found = urllib.request.getproxies()
    given = found.get(urlsplit(endpoint.base_url).scheme) or found.get("all")
    if not given:
        return None
    if endpoint.key_origin and urlsplit(endpoint.base_url).scheme == "http":
        raise BadSettings(
            f"the key from {endpoint.key_origin} is not sent unencrypted through the proxy that the environment names: "
            f"write https:// in memory.base_url, or set NO_PROXY={host} if {endpoint.name} is in your own network"
        )
    url = urlsplit(given if "://" in given else f"http://{given}")
    try:
        port = url.port or (443 if url.scheme == "https" else 80)
    except ValueError:
        port = 0
    if url.scheme not in ("http", "https") or not url.hostname or not port:
        raise BadSettings(
            f"the environment names a proxy for {endpoint.name} that is none of http:// or https://: "
            "set HTTPS_PROXY to such a one, or NO_PROXY to leave it out for this server"
        )
    host_part = f"[{url.hostname}]" if _is_ipv6(url.hostname) else url.hostname
    auth = (unquote(url.username), unquote(url.password or "")) if url.username else None
    return {"proxy_url": f"{url.scheme}://{host_part}:{port}", "proxy_auth": auth}


def _is_here(host: str) -> bool:
    """Whether a host is an address of this machine, in any form that systems take: `127.1`, `2130706433`, `0`."""
    try:
        address = ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError, UnicodeError):
        return is_loopback(host) or host == "::"
    return address.is_loopback or address.is_unspecified


def _is_ipv6(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).version == 6
    except ValueError:
        return False
