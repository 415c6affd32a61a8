"""Every way a request can fail, over real HTTP on loopback with the real SDK: waits, outcome, message, ledger row.

Only the waits between attempts are a fake clock's: each sleep moves it, and nothing sleeps for real.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest

from hikidashi.errors import BudgetSpent, HikidashiError, ModelFailure
from hikidashi.model.client import Client
from hikidashi.model.endpoint import make_endpoint
from hikidashi.model.messages import Answer, Request
from hikidashi.testing import (
    FakeMessages,
    TurnLike,
    billing,
    credit_too_low,
    cut,
    error_in_stream,
    forbidden,
    garbage,
    http_error,
    nobody_url,
    overloaded,
    prompt_too_long,
    rate_limited,
    redirect,
    reset,
    say,
    server_error,
    silent,
    slow,
    too_large,
    unauthorized,
)
from tests.support.ledgers import START, Books, books, make_settings

KEY = "sk-ant-api03-" + "Qf8m" * 20
TEXT = "A rather long answer, so that there is something to cut in the middle of it."


@dataclass(slots=True)
class Desk:
    """A workspace's ledger and clients whose sleeps move its clock."""

    books: Books
    waits: list[float] = field(default_factory=list)

    def configure(self, base_url: str, **memory: object) -> None:
        values = {"base_url": base_url, "api_key": KEY, "idle_seconds": 20, **memory}
        self.books.settings = make_settings(**{f"memory__{name}": value for name, value in values.items()})

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.books.later(seconds=seconds)

    def ask(self, *, model: str = "small", text: str = "What is in the drawer?") -> Answer:
        endpoint = make_endpoint(self.books.settings, environ={})
        request = Request(model=model, max_tokens=100, messages=({"role": "user", "content": text},))
        with Client(endpoint, self.books.meter(), clock=self.books.clock, sleep=self.sleep) as client:
            return client.ask(request, phase="extraction")

    def failure(self) -> ModelFailure:
        with pytest.raises(ModelFailure) as caught:
            self.ask()
        return caught.value

    @property
    def outcomes(self) -> list[str]:
        """Of all rows; the user's database has the same ones."""
        rows = self.books.rows()
        users = self.books.rows(users=True)
        columns = ("id", "state", "outcome", "counted_tokens", "input_tokens", "model", "phase")
        assert [[row[name] for name in columns] for row in rows] == [[row[name] for name in columns] for row in users]
        assert {row["state"] for row in rows} <= {"closed"}
        return [row["outcome"] for row in rows]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with books(tmp_path / "shop") as found:
        yield Desk(books=found)


DOUBLING = [2.0, 4.0, 8.0, 16.0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A server that always answers so."""

    turn: TurnLike
    kind: str
    reason: str = ""
    says: str = ""
    waits: list[float] = field(default_factory=list)
    #: Whether the whole reservation counts: nobody knows what the server used.
    unknown: bool = False


CASES = {
    "401": Case(turn=unauthorized(), kind="auth", says="refused the key"),
    "403": Case(turn=forbidden(), kind="auth", says="403"),
    "402": Case(turn=billing(), kind="billing", says="billing"),
    "400 without credit": Case(turn=credit_too_low(), kind="billing", says="settle it with the provider"),
    "404": Case(turn=http_error(404, "not_found_error", "no"), kind="auth", reason="not-found", says='model "small"'),
    "400": Case(turn=http_error(400, "invalid_request_error", "no"), kind="content", reason="refused-request"),
    "400 too long": Case(turn=prompt_too_long(), kind="content", reason="too-long", says="capture.chunk_tokens"),
    "429 for more than a minute takes": Case(
        turn=rate_limited(message="Request too large for this model: limit 6000 tokens per minute, requested 9000"),
        kind="content",
        reason="too-long",
    ),
    "413": Case(turn=too_large(), kind="content", reason="too-long", says="too long"),
    "redirect": Case(turn=redirect("http://192.0.2.1/"), kind="auth", reason="redirect", says="192.0.2.1"),
    "429": Case(turn=rate_limited(), kind="overloaded", waits=DOUBLING, says="after 5 attempts"),
    "429 with seconds": Case(turn=rate_limited(seconds=7), kind="overloaded", waits=[7.0] * 4),
    "429 with milliseconds": Case(turn=rate_limited(milliseconds=1500), kind="overloaded", waits=[1.5] * 4),
    "429 with a date that comes": Case(
        turn=rate_limited(until=(START + timedelta(seconds=100)).timestamp()),
        kind="overloaded",
        waits=[100.0, 0.0, 0.0, 0.0],
    ),
    "429 for an hour": Case(
        turn=rate_limited(seconds=3_600), kind="overloaded", says="no request before 2026-03-01 13:00 UTC"
    ),
    "500": Case(turn=server_error(), kind="overloaded", waits=DOUBLING, says="500"),
    "503": Case(turn=server_error(503), kind="overloaded", waits=DOUBLING),
    "529": Case(turn=overloaded(), kind="overloaded", waits=DOUBLING, says="overloaded"),
    "529 with seconds": Case(turn=overloaded(seconds=3), kind="overloaded", waits=[3.0] * 4),
    "garbage": Case(turn=garbage(), kind="network", says="text/html"),
    "garbage that says it streams": Case(
        turn=garbage(b"event: message_start\ndata: {nonsense\n\n", content_type="text/event-stream"),
        kind="network", waits=DOUBLING, says="garbage", unknown=True,
    ),
    "no UTF-8": Case(
        turn=garbage(b"event: ping\ndata: \xff\xfe\n\n", content_type="text/event-stream"),
        kind="network", waits=DOUBLING, unknown=True,
    ),
    "JSON of another kind": Case(
        turn=garbage(b"[1, 2]", content_type="application/json"), kind="network", waits=DOUBLING, unknown=True
    ),
    "nothing": Case(
        turn=garbage(b"", content_type="text/event-stream"), kind="network", waits=DOUBLING, unknown=True
    ),
    "reset before an answer": Case(turn=reset(), kind="network", waits=DOUBLING, unknown=True),
    "reset in the middle": Case(turn=reset(TEXT, after_events=3), kind="network", waits=DOUBLING, unknown=True),
    "cut in the middle": Case(turn=cut(TEXT, after_events=3), kind="network", waits=DOUBLING, unknown=True),
    "cut in good order": Case(
        turn=cut(TEXT, after_events=3, clean=True), kind="network", waits=DOUBLING, says="no end came", unknown=True
    ),
    "an error in the stream": Case(
        turn=error_in_stream(TEXT, after_events=3), kind="overloaded", waits=DOUBLING, unknown=True
    ),
    "an error before the stream": Case(turn=error_in_stream(TEXT, after_events=0), kind="overloaded", waits=DOUBLING),
    "a lasting error in the stream": Case(
        turn=error_in_stream(TEXT, after_events=2, kind="authentication_error"), kind="auth", unknown=True
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_failure(desk: Desk, name: str) -> None:
    case = CASES[name]
    with FakeMessages([], then=case.turn) as fake:
        desk.configure(fake.url)
        failure = desk.failure()
    assert (failure.kind, failure.reason) == (case.kind, case.reason)
    assert case.says in str(failure)
    assert str(failure).isprintable()
    assert KEY not in str(failure)
    assert desk.waits == pytest.approx(case.waits)
    attempts = len(case.waits) + 1
    assert len(fake.requests) == attempts
    assert desk.outcomes == [case.kind] * attempts
    assert all((row["counted_tokens"] > 0) is case.unknown for row in desk.books.rows())


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.waits])
def test_what_passes_is_got_over(desk: Desk, name: str) -> None:
    case = CASES[name]
    with FakeMessages([case.turn, case.turn, "There is a pen."]) as fake:
        desk.configure(fake.url)
        assert desk.ask().text == "There is a pen."
    assert desk.waits == pytest.approx(case.waits[:2])
    assert desk.outcomes == [case.kind, case.kind, "ok"]
    assert len({str(request.body) for request in fake.requests}) == 1  # the same bytes each time


def test_a_stream_that_ends_anywhere_before_its_end_is_no_answer(desk: Desk) -> None:
    body = {"model": "small", "max_tokens": 100, "stream": True, "messages": [{"role": "user", "content": "Hello."}]}
    with FakeMessages([TEXT]) as fake, httpx2.Client(trust_env=False) as plain:
        headers = {"authorization": "Bearer x", "anthropic-version": "2026-10-21"}
        whole = plain.post(f"{fake.url}/v1/messages", json=body, headers=headers)
    assert whole.status_code == 200, whole.text
    size = len(whole.content)
    # Everywhere, and above all in the last event.
    cuts = [*range(0, size, 101), *range(size - 60, size, 6), size - 1]
    left = iter(cuts)
    with FakeMessages(lambda body: cut(TEXT, after_bytes=next(left))) as fake:
        desk.configure(fake.url, attempts=1)
        for place in cuts:
            desk.books.later(hours=2)  # past any back-off
            assert desk.failure().kind == "network", f"cut after {place} of {size} bytes"
    assert len(fake.requests) == len(cuts) > 20


def test_a_server_that_falls_silent_is_given_up(desk: Desk) -> None:
    with FakeMessages([silent(), silent(TEXT, after_events=3)], then="There is a pen.") as fake:
        desk.configure(fake.url, idle_seconds=0.5)
        assert desk.ask().text == "There is a pen."
    assert desk.waits[:2] == [2.0, 4.0]  # a third where this machine itself falls silent
    with FakeMessages([silent()]) as fake:
        desk.configure(fake.url, idle_seconds=0.15, attempts=1)
        failure = desk.failure()
    assert "sent nothing for 0.15 seconds" in str(failure)
    assert "memory.idle_seconds" in str(failure)
    assert desk.outcomes[:2] == ["network", "network"]
    assert desk.outcomes[-2:] == ["ok", "network"]


def test_a_trickle_ends_with_the_request_s_time(desk: Desk) -> None:
    """A slow model is no dead server: the same request again would take as long, and others are let through."""
    with FakeMessages([slow(TEXT, 0.05, piece_bytes=4)], then="There is a pen.") as fake:
        desk.configure(fake.url, request_seconds=0.4)
        started = time.monotonic()
        failure = desk.failure()
        assert time.monotonic() - started < 5
        assert "did not end its answer within 0.4 seconds" in str(failure)
        assert (failure.kind, failure.reason, failure.again, desk.waits) == ("content", "too-slow", False, [])
        assert desk.books.rows()[0]["counted_tokens"] > 100  # nobody knows how much of it was written
        desk.configure(fake.url, request_seconds=20)
        assert desk.ask().text == "There is a pen."
    assert desk.outcomes == ["content", "ok"]


@contextlib.contextmanager
def raw_server(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that speaks no HTTP of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with contextlib.suppress(OSError):
                connection, _ = listening.accept()
                with connection:
                    connection.recv(65_536)
                    answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            thread.join(5)


def test_headers_that_trickle_end_with_the_request_s_time(desk: Desk) -> None:
    def trickle(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        for number in range(200):
            connection.sendall(f"x-{number}: y\r\n".encode())
            time.sleep(0.02)

    with raw_server(trickle) as url:
        desk.configure(url, attempts=1, request_seconds=0.4)
        started = time.monotonic()
        failure = desk.failure()
    assert time.monotonic() - started < 3
    assert "did not end its answer within 0.4 seconds" in str(failure)
    assert (failure.kind, failure.again, failure.at_work) == ("network", True, True)


@pytest.mark.parametrize(
    "answer", [b"", b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", b"\x16\x03\x01"]
)
def test_what_is_no_http_is_a_failure_of_the_network(desk: Desk, answer: bytes) -> None:
    with raw_server(lambda connection: connection.sendall(answer)) as url:
        desk.configure(url, attempts=1)
        failure = desk.failure()
    assert (failure.kind, failure.again) == ("network", True)


def test_nobody_there_costs_nothing_and_is_tried_again(desk: Desk) -> None:
    desk.configure(nobody_url())
    failure = desk.failure()
    assert failure.kind == "network"
    assert "cannot be reached (Connection refused)" in str(failure)
    assert "start the server" in str(failure)
    assert desk.waits == DOUBLING
    assert desk.outcomes == ["network"] * 5
    assert {row["counted_tokens"] for row in desk.books.rows()} == {0}


def test_a_name_that_nobody_knows(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*arguments: object, **options: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    desk.configure("https://models.example.org", attempts=1)
    assert "models.example.org cannot be reached (Name or service not known)" in str(desk.failure())


def test_a_key_does_not_follow_a_redirect(desk: Desk) -> None:
    with FakeMessages(["stolen"]) as other, FakeMessages([redirect(other.url)]) as fake:
        desk.configure(fake.url)
        assert desk.failure().reason == "redirect"
    assert other.calls == []


@pytest.mark.parametrize("turn", [unauthorized(), billing(), credit_too_low(), http_error(404)])
def test_a_lasting_failure_stops_all_requests_until_the_settings_change(desk: Desk, turn: TurnLike) -> None:
    with FakeMessages([turn], then="There is a pen.") as fake:
        desk.configure(fake.url)
        first = desk.failure()
        for days in range(3):  # neither new arrivals nor a new process nor time
            desk.books.later(days=days)
            again = desk.failure()
            assert again.kind == first.kind
            assert "hikidashi ping" in str(again)
        assert len(fake.requests) == 1
        desk.configure(fake.url, api_key=KEY + "2")
        assert desk.ask().text == "There is a pen."
    assert desk.outcomes == [first.kind, "ok"]  # what was not sent is no row


@pytest.mark.parametrize("turn", [overloaded(), reset(), garbage()])
def test_a_passing_failure_backs_off_longer_each_time(desk: Desk, turn: TurnLike) -> None:
    with FakeMessages([turn] * 3, then="There is a pen.") as fake:
        desk.configure(fake.url, attempts=1)
        for minutes in (1, 2, 4):
            kind = desk.failure().kind
            made = len(fake.requests)
            desk.books.later(minutes=minutes, seconds=-1)
            assert desk.failure().kind == kind
            assert len(fake.requests) == made  # nobody was asked
            desk.books.later(seconds=2)
        assert desk.ask().text == "There is a pen."


def test_a_server_is_left_alone_as_long_as_it_asked(desk: Desk) -> None:
    with FakeMessages([rate_limited(seconds=3_600), "There is a pen."]) as fake:
        desk.configure(fake.url)
        desk.failure()
        desk.books.later(minutes=59)
        desk.failure()
        assert len(fake.requests) == 1
        desk.books.later(minutes=2)
        assert desk.ask().text == "There is a pen."


def test_the_day_s_budget_stops_before_it_is_passed(desk: Desk) -> None:
    with FakeMessages([], then=say(TEXT)) as fake:
        desk.configure(fake.url, day_tokens=1_000)
        with pytest.raises(BudgetSpent, match=r"memory\.day_tokens"):
            for _ in range(50):
                desk.ask()
        used = sum(request.usage["input_tokens"] + request.usage["output_tokens"] for request in fake.requests)
        assert 0 < used <= 1_000
        desk.books.later(hours=25)
        assert desk.ask().text == TEXT


def test_attempts_count_for_the_budget_too(desk: Desk) -> None:
    with FakeMessages([], then=cut(TEXT, after_events=3)) as fake:
        desk.configure(fake.url, day_tokens=600)
        with pytest.raises(BudgetSpent):
            desk.ask()
    assert 1 <= len(fake.requests) < 5


AMBIENT = {
    "ANTHROPIC_API_KEY": "sk-ant-ambient",
    "ANTHROPIC_AUTH_TOKEN": "ambient-token",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    "ANTHROPIC_CUSTOM_HEADERS": "x-ambient: yes\nAuthorization: Bearer ambient\nx-api-key: ambient",
    "ANTHROPIC_PROFILE": "ambient",
    "ANTHROPIC_LOG": "debug",
    "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE": "content",
    "ANTHROPIC_BETAS": "ambient",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "http_proxy": "http://127.0.0.1:9",
    "ALL_PROXY": "http://127.0.0.1:9",
}


def test_what_the_environment_says_to_other_programs_changes_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in AMBIENT.items():
        monkeypatch.setenv(name, value)
    with FakeMessages([], then="There is a pen.", key=KEY) as fake:
        desk.configure(fake.url)
        assert desk.ask().text == "There is a pen."  # the fake wants our key and no other
    headers = fake.requests[0].headers
    assert not [name for name in headers if "ambient" in name or name in ("x-api-key", "traceparent")]
    assert not [value for value in headers.values() if "ambient" in value]
    assert {name: os.environ[name] for name in AMBIENT} == AMBIENT  # and is there for them as before


def test_the_key_is_in_no_log_no_error_and_no_database(
    desk: Desk, tmp_path: Path, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("anthropic", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.DEBUG)
    try:
        with FakeMessages([unauthorized(f"no such key: {KEY}"), reset(), "There is a pen."]) as fake:
            desk.configure(fake.url)
            errors: list[BaseException | None] = [desk.failure()]
            desk.configure(fake.url, api_key=KEY + "2", attempts=1)
            errors.append(desk.failure())
    finally:
        for name in ("anthropic", "httpx2", "httpcore2"):
            logging.getLogger(name).setLevel(logging.NOTSET)
    assert len(caplog.records) > 5  # the SDK did log
    for record in caplog.records:
        assert "Qf8mQf8m" not in record.getMessage()
        assert "Qf8mQf8m" not in str(record.exc_text)
    for error in errors:
        assert isinstance(error, HikidashiError)
        assert (error.__cause__, error.__context__) == (None, None)  # the SDK's error holds the request
        assert "Qf8mQf8m" not in repr(error)
    desk.books.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    kept = [path for folder in (tmp_path, home) for path in folder.rglob("*") if path.is_file()]
    assert len(kept) >= 2
    for path in kept:
        assert b"Qf8mQf8m" not in path.read_bytes(), path


def test_a_process_that_is_stopped_while_it_waits_leaves_a_closed_row(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Desk, "sleep", lambda self, seconds: stopped(seconds))
    with FakeMessages([overloaded()]) as fake:
        desk.configure(fake.url)
        with pytest.raises(KeyboardInterrupt):
            desk.ask()
    assert desk.outcomes == ["overloaded"]


def test_a_database_that_refuses_is_no_failure_of_the_model(desk: Desk) -> None:
    desk.configure("http://127.0.0.1:9")
    desk.books.connection.close()
    with pytest.raises((HikidashiError, sqlite3.ProgrammingError)) as caught:
        desk.ask()
    assert not isinstance(caught.value, ModelFailure)
