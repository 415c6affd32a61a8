"""Whether a text's evidence is what it is said to be: where a quote stands, and who is made to speak (section 5.6)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from hikidashi.capture.chunks import Chunk, Shown
from hikidashi.capture.decisions import MIN_QUOTE
from hikidashi.capture.passages import one_line
from hikidashi.capture.pieces import Piece

__all__ = ["MIN_QUOTE", "find_quote", "folded", "is_cited", "piece_at", "speaks_for_the_person", "stands_before"]

#: What models put around a quote.
_AROUND: Final = "\"'“”„‘’«»「」『』`… \n\t"


def folded(text: str) -> str:
    """NFC, with whitespace folded: the form in which texts are compared."""
    return one_line(unicodedata.normalize("NFC", text))


def find_quote(quote: str, event: Shown) -> str:
    """`quote`, folded, as it stands in `event`; '' when it does not, or is too short to be evidence.

    Marks around the quote are not part of it. Of a person's answer the quote must have the person's own words.
    """
    text = folded(event.text)
    for wording in dict.fromkeys((folded(quote), folded(quote).strip(_AROUND))):
        if len(wording) >= MIN_QUOTE and wording in text:
            said = folded(event.first.said)
            return wording if not said or said in wording or wording in said else ""
    return ""


def piece_at(event: Shown, quote: str) -> Piece:
    """The piece of `event` in which a folded quote begins; its first one for ''."""
    if not quote or len(event.pieces) == 1:
        return event.first
    at = folded(event.text).find(quote)
    low, high = 0, len(event.pieces) - 1
    while low < high:
        middle = (low + high + 1) // 2
        before = folded("".join(piece.text for piece in event.pieces[:middle]))
        low, high = (middle, high) if len(before) <= at else (low, middle - 1)
    return event.pieces[low]


def stands_before(chunk: Chunk, event: Shown, quote: str) -> bool:
    """Whether a folded quote stood in a tool's output, in external or pasted text before `event`."""
    return any(
        other.speaker in ("tool", "external", "pasted") and quote in folded(other.text)
        for other in chunk.events[: event.number - 1]
    )


_CITED: Final = re.compile(r"“[^“”]*”|\"[^\"]*\"|「[^「」]*」|『[^『』]*』|«[^«»]*»|`[^`]*`")


def is_cited(event: Shown, quote: str) -> bool:
    """Whether a folded quote stands only inside quotation marks: the speaker tells what somebody else said."""
    if event.first.kind == "answer":
        return False
    text = folded(event.text)
    spans = [match.span() for match in _CITED.finditer(text)]
    return bool(spans) and all(
        any(start < at and at + len(quote) < end for start, end in spans) for at in _places(text, quote)
    )


def _places(text: str, quote: str) -> Iterator[int]:
    at = text.find(quote)
    while at >= 0:
        yield at
        at = text.find(quote, at + 1)


_PERSON: Final = re.compile(
    r"\b(?:the|this|our) (?:user|person|human|developer|owner|client|customer|operator)(?:'s|’s)? (?:\w+ ){0,2}?"
    r"(?:said|says|say|asked|asks|wants?|wanted|told|tells|requested|requests|requires?|required|instructed|insists?"
    r"|insisted|decided|decides|prefers?|preferred|preferences?|chose|chooses|ordered|demands?|demanded|stated|states"
    r"|confirmed|confirms|approved|approves|agreed|agrees|wishes|instructions?|orders?|request|rules?|decision)\b"
    r"|\b(?:user|person|human) (?:said|says|asked|wants|wanted|told|requested|instructed|decided|prefers|preferred"
    r"|chose|ordered|stated|confirmed|approved|agreed)\b"
    r"|\b(?:said|told|asked|requested|ordered|wanted|decided|chosen|approved|confirmed|instructed|preferred) by the"
    r" (?:user|person|human|developer|owner)\b"
    r"|\bat the (?:user|person|human)(?:'s|’s) request\b|\bper (?:the )?user(?:'s|’s)? (?:request|instructions?)\b"
    r"|(?:ユーザー?|利用者|開発者|本人)(?:さん)?(?:は|が|の|から|により|によって).{0,20}?(?:言|述べ|求め|要望|要求|希望|指示|依頼|決め|決定|選|好|望|承認|確認)"
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
    if _PERSON.search(text) is None:
        return False
    if not by_person:
        return True
    said = [folded(event.text) for event in chunk.events if event.speaker == "person"]
    speeches = (
        folded(next(filter(None, match.groups()), "")).strip(_AROUND + ".,") for match in _SPEECH.finditer(text)
    )
    return any(not any(speech in words for words in said) for speech in speeches)
