"""The switch that makes a request to a real server an error, for whole test suites."""

from __future__ import annotations

import ipaddress
import os
import sys
from typing import Any, Final

__all__ = ["RealRequestError", "forbid_real_requests"]

#: `memory.local_only` in the environment: what processes that a test starts go by.
_VARIABLE: Final = "HIKIDASHI_MEMORY_LOCAL_ONLY"

_forbidden = False


class RealRequestError(BaseException):
    """A test reached for an address that is not this machine's.

    No `Exception`: code under test turns those into failures of the network, and a test of such a failure would pass.
    """


def forbid_real_requests() -> None:
    """From now on this process looks up no name and connects to no address but its own machine's.

    It can't be switched off, for neither can the hook that it needs. Processes started from here on inherit
    `memory.local_only` in their environment, with which Hikidashi sends nothing elsewhere.
    """
    global _forbidden
    os.environ[_VARIABLE] = "1"
    if not _forbidden:
        _forbidden = True
        sys.addaudithook(_guard)


def _guard(event: str, args: tuple[Any, ...]) -> None:
    if event == "socket.getaddrinfo":
        host = args[0]
    elif event in ("socket.connect", "socket.sendto"):
        address = args[1]
        if not isinstance(address, tuple):  # a socket in the file system
            return
        host = address[0]
    else:
        return
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if name is not None and not _is_here(str(name)):
        raise RealRequestError(f"a test reached for the network: {name}; give it a fake or an address of loopback")


def _is_here(name: str) -> bool:
    if name in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False
