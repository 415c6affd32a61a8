"""Heredocs lifted out of a line before it is parsed.

The grammar has trouble with what may follow `<<EOF` on its line (`;`, `&`, `)`), and bodies may be long. So each body
is taken out and a redirection from a place-holder put where its operator stood.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["Lifted", "lift"]

#: What matters to find a heredoc: quotes, brackets that open a context of their own, comments, line ends.
_TOKEN: Final = re.compile(
    r"""\\.|'[^']*'|"|`|\$\(\(|\$\(|\$\{|\(|\)|\}|\n|(?<![^\s;&|()])\#[^\n]*"""
    r"""|<<<|<<-?[ \t]*(?P<word>'[^'\n]*'|"[^"\n]*"|\\?[A-Za-z_][\w.-]*)""",
    re.DOTALL,
)

_LEADING_TABS: Final = re.compile(r"^\t+", re.MULTILINE)

#: Contexts inside quotes end with their own quote; more of them than this is not a person's line.
_MAX_DEPTH: Final = 200


class Lifted:
    """A line without the bodies of its heredocs."""

    __slots__ = ("bodies", "literal", "mark", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        #: Body texts in order, and whether each was quoted (nothing in it expands).
        self.bodies: list[str] = []
        self.literal: list[bool] = []
        self.mark = "__heredoc_"
        while self.mark in text:
            self.mark += "_"

    def body(self, word: str) -> str | None:
        """The body that a place-holder stands for; None for any other word."""
        if not word.startswith(self.mark):
            return None
        number = word[len(self.mark) :]
        return self.bodies[int(number)] if number.isdecimal() and int(number) < len(self.bodies) else None


def _take_body(text: str, at: int, delimiter: str, dash: bool) -> tuple[str, int]:
    """The body that starts at `at`, and where the text goes on after its closing line."""
    # Blanks behind the closing word close nothing in a real shell; people mean it though.
    tabs = r"\t*" if dash else ""
    closing = re.compile(rf"^{tabs}{re.escape(delimiter)}[ \t\r]*$", re.MULTILINE)
    close = closing.search(text, at)
    body = text[at : close.start()] if close else text[at:]
    if dash:
        body = _LEADING_TABS.sub("", body)
    if body and body[-1] != "\n":
        body += "\n"
    return body, close.end() if close else len(text)


class _Scan:
    """One pass over the text with a stack of what is open."""

    def __init__(self, lifted: Lifted) -> None:
        self.lifted = lifted
        self.source = lifted.text
        self.out: list[str] = []
        self.open: list[str] = [""]
        self.waiting: list[tuple[str, bool]] = []
        self.copied = 0

    def run(self) -> None:
        at = 0
        while len(self.open) < _MAX_DEPTH:
            match = _TOKEN.search(self.source, at)
            if not match:
                break
            at = self.step(match)
        self.out.append(self.source[self.copied :])
        if self.lifted.bodies:
            self.lifted.text = "".join(self.out)

    def step(self, match: re.Match[str]) -> int:
        """Take one token; where to go on."""
        token, quoted = match.group(), self.open[-1] == '"'
        if quoted and token[0] in "'#(<":
            return match.start() + 1
        if token == "\n":
            return self.line_end(match.end())
        if match.group("word"):
            if self.open[-1] not in ("((", "{"):
                self.heredoc(match)
            return match.end()
        self.bracket(token)
        return match.end()

    def bracket(self, token: str) -> None:
        top = self.open[-1]
        if token in ('"', "`"):
            if top == token:
                self.open.pop()
            else:
                self.open.append(token)
        elif token in ("$(", "(", "$((", "${"):
            self.open.append({"${": "{", "$((": "(("}.get(token, "("))
        elif token == ")" and top in ("(", "(("):
            self.open[-1:] = ["("] if top == "((" else []
        elif token == "}" and top == "{":
            self.open.pop()

    def heredoc(self, match: re.Match[str]) -> None:
        word = match.group("word")
        delimiter = word.lstrip("\\").strip("'\"")
        number = len(self.lifted.bodies) + len(self.waiting)
        self.out += [self.source[self.copied : match.start()], f"<{self.lifted.mark}{number}"]
        self.copied = match.end()
        self.waiting.append((delimiter, match.group().startswith("<<-")))
        self.lifted.literal.append(word[0] in "'\"\\")

    def line_end(self, at: int) -> int:
        """Take the bodies of the heredocs of the line that ended."""
        if not self.waiting or self.open[-1] == '"':
            return at
        self.out.append(self.source[self.copied : at - 1])
        for delimiter, dash in self.waiting:
            body, at = _take_body(self.source, at, delimiter, dash)
            self.lifted.bodies.append(body)
            at = min(at + 1, len(self.source))
        self.waiting.clear()
        self.copied = max(at - 1, 0) if self.source[at - 1 : at] == "\n" else at
        return at


def lift(text: str) -> Lifted:
    """`text` with its heredocs lifted out; untouched when there are none."""
    lifted = Lifted(text)
    if "<<" in text:
        scan = _Scan(lifted)
        scan.run()
        for _ in scan.waiting:  # the operator stands on the last line: there is no body
            lifted.bodies.append("")
    return lifted
