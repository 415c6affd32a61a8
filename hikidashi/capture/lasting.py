"""Rules from a person's own lasting orders, without a model (design section 8, "Promotion").

"Never push to main", "from now on answer in English", 「PROD に触るな」: what a person orders for good becomes the
draft of a rule; what is meant for the task at hand, told of a product, quoted, asked or complained does not.
Of real prompts with "always" or "never" one in ten is a rule, so a sentence must show by its form that it is one
(`lasting_forms` and the languages beside it) and must stand where people speak (`lasting_prompt`).
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Final

from hikidashi.capture.asks import ask_kind
from hikidashi.capture.lasting_forms import STRENGTHS, Marks, Strength, fold, sets_task
from hikidashi.capture.lasting_prompt import MAX_PROMPT, SHORT_PROMPT, Spoken, is_pasted, spoken
from hikidashi.capture.passages import Place, one_line
from hikidashi.drawer.fact import CONFIDENCE, Draft, Sighting, clean_key
from hikidashi.hosts.transcript import Event
from hikidashi.redact import redact
from hikidashi.source import Source

__all__ = ["MAX_RULE", "Lasting", "lasting_orders", "rule_key"]

#: Characters of a rule: one sentence.
MAX_RULE: Final = 400
#: Rules of one prompt; more of them is a document.
MAX_RULES: Final = 12


class Lasting:
    """Events in, drafts of rules out. One a transcript file; it keeps nothing but the last time it met."""

    def __init__(self, host: str, path: str, *, copies: bool = False) -> None:
        self.host = host
        self.path = path
        #: Events that another file told count too: who takes the sightings knows them by their anchors.
        self._copies = copies
        #: Time of the last event, for those that have none.
        self.last_at = ""

    def feed(self, event: Event) -> list[tuple[Draft, Sighting]]:
        """The rules in one event, each with its sighting; [] for all but a person's own prompt."""
        if event.at:
            self.last_at = event.at
        if event.kind != "user" or event.role != "user" or event.sidechain:
            return []
        if event.repeat and not self._copies:
            return []
        found: dict[str, tuple[Draft, Sighting]] = {}
        for sentence in lasting_orders(event.text):
            key = rule_key(sentence)
            if key not in found:
                found[key] = self._drafted(event, key, sentence)
        return list(found.values())

    def _drafted(self, event: Event, key: str, sentence: str) -> tuple[Draft, Sighting]:
        place = Place.of(event, self.last_at)
        source = Source(
            host=self.host,
            session_id=event.session_id,
            lines=(place.line, place.line),
            uuids=(place.uuid, place.uuid),
            at=place.at,
        )
        draft = Draft(
            key=key,
            type="rule",
            body=sentence,
            confidence=CONFIDENCE["rule"],
            proof="the person's own words",
            trust="user",
            origin="rule",
            source=source.to_dict(),
        )
        sighting = Sighting(
            key=key,
            anchor=place.anchor,
            host=self.host,
            session_id=event.session_id,
            path=self.path,
            line=place.line,
            at=place.at,
            told=one_line(sentence),
        )
        return draft, sighting


def lasting_orders(text: str) -> list[str]:
    """The sentences of a prompt that order something for good, redacted, without address; mostly []."""
    if len(text) > MAX_PROMPT:
        return []
    text = unicodedata.normalize("NFC", text)  # some keyboards send accents as letters of their own
    marks = Marks(fold(text))
    if not marks or not _orders(text, marks) or is_pasted(text):
        return []
    # Redacted as a whole and read again: a secret may be one only beside the words around the sentence.
    clean = redact(text)
    orders = _orders(clean, Marks(fold(clean)))
    return [order for order in orders if _says_enough(order)][:MAX_RULES] if len(orders) <= MAX_RULES else []


#: Characters that an order has without its secrets.
_LEAST_WORDS: Final = 16
_MARKER: Final = re.compile(r"\[redacted:[a-z0-9-]*\]?")


def _says_enough(order: str) -> bool:
    """Whether a redacted order still is one without what was taken out."""
    if "[redacted:" not in order:
        return True
    rest = one_line(_MARKER.sub(" ", order))
    return len(rest) >= _LEAST_WORDS and _strength(rest) is not None


def _orders(text: str, marks: Marks) -> list[str]:
    """The lasting orders of a prompt as they stand, in order."""
    pieces = spoken(text)
    judged = [(piece, _judged(piece, marks)) for piece in pieces]
    if not any(strength for _, strength in judged):
        return _remembered(pieces)
    only_rules = all(strength or _says_nothing(piece.text) for piece, strength in judged)
    crowded = len(text) > (SHORT_PROMPT if text.isascii() or not _dense(text) else SHORT_PROMPT // 2)
    least: Strength = "alone" if only_rules else "sure" if crowded else "likely" if _sets_task(judged) else "fair"
    kept: list[str] = []
    for n, (piece, strength) in enumerate(judged):
        if strength is None or (piece.listed and not piece.announced and not only_rules):
            continue
        if STRENGTHS.index(strength) >= STRENGTHS.index("fair" if piece.announced else least):
            kept.append(_worded(pieces, n))
    return [order for order in kept if 4 <= len(order) <= MAX_RULE]


def _sets_task(judged: list[tuple[Spoken, Strength | None]]) -> bool:
    """Whether a sentence that is no order for good sets a task."""
    return any(strength is None and sets_task(one_line(fold(piece.text))) for piece, strength in judged)


def _judged(piece: Spoken, marks: Marks) -> Strength | None:
    strength = _strength(piece.text, marks)
    if strength is None and piece.announced:
        # Under "from now on:" an item is an order of its own.
        strength = _strength(f"from now on {piece.text}")
    return strength


#: A question that asks for something to be done is an order.
_POLITE: Final = re.compile(
    r"^\W*(?:\w+,? ){0,3}?(?:can|could|would|will) (?:you|u)\b|\b(?:can|could) we (?:please |just )?(?:stick|keep"
    r"|agree|avoid)\b|\bplease\b|\b(?:puedes|podrias|pode|poderia|peux-tu|peux tu"
    r"|pourrais-tu|tu peux|kannst du|konntest du|puoi)\b|(?:もらえ|くれ|いただけ|頂け)\S*[か?]|可以.{0,30}吗"
    r"|能.{0,30}吗|줄래|주실래|줄 수"
)


#: Asking at the end whether it was understood.
_TAG: Final = re.compile(
    r",? ?(?:ok(?:ay)?|alright|right|understood|got it|deal|yeah|vale|de acuerdo|entendido|ta|certo|combinado|d'accord"
    r"|compris|verstanden|klar|いいね|いいですね|わかった|分かった|分かりました|好吗|好不好|知道了吗|明白吗|明白了吗"
    r"|알겠지|알았지|хорошо|tamam mi) ?\?$"
)


def _strength(text: str, marks: Marks | None = None) -> Strength | None:
    """The strongest form that a sentence has in any language; None for none, for questions and for quotes."""
    if len(text) > MAX_RULE or text[:1] in "\"“”«「『'‘":
        return None
    folded = _TAG.sub("", one_line(fold(text)))
    if folded.endswith("?") and not _POLITE.search(folded):
        return None
    return (marks or Marks(folded)).strength(folded)


def _says_nothing(text: str) -> bool:
    """Whether a sentence only greets, agrees or says stop."""
    return len(text) <= 6 or ask_kind(text) == "answer" or fold(text).strip(" .!,") in _EMPTY


_EMPTY: Final = frozenset(
    {"stop", "wait", "no", "hey", "important", "note", "one more thing", "by the way", "btw", "rules", "remember"}
)

#: "Remember that": the order is the sentence before.
_BARE_REMEMBER: Final = re.compile(
    r"(?:please |and |so |pls )?(?:remember|memori[sz]e|keep in mind|note|do not forget|don't forget)(?: this"
    r"| that| it)"
    r"(?: (?:please|for (?:later|next time|the future|all sessions|future sessions)|in (?:the )?future|from now on))?"
    r"|(?:please |and |so )?(?:do (?:this|that|it) )?(?:from now on|always|ever|every time|going forward"
    r"|in (?:the )?future)(?: please)?"
    r"|this (?:goes|applies|holds|is true|is a rule) (?:for|to|in) (?:the (?:whole|entire)|every|all|any)\b.{0,30}"
    r"|今後(?:も|は|ずっと)*|これからも?(?:ずっと)?|以后都?(?:这样|如此)?|앞으로(?:도|는)?(?: 계속)?"
    r"|(?:これ|それ|この点|このこと)?(?:を|は|も)?(?:覚えておいて|覚えといて|記憶して)(?:ください|下さい|ね|おいて)?"
    r"|(?:请)?记住(?:这一?点|这个|了|这些)?|(?:이거|이것|이 점)?(?:을|를)? ?(?:꼭 )?기억해(?:줘|둬|주세요|)"
    r"|(?:por favor )?recuerda(?: esto|lo)?|lembre-se disso|guarde isso|souviens-toi de ca|retiens ca"
    r"|merk dir das|merke dir das"
)


def _remembered(pieces: list[Spoken]) -> list[str]:
    """A short prompt of a statement and "remember that": both as one order."""
    if not 2 <= len(pieces) <= 3:
        return []
    last = one_line(fold(pieces[-1].text)).strip(" .,!")
    before = pieces[-2].text
    if not _BARE_REMEMBER.fullmatch(last) or before.endswith(("?", "？")) or len(before) < 8:
        return []
    return [_tidy(_joined(before, pieces[-1].text))]


def _joined(first: str, second: str) -> str:
    return first + ("" if first.endswith(("。", "！", "？")) else " ") + second


#: The end of an order that points at the sentence before.
_POINTS: Final = re.compile(r"\b(?:that|it|this|them|those)\W*$", re.IGNORECASE)


def _worded(pieces: list[Spoken], n: int) -> str:
    """The order as it is kept: from "from now on" if a task stands before it, with what it points at."""
    text = pieces[n].text
    cut_at = _after_task(text)
    if cut_at:
        text = text[cut_at:]
    elif n and len(text) < 80 and _POINTS.search(text) and not pieces[n].listed:
        text = _joined(pieces[n - 1].text, text)
    return _tidy(text)


_FROM_NOW: Final = re.compile(
    r"[,;:-] ?(?:and|but|also|so|then|y|e|et|und|aber|pero|mas|mais|и)? ?"
    r"(?P<own>(?:please |por favor |bitte )?(?:from (?:now|here|this point) on|going forward|in (?:the )?future"
    r"|next time|a partir d[ea] |de ahora|daqui|de agora"
    r"|desormais|dorenavant|a l'avenir|ab jetzt|ab sofort|kunftig|in zukunft|с этого момента|впредь|bundan sonra"
    r"|d'ora in poi)"
    r"|今後は|これからは|以后|今后|从现在|앞으로|이제부터)"
)


def _after_task(text: str) -> int:
    """Where "from now on …" begins behind a task of the moment; 0 when there is none."""
    folded = fold(text)
    match = _FROM_NOW.search(folded, 12)
    if match is None:
        return 0
    start = match.start("own")
    return start if _strength(text[start:]) is not None else 0


#: What is said to somebody before anything is said; the second group only with a stop behind ("no emojis").
_ADDRESS: Final = re.compile(
    r"\A(?:[\s,.!:;*_>#-]"
    r"|(?:ok(?:ay)?|so|btw|by the way|also|and|but|hey|hi|oh|ah|um|please|pls|plz|thanks?|thx|y|pero|además|también"
    r"|por favor|porfa|vale|oye|e|mas|então|também|und|aber|also|bitte|übrigens|et|mais|alors|aussi|stp|au fait"
    r"|s'il te pla[iî]t|и|пожалуйста|lütfen|per favore)(?=[\s,.!:;])"
    r"|(?:k|well|alright|all right|right|great|perfect|thank you|cool|nice|good|yes|yep|yeah|no|nope|hello|hmm+|wait"
    r"|stop|look|listen|again|actually|one more thing|important|dude|bro|man|bueno|gracias|sí|bien"
    r"|ok|bom|beleza|sim|não|obrigad[oa]|danke|ja|nein|gut|merci|bon|oui|non|да|нет|спасибо|tamam|grazie)[,.!:;]"
    r"|(?:claude|codex|gemini)[,:]"
    r"|(?:ちなみに|あと|それと|それから|では|じゃあ|あの|なお|あ|えっと|了解|ありがとう|はい)[、,。 ]+"
    r"|(?:好的?|对了|另外|还有|嗯|谢谢|那个)[,，。、 ]+|(?:그리고|네|아|참고로|고마워|그럼)[,. ]+)+",
    re.IGNORECASE,
)


def _tidy(text: str) -> str:
    """One line without address in front and stops behind."""
    line = one_line(text)
    address = _ADDRESS.match(line)
    bare = line[address.end() :] if address else line
    bare = bare if len(bare) >= 4 else line
    return bare.strip(" *_-–").rstrip(" .!。！…:;")


_POLITE_WORDS: Final = re.compile(
    r"\b(?:please|pls|plz|kindly|por favor|bitte|s'il te plait|stp|пожалуйста|lutfen|per favore)\b"
)
_PARTS: Final = re.compile(r"[^\w]+")
#: Characters of a key behind `rule:`; a longer sentence is cut and told apart by a hash.
_KEY_LENGTH: Final = 56


def rule_key(sentence: str) -> str:
    """`rule:never-push-to-main`: the words of a sentence, the same wherever and however politely it is said."""
    folded = unicodedata.normalize("NFC", _POLITE_WORDS.sub(" ", fold(one_line(sentence))))
    words = _PARTS.sub("-", folded.replace("'", "")).strip("-_")
    if len(words) > _KEY_LENGTH or not words:
        digest = hashlib.sha256(words.encode("utf-8", "surrogatepass") or sentence.encode()).hexdigest()[:6]
        head = words[:_KEY_LENGTH]
        head = head.rpartition("-")[0] if head.count("-") > 2 else head
        words = f"{head}-{digest}".strip("-")
    return clean_key(f"rule:{words}")


_DENSE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def _dense(text: str) -> bool:
    """Whether a text is mostly in a script of which one character says as much as a few letters."""
    return len(_DENSE.findall(text)) * 3 > len(text)
