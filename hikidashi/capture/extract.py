"""The fold over a session's events that finds activities without a model (design section 5, "Without a model").

`SessionFold` takes the events of one transcript in order. Decisions and attempts are emitted where they happen;
the session's request is emitted by `settle`, once the session is at rest. The state between two readings is
small, redacted JSON; reading a file in pieces gives the same entries as reading it at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from hikidashi.capture import decisions
from hikidashi.capture.asks import ask_kind
from hikidashi.capture.attempts import Attempts, Solved
from hikidashi.capture.choices import contrastive_choice
from hikidashi.capture.passages import Passage, Place, cut, one_line
from hikidashi.capture.requests import Ending, Hard, Outcome, Turn, outcome_of
from hikidashi.capture.tasks import TASK_TOOLS, Tasks
from hikidashi.capture.topics import branch_topic, tickets_in
from hikidashi.capture.work import Work
from hikidashi.hosts.transcript import Event
from hikidashi.redact import redact
from hikidashi.source import Source
from hikidashi.staging.entry import Entry, EntryKind, EntryStatus, entry_id

__all__ = ["STATE_VERSION", "Met", "SessionFold", "Signal"]

#: A state of another version is not continued; its file is read from the start.
STATE_VERSION: Final = 1

#: Whether another session left the signal (kind, key).
Met = Callable[[str, str], bool]
