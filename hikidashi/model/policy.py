"""The one policy of asking again: when, how often, and how long to wait before (design section 6, "Outcomes").

The SDK's own retries are off: they would wait inside a request that budgets and the claim's heartbeat know nothing of.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from hikidashi.errors import ModelFailure

if TYPE_CHECKING:
    from tenacity import RetryCallState, Retrying

__all__ = ["FIRST_WAIT", "LONGEST_ASKED_WAIT", "LONGEST_WAIT", "asked_wait", "make_policy", "wait_before"]

#: Seconds before the second attempt; each further wait is twice as long.
FIRST_WAIT: Final = 2.0
#: No wait grows past this by itself.
LONGEST_WAIT: Final = 60.0
#: A server that asks for a longer wait than this is not waited for: the run ends and says until when.
LONGEST_ASKED_WAIT: Final = 120.0

#: What a server may ask for at most, a week; more is a mistake in its header.
_MOST_BELIEVED: Final = 7 * 86_400.0


def asked_wait(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds that an answer's headers ask to wait; None when they ask for nothing that makes sense.

    `retry-after-ms` goes before `retry-after`, which holds seconds or a date (RFC 9110, 10.2.3).
    """
    wait = _number(headers.get("retry-after-ms"))
    if wait is not None:
        wait /= 1000
    else:
        text = headers.get("retry-after")
        wait = _number(text)
        if wait is None and text:
            try:
                until = parsedate_to_datetime(text)
            except (ValueError, OverflowError):
                return None
            wait = max(0.0, ((until if until.tzinfo else until.replace(tzinfo=UTC)) - now).total_seconds())
    return None if wait is None else min(wait, _MOST_BELIEVED)


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def wait_before(attempt: int, asked: float | None) -> float:
    """Seconds to wait after failed attempt number `attempt` (from 1): as asked for, else 2, 4, 8 … 60."""
    return asked if asked is not None else min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(attempt - 1, 30))


def make_policy(attempts: int, *, sleep: Callable[[float], None]) -> Retrying:
    """At most `attempts` attempts; only after a `ModelFailure` that may pass, and not one with a longer wait than
    is sensible. The last failure is raised as it is.
    """
    from tenacity import Retrying, retry_if_exception, stop_after_attempt

    def wait(state: RetryCallState) -> float:
        failure = state.outcome.exception() if state.outcome is not None else None
        return wait_before(state.attempt_number, failure.wait if isinstance(failure, ModelFailure) else None)

    return Retrying(
        stop=stop_after_attempt(attempts), wait=wait, retry=retry_if_exception(_again), sleep=sleep, reraise=True
    )


def _again(error: BaseException) -> bool:
    return isinstance(error, ModelFailure) and error.again and (error.wait or 0.0) <= LONGEST_ASKED_WAIT
