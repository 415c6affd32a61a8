"""Whether an agent's last message says that it cannot do what is on record as done here. Standard library only.

`inability` reads the message, `challenge` decides whether the turn is sent back, and with which words (design
section 9, "Guard"). Precision comes before recall: a turn that is sent back wrongly costs a person's patience, a
claim that is missed costs what it costs today. Nothing is compiled or loaded for a message that has none of the
words in which an inability is said.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

    from hikidashi.drawer.fact import Fact
    from hikidashi.recall.lookup import Note

__all__ = ["Challenge", "Claim", "challenge", "inability", "raised_as"]

#: What a language cannot say an inability without, in lower case and with straight apostrophes.
MARKS: Final[dict[str, tuple[str, ...]]] = {
    "en": (
        "can't", "cannot", "can not", "unable", "not able", "n't have", "not have", "no way", "no access", "have no",
               "has no", "n't be able", "not be able", "n't possible", "not possible", "impossible", "lack", "are no",
        "have neither",
        "is no", "n't logged", "not logged", "n't authent", "not authent", "n't author", "not author", "n't signed",
        "not signed", "no credentials", "n't any", "not any", "not something i", "n't something i", "without access",
        "can't be", "missing", "incapable", "beyond what i", "outside what i", "n't configured", "not configured",
        "n't available", "not available", "something i can", "n't accessible", "n't set up", "not set up",
    ),
    "ja": (
        "できま", "出来ま", "できない", "出来ない", "できず", "不可能", "ありません", "がない", "がなく", "無い",
        "無く", "ないため", "ないので", "行えま", "行えない", "不可です", "かねます", "持っていな", "持っておら",
        "持ち合わせて", "ておらず", "ていません", "ていない", "られません", "られない", "えません", "けません",
        "せません", "れません", "権限不足",
    ),
    "zh": (
        "无法", "無法", "不能", "没法", "沒法", "没有", "沒有", "不了", "缺少", "缺乏", "不具备", "不具備", "无权",
        "無權", "未登录", "未登入", "办不到", "辦不到", "做不到", "不可能", "未配置", "不可以",
    ),
    "ko": (
        "수 없", "수가 없", "수는 없", "못합니다", "못해", "못 합니다", "불가", "없습니다", "없어", "없으", "없는",
        "않습니다", "않아",
    ),
    "es": (
        "no puedo", "no podemos", "no me es", "no nos es", "resulta posible", "será posible", "no es posible",
        "imposible", "no tengo", "no tenemos", "no soy capaz", "incapaz", "no podré", "no hay", "no dispongo",
        "no cuento con", "falta", "carezco", "no estoy autenticad", "no he iniciado", "no logro", "no consigo",
        "no tiene", "fuera de mi", "sin acceso", "sin credenciales", "no dispone",
    ),
    "de": (
        "kann", "nicht in der lage", "nicht möglich", "unmöglich", "habe kein", "haben kein", "fehlen", "fehlt",
        "nicht imstande", "außerstande", "nicht angemeldet", "nicht eingeloggt", "gibt es kein", "keinen zugriff",
        "keine zugangsdaten", "nicht authentifiziert", "hat kein", "können", "lässt sich", "lassen sich",
    ),
    "fr": (
        "peux pas", "pouvons pas", "ne peux", "pas possible", "impossible", "pas en mesure", "ai pas", "n'ai aucun",
        "incapable", "pourrai pas", "il n'y a pas", "il manque", "me manque", "ne dispose", "n'a pas", "sans accès",
        "suis pas", "pas capable", "incapacité", "impossibilité", "n'avons pas", "n'avons aucun", "n'y a aucun",
        "n'a aucun",
    ),
    "pt": (
        "não posso", "não consigo", "não me é", "não podemos", "não conseguimos", "não é possível", "impossível",
        "não tenho", "não temos", "incapaz", "não sou capaz", "não poderei", "não conseguirei", "não há",
        "não existem", "falta", "não disponho", "não estou autenticad", "não estou logad", "sem acesso",
        "sem credenciais", "não tem", "fora do meu", "não possuo",
        "nao posso", "nao consigo", "nao tenho", "não dispõe",
    ),
}  # fmt: skip

#: Characters read of a message: from its beginning and from its end.
_HEAD: Final = 4_000
_TAIL: Final = 12_000

_APOSTROPHES: Final = str.maketrans("’ʼ＇", "'''")


class Claim:
    """An act of which a message says that it cannot be done now, by who speaks."""

    def __init__(
        self, verb: str, words: tuple[str, ...], span: tuple[int, int], language: str, *, means: str = ""
    ) -> None:
        #: A verb of the promotion's table (`deploy`, `connect-db`, …); '' when only the means are said to be missing
        #: ("I have no credentials") and nothing beside it says what for.
        self.verb: Final = verb
        #: What is said about the target: words, folded and without inflection; () for "I cannot deploy".
        self.words: Final = words
        #: Where in the message (NFC) it stands: first character and the one behind the last.
        self.span: Final = span
        #: `en ja zh ko es de fr pt`.
        self.language: Final = language
        #: The means that are missing, as said; '' where an act is named.
        self.means: Final = means

    def __repr__(self) -> str:
        return f"Claim({self.verb!r}, {self.words!r}, {self.span!r}, {self.language!r}, means={self.means!r})"


class Challenge:
    """A turn that is sent back."""

    def __init__(self, fact: Fact, claim: Claim, text: str) -> None:
        self.fact: Final = fact
        self.claim: Final = claim
        #: What the agent is told.
        self.text: Final = text
        #: What a session remembers, so that the fact is raised once: see `raised_as`.
        self.mark: Final = raised_as(fact)


def raised_as(fact: Fact | Note) -> str:
    """How a session remembers that a fact was raised, whichever version of it."""
    return f"{fact.scope}:{fact.key}"


def inability(message: str) -> list[Claim]:
    """The claims of present inability in a message, in their order.

    Claims of the past, under a condition, in questions, quotations and code, of somebody else, for want of the
    person's yes, and for a reason that lies in the work itself ("the build is broken") are none. Never raises,
    whatever the text holds; of a very long one the first 4,000 and the last 12,000 characters are read.
    """
    if not message.isascii():
        from unicodedata import is_normalized, normalize

        message = message if is_normalized("NFC", message) else normalize("NFC", message)
    if len(message) <= _HEAD + _TAIL:
        return _inability(message, 0)
    return _inability(message[:_HEAD], 0) + _inability(message[-_TAIL:], len(message) - _TAIL)


def _inability(message: str, start: int) -> list[Claim]:
    lowered = lower(message)
    languages = [language for language, marks in MARKS.items() if any(mark in lowered for mark in marks)]
    if not languages:
        return []
    from hikidashi.recall.guard_claims import claims_of  # patterns are made there

    return claims_of(message, lowered, languages, start)


def lower(text: str) -> str:
    """`text` in lower case with straight apostrophes, character by character at the same place."""
    lowered = text.translate(_APOSTROPHES).lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(char if len(char.lower()) != 1 else char.lower() for char in text.translate(_APOSTROPHES))


def challenge(
    message: str,
    *,
    prompt: str,
    capabilities: Sequence[Fact],
    rules: Sequence[Fact | Note],
    turn_failures: Sequence[str] = (),
    refused: bool = False,
    plan_mode: bool = False,
    raised_before: Collection[str] = (),
    stop_hook_active: bool = False,
    now: datetime,
    machine_id: str,
) -> Challenge | None:
    """What to send the turn back with; None to let it end.

    `prompt` is the person's last one. `capabilities` may hold any facts: active capabilities of this machine count.
    `turn_failures` are the commands of this turn that failed, each as text (with what it printed, if that is at
    hand). `refused`: the person turned a call of this turn down. `raised_before` holds the marks of what was raised
    in this session.
    """
    if stop_hook_active or refused or plan_mode or not capabilities:
        return None
    claims = inability(message)
    if not claims:
        return None
    from hikidashi.recall import guard_decision

    found = guard_decision.decide(
        claims,
        prompt=prompt,
        capabilities=[fact for fact in capabilities if _works_here(fact, machine_id)],
        rules=rules,
        turn_failures=turn_failures,
        raised_before=raised_before,
    )
    if found is None:
        return None
    fact, claim, others = found
    return Challenge(fact, claim, guard_decision.told(fact, others, now=now))


def _works_here(fact: Fact, machine_id: str) -> bool:
    return fact.type == "capability" and fact.status == "active" and fact.machine_id in ("", machine_id)
