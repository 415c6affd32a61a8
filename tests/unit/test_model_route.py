"""The way to a server: the address that is looked at is the one that is used; proxies; how much is read."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from hikidashi.errors import BadSettings
from hikidashi.model import route
from hikidashi.model.client import Client
from hikidashi.model.endpoint import Endpoint
from hikidashi.model.failures import failure_of
from hikidashi.model.messages import Request
from hikidashi.model.meter import MemoryMeter
from hikidashi.model.route import make_transport, step_limits
from hikidashi.testing import FakeMessages
from hikidashi.times import now

ANTHROPIC_KEY = "sk-ant-api03-" + "Jx2c" * 20


def endpoint(base_url: str, *, key: str = "other", local_only: bool = False, key_origin: str = "a file") -> Endpoint:
    return Endpoint(
        base_url=base_url,
        key=SecretStr(key),
        key_origin=key_origin,
        local_only=local_only,
        idle_seconds=20.0,
        request_seconds=20.0,
        attempts=1,
    )


def ask(to: Endpoint, meter: MemoryMeter | None = None) -> str:
    request = Request(model="small", max_tokens=10, messages=({"role": "user", "content": "Hello."},))
    with Client(to, meter or MemoryMeter()) as client:
        return client.ask(request, phase="ping").text


def named(fake: FakeMessages, host: str) -> str:
    return f"http://{host}:{fake.url.rpartition(':')[2]}"


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[list[str]]]:
    """Name -> its addresses at the first look-up, at the second …"""
    table: dict[str, list[list[str]]] = {}
    real = socket.getaddrinfo

    def look_up(host: str, port: int, *arguments: Any, **options: Any) -> Any:
        if host not in table:
            return real(host, port, *arguments, **options)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in table[host].pop(0)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return table


@pytest.mark.parametrize(
    ("key", "local_only", "message"),
    [("other", True, r"memory\.local_only is on"), (ANTHROPIC_KEY, False, "not sent to .* unencrypted")],
    ids=["local-only", "plain"],
)
@pytest.mark.parametrize("addresses", [["192.0.2.8"], ["127.0.0.1", "192.0.2.8"], ["10.1.2.3"], ["0.0.0.0"]])
def test_a_name_that_leads_elsewhere_gets_nothing(
    names: dict[str, list[list[str]]], key: str, local_only: bool, message: str, addresses: list[str]
) -> None:
    names["models.lan"] = [addresses]
    meter = MemoryMeter()
    with FakeMessages(["stolen"]) as fake:
        with pytest.raises(BadSettings, match=message) as caught:
            ask(endpoint(named(fake, "models.lan"), key=key, local_only=local_only), meter)
        assert fake.calls == []
    assert key not in str(caught.value)
    assert [row.tokens for row in meter.closed] == [0]
    assert meter.given_up == []


def test_a_name_that_leads_here_is_asked_and_looked_up_once(names: dict[str, list[list[str]]]) -> None:
    # A server of names that lies the second time finds nobody who asks.
    names["models.lan"] = [["127.0.0.1"], ["192.0.2.8"]]
    with FakeMessages(["ready"]) as fake:
        assert ask(endpoint(named(fake, "models.lan"), key=ANTHROPIC_KEY, local_only=True)) == "ready"
        assert fake.calls[0].headers["host"].startswith("models.lan:")
    assert names["models.lan"] == [["192.0.2.8"]]


def test_the_next_address_is_tried_when_one_does_not_answer(names: dict[str, list[list[str]]]) -> None:
    with FakeMessages(["ready"]) as fake:
        names["models.lan"] = [["127.0.0.77", "127.0.0.1"]]  # the fake listens on the second one
        assert ask(endpoint(named(fake, "models.lan"))) == "ready"


@contextlib.contextmanager
def proxy() -> Iterator[tuple[str, list[bytes]]]:
    """A proxy that refuses everything, and what it was asked."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with contextlib.suppress(OSError):
                connection, _ = listening.accept()
                with connection:
                    heard.append(connection.recv(65_536))
                    connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{listening.getsockname()[1]}", heard
        finally:
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            thread.join(5)


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize("scheme", ["http://", ""])
def test_a_server_elsewhere_is_reached_through_the_proxy_and_the_key_stays_inside_tls(
    monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    with proxy() as (address, heard):
        monkeypatch.setenv("HTTPS_PROXY", f"{scheme}{address}")
        with pytest.raises(Exception, match="407") as caught:
            ask(endpoint("https://models.example.org", key=ANTHROPIC_KEY))
    assert heard[0].startswith(b"CONNECT models.example.org:443 ")
    assert ANTHROPIC_KEY.encode() not in heard[0]
    assert ANTHROPIC_KEY not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_no_proxy_stands_before_this_machine(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    with FakeMessages(["ready"]) as fake, proxy() as (address, heard):
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://{address}")
        assert ask(endpoint(named(fake, host))) == "ready"
        assert heard == []


@pytest.mark.parametrize(
    ("host", "here"),
    [
        *(
            (host, True)
            for host in ("localhost.", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "0.0.0.0", "0", "[::]")
        ),
        *((host, False) for host in ("134744072", "8.8", "127.1.example.org", "localhost.example.org", "[::2]")),
    ],
)
def test_this_machine_is_known_by_all_its_names(monkeypatch: pytest.MonkeyPatch, host: str, here: bool) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    found = route._proxy(endpoint(f"http://{host}:11434", key_origin=""))
    assert (found is None) == here


def test_no_key_goes_to_a_proxy_that_could_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever chooses the environment would choose who gets to see the key."""
    with proxy() as (address, heard):
        monkeypatch.setenv("HTTP_PROXY", f"http://{address}")
        monkeypatch.setenv("http_proxy", f"http://{address}")
        with pytest.raises(BadSettings, match=r"NO_PROXY=models\.example\.org") as caught:
            ask(endpoint("http://models.example.org", key="the-key-of-a-server"))
        assert heard == []
    assert "the-key-of-a-server" not in str(caught.value)
    make_transport(endpoint("http://models.example.org", key_origin="")).close()
    monkeypatch.setenv("NO_PROXY", "models.example.org")
    make_transport(endpoint("http://models.example.org")).close()


@pytest.mark.parametrize("value", ["socks5://127.0.0.1:1080", "http://", "http://127.0.0.1:99999"])
def test_a_proxy_that_cannot_be_used_is_said(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("HTTPS_PROXY", value)
    with pytest.raises(BadSettings, match="NO_PROXY"):
        make_transport(endpoint("https://models.example.org"))
    monkeypatch.setenv("NO_PROXY", "models.example.org")
    make_transport(endpoint("https://models.example.org")).close()


def test_an_answer_without_an_end_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "_MAX_ANSWER_BYTES", 1_000)
    to = endpoint("http://127.0.0.1:9")
    body = route._Body([b"x" * 600, b"x" * 600])
    with pytest.raises(route.AnswerTooLarge) as caught:
        list(body)
    assert "more than an answer has" in str(failure_of(caught.value, endpoint=to, model="small", now=now()))


def test_the_steps_have_limits() -> None:
    limits = step_limits(endpoint("http://127.0.0.1:9"))
    assert (limits.connect, limits.read, limits.write, limits.pool) == (20.0, 20.0, 20.0, 20.0)
    assert isinstance(limits, httpx2.Timeout)
