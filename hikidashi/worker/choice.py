"""What a decision chooses, and which older value it names as given up (design section 6: `replaced` only then).

"Use pnpm instead of npm" replaces "Use npm". It does not replace "Use npm workspaces in the monorepo" (the new
text says nothing of that), nor does "Use pnpm instead of npm in CI" replace "Use npm" (narrower). In doubt both
decisions stay.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from hikidashi.worker.sameness import fingerprint
from hikidashi.worker.words import CHOICE_WORDS, FUNCTION_WORDS, NEGATIONS

__all__ = ["Choice", "content", "negated", "read_choice", "supersedes"]

_END = (
    r"(?=$|[,;:(–—、，。]| (?:in|for|on|at|because|since|as|when|und|weil|für|in|car|parce|pour|dans|porque|para|perché"
    r"|per|потому|для|в)\b)"
)
_OLD: Final = r"(?P<old>[^\s,;:]+(?: [^\s,;:]+){0,3}?)" + _END
_NEW_END: Final = r"(?P<new>[^\s,;:]+(?: [^\s,;:]+){0,3}?)" + _END
_MID_OLD: Final = r"(?P<old>[^\s,;:]+(?: [^\s,;:]+){0,3}?)"
_MID_NEW: Final = r"(?P<new>[^\s,;:]+(?: [^\s,;:]+){0,3}?)"
_TIGHT_OLD: Final = r"(?P<old>[^\s、。,，]{1,30}?)"
_TIGHT_NEW: Final = r"(?P<new>[^、。,，]{1,30}?)"

#: Patterns that are refused in a sentence with a negation: "don't use pnpm instead of npm" gives up nothing.
_PLAIN: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # NEW instead of OLD
        r"(?P<left>.+?),? (?:instead of|rather than|in place of|statt|anstatt|anstelle von|au lieu d(?:e |')|plutôt que"
        r"|à la place de|en lugar de|en vez de|em vez de|ao invés d[eo]|no lugar d[eo]|invece di|al posto di|вместо)"
        r" ?(?:using |the |der |des |dem |du |del )?" + _OLD,
        r"\bprefer\w* (?P<left>.+?) (?:over|to) " + _OLD,
        # from OLD to NEW
        r"\b(?:switch|mov|migrat|chang|go)\w*(?: away)? from " + _MID_OLD + r" to " + _NEW_END,
        r"\bvon " + _MID_OLD + r" (?:auf|zu|nach) " + _MID_NEW + r"(?: (?:umsteigen|wechseln|umstellen|migrieren)|$)",
        r"\b(?:pass|migr|bascul)\w* (?:de |d')" + _MID_OLD + r" (?:à|vers) " + _NEW_END,
        r"\b(?:cambi|migr|pas)\w* de " + _MID_OLD + r" a " + _NEW_END,
        r"\b(?:migr|mud|troc|pass)\w* (?:de|do|da) " + _MID_OLD + r" para (?:o |a )?" + _NEW_END,
        r"\b(?:pass|migr)\w* da " + _MID_OLD + r" a " + _NEW_END,
        r"\b(?:пере\w+) с " + _MID_OLD + r" на " + _NEW_END,
        # replace OLD with NEW
        r"\breplac\w* " + _MID_OLD + r" (?:with|by) " + _NEW_END,
        r"\bersetz\w* " + _MID_OLD + r" durch " + _NEW_END,
        r"(?:^|\b(?:wird|wir) )" + _MID_OLD + r" durch " + _MID_NEW + r" (?:zu )?ersetz",
        r"\bremplac\w* " + _MID_OLD + r" par " + _NEW_END,
        r"\b(?:reemplaz|sustitu|substitu|troc)\w* " + _MID_OLD + r" (?:por|con) " + _NEW_END,
        r"\bsostitu\w* " + _MID_OLD + r" con " + _NEW_END,
        r"\bзамен\w* " + _MID_OLD + r" на " + _NEW_END,
        # Japanese, Chinese, Korean
        _TIGHT_OLD + r"(?:の代わりに|に代えて|をやめて|から卒業して)、?\s*" + _TIGHT_NEW + r"(?:を|に|へ|で|$)",
        _TIGHT_OLD + r"から\s*" + _TIGHT_NEW + r"(?:に|へ)(?:移行|切り替え|切替|変更|乗り換え)",
        r"用\s*" + _TIGHT_NEW + r"\s*(?:代替|替代|取代|替换)\s*" + _TIGHT_OLD + r"(?=$|[、。,，\s])",
        r"(?:从|由)\s*"
        + _TIGHT_OLD
        + r"\s*(?:改为|改成|换成|换到|切换到|切换为|迁移到|改用)\s*"
        + _TIGHT_NEW
        + r"(?=$|[、。,，])",
        r"(?:把|将)\s*" + _TIGHT_OLD + r"\s*(?:换成|改成|改为|替换为|替换成)\s*" + _TIGHT_NEW + r"(?=$|[、。,，])",
        _TIGHT_OLD + r"\s*대신에?\s*" + _TIGHT_NEW + r"(?:을|를|로|으로|\s|$)",
        _TIGHT_OLD + r"에서\s*" + _TIGHT_NEW + r"(?:으로|로)(?:\s|$)",
        _TIGHT_OLD + r"(?:을|를)\s*" + _TIGHT_NEW + r"(?:으로|로)\s*(?:바꾸|바꿔|교체|변경|대체)",
    )
)

#: Patterns whose negation is part of them.
_NEGATING: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b(?:no longer|stop)(?: us\w+| tak\w+)? " + _OLD,
        r"\bnot " + _MID_OLD + r",? but " + _NEW_END,
        r"(?P<left>.+?), (?:and )?(?:not|nicht|kein|pas|no|não|non|не) " + _OLD + r"$",
        r"\bnicht(?: mehr)? " + _MID_OLD + r",? sondern " + _NEW_END,
        r"\bno " + _MID_OLD + r",? sino " + _NEW_END,
        r"\bне " + _MID_OLD + r", а " + _NEW_END,
        _TIGHT_OLD + r"(?:では?なくて?|じゃなくて?)、?\s*" + _TIGHT_NEW + r"(?:を|に|へ|で|$)",
        r"(?:不再用|不再使用|不用|不要用|弃用)\s*"
        + _TIGHT_OLD
        + r"\s*[,，]?\s*(?:而是用|改用|而用|换成|用)\s*"
        + _TIGHT_NEW
        + r"(?=$|[、。,，])",
        r"用\s*" + _TIGHT_NEW + r"\s*[,，]?\s*(?:而不是|而非|不用)\s*" + _TIGHT_OLD + r"(?=$|[、。,，\s])",
        _TIGHT_OLD + r"(?:이|가)?\s*아니라\s*" + _TIGHT_NEW + r"(?:을|를|로|으로|\s|$)",
    )
)

#: Words without one of which no pattern can match: most sentences are done with here.
_TRIGGER: Final = re.compile(
    r"instead|rather|in place|prefer| from |replac|longer|stop |not |statt|anstelle|von |durch|nicht|kein|lieu|plutôt"
    r"|place de| vers | à |remplac| pas |lugar|vez de|ao inv| para | por | con |, no |no .* sino| a |invece|posto"
    r"|sostitu|, não|, non|вместо| на |замен|, не |не "
    r"|代わり|代え|やめて|卒業|から|なく|代替|替代|取代|替换|改|换|切换|迁移|而|不用|不再|弃用"
    r"|대신|에서|바꾸|바꿔|교체|변경|대체|아니라"
)
_MAX_SENTENCE: Final = 400

#: What follows these is a reason, no narrowing.
_REASON: Final = re.compile(
    r"[,;]? *(?:\b(?:because|since|so that|as it|weil|denn|damit|parce que|car|puisque|porque|ya que|já que|perché"
    r"|потому|так как)\b|ため|ので|因为|때문).*$"
)
#: A clause of its own after the value given up ("…, npm keeps breaking the lockfile") is a reason too, unless it
#: begins with a word that narrows or adds.
_ASIDE: Final = re.compile(
    r"[,;–—] *(?!(?:but|only|except|unless|when|while|if|for|in|on|at|and|or|yet|until|aber|nur|außer|wenn|für|und|oder"
    r"|mais|sauf|quand|si|pour|et|ou|dans|pero|solo|salvo|cuando|para|y|en|mas|só|exceto|quando|se|e|em|per|но|только"
    r"|если|для|и|в)\b)(?:[^\s,;]+ +){3,}\S.*$"
)
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|[。！？\n]+")
_TOKEN: Final = re.compile(r"[^\W\d_]+['’][^\W\d_]+|[^\s\"'`*()\[\]{}<>,;:!?。、，；：！？「」『』（）【】]+")
_CJK_PART: Final = re.compile(
    "[\u4e00-\u9fff\u3400-\u4dbf]+|[\u30a0-\u30ff]+|[\uac00-\ud7af]+|[^\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PARTICLES: Final = _words(
    "을 를 이 가 은 는 의 에 로 으로 와 과 도 만 에서 把 将 대신 대신에 아니라 代 替 取代 代替 替代 替换"
)
_CONNECTIVES: Final = _words(
    "instead rather place favor favour longer stop but away over replace replaced statt anstatt anstelle durch ersetzen"
    " lieu plutôt place remplacer lugar vez invés invece posto reemplazar sustituir substituir вместо заменить mehr"
    " sondern sino from von auf nach than in on"
    " umsteigen wechseln umstellen migrieren migrer passer migrar mudar cambiar pasar passar passare migrare перейти"
    " переходим переход 移行 切替 変更 改用 不用 而不是 而非 改为 换成 변경 교체 바꾸자 바꾼다"
)
_MAX_SENTENCES: Final = 10


@dataclass(frozen=True, slots=True)
class Choice:
    """What one sentence chooses and gives up; all words folded, without function words."""

    chosen: frozenset[str]
    #: The value given up; empty when the text names none.
    given_up: frozenset[str]
    #: What else the sentence speaks of: where the choice holds.
    scope: frozenset[str]


def content(text: str) -> list[str]:
    """The words of `text` that carry content, folded, in order: no function words, none that only say "use"."""
    words: list[str] = []
    for token in _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold()):
        for part in _CJK_PART.findall(token):
            word = part.strip(".-–—") or part
            if word not in FUNCTION_WORDS and word not in CHOICE_WORDS and word not in _PARTICLES:
                words.append(word)
    return [word for word in words if word not in NEGATIONS and word not in _CONNECTIVES]


def negated(text: str) -> bool:
    """Whether `text` holds a negation in one of the languages known here."""
    return any(token == "not" or token.startswith("not:") for token in fingerprint(text))


def _left_value(left: str) -> frozenset[str]:
    """The value at the end of what stands before "instead of": what follows the last word of choosing."""
    words = _TOKEN.findall(left)
    start = max((i + 1 for i, word in enumerate(words) if word in CHOICE_WORDS), default=max(0, len(words) - 2))
    return frozenset(content(" ".join(words[start:]))) or frozenset(content(left))


def _read_sentence(sentence: str) -> Choice | None:
    if len(sentence) > _MAX_SENTENCE:
        return None
    text = _REASON.sub("", " ".join(unicodedata.normalize("NFKC", sentence).casefold().split())).rstrip(".!")
    if not text or text.endswith("?") or not _TRIGGER.search(text):
        return None
    patterns = _NEGATING if negated(text) else _PLAIN
    for pattern in patterns:
        match = pattern.search(text)
        if match is None:
            continue
        groups = match.groupdict()
        given_up = frozenset(content(groups["old"]))
        left = groups.get("left")
        chosen = _left_value(left) if left is not None else frozenset(content(groups.get("new") or ""))
        if given_up and not given_up & chosen:
            spoken_of = text[: match.end()] + _ASIDE.sub("", text[match.end() :])
            return Choice(chosen, given_up, frozenset(content(spoken_of)) - chosen - given_up)
    return None


def read_choice(title: str, body: str = "") -> Choice:
    """What a decision chooses: from the first sentence that names a value given up, else from the title alone."""
    for sentence in [title, *_SENTENCE.split(body)][:_MAX_SENTENCES]:
        choice = _read_sentence(sentence)
        if choice is not None:
            return choice
    return Choice(frozenset(content(title)), frozenset(), frozenset())


def supersedes(new: Choice, new_words: frozenset[str], old: Choice, old_words: frozenset[str]) -> bool:
    """Whether `new` names what `old` chose as given up, and neither speaks of more than the other.

    `new_words` and `old_words` are the content words of the whole texts. The old decision must not be negated.
    """
    if not new.given_up or not new.given_up <= old.chosen:
        return False
    left_over = (old.chosen - new.given_up) | old.scope
    return left_over <= new_words and new.scope <= old_words
