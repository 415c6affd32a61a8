"""A fake Messages API for tests: over HTTP on loopback as a context manager, or in process as a transport."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from hikidashi.testing.api import FakeApi, Recorded
from hikidashi.testing.server import Server
from hikidashi.testing.turns import Model, Rule, TurnLike

if TYPE_CHECKING:
    import httpx2

__all__ = ["FakeMessages"]


class FakeMessages:
    """A Messages API whose answers a test writes.

    `model` is a list of turns (or of functions that make one of a request's body), each used once, or one function
    for all requests. `then` is the turn that follows the last of the list; without it one request more is an error
    400. With `key`, any other key is an error 401. `clock` gives Unix time for the records and the cache; `sleep` is
    called for slow answers in place of waiting.

    `strict` refuses what the real API refuses. `refuses` names fields of the body that this server does not know.
    More than `window` tokens of input are an error 400. `cache_minimum` is the smallest prefix in tokens that is
    cached; None is the model's own.

    Over HTTP: `with FakeMessages([say("Hello.")]) as fake:` and `fake.url`. In process, without a server:
    `anthropic.Anthropic(http_client=fake.http_client(), …)`.
    """

    def __init__(
        self,
        model: Model,
        *,
        then: TurnLike | Rule | None = None,
        key: str | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] | None = None,
        strict: bool = True,
        refuses: tuple[str, ...] = (),
        window: int = 1_000_000,
        cache_minimum: int | None = None,
    ) -> None:
        self.api = FakeApi(
            model,
            then=then,
            key=key,
            clock=clock,
            strict=strict,
            refuses=refuses,
            window=window,
            cache_minimum=cache_minimum,
        )
        self._sleep = sleep
        self._server: Server | None = None

    @property
    def url(self) -> str:
        """Base URL without `/v1`. Raises RuntimeError while no server runs."""
        if self._server is None:
            raise RuntimeError("the fake has an address only inside `with`")
        return self._server.url

    @property
    def calls(self) -> list[Recorded]:
        """All requests, in the order of their arrival."""
        return list(self.api.calls)

    @property
    def requests(self) -> list[Recorded]:
        """The requests that asked for a message."""
        return [call for call in self.api.calls if call.path == "/v1/messages"]

    def transport(self) -> httpx2.BaseTransport:
        """The same API without a network, for an `httpx2.Client`."""
        from hikidashi.testing.transport import InProcess

        return InProcess(self.api, self._sleep)

    def http_client(self) -> httpx2.Client:
        """A client for the SDK's `http_client=`; close it, or use it as a context manager."""
        import httpx2

        return httpx2.Client(transport=self.transport())

    def __enter__(self) -> Self:
        self._server = Server(self.api, self._sleep)
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
