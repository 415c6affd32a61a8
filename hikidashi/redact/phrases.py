"""Seed phrases of wallets: 12 to 24 words behind a name that says so. Without the name they are prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hikidashi.redact.families import Secret
from hikidashi.redact.values import word_set

__all__ = ["WORDS", "find_phrases"]

#: What the names hold, in lower case.
WORDS: Final = ("mnemonic", "phrase", "フレ", "助")
_NAME: Final = re.compile(
    r"(?:mnemonics?(?:[_\- ]?(?:phrase|words?|seed|code|key))?"
    r"|(?:seed|recovery|backup|secret|wallet|mnemonic|bip-?39)[_\- ]?(?:recovery[_\- ]?)?phrase"
    r"|(?:シード|リカバリー|復元|ニーモニック)・?フレーズ|助记词|助記詞)"
    r"(?:[\"'\\`*\])]{0,6}[ \t]{0,8}(?:=>|:=|[:=：＝]|is|は|が|,)?[ \t]{0,8}(?:\r?\n|\\n)?[ \t]{0,8}"
    r"[\"'\\`「『(\[]{0,6})"
)
_NUMBER: Final = r"(?:\d{1,2}[.):][ \t]?)?"
_BETWEEN: Final = r"(?:[ \t]|,[ \t]?|[\"'],[ \t]?[\"']|\r?\n[ \t]{0,8}|\\n)"
#: Words of the list have three to eight letters; they stand apart by a space, a comma, a line end, or a number.
_PHRASE: Final = re.compile(rf"{_NUMBER}[a-z]{{3,8}}(?:{_BETWEEN}{_NUMBER}[a-z]{{3,8}}(?![a-z])){{11,23}}+")
_WORD: Final = re.compile(r"[a-z]{3,8}")
_LENGTHS: Final = (24, 21, 18, 15, 12)
_ENDS: Final = re.compile(r"[\"'`」』)\].,;\\]|\s{0,4}\Z|[ \t]*\r?\n|[^\x00-\x7f]")
_OPERATOR: Final = re.compile(r"[=:：＝]")
#: Words that stand in every sentence and in no list.
_PROSE: Final = word_set(
    "the and for are was not but has have with this that from your they will been were which you should could would "
    "must can may also only then than when what who how why all any into over some such each other after before "
    "because there where while very just like its our his her their them these those does did had don"
)


def find_phrases(text: str, low: str) -> Iterator[Secret]:
    """The words behind `mnemonic`, `seed phrase`, `recovery phrase` and such."""
    for name in _NAME.finditer(low):
        phrase = _PHRASE.match(text, name.end())
        if phrase is None:
            continue
        words = list(_WORD.finditer(text, phrase.start(), phrase.end()))
        prose = next((n for n, word in enumerate(words) if word.group() in _PROSE), len(words))
        fitting = [length for length in _LENGTHS if length <= prose]
        # Where a sentence goes on behind the phrase, only a colon in front of it tells it from more of the sentence.
        ended = [length for length in fitting if _ENDS.match(text, words[length - 1].end()) is not None]
        if ended or (fitting and _OPERATOR.search(name.group())):
            yield Secret("seed-phrase", phrase.start(), words[(ended or fitting)[0] - 1].end())
