"""Where a quote stands, and who is made to speak by a text (design section 5.6)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from hikidashi.capture.chunks import Chunk, Shown
from hikidashi.capture.decisions import MIN_QUOTE
from hikidashi.capture.entries import MAX_QUOTE
from hikidashi.capture.passages import folded, one_line
from hikidashi.capture.pieces import Piece
from hikidashi.drawer.terms import terms

__all__ = [
    "find_quote",
    "is_cited",
    "is_evidence",
    "is_own",
    "is_question",
    "piece_at",
    "shares_words",
    "speaks_for_the_person",
    "stands_before",
    "whole_sentence",
]

#: What models put around a quote.
_AROUND: Final = "\"'“”„‘’«»「」『』`… \n\t"
_MARKER: Final = re.compile(r"\[redacted:[a-z0-9-]*\]?")
#: Letters and digits that evidence has at least: a row of dashes says nothing.
_LEAST_LETTERS: Final = 6


def is_evidence(quote: str) -> bool:
    """Whether a quote is long enough to be evidence: 12 characters without what was redacted, some of them letters."""
    bare = one_line(_MARKER.sub(" ", folded(quote)))
    return len(bare) >= MIN_QUOTE and sum(char.isalnum() for char in bare) >= _LEAST_LETTERS


def find_quote(quote: str, event: Shown) -> str:
    """`quote`, folded, as it stands in `event`; '' when it does not, or is too short to be evidence.

    Marks around the quote are not part of it.
    """
    text = event.words
    for wording in dict.fromkeys((folded(quote), folded(quote).strip(_AROUND))):
        if wording in text and is_evidence(wording):
            return wording
    return ""


def is_own(event: Shown, quote: str) -> bool:
    """Whether a folded quote of `event` is its speaker's: of an answer only with the words that answer."""
    said = folded(event.first.said)
    return not said or said in quote or quote in said


def piece_at(event: Shown, quote: str) -> Piece:
    """The piece of `event` in which a folded quote begins; its first one for ''."""
    if not quote or len(event.pieces) == 1:
        return event.first
    at = event.words.find(quote)
    low, high = 0, len(event.pieces) - 1
    while low < high:
        middle = (low + high + 1) // 2
        before = folded("".join(piece.text for piece in event.pieces[:middle]))
        low, high = (middle, high) if len(before) <= at else (low, middle - 1)
    return event.pieces[low]


#: A line's end too, unless the next line goes on with a small letter.
_SENTENCE_END: Final = re.compile(r"[.!?…](?=\s)|[。！？]|\n(?!\s*[a-zà-öø-ÿа-я])")


def whole_sentence(event: Shown, quote: str) -> str:
    """The sentence of `event` around a folded quote, folded: half of it may say the opposite ("never push to main").

    The quote itself where the sentence is longer than a quote may be.
    """
    text = unicodedata.normalize("NFC", event.text)
    found = re.search(r"\s+".join(map(re.escape, quote.split())), text)
    if found is None or event.first.kind == "answer":
        return quote
    start = max((end.end() for end in _SENTENCE_END.finditer(text, 0, found.start())), default=0)
    end = _SENTENCE_END.search(text, max(found.end() - 1, 0))
    whole = folded(text[start : max(end.end(), found.end()) if end else len(text)])
    return whole if len(whole) <= MAX_QUOTE else quote


def stands_before(chunk: Chunk, event: Shown, quote: str) -> bool:
    """Whether a folded quote stood in a tool's output, in external or pasted text before `event`."""
    return any(
        other.speaker in ("tool", "external", "pasted") and quote in other.words
        for other in chunk.events[: event.number - 1]
    )


_CITED: Final = re.compile(r"“[^“”]*”|\"[^\"]*\"|「[^「」]*」|『[^『』]*』|«[^«»]*»|`[^`]*`")


def is_cited(event: Shown, quote: str) -> bool:
    """Whether a folded quote stands only inside quotation marks: the speaker tells what somebody else said."""
    if event.first.kind == "answer":
        return False
    text = event.words
    spans = [match.span() for match in _CITED.finditer(text)]
    return bool(spans) and all(
        any(start < at and at + len(quote) < end for start, end in spans) for at in _places(text, quote)
    )


def _places(text: str, quote: str) -> Iterator[int]:
    at = text.find(quote)
    while at >= 0:
        yield at
        at = text.find(quote, at + 1)


def is_question(quote: str) -> bool:
    """Whether a quote asks: what somebody asks, they have not decided."""
    return quote.rstrip(_AROUND + ")）").endswith(("?", "？", "؟"))


def shares_words(quote: str, text: str) -> bool:
    """Whether a text has a telling word of its quote. One that has none may be evidence of anything."""
    return not terms(quote).isdisjoint(terms(text))


#: A text that tells what the person said, wants or decided.
_OF_THE_PERSON: Final = re.compile(
    r"\b(?:the|this|our) (?:user|person|human|developer|owner|client|customer|operator)(?:'s|’s)? (?:\w+ ){0,2}?"
    r"(?:said|says|say|asked|asks|wants?|wanted|told|tells|requested|requests|requires?|required|instructed|insists?"
    r"|insisted|decided|decides|prefers?|preferred|preferences?|chose|chooses|ordered|demands?|demanded|stated|states"
    r"|confirmed|confirms|approved|approves|agreed|agrees|wishes|instructions?|orders?|request|rules?|decision)\b"
    r"|\b(?:user|person|human) (?:said|says|asked|wants|wanted|told|requested|instructed|decided|prefers|preferred"
    r"|chose|ordered|stated|confirmed|approved|agreed)\b"
    r"|\b(?:said|told|asked|requested|ordered|wanted|decided|chosen|approved|confirmed|instructed|preferred) by the"
    r" (?:user|person|human|developer|owner)\b"
    r"|\byou (?:\w+ ){0,2}?(?:said|told|asked|wanted|requested|instructed|decided|preferred|chose|ordered|approved"
    r"|agreed|confirmed)\b|\byour (?:wish|request|order|instructions?|decision|preference)\b"
    r"|\bat the (?:user|person|human)(?:'s|’s) request\b|\bper (?:the )?user(?:'s|’s)? (?:request|instructions?)\b"
    r"|(?:ユーザー?|利用者|開発者|本人)(?:さん)?(?:は|が|の|から|により|によって).{0,20}?"
    r"(?:言|述べ|求め|要望|要求|希望|指示|依頼|決め|決定|選|好|望|承認|確認)"
    r"|(?:用户|使用者)(?:说|要求|希望|想要|指示|决定|选择|偏好|确认|批准|同意|明确)"
    r"|(?:사용자)(?:가|는|의|로부터).{0,12}?(?:말|요청|원하|지시|결정|선택|선호|승인|확인)"
    r"|\b(?:el|la) usuari[oa] (?:dijo|pidió|quiere|quería|decidió|prefiere|eligió|ordenó|confirmó|aprobó)"
    r"|\bo usuário (?:disse|pediu|quer|queria|decidiu|prefere|escolheu|ordenou|confirmou|aprovou)"
    r"|\bl['’]utilisateur (?:a|veut|voulait|préfère|souhaite|demande|exige)\b"
    r"|\b(?:der|die) (?:Nutzer|Benutzer|Anwender)(?:in)? (?:hat|will|wollte|möchte|bevorzugt|verlangt|sagte)\b"
    r"|пользовател[ья] (?:сказал|попросил|хочет|хотел|решил|предпочитает|выбрал|приказал|подтвердил|одобрил)",
    re.IGNORECASE,
)
_SPEECH: Final = re.compile(r"[“\"]([^“”\"]{12,})[”\"]|「([^「」]{12,})」|«([^«»]{12,})»")


def speaks_for_the_person(text: str, chunk: Chunk, *, by_person: bool) -> bool:
    """Whether `text` tells of the person what it cannot show.

    Where the evidence is not the person's (`by_person`) it may tell nothing that the person said or wants; where it
    is, speech in quotation marks must stand in the person's words.
    """
    if _OF_THE_PERSON.search(text) is None:
        return False
    if not by_person:
        return True
    said = [event.words for event in chunk.events if event.speaker == "person"]
    speeches = (
        folded(next(filter(None, match.groups()), "")).strip(_AROUND + ".,") for match in _SPEECH.finditer(text)
    )
    return any(not any(speech in words for words in said) for speech in speeches)
