"""The words of a prompt or a fact: folded, cut where scripts meet, without inflection. Standard library only.

A text is a row of tokens: words between spaces and signs, and chunks of Chinese, Japanese and Korean, which are
not cut into words but looked into (a name stands inside a chunk, a body's terms are its pairs of characters).
The same functions read what is indexed and what is asked, so that both meet.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NamedTuple

from hikidashi.drawer.everyday import GENERIC, STOP
from hikidashi.drawer.inflection import stem

__all__ = [
    "MAX_WORD",
    "Run",
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

_HAN: Final = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HIRAGANA: Final = "\u3041-\u3096\u309d\u309e"
_KATAKANA: Final = "\u30a1-\u30fa\u30fc-\u30fe"
_HANGUL: Final = "\uac00-\ud7a3"
_CJK: Final = _HAN + _HIRAGANA + _KATAKANA + _HANGUL
#: Vowel signs that are no letters for `re` but belong to the word (Indic scripts, Thai, Arabic, Hebrew).
_SIGNS: Final = "\u0591-\u05bd\u064b-\u065f\u0900-\u0dff\u0e31-\u0e4e"
#: A number with dots, C++ and C#, a word (an apostrophe inside belongs to it), a chunk.
_TOKEN: Final = re.compile(
    rf"v?\d+(?:\.\d+)+|c\+\+|[cf]\#(?!\w)|(?:[^\W_{_CJK}]|[{_SIGNS}])+(?:['’][^\W_{_CJK}]+)*|[{_CJK}]+"
)
_CAMEL: Final = re.compile(r"[A-Z]?[a-z0-9]+(?:[A-Z][a-z0-9]+)+")
_HUMP: Final = re.compile(r"[A-Z]?[a-z0-9]+")
#: Accents of Latin, Greek and Cyrillic letters; the marks of kana stay.
_ACCENTS: Final = re.compile("[\u0300-\u036f]+")

#: A word of at most this length before an apostrophe is an article or a pronoun: l'application, qu'on.
_ELISION: Final = 2


class Token(NamedTuple):
    """A word, or a chunk of Chinese, Japanese or Korean."""

    #: A word is without accents, possessive and inflection; a chunk is as it stands.
    text: str
    #: The word before its inflection went; for a chunk the same as `text`.
    written: str
    #: The folded text's position: tokens of one text differ in it.
    at: int
    chunk: bool


class Run(NamedTuple):
    """A part of a chunk in one script."""

    text: str
    at: int
    #: han, hiragana, katakana, hangul
    script: str


def fold(text: str) -> str:
    """`text` without the differences of case, width, composition and accents."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", _ACCENTS.sub("", unicodedata.normalize("NFD", folded)))


def tokens(text: str) -> list[Token]:
    """The tokens of `text` in order, then the parts of its camelCase words. Never raises, whatever the text holds."""
    found = plain_tokens(text)
    if not text.islower():
        parts = " ".join(" ".join(_HUMP.findall(word)) for word in _CAMEL.findall(text))
        found += _tokens(parts.lower(), len(text) * 20)  # folding makes 18 characters of one at most
    return found


def plain_tokens(text: str) -> list[Token]:
    """The tokens of `text` in order, camelCase words whole."""
    return _tokens(fold(text), 0)


def _tokens(folded: str, start: int) -> list[Token]:
    found = []
    for match in _TOKEN.finditer(folded):
        text, at = match.group(), start + match.start()
        if script_of(text[0]):
            found.append(Token(text, text, at, True))
            continue
        word = _bare(text)
        if 1 < len(word) <= MAX_WORD or word.isdigit():
            found.append(Token(stem(word), word, at, False))
    return found


def _bare(word: str) -> str:
    """The word without apostrophes: blyck's, l'application, don't."""
    if "'" not in word and "’" not in word:
        return word
    head, *rest = word.replace("’", "'").split("'")
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


def runs(chunk: str) -> list[Run]:
    """The parts of a chunk, cut where the script changes."""
    found: list[Run] = []
    start = 0
    for at in range(1, len(chunk) + 1):
        if at == len(chunk) or script_of(chunk[at]) != script_of(chunk[start]):
            found.append(Run(chunk[start:at], start, script_of(chunk[start])))
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
        for run in runs(token.text):
            if run.script != "hiragana":
                found.update(pairs(run.text))
            if run.script == "han":
                found.update(run.text)
    return found


def is_everyday(word: str) -> bool:
    """Whether a word (as written, folded) stands in prompts of every kind, so that it names nothing by itself."""
    return word in STOP or word in GENERIC
