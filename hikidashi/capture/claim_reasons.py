"""Why what a model claims is dropped: the fixed list, in codes and in words. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

__all__ = ["REASONS", "Reason"]

#: Why a claim was dropped.
Reason = Literal[
    "unknown-kind",
    "incomplete",
    "unknown-event",
    "wrong-speaker",
    "wrong-event",
    "not-word-for-word",
    "no-quote",
    "speaks-for-the-person",
    "not-a-source",
    "copied",
    "not-shown",
    "secret",
    "unfit-key",
    "twice",
    "stands",
    "too-many",
]

#: Each reason in the words of a report.
REASONS: Final[Mapping[Reason, str]] = {
    "unknown-kind": "of a kind that there is not",
    "incomplete": "without a title, a body or a key",
    "unknown-event": "names an event that was not shown",
    "wrong-speaker": "somebody else said it than is claimed",
    "wrong-event": "the quote stands in another event than is named",
    "not-word-for-word": "the quote stands in no event",
    "no-quote": "claimed of the person, or a fact, without a quote of 12 characters",
    "speaks-for-the-person": "tells what the person said or wants, which its evidence does not show",
    "not-a-source": "a tool's output, external or pasted text makes no such thing",
    "copied": "the words stood in a tool's output or in external or pasted text before",
    "not-shown": "a capability without a call that succeeded",
    "secret": "holds a secret",
    "unfit-key": "its key cannot be kept",
    "twice": "claimed twice",
    "stands": "stands already",
    "too-many": "more than one chunk can have",
}
