"""Commands in processes that can be killed at any step."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.support.commands import Commands


@pytest.fixture(scope="module")
def run() -> Iterator[Commands]:
    """The command line, in forked processes."""
    if sys.platform == "win32":
        pytest.skip("os.fork and SIGKILL")
    with Commands() as commands:
        yield commands
