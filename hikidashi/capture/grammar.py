"""Shell lines taken apart by a real grammar: which programs ran, and what the line's end says of each.

It reads for judging, never for running. What cannot be known from the text alone (a variable's value, the
branch an `if` took) is said as unknown instead of guessed.

There are two readers of shell lines, for two jobs. `shell.py` wants the one command a line was run for, in a form under
which two runs are the same; it reads every call of every session and must be as cheap as a pattern. This one
wants all programs of a line and what is proven of each; it is asked only where a known tool is named.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from hikidashi.capture.grammar_flow import Walk
from hikidashi.capture.grammar_reading import Invocation, Reading
from hikidashi.capture.grammar_state import Place, Shell

__all__ = ["MAX_PARSED", "Invocation", "Reading", "read_line"]

#: Characters of a line that are parsed; of a longer one nothing is sure.
MAX_PARSED: Final = 20_000


def _doubtful(invocation: Invocation) -> Invocation:
    return replace(invocation, code="unknown", ran="maybe")


def read_line(text: str) -> Reading:
    """Take a command line apart. Never raises; the time is bounded, whatever the text is."""
    walk = Walk()
    cut = text[:MAX_PARSED].replace("\0", " ")
    walk.text(cut, Place(), Shell())
    broken = walk.broken or len(text) > MAX_PARSED
    found = map(_doubtful, walk.found) if broken else walk.found
    return Reading(invocations=tuple(found), broken=broken)
