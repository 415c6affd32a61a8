"""What words and standard input hold once the line's own variables and heredocs are put in."""

from __future__ import annotations

import re
from typing import Final

from hikidashi.capture.grammar_notes import Notes
from hikidashi.capture.grammar_parts import Part, Simple, Word
from hikidashi.capture.grammar_state import Shell
from hikidashi.capture.grammar_words import SPECIAL, expand, unquote

__all__ = ["Filling"]

#: Characters of a variable's value that are put in for it: a line could double it again and again.
_MAX_VALUE: Final = 300

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Filling(Notes):
    """The part of a walk that turns what is written into what a program gets."""

    def __init__(self) -> None:
        super().__init__()
        #: Place-holders of the heredocs of the text being walked, and their bodies.
        self.bodies: dict[str, str] = {}
        #: Those whose delimiter was quoted, so that nothing in them is expanded; and the bodies that were.
        self.literal: set[str] = set()
        self.filled: set[str] = set()

    def fed(self, part: Part, shell: Shell) -> str | None:
        """The text that a command puts into the pipe behind it, when the line shows it."""
        if not isinstance(part, Simple) or not part.words:
            return None
        words = [unquote(word.raw, shell.known) for word in part.words]
        if words[0] == "cat" and len(words) == 1:
            return self.stdin(part, shell)
        if words[0] in ("echo", "printf") and not any(word.scripts for word in part.words):
            text = " ".join(word for word in words[1:] if word not in ("-e", "-n", "-E", "%s\\n", "%s"))
            return (text.replace("\\n", "\n") if words[0] == "printf" or "-e" in words else text).rstrip("\n") + "\n"
        return None

    def stdin(self, part: Part, shell: Shell) -> str | None:
        """The text of a heredoc or here-string."""
        for redirect in reversed(part.redirects):
            if redirect.operator == "<<<":
                return unquote(redirect.target.raw, shell.known)
            if redirect.operator == "<" and redirect.target.raw in self.bodies:
                body = self.bodies[redirect.target.raw]
                if "$" not in body or redirect.target.raw in self.literal:
                    return body
                body = expand(body, shell.known)
                self.filled.add(body)
                return body
        return None

    def value(self, raw: str, shell: Shell) -> str:
        """A word unquoted, with place-holders of heredocs put back."""
        text = unquote(raw, shell.known) if SPECIAL.search(raw) else raw
        if self.bodies and "__heredoc_" in text:
            for mark, body in self.bodies.items():
                text = text.replace(f"$(cat <{mark}\n)", body.rstrip("\n")).replace(f"<{mark}", "<<EOF")
        return text

    def values(self, part: Simple, shell: Shell) -> list[str]:
        """The words as the program gets them."""
        found = []
        for word in part.words:
            raw = word.raw
            text = self.value(raw, shell)
            if raw[:1] == "$" and text != raw and " " in text:  # an unquoted variable falls apart at its blanks
                found += text.split()
            else:
                found.append(text)
        return found

    def assign(self, shell: Shell, name: str, word: Word, value: str) -> None:
        """`A=b` on its own: a value the line shows, unless it is made by a command or comes from elsewhere."""
        if not _NAME.fullmatch(name) or word.scripts or "$" in value or word.raw[:1] == "(" or len(value) > _MAX_VALUE:
            shell.known.pop(name.rstrip("+"), None)
        else:
            shell.known[name] = value
            if name in shell.exported:
                shell.exported[name] = value
