"""JSON-RPC over two pipes: one message a line, read and written whole. Standard library only.

Whatever comes in, the reader goes on with the next line: bytes that are no JSON, a line without end, text that is not
UTF-8. A client that does not listen any more is no error either; nothing is sent to it then.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from typing import Any, Final

__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "MAX_LINE_BYTES",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "Message",
    "RpcError",
    "Writer",
    "parse",
    "read_lines",
]

#: One message, or what a line holds that should be one.
Message = dict[str, Any]

#: Codes of JSON-RPC 2.0, section 5.1.
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

#: A longer line is passed over without being kept; the largest request that makes sense has some thousand bytes.
MAX_LINE_BYTES: Final = 4 * 1024 * 1024

_CHUNK: Final = 64 * 1024


class RpcError(Exception):
    """A request that gets an error of the protocol for an answer. Carries its code and, where there is some, data."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code: Final = code
        self.data: Final = data

    def to_dict(self) -> dict[str, Any]:
        """The `error` member of the answer."""
        error: dict[str, Any] = {"code": self.code, "message": str(self)}
        return error if self.data is None else error | {"data": self.data}


def read_lines(descriptor: int, *, limit: int = MAX_LINE_BYTES) -> Iterator[bytes | None]:
    """The lines that come in until the other side closes; None for one of more than `limit` bytes."""
    buffer = bytearray()
    too_long = False
    while chunk := _read(descriptor):
        seen = len(buffer)
        buffer += chunk
        while (end := buffer.find(b"\n", seen)) >= 0:
            yield None if too_long or end > limit else bytes(buffer[:end])
            del buffer[: end + 1]
            seen, too_long = 0, False
        if too_long or len(buffer) > limit:
            too_long = True
            buffer.clear()
    if too_long:
        yield None
    elif buffer:
        yield bytes(buffer)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:  # a terminal that went away
        return b""


def parse(line: bytes | None) -> Any:
    """What stands in a line. Raises `RpcError` for what is no JSON."""
    if line is None:
        raise RpcError(PARSE_ERROR, f"the line has more than {MAX_LINE_BYTES:,} bytes: send less at once")
    try:
        return json.loads(line.decode("utf-8-sig"), parse_constant=_no_constant)
    except RecursionError:
        raise RpcError(PARSE_ERROR, "the line is nested too deep") from None
    except ValueError as exc:  # of the decoder too
        raise RpcError(PARSE_ERROR, f"the line is no JSON ({type(exc).__name__}): send one message a line") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


class Writer:
    """Sends messages, one a line, from any thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        #: The other side does not read any more.
        self.closed = False

    def __call__(self, message: Message) -> None:
        """Send one message; nothing once the other side is gone."""
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        data = memoryview(text.encode("utf-8", "replace") + b"\n")
        with self._lock:
            try:
                while data and not self.closed:
                    data = data[os.write(self._descriptor, data) :]
            except OSError:
                self.closed = True
