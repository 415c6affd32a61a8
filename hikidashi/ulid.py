"""ULIDs: 26 characters of Crockford's base 32 that sort by time. Standard library only.

Run IDs are random ULIDs; entry IDs are computed ones (design section 5.3).
"""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import UTC, datetime
from typing import Final

__all__ = ["ULID_PATTERN", "computed_ulid", "is_ulid", "random_ulid", "ulid_time"]

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_MAX_MILLISECONDS: Final = (1 << 48) - 1

#: What a ULID looks like; the first character is at most 7, since 26 characters hold 130 bits.
ULID_PATTERN: Final = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")


def _encode(value: int) -> str:
    characters = []
    for _ in range(26):
        characters.append(_ALPHABET[value & 31])
        value >>= 5
    return "".join(reversed(characters))


def _milliseconds(at: datetime) -> int:
    return min(max(int(at.timestamp() * 1000), 0), _MAX_MILLISECONDS)


def computed_ulid(at: datetime, *parts: str) -> str:
    """A ULID of `at` (aware) and 80 bits of SHA-256 over `parts`: the same input gives the same ID."""
    digest = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).digest()
    return _encode((_milliseconds(at) << 80) | int.from_bytes(digest[:10]))


def random_ulid(at: datetime) -> str:
    """A ULID of `at` (aware) and 80 random bits."""
    return _encode((_milliseconds(at) << 80) | int.from_bytes(secrets.token_bytes(10)))


def is_ulid(text: str) -> bool:
    """Whether `text` has the form of a ULID."""
    return ULID_PATTERN.fullmatch(text) is not None


def ulid_time(ulid: str) -> datetime:
    """The time in the first 48 bits of `ulid`, in UTC."""
    value = 0
    for character in ulid[:10]:
        value = (value << 5) | _ALPHABET.index(character)
    return datetime.fromtimestamp(value / 1000, tz=UTC)
