"""Where evidence stands and who vouches for it. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from hikidashi.times import parse_time

__all__ = ["TRUSTS", "Source", "Trust", "trust_rank"]

#: Who vouches, best first (design section 5.6).
Trust = Literal["user", "assistant", "tool", "external"]

#: The same words as a tuple.
TRUSTS: Final[tuple[Trust, ...]] = get_args(Trust)


def trust_rank(trust: str) -> int:
    """0 for `user`, the best, up to 3 for `external`. Raises `ValueError` for another word."""
    return TRUSTS.index(trust)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where an entry's evidence stands. Attached by the program, never by a model."""

    host: str
    session_id: str
    #: First and last line, 0-based, inclusive.
    lines: tuple[int, int]
    #: Uuids of those lines; '' where a line has none.
    uuids: tuple[str, str]
    #: ISO 8601 time of the anchor event.
    at: str

    def to_dict(self) -> dict[str, object]:
        """The form in entry files and front matter."""
        return {
            "host": self.host,
            "session_id": self.session_id,
            "lines": list(self.lines),
            "uuids": list(self.uuids),
            "at": self.at,
        }

    @classmethod
    def from_dict(cls, data: object) -> Source:
        """Read `to_dict`'s form. Raises `ValueError` that names what is wrong."""
        if not isinstance(data, Mapping):
            raise ValueError("source is not a mapping")
        host, session_id, at = data.get("host"), data.get("session_id"), data.get("at")
        lines, uuids = data.get("lines"), data.get("uuids")
        if not (isinstance(host, str) and isinstance(session_id, str) and isinstance(at, str)):
            raise ValueError("source needs host, session_id and at as text")
        parse_time(at)
        if not (isinstance(lines, list) and len(lines) == 2 and all(type(n) is int and n >= 0 for n in lines)):
            raise ValueError("source.lines is not [first, last]")
        if not (isinstance(uuids, list) and len(uuids) == 2 and all(isinstance(u, str) for u in uuids)):
            raise ValueError("source.uuids is not [first, last]")
        return cls(host=host, session_id=session_id, lines=(lines[0], lines[1]), uuids=(uuids[0], uuids[1]), at=at)
