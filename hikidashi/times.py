"""Times as text and back. Standard library only.

All stored times are UTC, ISO 8601, milliseconds, `Z`. Functions that need "now" take a `Clock`, so that
tests can set it back and forward.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

__all__ = ["Clock", "format_time", "now", "parse_time"]

#: Gives the present moment, aware, in UTC.
Clock = Callable[[], datetime]


def now() -> datetime:
    """The system's clock."""
    return datetime.now(UTC)


def format_time(at: datetime) -> str:
    """`2026-05-03T09:30:00.000Z` for an aware datetime."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """The aware datetime (UTC) of an ISO 8601 text; a text without zone is taken as UTC.

    Raises `ValueError` for anything else.
    """
    at = datetime.fromisoformat(text)
    try:
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except OverflowError as exc:  # in year 1 or 9999, with a zone that leads out of it
        raise ValueError(f"{text!r} is out of range") from exc
