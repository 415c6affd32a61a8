"""Exit codes that a command line prints itself: `make; echo "exit: $?"`, `make | tail; echo ${PIPESTATUS[0]}`.

The shell's own end is then that of `echo`, always 0; what it printed tells how the call before it ended.
"""

from __future__ import annotations

import re
from typing import Final

from hikidashi.capture.grammar import Invocation, Reading

__all__ = ["echoed_code"]

_LAST: Final = "$?"
#: The first program of a pipe, in bash and zsh.
_FIRST: Final = ("${PIPESTATUS[0]}", "$PIPESTATUS", "${pipestatus[1]}", "$pipestatus[1]")


def echoed_code(invocation: Invocation, reading: Reading, output: str) -> int | None:
    """The exit code of a call as an `echo` right behind it printed it; None when none did, or not clearly."""
    calls = reading.invocations
    at = next((number for number, other in enumerate(calls) if other is invocation), len(calls))
    if invocation.ran != "surely" or at + 1 >= len(calls):
        return None
    piped = 0
    for words in invocation.filters:  # those of a pipe stand right behind it
        if at + 1 + piped < len(calls) and calls[at + 1 + piped].words == words:
            piped += 1
    echo = at + 1 + piped
    if echo >= len(calls):
        return None
    code = _code_in(calls[echo], _FIRST if piped else (_LAST,))
    if not code:
        return None
    text = _text(calls[echo])
    before, _, after = text.partition(code)
    printed = re.findall(rf"^{re.escape(before)}(\d{{1,3}}){re.escape(after)}\s*$", output, re.MULTILINE)
    echoes = [number for number, other in enumerate(calls) if _text(other) == text]
    return int(printed[echoes.index(echo)]) if len(printed) == len(echoes) else None


def _text(invocation: Invocation) -> str:
    """What an `echo` prints, before the shell fills it in; '' for other programs."""
    words = invocation.words
    return " ".join(word for word in words[1:] if word not in ("-e", "-n")) if words[:1] == ("echo",) else ""


def _code_in(invocation: Invocation, names: tuple[str, ...]) -> str:
    """By which of these names an `echo` prints an exit code; '' when by none, or when it prints other variables."""
    text = _text(invocation)
    name = next((name for name in names if name in text), "")
    return name if name and "$" not in text.replace(name, "", 1) else ""
