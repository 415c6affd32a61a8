"""In a test, a request to a real server is an error: no test spends, and none passes because the network is away."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anthropic
import pytest

from hikidashi.config.settings import load_settings
from hikidashi.errors import BadSettings
from hikidashi.model.client import Client
from hikidashi.model.endpoint import make_endpoint
from hikidashi.model.messages import Request
from hikidashi.model.meter import MemoryMeter
from hikidashi.testing import FakeMessages, RealRequestError, forbid_real_requests
from tests.support.project import python_environ
from tests.support.sdk import request, sdk, streamed


def by_the_sdk() -> None:
    with anthropic.Anthropic(api_key="k", base_url="https://models.example", max_retries=0) as client:
        client.messages.create(**request())


def by_address() -> None:
    with socket.socket() as probe:
        probe.connect(("192.0.2.1", 443))


def by_datagram() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as probe:
        probe.sendto(b"x", ("192.0.2.1", 53))


def by_name() -> None:
    socket.getaddrinfo("models.example", 443)


def by_the_client() -> None:
    """Settings that say nothing of `local_only`: the address alone is what stops it."""
    settings = load_settings(None, environ={"HIKIDASHI_MEMORY_BASE_URL": "https://models.example"})
    with Client(make_endpoint(settings, environ={}), MemoryMeter()) as client:
        client.ask(Request(model="m", max_tokens=9, messages=({"role": "user", "content": "x"},)), phase="ping")


@pytest.mark.parametrize("reach", [by_the_client, by_the_sdk, by_address, by_datagram, by_name])
def test_a_request_to_a_real_server_is_an_error_that_no_handler_takes_for_the_network(
    reach: Callable[[], None],
) -> None:
    with pytest.raises(RealRequestError, match="a test reached for the network"):
        try:
            reach()
        except Exception as exc:  # noqa: BLE001 - what code under test may do
            pytest.fail(f"swallowed as {exc!r}")


def test_with_the_settings_of_the_suite_the_real_server_is_wrong_settings_already(home: Path) -> None:
    folder = home / ".config" / "hikidashi"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[memory]\napi_key = "sk-ant-example-only"\n')
    with pytest.raises(BadSettings, match="local_only"):
        make_endpoint(load_settings(None))


def test_loopback_is_open_by_each_of_its_names() -> None:
    with FakeMessages(["Here."]) as fake, sdk(fake, over_http=True) as client:
        assert streamed(client).stop_reason == "end_turn"
        port = int(fake.url.rpartition(":")[2])
        with socket.create_connection(("localhost", port), timeout=5):
            pass


@pytest.mark.parametrize("forbidden", [True, False])
def test_processes_of_a_test_inherit_it(forbidden: bool) -> None:
    code = (
        "import os\n"
        "from hikidashi.testing import forbid_real_requests\n"
        + ("forbid_real_requests(); forbid_real_requests()\n" if forbidden else "")
        + "from hikidashi.config.settings import load_settings\n"
        "print(load_settings(None).memory.local_only)"
    )
    environ = {name: value for name, value in python_environ().items() if name != "HIKIDASHI_MEMORY_LOCAL_ONLY"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == str(forbidden)


def test_it_may_be_called_twice() -> None:
    forbid_real_requests()
    with pytest.raises(RealRequestError):
        by_name()
