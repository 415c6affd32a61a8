"""How a family of prefixed tokens is described and found.

A family is a prefix that its provider reserved, and the alphabet and length of what follows. It is found by
looking for the prefix and measuring the run of the alphabet after it: one step over each character, whatever
the text is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from hikidashi.redact.joints import MAX_PIECES, joint_at, next_piece
from hikidashi.redact.values import is_random, is_variable

__all__ = ["ALNUM", "CUT_LENGTH", "DIGITS_AND_CAPITALS", "HEX", "WORD", "Family", "Secret", "family", "starts_clean"]

#: Alphabets, as the inside of a character class.
ALNUM: Final = "A-Za-z0-9"
WORD: Final = r"A-Za-z0-9_\-"
HEX: Final = "0-9a-f"
DIGITS_AND_CAPITALS: Final = "A-Z0-9"

_ALPHABET_NAMES: Final = {
    ALNUM: "letters and digits",
    WORD: "letters, digits, `_` and `-`",
    HEX: "hexadecimal digits",
    DIGITS_AND_CAPITALS: "capitals and digits",
}

#: A token that the end of the text cuts off is known by its prefix and this many characters.
CUT_LENGTH: Final = 12

#: A prefix of so many characters stands before nothing else.
_LONG_PREFIX: Final = 10

#: A body without digits whose parts are lower-case words: `sk-ant-your-key-goes-here`.
_WORDS_ONLY: Final = re.compile(
    r"(?:[a-z]{1,15}[-_.]){1,12}[a-z]{1,15}|(?i:.{0,20}(?:your|placeholder|example-).{0,60})"
)


#: What stands before a digest in base64, which may begin like a token by chance.
_DIGESTS: Final = ("sha1-", "sha256-", "sha256=", "sha256:", "sha384-", "sha512-", "sha512=")
#: `MyComponentTest2` and `v2-release-2024`: names behind a prefix such as `app-`.
_NAME: Final = re.compile(r"(?:[A-Z][a-z]++|[a-z]{2,}+|[A-Z]{2,}+|\d{1,4}|[\-_.])++")
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
#: Names have their digits at the end: `migration20240102`.
#: Characters in a line of wrapped base64.
_WIDTHS: Final = frozenset((60, 64, 70, 72, 76))
_BASE64_CHARACTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_DIGIT_INSIDE: Final = re.compile(r"\d[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret's place in a text: `text[start:end]`."""

    #: Family name, as it appears in `[redacted:kind]`.
    kind: str
    start: int
    end: int


def _is_mixed(body: str) -> bool:
    """Digits, or both cases: what tells twelve characters of a token from a word."""
    return any(char.isdigit() for char in body) or (body != body.lower() and body != body.upper())


def _is_torn(body: str) -> bool:
    """True when the head of a body is no name or word, behind a prefix that names and words have too."""
    if body != body.lower() and body != body.upper():
        words = _WORD.findall(body)
        return not _NAME.fullmatch(body) or sum(map(len, words)) < 4 * len(words)
    return sum(map(str.isdigit, body)) >= 2 and _DIGIT_INSIDE.search(body) is not None


def _in_wrapped_base64(text: str, start: int, prefix: str) -> bool:
    """True when a line of base64 begins at `start` below another one: of a certificate, of an image in a mail."""
    for line_end in ("\n", "\\n"):
        if text.endswith(line_end, max(0, start - 2), start):
            above = text[max(0, start - len(line_end) - 80) : start - len(line_end)]
            line = above[len(above.rstrip(_BASE64_CHARACTERS)) :]
            return len(line) in _WIDTHS and not line.startswith(prefix)
    return False


def starts_clean(text: str, start: int, refused: str = "") -> bool:
    """True when no ASCII letter or digit (and none of `refused`) stands before `start`.

    The letter of an escape such as `\\n` in a JSON string is no letter.
    """
    if start == 0:
        return True
    before = text[start - 1]
    if before in refused:
        return False
    if not (before.isascii() and before.isalnum()):
        return True
    return before in "nrtbf" and start > 1 and text[start - 2] == "\\"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One row of the table of prefixed tokens."""

    kind: str
    #: Who issues it.
    provider: str
    #: Any of these starts the token (or, for an `infix` family, stands in it). Case counts.
    prefixes: tuple[str, ...]
    #: Inside of the character class of what follows.
    alphabet: str
    #: Characters that follow at least (for an `infix` family: characters of the whole token).
    length: int
    #: Exactly `length`, not more: for short prefixes and alphabets that other things share.
    exact: bool = False
    #: The prefix stands in the middle: the token reaches to the left as well.
    infix: bool = False
    #: Characters before the prefix that rule it out, for prefixes that base64 or identifiers may hold.
    not_after: str = ""
    #: Characters that follow as a rule, where that is more than `length`; a shorter body may go on behind a joint.
    usual: int = 0
    #: `usual` is meant for bodies that hold this: for a provider that has a short form and a long one.
    long_form: str = ""
    #: Last word on a whole body.
    check: Callable[[str], bool] | None = None
    _run: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_run", re.compile(f"[{self.alphabet}]*+"))

    @property
    def shape(self) -> str:
        """The shape in words, for the documentation; no example that a scanner could take for a live one."""
        alphabet = _ALPHABET_NAMES.get(self.alphabet) or "characters of `" + self.alphabet.replace("\\", "") + "`"
        count = f"{self.length}" if self.exact else f"{self.length} or more"
        prefixes = ", ".join(f"`{prefix}`" for prefix in self.prefixes)
        if self.infix:
            return f"{count} {alphabet} with {prefixes} among them"
        return f"{prefixes} + {count} {alphabet}"

    def find(self, text: str) -> Iterator[Secret]:
        """The tokens of this family, in order for each prefix."""
        for prefix in self.prefixes:
            at = text.find(prefix)
            while at >= 0:
                match = self._run.match(text, at + len(prefix))
                assert match is not None  # an empty run matches too
                start = self._left(text, at) if self.infix else at
                end = match.end()
                if starts_clean(text, start, self.not_after) and not (
                    self.not_after and _in_wrapped_base64(text, start, prefix)
                ):
                    body = at + len(prefix)
                    end = self._broken(text, start, body, end) or self._end(text, start, body, end)
                    if end and not text.endswith(_DIGESTS, 0, start):
                        yield Secret(self.kind, start, end)
                at = text.find(prefix, max(match.end(), end, at + len(prefix)))

    def _left(self, text: str, at: int) -> int:
        low = start = max(0, at - self.length)
        run = text[low:at]
        for offset in range(len(run), 0, -1):
            if self._run.fullmatch(run, offset - 1, offset) is None:
                start = low + offset
                break
        # The letter of an escape such as `\\n` is not part of the token.
        return start + (text[start] in "nrtbf" and text[start - 1 : start] == "\\")

    def _broken(self, text: str, start: int, body_start: int, run_end: int) -> int:
        """Where a token ends that is broken over lines or strings; 0 when it is whole or no token."""
        body = text[body_start:run_end]
        joint = joint_at(text, run_end)
        if joint is None or self.infix or len(body) < 4:
            return 0
        if not _is_mixed(body) and body_start - start < _LONG_PREFIX:
            return 0
        end, whole = 0, max(self.length, self.usual if self.long_form in body else 0)
        for _ in range(MAX_PIECES):
            if len(body) >= whole and not joint.concatenated:
                break
            stop = next_piece(text, joint.end, self._run)
            if not stop or (self.exact and len(body) + stop - joint.end > self.length):
                break
            body += text[joint.end : stop]
            if len(body) >= self.length:
                end = stop
            joint = joint_at(text, stop)
            if joint is None:
                break
        if end and (is_variable(body) or (self.check is not None and not self.check(body))):
            return 0
        return end

    def _end(self, text: str, start: int, body_start: int, run_end: int) -> int:
        """Where the token ends; 0 when this is none."""
        body = text[start if self.infix else body_start : run_end]
        dots = len(body) - len(body.rstrip("."))
        body = body.rstrip(".")
        end = run_end - dots
        size = len(body)
        whole = size == self.length if self.exact else size >= self.length
        if self.exact and whole:
            whole = not (text[end : end + 1].isascii() and text[end : end + 1].isalnum())
        if not whole and (size < CUT_LENGTH or size > self.length or not _is_mixed(body)):
            return 0
        if not whole and not (self._is_cut(text, end, dots, body) or self._is_unmistakable(body)):
            return 0
        if is_variable(body) or _WORDS_ONLY.fullmatch(body):
            return 0
        if whole and self.check is not None and not self.check(body):
            return 0
        return end

    def _is_cut(self, text: str, end: int, dots: int, body: str) -> bool:
        if self.infix or (self.check is not None and not _is_torn(body)):
            return False
        if dots >= 3 or text.startswith(("...", "…"), end):
            return True
        if self.check is not None and len(text) - end > 4:
            return False  # of what stands inside a text only a prefix that nothing else has makes a token
        return not text[end : end + 4].strip("\"'`\n\r)}] ")

    def _is_unmistakable(self, body: str) -> bool:
        """A shorter body than the provider's is still a (cut or older) token when it is plainly random."""
        if self.exact or self.infix or self.not_after or len(self.prefixes[0]) < 4:
            return False
        if self.check is not None and not self.check(body):
            return False
        return is_random(body) and body != body.lower() and body != body.upper()


def family(
    kind: str,
    provider: str,
    prefixes: str,
    alphabet: str,
    length: int,
    *,
    exact: bool = False,
    infix: bool = False,
    not_after: str = "",
    usual: int = 0,
    long_form: str = "",
    check: Callable[[str], bool] | None = None,
) -> Family:
    """A row of the table; `prefixes` are separated by spaces."""
    return Family(
        kind=kind,
        provider=provider,
        prefixes=tuple(prefixes.split()),
        alphabet=alphabet,
        length=length,
        exact=exact,
        infix=infix,
        not_after=not_after,
        usual=usual,
        long_form=long_form,
        check=check,
    )
