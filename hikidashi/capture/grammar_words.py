"""Shell words: quotes and escapes taken off, variables the line itself set put in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

__all__ = ["SPECIAL", "expand", "has_substitution", "scripts_in", "unquote"]

#: What makes a word differ from what is written.
SPECIAL: Final = re.compile(r"""['"\\$`]""")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACED_NAME: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)(?::?-([\w./:@-]*))?\}")
#: Escapes and variables in the body of a heredoc.
_BODY: Final = re.compile(
    r"\\(?P<escaped>[$`\\\n])|\$(?:(?P<name>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})", re.ASCII
)
_SCRIPT: Final = re.compile(r"\\.|\$\(\(|\$\(|`", re.DOTALL)
_PLAIN: Final = re.compile(r"""[^'"\\$`]+""")
_PLAIN_IN_QUOTES: Final = re.compile(r"""[^"\\$`]+""")
_ANSI: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "e": "\x1b", "a": "\a", "b": "\b"}


def has_substitution(raw: str) -> bool:
    """Whether a word as written may run a command of its own (`$(…)`, backticks, `<(…)`)."""
    return "$(" in raw or "`" in raw or "<(" in raw or ">(" in raw


def _closing(raw: str, at: int, opener: str, closer: str) -> int:
    """Index after the bracket that closes the one at `at`, quotes minded; the end of `raw` if none does."""
    depth, quote = 0, ""
    while at < len(raw):
        char = raw[at]
        if char == "\\" and quote != "'":
            at += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == opener:
            depth += 1
        elif char == closer:
            depth -= 1
            if not depth:
                return at + 1
        at += 1
    return len(raw)


def _expansion(raw: str, at: int, known: Mapping[str, str]) -> tuple[str, int]:
    """The expansion that starts with the `$` at `at`: its value if the line set it, else its own text; and its end."""
    after = raw[at + 1 : at + 2]
    if after == "(":
        end = _closing(raw, at + 1, "(", ")")
        return raw[at:end], end
    if after == "{":
        match = _BRACED_NAME.match(raw, at + 1)
        if match and match.group(1) in known:
            return known[match.group(1)], match.end()
        end = _closing(raw, at + 1, "{", "}")
        return raw[at:end], end
    match = _NAME.match(raw, at + 1)
    if match:
        return known.get(match.group(), raw[at : match.end()]), match.end()
    return raw[at : at + 2], at + 2


def _ansi(raw: str, at: int) -> tuple[str, int]:
    """The text of `$'…'` whose quote opens at `at`, and its end."""
    found = []
    while at < len(raw) and raw[at] != "'":
        if raw[at] == "\\" and at + 1 < len(raw):
            found.append(_ANSI.get(raw[at + 1], raw[at : at + 2]))
            at += 2
        else:
            found.append(raw[at])
            at += 1
    return "".join(found), at + 1


def _double_quoted(raw: str, at: int, known: Mapping[str, str]) -> tuple[str, int]:
    """The text of `"…"` after its opening quote, and its end."""
    found: list[str] = []
    while at < len(raw):
        char = raw[at]
        if char == '"':
            return "".join(found), at + 1
        if char == "\\":
            escaped = raw[at + 1 : at + 2]
            found.append("" if escaped == "\n" else escaped if escaped in '"\\$`' else char + escaped)
            at += 2
        elif char == "$":
            text, at = _expansion(raw, at, known)
            found.append(text)
        elif char == "`":
            end = raw.find("`", at + 1)
            end = len(raw) if end < 0 else end + 1
            found.append(raw[at:end])
            at = end
        else:
            match = _PLAIN_IN_QUOTES.match(raw, at)
            found.append(match.group() if match else char)
            at += len(found[-1])
    return "".join(found), at


def _piece(raw: str, at: int, known: Mapping[str, str]) -> tuple[str, int]:
    """One quoted, escaped or expanded piece that starts at `at`, and its end."""
    char = raw[at]
    if char == "'":
        end = raw.find("'", at + 1)
        end = len(raw) if end < 0 else end
        return raw[at + 1 : end], end + 1
    if char == '"':
        return _double_quoted(raw, at + 1, known)
    if char == "\\":
        escaped = raw[at + 1 : at + 2]
        return ("" if escaped == "\n" else escaped), at + 2
    if char == "`":
        end = raw.find("`", at + 1)
        end = len(raw) if end < 0 else end + 1
        return raw[at:end], end
    if raw.startswith("$'", at):
        return _ansi(raw, at + 2)
    if raw.startswith('$"', at):
        return _double_quoted(raw, at + 2, known)
    return _expansion(raw, at, known)


def unquote(raw: str, known: Mapping[str, str]) -> str:
    """The text of a word as the program gets it. `known`: variables whose value the line shows."""
    if not SPECIAL.search(raw):
        return raw
    found: list[str] = []
    at = 0
    while at < len(raw):
        match = _PLAIN.match(raw, at)
        if match:
            found.append(match.group())
            at = match.end()
        else:
            text, at = _piece(raw, at, known)
            found.append(text)
    return "".join(found)


def expand(body: str, known: Mapping[str, str]) -> str:
    """The body of a heredoc as the program gets it: quotes are plain characters in it."""

    def piece(match: re.Match[str]) -> str:
        if match.group("escaped"):
            return match.group("escaped").strip("\n")
        return known.get(match.group("name") or match.group("braced"), match.group())

    return _BODY.sub(piece, body)


def scripts_in(body: str) -> Iterator[str]:
    """The scripts that the body of a heredoc runs: `$(…)` and backticks."""
    at = 0
    while match := _SCRIPT.search(body, at):
        at = match.end()
        if match.group() == "$(":
            end = _closing(body, at - 1, "(", ")")
            yield body[at : end - 1]
            at = end
        elif match.group() == "`":
            end = body.find("`", at)
            end = len(body) if end < 0 else end
            yield body[at:end]
            at = end + 1
