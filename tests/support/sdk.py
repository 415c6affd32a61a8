"""The real SDK, without its retries, against a fake."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx2

from hikidashi.testing import FakeMessages

KEY = "sk-ant-example-only"


@contextmanager
def sdk(fake: FakeMessages, *, over_http: bool, timeout: float = 5.0) -> Iterator[anthropic.Anthropic]:
    http = httpx2.Client() if over_http else fake.http_client()
    url = fake.url if over_http else "http://fake.invalid"
    with (
        http,
        anthropic.Anthropic(api_key=KEY, base_url=url, http_client=http, max_retries=0, timeout=timeout) as client,
    ):
        yield client


def streamed(client: anthropic.Anthropic, **more: Any) -> anthropic.types.Message:
    with client.messages.stream(**request(**more)) as stream:
        return stream.get_final_message()


def request(**more: Any) -> dict[str, Any]:
    return {
        "model": "claude-haiku-5-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "What is in the drawer?"}],
        **more,
    }
