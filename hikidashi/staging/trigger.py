"""Whether enough waits in staging for a run to start by itself (design section 5.8).

It answers with a reason or with None; starting a process is the caller's business.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from hikidashi.staging.backlog import StagingTotals
from hikidashi.times import parse_time

if TYPE_CHECKING:  # pydantic takes a third of a second to load, and the settings come in ready
    from hikidashi.config.settings import Settings

__all__ = ["over_threshold"]


def over_threshold(totals: StagingTotals, settings: Settings, now: datetime) -> str | None:
    """Why a run should start, in one line; None while none of the three limits of `staging.*` is reached.

    An entry "from the future" (the clock was set back) is as old as nothing: the other limits still hold.
    """
    if not totals.entries:
        return None
    limits = settings.staging
    if totals.entries >= limits.max_files:
        waiting = "1 entry waits" if totals.entries == 1 else f"{totals.entries} entries wait"
        return f"{waiting} (staging.max_files is {limits.max_files})"
    if totals.bytes >= limits.max_bytes:
        return f"{totals.bytes} bytes of entries wait (staging.max_bytes is {limits.max_bytes})"
    if totals.oldest_at is not None:
        hours = (now - parse_time(totals.oldest_at)).total_seconds() / 3600
        if hours >= limits.max_age_hours:
            return f"an entry has waited {hours:.0f} hours (staging.max_age_hours is {limits.max_age_hours:g})"
    return None
