"""Claims of inability, sentence by sentence, with the patterns of each language (`recall/tongues`).

Standard library only. Loaded for messages that hold a word of inability; a pattern is made once it can match.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module

from hikidashi.drawer.terms import plain_tokens
from hikidashi.recall.guard import Claim, lower
from hikidashi.recall.guard_sentences import own_words, sentences

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Final

__all__ = ["claims_of", "target_words"]

#: A blank of a pattern: blanks, emphasis, the ticks of code.
_BLANK: Final = r"[\s*_`~]+"
#: Between words that are written together, they may be none.
_NO_BLANK: Final = r"[\s*_`~]*"

#: Where what is said of an act ends, in Chinese.
_STOPS: Final = r"[，,、。；;]"

#: In languages that put a condition before its clause, what is said behind a claim is another matter from here on.
_BEHIND: Final = 8

#: Verb, words of the target, span in the cut, missing means.
Found = tuple[str, tuple[str, ...], tuple[int, int], str]


def tongue(language: str) -> ModuleType:
    """The patterns of a language."""
    return import_module(f"hikidashi.recall.tongues.{language}")


@lru_cache(maxsize=512)
def pattern(text: str, blank: str = _BLANK) -> re.Pattern[str]:
    """The pattern that `text` writes with single blanks."""
    return re.compile(text.replace(" ", blank), re.MULTILINE)


@lru_cache(maxsize=256)
def exact(text: str) -> re.Pattern[str]:
    """The pattern as it stands."""
    return re.compile(text, re.MULTILINE)


def claims_of(message: str, lowered: str, languages: list[str], start: int) -> list[Claim]:
    """The claims of a message in these languages. Places count from `start`."""
    spoken = own_words(message)
    lowered = lower(spoken)
    found: list[Claim] = []
    for language in languages:
        reader = _Reader(language, lowered, start)
        parts = [(at, lowered[at : at + len(part)], asks) for at, part, asks in sentences(spoken)]
        for number, (at, text, asks) in enumerate(parts):
            if not asks:
                found += reader.read(text, at, [said for _, said, _ in parts[max(number - 1, 0) : number + 2]])
    found.sort(key=lambda claim: claim.span)
    return found


class _Reader:
    """Reads sentences in one language."""

    def __init__(self, language: str, message: str, start: int) -> None:
        from hikidashi.recall.guard import MARKS

        self._marks = MARKS[language]
        self._language = language
        self._tongue = tongue(language)
        self._message = message
        self._start = start

    def read(self, sentence: str, at: int, around: list[str]) -> list[Claim]:
        """The claims of a sentence that begins at `at`; `around` is it with its neighbours."""
        if not any(mark in sentence for mark in self._marks):
            return []
        if not (self._verbs(sentence) or self._lacks_means(sentence)):
            return []
        found: list[Claim] = []
        for first, cut in self._cuts(sentence):
            if any(mark in cut for mark in self._marks):
                found += self._read_cut(cut, at + first, sentence, around)
        return found

    def _cuts(self, sentence: str) -> list[tuple[int, str]]:
        cuts, start = [], 0
        for cut in exact(self._tongue.CUTS).finditer(sentence):
            cuts.append((start, sentence[start : cut.start()]))
            start = cut.end()
        cuts.append((start, sentence[start:]))
        return cuts

    def _read_cut(self, cut: str, first: int, sentence: str, around: list[str]) -> list[Claim]:
        found = self._acts(cut) or self._means(cut, around)
        before = around[0] if around[0] is not sentence else ""
        if not found or self._is_silent(
            cut, max(end for *_, (_, end), _ in found), sentence, before, {verb for verb, *_ in found}
        ):
            return []
        place = self._start + first
        return [
            Claim(verb, words, (place + span[0], place + span[1]), self._language, means=means)
            for verb, words, span, means in found
        ]

    def _acts(self, cut: str) -> list[Found]:
        verbs = self._verbs(cut)
        if not verbs:
            return []
        texts = self._tongue.HEADS + (self._tongue.LACKING if self._lacks_means(cut) else ())
        heads = [head for text in texts for head in self._pattern(text).finditer(cut)]
        found: list[Found] = []
        for verb in verbs:
            span = self._span(verb, cut, heads)
            if span:
                found.append((verb, self._words(cut, span, verb), span, ""))
        return self._joined(cut, found)

    def _pattern(self, text: str) -> re.Pattern[str]:
        return pattern(text, _NO_BLANK if self._tongue.CHUNKS else _BLANK)

    def _verbs(self, cut: str) -> list[str]:
        return [verb for verb, (stems, _) in self._tongue.ACTS.items() if any(stem in cut for stem in stems)]

    def _lacks_means(self, cut: str) -> bool:
        return any(mark in cut for mark in self._tongue.MEANS_MARKS)

    def _act(self, verb: str) -> re.Pattern[str]:
        act = self._tongue.ACTS[verb][1]
        return self._pattern(f"(?:{act})" if self._tongue.CHUNKS else rf"(?<![\w-])(?:{act})(?![\w-])")

    def _span(self, verb: str, cut: str, heads: list[re.Match[str]]) -> tuple[int, int] | None:
        """Where an act of a verb is said to be out of reach."""
        fill = self._pattern(self._tongue.FILL)
        for act in self._act(verb).finditer(cut):
            for head in heads:
                if head.end() <= act.start() and fill.fullmatch(cut, head.end(), act.start()):
                    return head.start(), act.end()
            for text in self._tongue.TAILS:
                tail = self._pattern(text).match(cut, act.end())
                if tail:
                    return act.start(), tail.end()
        return None

    def _joined(self, cut: str, found: list[Found]) -> list[Found]:
        """With the acts that are joined to one claimed: "cannot build or deploy"."""
        if not found or not self._tongue.AND:
            return found
        named = {verb for verb, *_ in found}
        fill = self._pattern(rf"(?:{self._tongue.AND})(?:[\w]+ ){{0,2}}?")
        for verb in self._verbs(cut):
            for _, words, (begin, end), _ in list(found) if verb not in named else ():
                act = self._act(verb).search(cut, end)
                if act and fill.fullmatch(cut, end, act.start()):
                    found.append((verb, words, (begin, act.end()), ""))
                    break
        return found

    def _means(self, cut: str, around: list[str]) -> list[Found]:
        for means in self._tongue.MEANS if self._lacks_means(cut) else ():
            match = self._pattern(means).search(cut)
            if match:
                groups = match.groupdict()
                said = " ".join(filter(None, (groups.get("what"), groups.get("more"))))
                verb = self._handed_over(around)
                return [(verb, target_words(said, self._tongue.GENERIC), match.span(), match[0].strip())]
        return []

    def _handed_over(self, around: list[str]) -> str:
        """The one verb whose act the person is told to do; '' for none or several."""
        handed = [said for said in around if exact(self._tongue.HANDED).search(said)]
        verbs = {verb for said in handed for verb in self._verbs(said) if self._act(verb).search(said)}
        return verbs.pop() if len(verbs) == 1 else ""

    def _words(self, cut: str, span: tuple[int, int], verb: str) -> tuple[str, ...]:
        """What the cut says beside the claim: it may name a target."""
        if self._tongue.CHUNKS:
            stop = exact(_STOPS).search(cut, span[1]) if self._tongue.FILL else None
            end = stop.start() if stop else len(cut) if self._tongue.FILL else span[1]
            said = self._act(verb).sub(" ", cut[:end])
            return target_words(said, self._tongue.GENERIC) + self._object(cut, span, verb)
        stop = exact(self._tongue.STOP).search(cut, span[1])
        rest = cut[span[0] : stop.start() if stop else len(cut)]
        return target_words(self._act(verb).sub(" ", rest), self._tongue.GENERIC)

    def _object(self, cut: str, span: tuple[int, int], verb: str) -> tuple[str, ...]:
        """What an act is done to, where it stands beside it without a blank; () for what every project has."""
        act = self._act(verb).search(cut, span[0])
        if act is None:
            return ()
        found = self._pattern(self._tongue.OBJECT).search(cut[act.end() :] if self._tongue.FILL else cut[: act.start()])
        said = found["object"] if found else ""
        for word in self._tongue.OBJECT_WORDS:
            said = said.replace(word, "")
        said = said.strip()
        return (said,) if len(said) > 1 and not said.isascii() else ()

    def _is_silent(self, cut: str, end: int, sentence: str, before: str, verbs: set[str]) -> bool:
        """Whether it is no claim of now, of who speaks, for want of means; or was done after all."""
        judged = cut[: end + _BEHIND] if self._tongue.CHUNKS else cut
        if any(exact(silent).search(judged) for silent in self._tongue.SILENT):
            return True
        lacks = exact(self._tongue.LACK).search
        if exact(self._tongue.BECAUSE).search(sentence) and not lacks(sentence):
            return True
        state = exact(self._tongue.STATE).search
        if (state(sentence) or state(before)) and not lacks(sentence) and not lacks(before):
            return True
        for verb in verbs or ("",):
            done = self._tongue.DONE_WORDS.get(verb)
            if done and any(exact(text.replace("{done}", done)).search(self._message) for text in self._tongue.DONE):
                return True
        return False


def target_words(text: str, generic: str) -> tuple[str, ...]:
    """The words of a text that may name a target, folded, without inflection; `generic` are those that don't."""
    words = _words(generic)
    found = [
        token.text
        for token in plain_tokens(text)
        if not token.chunk and token.written not in words and token.text not in words and not token.text.isdigit()
    ]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=16)
def _words(text: str) -> frozenset[str]:
    return frozenset(text.split()) | {token.text for token in plain_tokens(text)}
