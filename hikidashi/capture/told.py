"""Command lines as they are told to people: in one line, redacted, with what was needed to make them work."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from hikidashi.capture.grammar import Invocation, Reading, read_line
from hikidashi.capture.passages import cut, one_line
from hikidashi.redact import redact

__all__ = ["MAX_COMMAND", "parsed", "told"]

#: Characters of a told command at most, and of a line that is told as a whole.
MAX_COMMAND: Final = 300
_MAX_LINE: Final = 160

#: What only makes ready for the call; a line of it and the call is told as it was typed.
_MAKES_READY: Final = frozenset(
    {
        "cd",
        "pushd",
        "source",
        ".",
        "export",
        "set",
        "env",
        "eval",
        "sleep",
        "mkdir",
        "nvm",
        "fnm",
        "conda",
        "pyenv",
        "asdf",
    }
)
#: A selection of the output at the end of a line: it has no part in what worked.
_SELECTION: Final = re.compile(
    r"(?: *(?:2>&1|&>1|2>/dev/null))? *(?:\|&? *(?:tail|head|grep|cat|tee|less|sed|awk|sort|uniq|wc"
    r"|Select-(?:Object|String)|Out-(?:String|Host))\b.*)?$"
)
#: Wrappers that are needed again; `time`, `timeout` and their like are not.
_NEEDED: Final = re.compile(r"^(?:sudo|npx|bunx|uvx|pipx run|python -m|.+ (?:exec|run|dlx))$")
_UNQUOTED: Final = re.compile(r"[^\s'\"`;&|<>()]+")

#: What stands for something taken out (`<secret>`), by hand or by a program: no redirection, though a shell reads one.
_TAKEN_OUT: Final = re.compile(r"(?<=[\s='\":/@])<([A-Za-z][\w-]{2,30})>(?=[\s'\":/@.,;)]|\Z)")


@lru_cache(maxsize=1_024)
def parsed(line: str) -> Reading:
    """A line taken apart; what was read lately is remembered."""
    return read_line(_TAKEN_OUT.sub(r"‹\1›", line) if "<" in line else line)


@lru_cache(maxsize=256)
def told(line: str) -> list[str]:
    """For each program that a line calls how to call it, redacted.

    The line is redacted as it was typed: taking it apart loses the quotes and blanks that give a secret away.
    """
    clean = redact(line)
    reading = parsed(line)
    if clean != line:
        other = parsed(clean)
        if [one.words[:1] for one in other.invocations] == [one.words[:1] for one in reading.invocations]:
            reading = other
    whole = _SELECTION.sub("", one_line(clean)) if "\n" not in clean.strip() else ""
    return [
        whole if _is_all(one, reading, whole) else cut(one_line(redact(_typed(one))), MAX_COMMAND)
        for one in reading.invocations
    ]


def _is_all(invocation: Invocation, reading: Reading, whole: str) -> bool:
    """Whether the line holds nothing but the call and what makes ready for it."""
    if not whole or len(whole) > _MAX_LINE or "<<" in whole:
        return False
    filters = set(invocation.filters)
    return all(
        one is invocation or one.words in filters or (one.words and one.words[0] in _MAKES_READY)
        for one in reading.invocations
        if not (invocation.via and not one.via)  # the `ssh` that carried it
    )


def _typed(invocation: Invocation) -> str:
    """An invocation as it could be typed."""
    environ = [f"{name}={_quoted(value)}" for name, value in invocation.environ.items()]
    wrappers = [wrapper for wrapper in invocation.wrappers if _NEEDED.match(wrapper)]
    words = " ".join([*environ, *wrappers, *map(_quoted, invocation.words)])
    if invocation.folder and not invocation.host:
        words = f"cd {_quoted(invocation.folder)} && {words}"
    return (
        f"ssh {invocation.host} {_quoted(words, elsewhere=True)}"
        if invocation.via == "ssh" and invocation.host
        else words
    )


#: What the shell filled in, as far as a word tells: `$(date)`, `$PORT`, but not the `$1` of awk.
_FILLED: Final = re.compile(r"\$(?:\(|\{|[A-Z][A-Z0-9_]{2})")


def _quoted(word: str, *, elsewhere: bool = False) -> str:
    """A word as a person would quote it; `elsewhere`: what is filled in is filled in over there."""
    if word and _UNQUOTED.fullmatch(word):
        return word
    if not elsewhere and _FILLED.search(word):
        return '"' + word.replace('"', '\\"') + '"'
    if "'" not in word:
        return f"'{word}'"
    return '"' + word.replace('"', '\\"') + '"'
