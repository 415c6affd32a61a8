"""The words of a prompt or a fact: folded, cut where scripts meet, without inflection. Standard library only.

A text is a row of tokens: words between spaces and signs, and chunks of Chinese, Japanese and Korean, which are
not cut into words but looked into (a name stands inside a chunk, a body's terms are its pairs of characters).
The same functions read what is indexed and what is asked, so that both meet.
"""

from __future__ import annotations

import re
from functools import lru_cache

from hikidashi.drawer.everyday import GENERIC, STOP
from hikidashi.drawer.inflection import stem

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

__all__ = [
    "MAX_WORD",
    "Token",
    "fold",
    "is_everyday",
    "pairs",
    "plain_tokens",
    "runs",
    "script_of",
    "terms",
    "tokens",
]

#: Longer words (hashes, encoded data) are nobody's name for anything.
MAX_WORD: Final = 48

#: A number with dots, C++ and C#, a run of letters and digits (an apostrophe inside belongs to it).
_TOKEN: Final = re.compile(r"v?\d+(?:\.\d+)+|c\+\+|[cf]#(?!\w)|[^\W_]+(?:['’][^\W_]+)*")
#: Vowel signs that are no letters for `re` but belong to the word (Hebrew, Arabic, Indic scripts, Thai): this pattern
#: is made when a text has some, since a hook pays for every pattern.
_SIGNS: Final = "\u0591-\u05bd\u064b-\u065f\u0900-\u0dff\u0e31-\u0e4e"
_CAMEL: Final = re.compile(r"[A-Z]?[a-z0-9]+(?:[A-Z][a-z0-9]+)+")
_HUMP: Final = re.compile(r"[A-Z]?[a-z0-9]+")
#: Accents of Latin, Greek and Cyrillic letters; the marks of kana stay.
_ACCENTS: Final = dict.fromkeys(range(0x300, 0x370))

#: A word of at most this length before an apostrophe is an article or a pronoun: l'application, qu'on.
_ELISION: Final = 2


class Token:
    """A word, or a chunk of Chinese, Japanese or Korean."""

    __slots__ = ("at", "chunk", "text", "written")

    def __init__(self, text: str, written: str, at: int, chunk: bool) -> None:
        #: A word is without accents, possessive and inflection; a chunk is as it stands.
        self.text = text
        #: The word before its inflection went; for a chunk the same as `text`.
        self.written = written
        #: The folded text's position: tokens of one text differ in it.
        self.at = at
        self.chunk = chunk


def fold(text: str) -> str:
    """`text` without the differences of case, width, composition and accents."""
    if text.isascii():
        return text.lower()
    from unicodedata import normalize  # loaded from a file of its own, which a hook need not do for English

    return normalize("NFKC", normalize("NFD", normalize("NFKC", text).casefold()).translate(_ACCENTS))


def tokens(text: str, start: int = 0) -> list[Token]:
    """The tokens of `text` in order, then the parts of its camelCase words; positions count from `start`.

    Never raises, whatever the text holds.
    """
    found = _tokens(fold(text), start)
    if not text.islower():
        parts = " ".join(" ".join(_HUMP.findall(word)) for word in _CAMEL.findall(text))
        found += _tokens(parts.lower(), start + len(text) * 20)  # folding makes 18 characters of one at most
    return found


def plain_tokens(text: str) -> list[Token]:
    """The tokens of `text` in order, camelCase words whole."""
    return _tokens(fold(text), 0)


def _tokens(folded: str, start: int) -> list[Token]:
    found: list[Token] = []
    for match in _pattern(folded).finditer(folded):
        text, at = match.group(), start + match.start()
        if text.isascii():
            _add_word(found, text, at)
            continue
        first = 0
        for place in range(1, len(text) + 1):
            if place == len(text) or bool(script_of(text[place])) != bool(script_of(text[first])):
                part = text[first:place]
                if script_of(part[0]):
                    found.append(Token(part, part, at + first, True))
                else:
                    _add_word(found, part, at + first)
                first = place
    return found


def _add_word(found: list[Token], text: str, at: int) -> None:
    word = _bare(text)
    if 1 < len(word) <= MAX_WORD or word.isdigit():
        found.append(Token(stem(word), word, at, False))


def _pattern(text: str) -> re.Pattern[str]:
    if text.isascii() or not any("\u0590" < char < "\u0e4f" for char in text):
        return _TOKEN
    return _pattern_with_signs()


@lru_cache(maxsize=1)
def _pattern_with_signs() -> re.Pattern[str]:
    return re.compile(_TOKEN.pattern.replace(r"[^\W_]", rf"(?:[^\W_]|[{_SIGNS}])"))


def _bare(word: str) -> str:
    """The word without apostrophes: blyck's, l'application, don't."""
    if "'" not in word and "’" not in word:
        return word
    head, *rest = word.strip("'’").replace("’", "'").split("'")
    if rest == ["s"]:
        return head
    return "".join(rest) if len(head) <= _ELISION else head + "".join(rest)


def script_of(char: str) -> str:
    """The script of a folded character that chunks are made of, '' for all others."""
    if char < "\u3005":
        return ""
    if "\u3041" <= char <= "\u309e":
        return "hiragana"
    if "\u30a1" <= char <= "\u30fe":
        return "katakana" if char != "・" else ""
    if "\uac00" <= char <= "\ud7a3":
        return "hangul"
    han = char <= "\u3007" or "\u3400" <= char <= "\u9fff" or "\uf900" <= char <= "\ufaff" or char >= "\U00020000"
    return "han" if han else ""


def runs(chunk: str) -> list[tuple[str, int, str]]:
    """The parts of a chunk, cut where the script changes: text, where it begins, script."""
    found = []
    start = 0
    for at in range(1, len(chunk) + 1):
        if at == len(chunk) or script_of(chunk[at]) != script_of(chunk[start]):
            found.append((chunk[start:at], start, script_of(chunk[start])))
            start = at
    return found


def pairs(run: str) -> list[str]:
    """Every two neighbouring characters; the character itself when there is one only."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def terms(text: str) -> set[str]:
    """What a fact's text is found by: its words, and the pairs of its chunks.

    Hiragana alone gives nothing: it is endings and particles, which every sentence has. Han characters stand alone
    too, since some words are one character.
    """
    found: set[str] = set()
    for token in tokens(text):
        if not token.chunk:
            if token.written not in STOP:
                found.add(token.text)
            continue
        for run, _, script in runs(token.text):
            if script != "hiragana":
                found.update(pairs(run))
            if script == "han":
                found.update(run)
    return found


def is_everyday(word: str) -> bool:
    """Whether a word (as written, folded) stands in prompts of every kind, so that it names nothing by itself."""
    return word in STOP or word in GENERIC or stem(word) in GENERIC
