"""What a turn asks the drawer: the prompt and what stands around it, as names to look up and words to search.

Standard library only. A turn has four voices: the prompt; the prompt before, which counts only while this one says
little; the place (branch and named files); the project's name, which never brings a fact by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from hikidashi.drawer.everyday import ENDINGS_KO, GENERIC_CJK, SINGLE_CJK, SPLIT_ZH, STOP
from hikidashi.drawer.inflection import roots_of_form
from hikidashi.drawer.terms import Token, fold, is_everyday, pairs, runs, script_of, tokens

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

__all__ = ["BEFORE", "EVERYDAY", "PLACE", "PROJECT", "PROMPT", "Item", "Question", "Voice", "is_thin", "voices"]

PROMPT: Final = "prompt"
BEFORE: Final = "prompt before"
PLACE: Final = "branch or file"
PROJECT: Final = "project"

#: How much a voice counts.
WEIGHTS: Final = {PROMPT: 1.0, BEFORE: 0.5, PLACE: 0.5, PROJECT: 0.3}

#: Characters of a prompt that are read: people say what they want at the start or the end, and paste between.
_HEAD: Final = 3_000
_TAIL: Final = 1_500
#: In a prompt of more words than that, only the first and the last ones name facts; what stands between is a paste
#: mostly, and counts as words do.
_LONG: Final = 80
_FIRST: Final = 40
_LAST: Final = 25
#: Characters of a chunk that are about a word.
_CHARS: Final = 4
#: Characters of the branch and the files together.
_PLACE: Final = 1_000
#: Files that are looked at.
_FILES: Final = 20

#: With less content than this many words the prompt before is read too.
_THIN: Final = 3
#: What an everyday word weighs beside a word of content.
EVERYDAY: Final = 0.3
#: What a word in the middle of a long prompt counts.
_PASTED: Final = 0.5
#: Articles, prepositions and pronouns that may stand between two words of a name: roll it out, push all my changes.
_GAP: Final = 2

#: Parts of branches and paths that name nothing.
_PLACES: Final = frozenset(
    {"feature", "feat", "chore", "hotfix", "bugfix", "main", "master", "develop", "dev", "head", "origin"}
    | {"src", "lib", "index", "init", "py", "ts", "tsx", "js", "jsx", "md", "json", "toml", "yml", "yaml", "go", "rs"}
)


@lru_cache(maxsize=1)
def _split_chinese() -> re.Pattern[str]:
    return re.compile("|".join(SPLIT_ZH))


class Question:
    """A turn."""

    def __init__(
        self, prompt: str, *, branch: str = "", files: Sequence[str] = (), before: str = "", project: str = ""
    ) -> None:
        self.prompt: Final = prompt
        self.branch: Final = branch
        #: Paths that the turn names.
        self.files: Final = files
        #: The prompt before; '' for none.
        self.before: Final = before
        #: What the project is called, mostly the workspace's folder.
        self.project: Final = project


class Item:
    """A word of content, or the content of a chunk, to be searched in bodies."""

    def __init__(self, weight: float, terms: Sequence[str], at: Sequence[int], size: int, said: str) -> None:
        #: What it weighs: 1 for a word.
        self.weight: Final = weight
        #: As `drawer.terms.terms` gives them for a body, and where each stands.
        self.terms: Final = terms
        self.at: Final = at
        #: Characters of a Han run; 0 for what is found as a whole or not at all.
        self.size: Final = size
        #: As it was written.
        self.said: Final = said


class Voice:
    """One voice: its tokens, what to look up for it, and what to search."""

    def __init__(self, kind: str, tokens: list[Token]) -> None:
        self.kind: Final = kind
        self.weight: Final = WEIGHTS[kind]
        self.tokens: Final = tokens
        self.items: Final[list[Item]] = []
        #: Names to look up as they are; pairs of characters and rows of two words that names may begin with.
        self.exact: Final[dict[str, None]] = {}
        self.pairs: Final[dict[str, None]] = {}
        self.phrases: Final[dict[str, None]] = {}
        self._first: Final[dict[str, Token]] = {}
        self._roots: Final[dict[str, Token]] = {}
        #: Word -> the numbers of its tokens; the numbers of the chunks; the text of all chunks.
        self._places: Final[dict[str, list[int]]] = {}
        self._chunks: Final[list[int]] = []
        self._kana: Final = any("\u3041" <= char <= "\u30fe" for one in tokens if one.chunk for char in one.text)
        self._chunked: Final = "\n".join(token.text for token in self.tokens if token.chunk)
        self._spoken: Final = _spoken(tokens)
        for number, token in enumerate(self.tokens):
            if token.chunk:
                self._chunks.append(number)
                self._hear_chunk(token)
            else:
                self._places.setdefault(token.text, []).append(number)
                self._hear_word(number, token)

    # -- what to look up

    def _hear_word(self, number: int, token: Token) -> None:
        if token.text not in self._first:
            self._first[token.text] = token
            self.exact[token.text] = None
            if token.written not in STOP:
                for root in roots_of_form(token.written) if self.kind != PLACE else ():
                    self._roots.setdefault(root, token)
                    self.exact[root] = None
                everyday = is_everyday(token.written) or (token.text.isdigit() and len(token.text) == 1)
                weight = (EVERYDAY if everyday else 1.0) * (1.0 if self.is_spoken(token.text) else _PASTED)
                self.items.append(Item(weight, (token.text,), (token.at,), 0, token.written))
        for after in self._next(number):
            if after.chunk:
                self.pairs.update(dict.fromkeys(f"{token.text} {pair}" for pair in pairs(after.text[:8])))
            else:
                self.phrases[f"{token.text} {after.text}"] = None

    def _next(self, number: int) -> Iterator[Token]:
        """The tokens that may follow in a name: the next one, and those behind a few words without content."""
        for gap, token in enumerate(self.tokens[number + 1 : number + 2 + _GAP]):
            yield token
            if gap == _GAP or token.chunk or token.written not in STOP:
                return

    def _hear_chunk(self, token: Token) -> None:
        self.pairs.update(dict.fromkeys(pair for pair in pairs(token.text) if len(pair) > 1))
        for run, at, script in runs(token.text):
            if len(run) == 1:
                self.exact[run] = None
            share = 1.0 if self.is_spoken(run) else _PASTED
            self.items.extend(_items(run, script, token.at + at, share, chinese=not self._kana))

    # -- where a name stands

    def where(self, name: str) -> tuple[frozenset[int], str] | None:
        """The positions that a name covers in this voice and the words said there; None when it is not said."""
        if name.startswith("~"):
            token = self._roots.get(name)
            return None if token is None else (frozenset({token.at}), token.written)
        token = self._first.get(name)
        if token is not None:
            return frozenset({token.at}), token.written
        units = name.split(" ")
        if not all(unit in self._first or unit in self._chunked for unit in units):
            return None
        for number in self._chunks if script_of(units[0][0]) else self._places.get(units[0], ()):
            found = self._from(number, units)
            if found is not None:
                return found
        return None

    def is_spoken(self, name: str) -> bool:
        """Whether a name that is said stands where a person speaks: in a long prompt, at its start or end."""
        if self._spoken is None or name.startswith("~"):
            return True
        words, chunks = self._spoken
        return all(unit in words or (bool(script_of(unit[0])) and unit in chunks) for unit in name.split(" "))

    def _from(self, number: int, units: list[str]) -> tuple[frozenset[int], str] | None:
        """The same for a name whose first unit is in this token."""
        positions: list[int] = []
        filler: list[int] = []
        said: list[str] = []
        after = 0  # where in the chunk the next unit may stand
        gap = 0
        for unit in units:
            while True:
                if number == len(self.tokens):
                    return None
                token = self.tokens[number]
                at = self._standing(token, unit, after)
                if at >= 0:
                    break
                skippable = positions and not token.chunk and token.written in STOP and gap < _GAP
                if not skippable and not (positions and token.chunk and after):
                    return None
                gap += 0 if token.chunk else 1
                number, after = number + 1, 0
            gap = 0
            if token.chunk:
                positions += range(token.at + at, token.at + at + len(unit))
                said.append(unit)
                after = at + len(unit)
            else:
                filler += [self._first[token.text].at] if token.written in STOP else []
                positions.append(self._first[token.text].at)
                said.append(token.written)
                number, after = number + 1, 0
        # "push it" and "push" are one word of content.
        return frozenset(positions).difference(filler) or frozenset(positions), " ".join(said)

    def _standing(self, token: Token, unit: str, after: int) -> int:
        """Where in a token the unit stands as a word of its own, -1 for nowhere."""
        if not token.chunk:
            return 0 if token.text == unit else -1
        at = token.text.find(unit, after)
        while at >= 0 and not _stands(token.text, at, unit, japanese=self._kana):
            at = token.text.find(unit, at + 1)
        return at


def _spoken(said: list[Token]) -> tuple[frozenset[str], str] | None:
    """The words and the chunks at the start and the end of a long text; None for a text that is not long."""
    lengths = [max(1, len(token.text) // _CHARS) if token.chunk else 1 for token in said]
    total = sum(lengths)
    if total <= _LONG:
        return None
    spoken: list[Token] = []
    before = 0
    for token, length in zip(said, lengths, strict=True):
        if before < _FIRST or total - before <= _LAST:
            spoken.append(token)
        before += length
    words = frozenset(token.text for token in spoken if not token.chunk)
    return words, "\n".join(token.text for token in spoken if token.chunk)


def _stands(chunk: str, at: int, unit: str, *, japanese: bool) -> bool:
    """Whether `unit`, found in a chunk, is a word there and no part of another one.

    コンテスト holds no テスト, but ユニットテスト does; 開発行程 holds no 発行; メモリ is no メモ.
    """
    script = script_of(unit[0])
    start = at
    while start > 0 and script_of(chunk[start - 1]) == script:
        start -= 1
    before, end = at - start, at + len(unit)
    follows = end < len(chunk) and script_of(chunk[end]) == script_of(unit[-1])
    if script == "katakana":
        alone = len(unit) > 2 or not follows or chunk[end] == "ー"
        return alone and (before == 0 or before > 2 or chunk[start:at] == "リ")
    if script == "hangul":
        return (before != 1 or chunk[start] == "재") and (len(unit) > 1 or not (before or follows))
    if script == "han":
        if len(unit) == 1:
            return not before and not follows
        return not japanese or before % 2 == 0 or not follows
    return True


def _items(run: str, script: str, at: int, share: float, *, chinese: bool) -> Iterator[Item]:
    """What to search for of a part of a chunk; nothing of hiragana, which is endings and particles."""
    if script == "han":
        start = 0
        for cut in (*_split_chinese().finditer(run), None) if chinese else (None,):
            piece = run[start : cut.start() if cut else None]
            if len(piece) > 1 or (piece and piece not in SINGLE_CJK):
                weight = EVERYDAY if piece in GENERIC_CJK else len(piece) / 2
                yield _item(weight * share, piece, at + start, len(piece))
            start = cut.end() if cut else len(run)
    elif script == "katakana" and len(run) > 1:
        yield _item((EVERYDAY if run in GENERIC_CJK else 1.0) * share, run, at, 0)
    elif script == "hangul":
        word = _without_endings(run)
        if len(word) > 1:
            yield _item((EVERYDAY if word in GENERIC_CJK else 1.0) * share, word, at, 0)


def _item(weight: float, text: str, at: int, size: int) -> Item:
    found = tuple(pairs(text))
    return Item(weight, found, tuple(range(at, at + len(found))), size, text)


def _without_endings(word: str) -> str:
    for _ in range(2):
        for ending in ENDINGS_KO:
            if word.endswith(ending) and len(word) >= len(ending) + 2:
                word = word[: -len(ending)]
                break
    return word


def _cut(text: str) -> str:
    if len(text) <= _HEAD + _TAIL:
        return text
    return f"{text[:_HEAD]}\n{text[-_TAIL:]}"


def is_thin(prompt: Voice) -> bool:
    """Whether a prompt has under three words of content, so that it leans on the one before."""
    return sum(item.weight for item in prompt.items if item.weight > EVERYDAY) < _THIN


def voices(question: Question) -> list[Voice]:
    """The voices of a turn, the prompt's first."""
    prompt = _voice(PROMPT, _cut(question.prompt), 0)
    found = [prompt]
    if question.before.strip() and is_thin(prompt):
        found.append(_voice(BEFORE, _cut(question.before), 1))
    place = "\n".join((question.branch, *map(_short_path, question.files[:_FILES])))[:_PLACE]
    if place.strip():
        found.append(_voice(PLACE, place, 2))
    if question.project.strip():
        found.append(_voice(PROJECT, question.project[:_PLACE], 3))
    return found


#: Voices do not share positions.
_APART: Final = 1_000_000


def _voice(kind: str, text: str, number: int) -> Voice:
    said = tokens(text, number * _APART)
    if kind == PLACE:
        said = [token for token in said if token.chunk or token.written not in _PLACES]
    return Voice(kind, said)


def _short_path(path: str) -> str:
    """The end of a path, which says most: its last three parts without the extension."""
    *parents, name = path.replace("\\", "/").split("/")[-3:]
    stem = name.rpartition(".")[0] or name
    return "/".join((*parents, stem))


def folded_prompt(question: Question) -> str:
    """The prompt as `drawer.terms.fold` has it, to look for a whole key in it."""
    return fold(_cut(question.prompt))
