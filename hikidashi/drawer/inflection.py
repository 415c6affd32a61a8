"""Forms of one word meet in one stem. Standard library only.

Two ways, since a language is never named. `stem` takes English endings from any word. Verbs of French, Spanish,
Portuguese and German change more than their end, so an alias that is their infinitive is kept under its root too
(`roots_of_infinitive`), and a prompt's word is tried as a form of such a verb (`roots_of_form`): déployer is found
by déploie, desplegar by despliega, ausrollen by ausrollt. Nothing but infinitives has a root, so that nouns do not
meet verbs by accident.
"""

from __future__ import annotations

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

__all__ = ["roots_of_form", "roots_of_infinitive", "stem"]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_VOWELS: Final = frozenset("aeiouy")

#: Shorter words have no endings that could be told from their ends.
_SHORTEST: Final = 4


def stem(word: str) -> str:
    """An English word without plural, -ed, -ing, -ment and the last silent e; any other word unchanged or nearly so.

    `word` is folded. It only has to be the same for the forms of one word: release, releases, releasing, released.
    """
    if len(word) < _SHORTEST or not (word.isascii() and word.isalpha()):
        return word
    word = _without_ending(_singular(word))
    if word.endswith("ment") and len(word) >= len("ment") + 5:
        word = word[:-4]
    return word[:-1] if word.endswith("e") and len(word) > _SHORTEST else word


def _singular(word: str) -> str:
    if not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith(("sses", "ches", "shes", "xes")):
        return word[:-2]
    if word.endswith("ies") and len(word) > _SHORTEST:
        return word[:-3] + "y"
    return word[:-1]


def _without_ending(word: str) -> str:
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 3 and not word.endswith("eed") and not _VOWELS.isdisjoint(rest):
            return _present(rest)
    return word


def _present(rest: str) -> str:
    """What stands before -ing and -ed: shipp is ship, mak is make, push is push."""
    last, before = rest[-1], rest[-2]
    if last == before and last not in "lsz" and last not in _VOWELS:
        return rest[:-1]
    short = len(rest) == 3 and rest[0] not in _VOWELS and before in _VOWELS and last not in _VOWELS
    return rest + "e" if short and last not in "wxy" else rest


#: English nouns that look like French infinitives but name things.
_NOUNS: Final = frozenset(
    _words("""
    docker server worker user header folder reader router loader linter parser container compiler
    cluster filter order letter number computer browser layer buffer pointer helper handler builder
    controller manager provider consumer master register render owner member printer scanner sender
    monitor calendar similar solar radar gitter software hardware firmware middleware core store score
    spare square share feature structure screen token listen garden golden kitchen chicken
    """)
)

#: The endings of their forms.
_ROMANCE: Final = _words("""
    arlos arlas iendo issons issez ados adas idos idas ando endo indo arlo arla irlo erlo amos emos imos
    aste alos alas elos elas erez erons eront ado ada ido ida alo ala elo ela ons ent ant ait ais iez
    ees era ara ira yen yes ez ee es en an as ye ya yo ue ei ou a e o i
""")
_GERMAN: Final = _words("endes ende test end est ten st te et e t")
_FRENCH_RE: Final = _words("sons sez sent ons ez ent ant s t u e")
#: The kinds of verb: the endings of the infinitive, how many of its letters go.
_KINDS: Final = (("1", ("ar", "er", "ir"), 2), ("2", ("en",), 2), ("2", ("eln", "ern"), 1), ("3", ("re",), 2))

_SAME: Final = {"y": "i", "z": "c", "j": "g"}


def roots_of_infinitive(word: str) -> list[str]:
    """The root of an infinitive (folded) as a term that no word can be; [] for every other word."""
    if not (word.isascii() and word.isalpha()) or word in _NOUNS:
        return []
    return [
        f"~{kind}{_even(word[:-cut])}"
        for kind, endings, cut in _KINDS
        if word.endswith(endings) and len(word) - cut >= 3
    ][:1]


def roots_of_form(word: str) -> list[str]:
    """The roots that a word (folded) may be a form of; mostly of none that is known."""
    if len(word) < _SHORTEST or not (word.isascii() and word.isalpha()):
        return []
    found = {}
    for cut in range(1, min(_LONGEST, len(word) - 3) + 1):
        kinds = _FORMS.get(word[-cut:])
        if kinds:
            root = _even(word[:-cut])
            found.update(dict.fromkeys(f"~{kind}{root}" for kind in kinds))
    if word.startswith("ge") and word.endswith(("t", "en")) and len(word) >= 6:
        found[f"~2{_even(word[2:].removesuffix('en').removesuffix('et').removesuffix('t'))}"] = None
    return list(found)


#: Ending -> the kinds of verb that have it.
_FORMS: Final[dict[str, str]] = {}
for _kind, _endings in (("1", _ROMANCE), ("2", _GERMAN), ("3", _FRENCH_RE)):
    for _ending in _endings:
        _FORMS[_ending] = _FORMS.get(_ending, "") + _kind
_LONGEST: Final = max(map(len, _FORMS))


def _even(root: str) -> str:
    """A root in one spelling, however its last letters are written before another vowel."""
    if root.endswith(("gu", "qu")):
        root = root[:-2] + ("g" if root[-2] == "g" else "c")
    root = root[:-1] + _SAME.get(root[-1], root[-1])
    for place in (-3, -4):  # ie and ue in the last syllable are e and o: despliega of desplegar, prueba of probar
        if root[place : place + 2] in ("ie", "ue") and _VOWELS.isdisjoint(root[place + 2 :]):
            root = root[:place] + ("e" if root[place] == "i" else "o") + root[place + 2 :]
            break
    return root[:-1] if len(root) > 2 and root[-1] == root[-2] else root
