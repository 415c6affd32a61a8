"""Whether two texts say the same (design section 6, "Engines"): nearly equal, with nothing hard differing.

Similarity alone merges "use npm" with "use pnpm" and "retry 3 times" with "retry 5 times". So two texts are
the same only at similarity 95 and with equal hard tokens (negations, numbers, versions, paths, names,
identifiers), and only if each word that differs is an inflection of its counterpart or a function word.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import Final

from rapidfuzz import fuzz, process
from rapidfuzz.distance import Levenshtein

from hikidashi.worker.words import FUNCTION_WORDS, NEGATIONS, POLAR_WORDS

__all__ = ["SAME_AT", "Fingerprint", "Wording", "find_same", "fingerprint", "normal", "same"]

#: Similarity (0 to 100) at and above which two texts may be the same.
SAME_AT: Final = 95.0

_PUNCTUATION: Final = re.compile(r"[\s\"'`*_()\[\]{}<>,;:!?。、，；：！？「」『』（）【】《》“”‘’…・]+|\.(?=\s|$)")

#: A word with a digit, an inner dot, slash, dash or underscore, an `@`: a number, version, path, identifier.
_WORD: Final = re.compile(r"[^\W\d_]+['’][^\W\d_]+|[^\s\"'`*()\[\]{}<>,;!?。、，；：！？「」『』（）【】《》“”‘’…・]+")
_MARKED: Final = re.compile(r"\d|[/\\@$%&+=~^|]|\w[._-]\w|::|_|--|^-\w")
_CAMEL: Final = re.compile(r"[a-z][A-Z]|[A-Z]{2}")
_CJK_RUN: Final = re.compile("[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff]+|[\u30a0-\u30ff]+|[\uac00-\ud7af]+")
_CJK: Final = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]")
#: Chinese characters that carry no content of their own.
_SOFT_HAN: Final = str.maketrans("", "", "的了吧呢啊嘛")

#: Negations of languages that are written without spaces, or where they hang on the word.
_NEGATION_PARTS: Final = re.compile(
    "(?:ない|なく|なし|ません|ぬ|ずに|ずと|禁止|不要|不可|非|無し|不|没|沒|别|別|勿|未|无|無|莫"
    "|안 |못 |않|없|말고|말아|마세요|아니)"
)

Fingerprint = frozenset[str]


def normal(text: str) -> str:
    """`text` for comparison: NFKC, case folded, punctuation and white space folded to single spaces."""
    return _PUNCTUATION.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


@dataclass(frozen=True, slots=True, eq=False)
class Wording:
    """A text made ready for comparison, once."""

    text: str
    #: Equal for two texts that may be the same: the key under which texts are looked up.
    hard: Fingerprint
    words: Counter[str]

    @classmethod
    def of(cls, text: str) -> Wording:
        """The wording of `text`."""
        folded = normal(text)
        return cls(folded, fingerprint(text), Counter(_soft_words(folded)))


def fingerprint(text: str) -> Fingerprint:
    """The hard tokens of `text`: negations and other polar words, numbers, versions, paths, identifiers, names."""
    text = unicodedata.normalize("NFKC", text)
    tokens: set[str] = set()
    words = _WORD.findall(text)
    for position, word in enumerate(words):
        word = word.strip(".:–—-") if not word.startswith("-") else word.rstrip(".:")
        folded = word.casefold()
        if not folded:
            continue
        if folded in NEGATIONS or folded.endswith(("n't", "n’t")):
            tokens.add("not")
            continue
        name = word[0].isupper() and position and not words[position - 1].endswith((".", ":"))
        if name or folded in POLAR_WORDS or _MARKED.search(word) or _CAMEL.search(word):
            tokens.add(folded)
    tokens.update("not:" + part.strip() for part in _NEGATION_PARTS.findall(text))
    return frozenset(tokens)


def _soft_words(folded: str) -> list[str]:
    words: list[str] = []
    for word in folded.split():
        if _CJK.search(word):
            words += [run for part in _CJK_RUN.findall(word) if (run := part.translate(_SOFT_HAN))]
            words += re.findall(r"[a-z0-9][\w.-]*", _CJK.sub(" ", word))
        else:
            words.append(word)
    return words


def _inflected(one: str, other: str) -> bool:
    """Whether two words are forms of one: a common beginning, and endings of at most two characters that differ."""
    common = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        common += 1
    if _CJK.match(one):  # Korean: the noun, then particles; Chinese and Japanese runs must be equal
        return "\uac00" <= one[0] <= "\ud7af" and common >= 2 and max(len(one), len(other)) - common <= 2
    return common >= 3 and max(len(one), len(other)) - common <= 2 and Levenshtein.distance(one, other) <= 2


def _only_soft_differences(one: Wording, other: Wording) -> bool:
    left = [word for word in (one.words - other.words).elements() if word not in FUNCTION_WORDS]
    right = [word for word in (other.words - one.words).elements() if word not in FUNCTION_WORDS]
    if len(left) != len(right):
        return False
    return all(_inflected(a, b) for a, b in zip(sorted(left), sorted(right), strict=True))


def same(one: Wording, other: Wording) -> bool:
    """Whether the two say the same."""
    if one.text == other.text:  # a name may be told by its capital letter alone; all the words are equal
        return True
    if one.hard != other.hard or fuzz.ratio(one.text, other.text, score_cutoff=SAME_AT) < SAME_AT:
        return False
    return _only_soft_differences(one, other)


def find_same(wording: Wording, others: dict[str, Wording]) -> str | None:
    """The key of the wording in `others` that says the same, the most similar one; None when there is none.

    `others` should be those with the same hard tokens already; equal scores are settled by the key.
    """
    if not others:
        return None
    texts = {key: other.text for key, other in others.items()}
    hits = process.extract(wording.text, texts, scorer=fuzz.ratio, score_cutoff=SAME_AT, limit=5)
    for _, _, key in sorted(hits, key=lambda hit: (-hit[1], hit[2])):
        if same(wording, others[key]):
            return str(key)
    return None
