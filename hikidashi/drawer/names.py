"""The names of a fact: what a prompt must say so that the fact is meant. Standard library only.

A name is a row of words (without inflection) and chunks of Chinese, Japanese or Korean, joined by blanks: `deploy`,
`blyck releas`, `ship it`, `デプロイ`, `github に上げ`. Names come from the parts of the key and from the aliases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hikidashi.drawer.everyday import GENERIC_CJK, STOP
from hikidashi.drawer.inflection import roots_of_infinitive
from hikidashi.drawer.terms import Token, is_everyday, plain_tokens, script_of

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

__all__ = ["ALIAS", "HEAD", "MAX_UNITS", "PART", "WORD", "alias_names", "key_names", "name_of"]

#: How something is named, the more telling the smaller: by the first part of the key (the second one where the first
#: is an everyday word, as in `rule:no-prod`), by another part of it, by an alias, by a word that says little when it
#: stands alone (one of several words of a part, or an everyday word).
HEAD: Final = 1
PART: Final = 2
ALIAS: Final = 3
WORD: Final = 4

#: Longer rows of words are no names.
MAX_UNITS: Final = 8

_PARTS: Final = re.compile("[:/@]+")


def key_names(key: str) -> dict[str, int]:
    """The names that a key gives: its parts between `:`, `/` and `@`, what follows the first `:`, and the words of
    parts that have several."""
    found: dict[str, int] = {}
    head = HEAD
    for part in (*_PARTS.split(key), key.partition(":")[2]):
        units = plain_tokens(part)
        if _add(found, units, head) < WORD:
            head = PART
        if len(units) > 1:
            for unit in units:
                if not _says_nothing(unit):
                    found.setdefault(unit.text, WORD)
    return found


def alias_names(aliases: Iterable[str]) -> dict[str, int]:
    """The names that aliases give; an infinitive also gives its root."""
    found: dict[str, int] = {}
    for alias in aliases:
        units = plain_tokens(alias)
        _add(found, units, ALIAS)
        if len(units) == 1:
            for root in roots_of_infinitive(units[0].written):
                _keep(found, root, ALIAS)
    return found


def _add(found: dict[str, int], units: list[Token], how: int) -> int:
    """Add the name that these tokens make; gives how it names, `WORD` for none."""
    name = name_of(units)
    if not name:
        return WORD
    if len(units) == 1 and _says_little(units[0]):
        how = WORD
    _keep(found, name, how)
    return how


def _keep(found: dict[str, int], name: str, how: int) -> None:
    found[name] = min(found.get(name, how), how)


def name_of(units: list[Token]) -> str:
    """The name that tokens make, '' for none: without articles and the like where two other words are left."""
    telling = [unit for unit in units if unit.chunk or unit.written not in STOP]
    if not telling:
        return ""
    kept = telling if len(telling) > 1 else units
    if len(kept) > MAX_UNITS or _is_half_a_sentence(kept):
        return ""
    return " ".join(_units(kept))


def _is_half_a_sentence(units: list[Token]) -> bool:
    """Whether this is one everyday syllable or nothing but endings, which stand in every chunk."""
    if len(units) != 1 or not units[0].chunk:
        return False
    text = units[0].text
    return all(script_of(char) == "hiragana" for char in text) and len(text) < 3


def _units(units: list[Token]) -> Iterator[str]:
    for unit in units:
        long = unit.chunk and len(unit.text) > 2 and unit.text.endswith("ー")
        yield unit.text[:-1] if long else unit.text  # サーバー and サーバ are one word


def _says_little(unit: Token) -> bool:
    return unit.text in GENERIC_CJK if unit.chunk else is_everyday(unit.written)


def _says_nothing(unit: Token) -> bool:
    """Whether a word of a longer part is not worth a name of its own."""
    return not unit.chunk and (is_everyday(unit.written) or (len(unit.text) < 3 and not unit.text.isdigit()))
