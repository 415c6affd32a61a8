"""Shell lines taken apart by a real grammar: which programs ran, and what the line's end says of each.

It reads for judging, never for running. What cannot be known from the text alone (a variable's value, the
branch an `if` took) is said as unknown instead of guessed.

There are two readers of shell lines, for two jobs. `shell.py` wants the one command a line was run for, in a form under
which two runs are the same; it reads every call of every session and must be as cheap as a pattern. This one
wants all programs of a line and what is proven of each; it is asked only where a known tool is named.
"""

from __future__ import annotations

from hikidashi.capture.grammar_flow import MAX_PARSED, MAX_TEXT, Walk
from hikidashi.capture.grammar_reading import Invocation, Reading
from hikidashi.capture.grammar_state import Place, Shell
from hikidashi.capture.grammar_windows import dialect_of

__all__ = ["MAX_PARSED", "MAX_TEXT", "Invocation", "Reading", "read_line"]


def read_line(text: str) -> Reading:
    """Take a command line apart. Never raises; the time is bounded, whatever the text is.

    Of a text above `MAX_TEXT` characters, or above `MAX_PARSED` without the bodies of its heredocs, the beginning is
    read and `broken` said.
    """
    walk = Walk()
    if not text.isascii():  # a lone surrogate, as broken logs have it, is no character
        text = text.encode("utf-8", "replace").decode("utf-8")
    if "\0" in text or "\r" in text:
        text = text.replace("\r\n", "\n").replace("\0", " ")
    dialect = dialect_of(text)
    if dialect == "sh":
        walk.text(text, Place(), Shell())
    else:
        walk.windows(text[:MAX_PARSED], dialect, Place(), Shell())
        walk.broken |= len(text) > MAX_PARSED
    return Reading(invocations=walk.invocations(), broken=walk.broken, dialect=dialect)
