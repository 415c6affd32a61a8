"""A contrastive choice in a person's own words: "use X instead of Y", 「AではなくBで」 and the like.

Precision before recall: the sentence must order or settle something (no question, no wondering), must name
both sides, and must not be an errand (one file, one git operation, a size or a colour).
"""

from __future__ import annotations

import re
from typing import Final

from hikidashi.capture.asks import AskKind, ask_kind
from hikidashi.capture.vocabulary import contains_any

__all__ = ["MAX_CHOICE", "contrastive_choice"]

#: A longer prompt is a specification or a paste.
MAX_CHOICE: Final = 400

_X: Final = r"[^.,;:!?\n]{2,70}?"
_END: Final = r"[^.;:!?\n]{2,70}"
#: A word that orders, at the start of the sentence or after a polite opening.
_EN_LEAD: Final = (
    r"(?:^|[.!,;:—-]\s*|\b(?:please|let's|lets|we(?:'ll| will| should| must)|i(?:'d like to| want(?: you)? to|'d"
    r" prefer to)|you (?:should|must)"
    r"|we|always|ok(?:ay)?|and|so|but|then|just|also|here|please|from now on|going forward|in (?:the )?future"
    r"|(?:in|for|on) (?:this|the|our|all|every|new) [\w-]+(?: [\w-]+)?),?\s+)"
)

#: Cheap test first: one of these is in the lowered text of every pattern's matches.
_MARKS: Final = (
    "instead of", " want ", "rather than", " over ", "not ", "don't", "do not", "never ", "switch", "migrate",
    "move from", "prefer",
    "ではなく", "じゃなく", "でなく", "の代わり", "より", "やめて", "代替", "不要用", "别用", "改用",
    "而不是", "而非", "대신", "말고", "아니라",
    "en lugar de", "en vez de", " y no ", "no uses", "no usar", "nunca ", "em vez de", "ao invés", "ao inves",
    "no lugar de", " e não ", " e nao ",
    "não use", "nao use", "au lieu de", "plutôt que", "plutot que", "et non", "et pas", "n'utilise",
    "ne pas utiliser", "jamais ", "statt", "anstelle",
    "nicht ", "sondern", "вместо", " а не ",
)  # fmt: skip

#: With each pattern, texts of which one is in the lowered sentence wherever the pattern is.
_PATTERNS: Final[tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]] = tuple(
    (marks, re.compile(pattern, re.IGNORECASE))
    for marks, pattern in (
        # English
        (("instead of", "rather than"),
        _EN_LEAD + rf"(?:use|using|go with|take|pick|choose|keep|stick (?:to|with)|make|put|store|write|call|name"
            rf"|build|implement|run|do|return|have|send|read|show|expose|model|treat|test|deploy|host|target)"
            rf" {_X} (?:instead of|rather than) {_END}"),
        (("instead of", "rather than"),
        _EN_LEAD + rf"(?:instead of|rather than) {_X},? (?:use|go with|take|keep|make|put|store|write|call|do"
            rf"|build|run|have|we|let's) ?{_END}"),
        ((" over ", "instead of", "rather than"),
        rf"\b(?:prefer|choose|pick|chose|favou?r) {_X} (?:over|instead of|rather than) {_END}"),
        (("don't", "do not", "never "),
        _EN_LEAD + rf"(?:don't|do not|never) (?:ever )?(?:use|add|put|write|store|create|call|mock|commit|run"
            rf"|import|depend on) {_X}[,;.—-]+ ?(?:but |just |always |only )?(?:use|put|write|store|create|call"
            rf"|run|import|keep|go with|prefer) {_END}"),
        (("not ",),
        rf"\b(?:should|must|shall|has to|have to|needs? to) (?:only )?(?:be|use|go|live|happen|come|run|stay|read"
        rf"|return|write|store)\b {_X},? (?:and |but )?not {_END}"),
        ((", not ",),
        _EN_LEAD + rf"(?:use|keep|go with|put) {_X}, not {_END}"),
        ((" from ",),
        _EN_LEAD + rf"(?:switch|migrate|move|change) (?:\w+ )?(?:{_X} )?from {_X} to {_END}"),
        ((" want ",),
        rf"\b(?:i|we) (?:don'?t|do not) want (?:to use |any )?{_X} ?(?:[,;—]| - ) ?(?:but |just |instead )?(?:use"
        rf"|build|make|keep|go|do|i want|we want|rather) {_END}"),
        # Japanese, Chinese, Korean
        (("ではなく", "じゃなく", "でなく", "の代わりに", "より"),
        r"[^、。！？\n]{1,40}(?:ではなく|じゃなくて?|でなく|の代わりに|より(?:も|は)?)[^、。！？\n]{0,3}、?[^、。！？\n]{1,40}(?:で(?:いき|行き|お願い|やっ"
        r"|統一|いい|進め|$)|を使|にし|にする|に変更|に統一|に置き換え|で実装|で作)"),
        (("やめて", "使わ", "使用せず"),
        r"[^、。！？\n]{2,40}は(?:やめて|使わ(?:ず|ないで)|使用せず)、?[^、。！？\n]{2,40}(?:を使|にし|で)"),
        (("不要用", "别用", "不用", "不要使用", "不使用"),
        r"(?:不要用|别用|不用|不要使用|不使用)[^，。！？\n]{1,30}[，,、 ]?(?:改用|而?用|使用|换成)[^，。！？\n]{1,30}"),
        (("代替", "替代", "而不是", "而非", "不要用"),
        r"(?:用|使用|采用|选择)[^，。！？\n]{1,30}(?:代替|替代|而不是|而非|，?不要用)[^，。！？\n]{1,30}"),
        (("대신", "말고", "아니라"),
        r"[^.!?\n]{1,40}(?:대신(?:에)?|말고|이? ?아니라) [^.!?\n]{1,40}(?:사용|쓰|해|하|로|으로)"),
        # Spanish, Portuguese
        (("en lugar de", "en vez de", "y no "),
        rf"\b(?:usa|usar|use|usemos|utiliza|utilice|pon|prefiero|quiero|hazlo|haz|vamos a usar|debe|deben|mejor)"
        rf" {_X} (?:en lugar de|en vez de|y no) {_END}"),
        (("en lugar de", "en vez de"),
        rf"\b(?:en lugar de|en vez de) {_X},? (?:usa|usar|utiliza|quiero|pon|haz|prefiero|vamos) {_END}"),
        (("no ",),
        rf"\bno (?:uses|usar|utilices) {_X}[,;.] ?(?:sino |mejor )?(?:usa|utiliza|prefiero) {_END}"),
        (("em vez de", "ao inv", "no lugar de", "e não ", "e nao "),
        rf"\b(?:usa|use|usar|utilize|coloque|prefiro|quero|faça|vamos usar|deve|devem|melhor) {_X} (?:em vez de"
        rf"|ao inv[eé]s de|no lugar de|e n[aã]o) {_END}"),
        (("em vez de", "ao inv"),
        rf"\b(?:em vez de|ao inv[eé]s de) {_X},? (?:usa|use|usar|utilize|quero|prefiro|coloque|vamos) {_END}"),
        (("não ", "nao "),
        rf"\bn[aã]o (?:use|usar|utilize) {_X}[,;.] ?(?:mas |e sim )?(?:use|utilize|prefiro) {_END}"),
        (("nunca ", "jamais ", "never ", "niemals "),
        rf"\b(?:nunca|jamais|never|niemals) {_X},? (?:e |y |et |and |und |mas |but )?(?:sempre|siempre|toujours"
        rf"|always|immer) {_END}"),
        # French, German, Russian
        (("au lieu d", "plutôt qu", "plutot qu", "et non ", "et pas "),
        rf"\b(?:utilise|utiliser|utilisez|utilisons|prends|prenons|mets|préfère|garde|gardons|fais|faisons|veux"
        rf"|doit|doivent) {_X} (?:au lieu d|plut[oô]t qu|et (?:non|pas) ){_END}"),
        (("n'utilise",),
        rf"\bn'utilise(?:z|s)? (?:pas|jamais) {_X}[,;.] ?(?:mais )?(?:utilise|prends|préfère)(?:z)? {_END}"),
        (("statt ", "anstelle von "),
        rf"\b(?:nimm|nutze|nutzen wir|benutze|verwende|verwenden wir|nehmen wir|mach|schreib|setze|lieber|bitte"
        rf"|soll|sollen) {_X} (?:statt|anstatt|anstelle von) {_END}"),
        (("statt ", "anstelle von "),
        rf"\b(?:statt|anstatt|anstelle von) {_X} (?:nimm|nutze|nutzen|benutze|verwende|verwenden|lieber|bitte"
        rf"|sollten wir) {_END}"),
        (("nicht ",),
        rf"\bnicht {_X},? sondern {_END}"),
        (("вместо ", "а не "),
        rf"\b(?:используй|используем|используйте|возьми|сделай|пиши|делай) {_X} (?:вместо|а не) {_END}"),
    )
)  # fmt: skip

#: Errands: what they settle is over when it is done.
_ERRAND: Final = re.compile(
    r"\b(?:rebase|merge|cherry-pick|checkout|check out|push|pull|commit|revert|reset|stash|click|screenshot"
    r"|rename this|retry|rerun|re-run)\b"
    r"|\b\d+ ?(?:px|pt|em|rem|%)(?!\w)|\bfont(?:[- ]size)?\b|\bcolou?r\b|\bmargin\b|\bpadding\b|\bbutton\b"
    r"|\bbot[aãoó]+n?\b|フォント|ボタン|按钮|버튼"
    r"|\bthis (?:time|file|line|one|test|function|method|variable)\b|\bline \d+\b|\bnot (?:sure|working|found"
    r"|only|just|yet|clear)\b|\bfor now\b"
    r"|\bwhat i (?:mean|meant)\b|\bi (?:mean|meant|think|guess|wonder)\b|\bmaybe\b|\bperhaps\b|\bwondering\b"
    r"|\bnão só\b|\bno solo\b|\bpas seulement\b|nicht nur",
    re.IGNORECASE,
)
_FILE: Final = re.compile(
    r"[\w./-]+\.(?:py|js|ts|tsx|jsx|go|rs|java|rb|php|css|html|md|json|ya?ml|toml|sh|sql|c|cpp|h|swift|kt|vue"
    r"|svelte)\b"
)
_LASTING: Final = re.compile(
    r"\b(?:always|never|everywhere|all|every|from now on|siempre|nunca|sempre|toujours|jamais|immer|tod[oa]s)\b"
    r"|常に|必ず|今後|总是|以后|항상",
    re.IGNORECASE,
)
_QUOTE: Final = re.compile(r"^\s*(?:>|[\"“«「]|you (?:wrote|said)\b)", re.IGNORECASE | re.MULTILINE)


def _sentences(text: str) -> list[str]:
    return [s for s in re.split(r"(?<=[.!?])\s+|(?<=[。！？])|\n+", text) if s.strip()]


def contrastive_choice(text: str, kind: AskKind | None = None) -> str:
    """The sentence of a prompt (of `kind`, if that is known) that settles one thing against another, word for word.

    '' for none.
    """
    if len(text) > MAX_CHOICE:
        return ""
    lowered = text.lower()
    if not contains_any(lowered, _MARKS):
        return ""
    stripped = text.strip()
    if (
        "```" in text
        or stripped.count("\n") > 5
        or _QUOTE.search(stripped)
        or (kind or ask_kind(text)) in ("paste", "command", "plan")
    ):
        return ""
    for sentence in _sentences(stripped):
        small = sentence.lower()
        if not any(contains_any(small, marks) and pattern.search(sentence) for marks, pattern in _PATTERNS):
            continue
        if sentence.rstrip().endswith(("?", "？")) or _ERRAND.search(sentence):
            continue
        if len(set(_FILE.findall(sentence))) != 1 or _LASTING.search(sentence):
            return sentence.strip()
    return ""
