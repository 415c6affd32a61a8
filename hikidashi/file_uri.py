"""A path as the address that SQLite opens read-only. Standard library only, and little of it: hooks use it."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Final

__all__ = ["file_uri"]

#: Bytes that stand for themselves in an address.
_SAFE: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/:")


def file_uri(path: Path | str) -> str:
    """The path as a `file:` address, whatever bytes it holds."""
    name = os.path.abspath(path).replace(os.sep, "/")  # noqa: PTH100
    quoted = "".join(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in os.fsencode(name))
    return f"file://{'' if quoted.startswith('/') else '/'}{quoted}"
