"""How lasting orders are said: the forms of a sentence in each language, read from `languages/*.toml`.

A form is a pattern that a sentence has when it orders something for good ("never push to main", 「今後は…して」).
Forms are tried on a folded sentence (`fold`): small letters without accents, so that text typed in a hurry and
careful text are the same. Each names a few substrings of which one is wherever the pattern is, so that most
sentences are dismissed without a search.

A language's file:

    name = "English"
    script = "latin"            # or kana, han, hangul, cyrillic
    refuses = 'pattern'         # beside it no form counts: scope of one task, questions, what others say
    task = 'pattern'            # a sentence that sets a task: only forms with `in_task = true` count in it
    [words]                     # pieces of patterns; `{piece}` puts one in, also one of `shared.toml`
    work = 'pattern'            # words of the work, and of the agent's conduct in it (see `Strength`)
    conduct = 'pattern'
    [[form]]
    marks = ["always", "@languages"]   # one of these is in the sentence wherever the form is; `@` a shared list
    says = 'pattern'
    needs = 'pattern'           # must be in the sentence too (optional)
    unless = 'pattern'          # makes it something else (optional)
    strength = "likely"         # see `Strength`
    in_task = true              # it counts in a sentence that sets a task, too

In a pattern a line break and the blanks around it count for nothing.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, Literal, get_args

__all__ = ["STRENGTHS", "Form", "Marks", "Strength", "Tongue", "fold", "sets_task", "tongues"]

_FOLDER: Final = Path(__file__).with_name("languages")

#: Where a form is believed, weakest first. A likely one without a word of the agent's conduct ("commit", "ask me",
#: "tests") becomes fair, without a word of the work at all alone.
#:   alone   where the prompt says nothing else ("use uv instead of pip")
#:   fair    in a short prompt that sets no task: beside one it is a part of it ("Write a cron. Always log …")
#:   likely  in a short prompt: in a long one it is a requirement
#:   sure    wherever it stands ("from now on …", "don't commit unless I ask")
Strength = Literal["alone", "fair", "likely", "sure"]

#: The same as a tuple.
STRENGTHS: Final[tuple[Strength, ...]] = get_args(Strength)


def _folding() -> dict[int, str]:
    """Letter by letter, so that places in the folded text are places in the text."""
    table: dict[int, str] = {0x2019: "'", 0x2018: "'", 0xB4: "'", 0x60: "'", 0x201C: '"', 0x201D: '"', 0x3000: " "}
    table |= {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}  # wide forms, as typed in Japan
    table |= {0xDF: "s", 0x131: "i", 0x130: "i", 0xF8: "o", 0xD8: "o", 0x142: "l", 0x111: "d", 0x110: "d"}
    table |= {0x3002: ".", 0x3001: ",", 0x2013: "-", 0x2014: "-", 0xA0: " ", 0x09: " ", 0x0A: " ", 0x0D: " "}
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)):
        plain = unicodedata.normalize("NFD", chr(code))[0]
        if code not in table and plain != chr(code):
            table[code] = plain
    return table


_FOLDING: Final = _folding()


def fold(text: str) -> str:
    """`text` in small letters, without Latin accents, with one form of quotes and stops; as long as `text`."""
    folded = text.translate(_FOLDING)
    small = folded.lower()
    return small if len(small) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in folded)


@dataclass(frozen=True, kw_only=True)
class Form:
    """One form of a lasting order, over folded text."""

    #: One of these is in the sentence wherever the form is, at the start of a word; a blank is the sentence's
    #: edge too.
    marks: tuple[str, ...]
    says: str
    strength: Strength
    #: What makes it something else, anywhere in the sentence; '' for nothing.
    unless: str = ""
    #: What must be in the sentence too; '' for nothing.
    needs: str = ""
    #: It counts in a sentence that begins with a task too ("fix the date, and from now on use UTC").
    in_task: bool = False

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], re.Pattern[str] | None, re.Pattern[str] | None]:
        """Compiled when a sentence first gets past the marks: most runs need few of them."""
        return (
            re.compile(self.says),
            re.compile(self.unless) if self.unless else None,
            re.compile(self.needs) if self.needs else None,
        )

    def fits(self, folded: str) -> bool:
        """Whether a folded sentence has this form."""
        says, unless, needs = self._patterns
        return (
            says.search(folded) is not None
            and (unless is None or unless.search(folded) is None)
            and (needs is None or needs.search(folded) is not None)
        )


@dataclass(frozen=True, kw_only=True)
class Tongue:
    """The forms of one language, and what in that language is never a lasting order."""

    name: str
    #: Its letters are not Latin: text of plain ASCII is never in it.
    script: str
    forms: tuple[Form, ...]
    #: Scope of one task, questions, reports of what others say: no form counts beside these.
    refuses: str
    #: How a sentence begins that sets a task or tells of a product; '' for unknown.
    task: str
    #: Words of the work, and those of the agent's own conduct in it; '' for unknown.
    work: str
    conduct: str

    @cached_property
    def _refuses(self) -> re.Pattern[str]:
        return re.compile(self.refuses)

    @cached_property
    def _words(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """Compiled; what is unknown is everywhere."""
        return re.compile(self.conduct), re.compile(self.work)

    @cached_property
    def sets_task(self) -> re.Pattern[str]:
        """`task`, compiled; what is unknown is nowhere."""
        return re.compile(self.task or r"(?!)")

    def strength(self, folded: str, forms: Iterable[Form]) -> Strength | None:
        """The strongest of the forms that a folded sentence has; None for none."""
        in_task = self.sets_task.search(folded) is not None
        best = -1
        for form in forms:
            rank = STRENGTHS.index(form.strength)
            if rank > best and (form.in_task or not in_task) and form.fits(folded):
                best = rank
        if best < 0 or self._refuses.search(folded):
            return None
        strength = STRENGTHS[best]
        if strength == "likely":
            conduct, work = self._words
            return "likely" if conduct.search(folded) else "fair" if work.search(folded) else "alone"
        return strength


class Marks:
    """The marks that a prompt holds, and the forms they may belong to: the cheap look before any pattern."""

    def __init__(self, folded: str) -> None:
        padded = f" {folded} "
        by_start, anywhere = _places(_script(folded))
        starts = {start for word in _WORD.findall(folded) for start in (word[:1], word[:2], word[:3], word[:4])}
        worth = [anywhere, *(by_start[start] for start in starts if start in by_start)]
        self._found = [(mark, places) for marks in worth for mark, places in marks.items() if mark in padded]

    def __bool__(self) -> bool:
        return bool(self._found)

    def strength(self, folded: str) -> Strength | None:
        """The strongest form that a folded sentence of the prompt has in any language; None for none."""
        padded = f" {folded} "
        chosen = {place: None for mark, places in self._found if mark in padded for place in places}
        by_tongue: dict[int, list[Form]] = {}
        for tongue, form in sorted(chosen):
            by_tongue.setdefault(tongue, []).append(tongues()[tongue].forms[form])
        best: Strength | None = None
        for number, forms in by_tongue.items():
            strength = tongues()[number].strength(folded, forms)
            if strength is not None and (best is None or STRENGTHS.index(strength) > STRENGTHS.index(best)):
                best = strength
        return best


def sets_task(folded: str) -> bool:
    """Whether a folded sentence begins as one that sets a task or tells of a product."""
    return any(tongue.sets_task.search(folded) for tongue in tongues() if tongue.task)


_SCRIPTS: Final = (
    ("kana", re.compile(r"[\u3040-\u30ff]")),
    ("hangul", re.compile(r"[\uac00-\ud7af]")),
    ("han", re.compile(r"[\u3400-\u9fff]")),
    ("cyrillic", re.compile(r"[\u0400-\u04ff]")),
)


def _script(folded: str) -> str:
    """The script besides Latin that a text is in; '' for none. Japanese without kana counts as Chinese."""
    if folded.isascii():
        return ""
    return next((name for name, pattern in _SCRIPTS if pattern.search(folded)), "")


_WORD: Final = re.compile(r"[^\W_]+")
#: Marks with their forms: number of the tongue, number of the form in it.
_Places = dict[str, list[tuple[int, int]]]


@cache
def _places(script: str) -> tuple[dict[str, _Places], _Places]:
    """The marks of languages in Latin letters and in `script`, with their forms.

    First by the first letters (four at most) of a mark's first word, then those of scripts that do not part words.
    """
    by_start: dict[str, _Places] = {}
    anywhere: _Places = {}
    for number, tongue in enumerate(tongues()):
        if tongue.script in ("latin", script) or (script, tongue.script) == ("han", "kana"):
            for n, form in enumerate(tongue.forms):
                for mark in form.marks:
                    places = anywhere
                    if tongue.script in ("latin", "cyrillic"):
                        places = by_start.setdefault(_WORD.findall(mark)[0][:4], {})
                    places.setdefault(mark, []).append((number, n))
    return by_start, anywhere


@cache
def tongues() -> tuple[Tongue, ...]:
    """Every language's forms, read once, when the first prompt asks for them."""
    shared = _read("shared")
    words = _words(shared, {})
    names = sorted(path.stem for path in _FOLDER.glob("*.toml") if path.stem != "shared")
    return tuple(_tongue(_read(name), words, shared["lists"]) for name in names)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def _tongue(data: Mapping[str, Any], shared: Mapping[str, str], lists: Mapping[str, list[str]]) -> Tongue:
    words = _words(data, shared)
    return Tongue(
        name=data["name"],
        script=data["script"],
        refuses=_put_together(data["refuses"], words),
        task=_put_together(data.get("task", ""), words),
        work=words.get("work", ""),
        conduct=words.get("conduct", ""),
        forms=tuple(
            Form(
                marks=_marks(form["marks"], lists),
                says=_put_together(form["says"], words),
                needs=_put_together(form.get("needs", ""), words),
                unless=_put_together(form.get("unless", ""), words),
                strength=form["strength"],
                in_task=form.get("in_task", False),
            )
            for form in data["form"]
        ),
    )


def _marks(written: list[str], lists: Mapping[str, list[str]]) -> tuple[str, ...]:
    """Marks as they are written; `@name` stands for a list of `shared.toml`."""
    found: dict[str, None] = {}
    for mark in written:
        found.update(dict.fromkeys(lists[mark[1:]] if mark.startswith("@") else [mark]))
    return tuple(found)


def _words(data: Mapping[str, Any], shared: Mapping[str, str]) -> dict[str, str]:
    words = dict(shared)
    for name, pattern in data["words"].items():
        words[name] = _put_together(pattern, words)
    return words


_PIECE: Final = re.compile(r"\{([a-z_]+)\}")


def _put_together(pattern: str, words: Mapping[str, str]) -> str:
    """A pattern in one line, its pieces put in; a piece that nobody wrote is a `KeyError`."""
    line = "".join(part.strip() for part in pattern.split("\n")) if "\n" in pattern else pattern
    return _PIECE.sub(lambda piece: f"(?:{words[piece[1]]})", line)
