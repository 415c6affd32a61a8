"""Judging what a person typed: is it a wish that stands on its own, a question, an answer, a paste, a command?

The words are judged by form first and by small lists of words second, in the languages people prompt in. A
text that fits nothing is an ask only if it has enough words of its own to be understood a month later.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from hikidashi.capture.passages import cut, one_line
from hikidashi.capture.vocabulary import contains_any, word_list

__all__ = ["AskKind", "ask_kind", "ask_title", "content_words", "is_question", "is_terminal_line", "own_words"]

#: `ask` stands on its own; `weak` needs what came before; the others are never a title.
AskKind = Literal["ask", "weak", "question", "paste", "command", "answer", "plan", "none"]

#: How a client starts a session that carries out a plan approved in another one.
PLAN_PREFIX: Final = "Implement the following plan:"

_ACKNOWLEDGMENTS: Final = word_list(
    "yes y yep yeah yup ok okay k sure no nope go ahead proceed continue next done thanks thank you please great",
    "good cool nice perfect do it that this fine right correct now again retry try keep going carry on lets let's",
    "more all of them both a b c d e option 1 2 3 4 5 and the then so just with from where we left off start",
    "first one two three hi hello hey test oui non d'accord daccord continuer parfait merci fait fai voila voilà",
    "c'est cest suite vas-y vas sí si dale claro sigue continúa continua gracias hazlo procede adelante listo",
    "bien sim não nao pode continuar prossiga certo isso obrigado obrigada vai seguir tudo feito ja nein weiter",
    "mach machen danke genau gut bitte да нет хочу давай продолжай ок хорошо готово evet hayır tamam devam davom",
    "ha はい お願いします 続けて 続き いいえ ありがとう お願い 继续 好的 好 是 是的 可以 谢谢 네 예 계속 그래 좋아",
)

_STOPWORDS: Final = word_list(
    "the and for that this with from have what when where which will would could should there here they them then",
    "than your our you are was were been being into onto over under about after before again also just only very",
    "some any all can can't don't doesn't not make need want like look let's lets please implement continue going",
    "really still more most much many now next first last one two three these those option options part step",
    "steps thing things stuff work working works fix fixed add added done doing does did para por con que los las",
    "una uno esto esta este todo todos como pero más mas muy bien fazer isso esse essa uma com não nao mais pour",
    "dans avec les des une qui est sont pas plus tout tous fait faire cette celui und der die das ein eine nicht",
    "mit auf für",
)

_WORD: Final = re.compile(r"[^\W\d_][\w'’-]*")
_CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

#: English verbs that begin an order.
_VERBS: Final = word_list(
    "add adjust allow analyze analyse apply archive audit automate backport benchmark break bring build bump",
    "bundle cache calculate call change check clean clear close collect combine comment commit compare compile",
    "complete configure connect consolidate convert copy correct cover create customize cut debug define delete",
    "deploy describe design detect develop diagnose disable display document drop dump enable ensure establish",
    "evaluate expand explore export expose extend extract fetch figure fill find finish fix flag format generate",
    "get give group guard handle harden hide hook identify implement import improve include increase index init",
    "initialize inline insert inspect install integrate introduce investigate isolate join keep launch limit link",
    "list load localize log look lower maintain make map mark measure merge migrate minify mock modify monitor",
    "move normalize open optimize optimise organize output overhaul package parse patch persist plan polish",
    "populate port prepare prevent print profile propose protect provide publish pull push put rebase rebuild",
    "record redesign reduce refactor register release reload remove rename render reorganize repair replace",
    "replicate report reproduce rerun research resolve respond restore restructure restrict retry return reuse",
    "revert review rewrite rework roll rotate route run sanitize save scaffold scan schedule search secure send",
    "separate serve set setup share ship show simplify skip sort speed split standardize start stop store strip",
    "structure style submit summarize summarise support swap switch sync tag take teach test tidy tie toggle",
    "track train transform translate trigger trim try turn tweak unify update upgrade upload use validate verify",
    "wire work wrap write squash brainstorm draft",
)

#: What makes a statement a report of something to be mended.
_TROUBLE: Final = re.compile(
    r"\b(?:broken|breaks?|bugs?|fail(?:s|ed|ing|ure)?|errors?|crash(?:es|ed|ing)?|doesn'?t|does not|don'?t work"
    r"|isn'?t|is not|aren'?t|can'?t|cannot|won'?t|not working|wrong|missing|slow|leak(?:s|ing)?"
    r"|issues?|problems?|keeps?|stuck|hangs?|flaky|incorrect|invalid|regression|duplicated?|stale|outdated"
    r"|vulnerab\w+)\b",
    re.IGNORECASE,
)
_ENGLISH: Final = re.compile(
    r"\b(?:the|and|is|it|to|of|that|this|we|you|for|in|on|with|are|have|be|do|i'm|i)\b", re.IGNORECASE
)

#: What a Japanese wish ends with.
_JAPANESE_WISH: Final = re.compile(
    r"(?:て|で)(?:ください|下さい|ほしい|欲しい|もらえ|くれ|おいて|みて|いただ)"
    r"|(?:て|で)[。！!、 ]|(?:て|で)$|たい(?:です|。|$|の|ん)|お願い|おねがい"
    r"|しよう|やろう|してね"
    r"|よろしく|せよ$|すること"
)
_KANA: Final = re.compile(r"[\u3040-\u30ff]")

#: Words of shipping and of going on: an ask that has no others does not say what the work is.
_CARRIER: Final = re.compile(
    r"\b(?:commits?|commite|push(?:e[ds])?|pr|prs|pull|request|draft|open|create|merge|rebase|update[sd]?"
    r"|description|review(?:s|er)?|comments?|respond|reply|branch|main|master|parent|git|github|remote"
    r"|deploy|everything|changes?|current|code|latest|conflicts?|origin|again|continue|continuar|continua|seguir"
    r"|sigue|continuing|login|log|browser|terminar|fases?|proxim[ao]s|tarefas|tareas|tasks?|implementar?|trabalhar"
    r"|pode|puedes|version|ready|draft|skill|using|it|this|that|all|with|to|the|a|and|then|for|please|our|my|up"
    r"|in|on|from)\b|直前|まで|お願いします|ありがとうございました|やって|おいて|してください|もらえる|続き|よろしく|続けて|デプロイ|继续|계속",
    re.IGNORECASE,
)

#: Openings of talk: what follows is told, not wanted.
_TALK: Final = re.compile(
    r"\A(?:i (?:\w+ly )?(?:put|moved|made|did|added|removed|changed|updated|reset|pushed|fixed|tried|got|get|set"
    r"|ran|was|am|mean|guess|wonder|just|think|see|saw|have|had|did|know|understand|believe)|i'm|i've|i'll"
    r"|that(?:'s| is| was)|it(?:'s| is| was)|this (?:is|was)|there(?:'s| is| are| was)|in theory"
    r"|hang on|wait|sorry|whoops|oh|ah|never ?mind|no worries|you(?:'re| are| were)|they|he|she|we(?:'re| have|"
    r" had| are| were)|still|what|not sure|looks like|looking|same|wondering|nothing|maybe"
    r"|eu (?:dei|tinha|perguntei)|yo |je |ich |acho|coloquei|fiz|parece|entendi|ainda|aún|sigue)\b",
    re.IGNORECASE,
)
_HEADING: Final = re.compile(r"\A\s*#+\s*\S")

_COMMAND: Final = re.compile(
    r"\A\s*(?:[$❯%#>!]\s+)?(?:npx|npm|pnpm|yarn|bun|git|gh|cd|ls|cat|curl|wget|docker|docker-compose|kubectl"
    r"|python3?|pip3?|node|sudo"
    r"|ssh|scp|mkdir|rm|cp|mv|chmod|chown|brew|apt(?:-get)?|systemctl|pm2|psql|redis-cli|claude|export|source"
    r"|echo|grep|find|make|go)"
    r"\s+[-./~\w@:$'\"]"
)
_IMPERATIVE_WORDS: Final = re.compile(
    r"\A\s*(?:make|go|find|echo|node|export|source)\s+(?:sure|ahead|the|a|all|it|this|an|back|through|with|out"
    r"|and|me)\b",
    re.IGNORECASE,
)

_PASTE: Final = re.compile(
    r"\A\s*(?:[{\[<⚠]|===|---|\+\+\+|╭|│|⏺|❯|✕|✗|▲|process \"|Traceback|npm (?:ERR!|error)|error:|Error:"
    r"|\d{4}-\d\d-\d\d[T ]|\w+@[\w.-]+[ :~])"
)
_TERMINAL: Final = re.compile(
    r"^[ \t]*(?:[$❯%] |at \S+ \(|File \"|\w+@[\w.-]+[:~ ].*[$%#] |npm (?:ERR!|error)|--- FAIL|⎿|\d\d:\d\d:\d\d)"
    r"|\bTraceback \(most recent|\"level\":\"",
    re.MULTILINE,
)

#: A heading of a step, or a comment of a script.
_REMARK: Final = re.compile(r"\W*(?:#|(?:paso|step|passo|étape|schritt|шаг|ステップ|步骤)\s*\d)", re.IGNORECASE)

#: A line that is a shell command: several of them are a script to run, not words.
_SHELL_LINE: Final = re.compile(
    r"^[ \t]*(?:[$#] )?(?:sudo|cd|git|npm|npx|pnpm|yarn|pip3?|python3?|node|docker|kubectl|systemctl|pm2|psql|grep"
    r"|cat|ls|cp|mv|rm|curl|chmod|chown|mkdir|tar|rmdir|wc|pwd|sleep|kill|ps"
    r"|export|find|sed|awk|echo|nano|tail|netstat|ss|certbot|ssh|scp|brew|apt(?:-get)?)\s+\S",
    re.MULTILINE,
)

_POLITE_OPENING: Final = re.compile(
    r"\A\s*(?:(?:ok|okay|cool|great|alright|hmm|oh|ah|so|and|now|also|yes|yeah|hey|hi)[,. ]+)*(?:can|could|would"
    r"|will) (?:you|we|u)\b(?! (?:explain|tell|see|check|look|show))",
    re.IGNORECASE,
)
_POLITE_WORD: Final = re.compile(
    r"\bplease\b|\b(?:puedes|podrías|pode|poderia"
    r"|consegue|peux-tu|pourrais-tu|kannst du|könntest du)\b"
    r"|(?:てもらえる|てくれる|てください|してほしい|できますか|해줘|해 줘|请)",
    re.IGNORECASE,
)
#: One of these is in the lowered text wherever `_POLITE_WORD` is.
_POLITE_MARKS: Final = (
    "please", "puedes", "podrías", "pode", "consegue", "peux-tu", "pourrais-tu", "kannst", "könntest",
    "てもらえる", "てくれる", "てください", "してほしい", "できますか", "해줘", "해 줘", "请",
)  # fmt: skip
_INTERROGATIVE: Final = re.compile(
    r"\A\s*(?:q:|(?:ok|okay|cool|hmm|oh|so|and|wait|uh|hm)[,. ]+)*\s*(?:what|why|how|where|which|who|when|is|are"
    r"|was|were|does|do|did|has|have|had|am"
    r"|qué|que es|cómo|como|por qué|porque|por que|dónde|onde|cuál|qual|quais|quem|pq|o que|qu'est|pourquoi"
    r"|comment|où|quel|quelle|est-ce"
    r"|was|warum|wie|wo|welche|wer|где|что|почему|как|какой|сколько|nima|nega)\b",
    re.IGNORECASE,
)

_LEADING: Final = re.compile(
    r"\A(?:\s|[#>*•●■▶✅🎉🔍🔧📝🚀📋_=`-]|\d+[.)]\s|(?:ultrathink|think hard(?:er)?|megathink|q:|ok|okay|hmm+|mmm"
    r"|alright|all right|great|perfect|cool|nice|so|oh|ah|ahh?|argh+|yes|yeah|yep|yup|sure|thanks|thank you|hey"
    r"|hi|hm+|uh+|um+|um"
    r"|now|then|also|and|but|actually|first|finally|next|please|pls|sim|sí|ok,|bom|agora|ahora|bien"
    r"|oui)\b[,.:!]*\s|'(?:[A-Za-z]:|~|/)[^'\n]{1,300}')+",
    re.IGNORECASE,
)
#: Openings of a wish that say nothing of it.
_OPENING: Final = re.compile(
    r"\A(?:(?:can|could|would|will) (?:you|we|u) (?:please |also |just |maybe )*|please |(?:i|we) (?:would |'d"
    r" )?(?:like|want|need)(?: you)? to |i'd like (?:you )?to |let'?s (?:please |just |also )*"
    r"|(?:i think )?(?:we|you) (?:should|can|could|need to|have to|must)(?: also| just| probably)* |i(?:'d|"
    r" would) like (?:to have )?|help me (?:to )?|go ahead and |now )+",
    re.IGNORECASE,
)


def content_words(text: str) -> int:
    """How many words of `text` mean something alone; two CJK characters count as one."""
    if text.isascii():
        return sum([len(word) >= 4 and word not in _STOPWORDS for word in _WORD.findall(text.lower())])
    words = sum(
        1 for word in _WORD.findall(text) if len(word) >= 4 and word.lower() not in _STOPWORDS and not _CJK.match(word)
    )
    return words + len(_CJK.findall(text)) // 2


def own_words(text: str) -> set[str]:
    """The words of `text` that mean something alone, small."""
    return {word.lower() for word in _WORD.findall(text) if len(word) >= 4} - _STOPWORDS


def is_question(text: str) -> bool:
    """Whether the text asks to be told something (a polite request is no question)."""
    stripped = text.strip()
    if _POLITE_OPENING.match(stripped):
        return False
    if contains_any(stripped.lower(), _POLITE_MARKS) and _POLITE_WORD.search(stripped):
        return False
    if stripped.endswith(("?", "？", "ですか", "ますか", "까요", "吗", "呢")):
        return True
    return bool(_INTERROGATIVE.match(stripped))


def is_wish(line: str) -> bool:
    """Whether a line (without marks in front) wants something done or mended, rather than tells something.

    English is judged by its verbs; other languages only by the openings of talk, which keeps less out.
    """
    opening = _OPENING.match(line)
    if opening:
        opened = line[opening.end() :]
        return not re.match(r"(?:know|understand|see|tell|explain|ask)\b", opened, re.IGNORECASE)
    words = line.split()
    if words and words[0].lower().strip(",.:;!") in _VERBS:
        return True
    ascii_only = line.isascii()
    if not ascii_only and _KANA.search(line):
        return bool(_JAPANESE_WISH.search(line))
    if ascii_only and len(_ENGLISH.findall(line)) * 6 >= len(words):
        return bool(_TROUBLE.search(line)) and not _TALK.match(line)
    return not _TALK.match(line)


def is_terminal_line(line: str) -> bool:
    """Whether a line is what a program printed: a log, a stack trace, a shell with its prompt."""
    return bool((line.lstrip()[:1] not in "[{<" and _PASTE.match(line)) or _TERMINAL.search(line))


def _is_script(text: str) -> bool:
    """Whether the text is mostly shell commands and remarks on them."""
    if text.count("\n") < 2:
        return False
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 3:
        return False
    commands = len(_SHELL_LINE.findall(text))
    remarks = sum(1 for line in lines if _REMARK.match(line))
    return commands >= 2 and (commands + remarks) * 5 >= len(lines) * 3


def ask_kind(text: str) -> AskKind:
    """What a prompt is."""
    stripped = text.strip()
    if not stripped:
        return "none"
    if stripped.startswith(PLAN_PREFIX):
        return "plan"
    if stripped[0] in "/!" and len(stripped) < 200:
        return "command"
    head = stripped[:1_000]
    if _PASTE.match(head) or (head.count("\n") > 2 and len(_TERMINAL.findall(head)) >= 2):
        return "paste"
    if _COMMAND.match(head) and not _IMPERATIVE_WORDS.match(head):
        return "command"
    words = head.lower().replace("、", " ").replace("。", " ").split(None, 9)
    if len(words) <= 8 and all(w.strip(".,!?:;()*👍😅🤣🤔-") in _ACKNOWLEDGMENTS for w in words):
        return "answer"
    if is_question(head if len(head) < 600 else head.split("\n")[0]):
        return "question"
    line = _first_line(head)
    if _is_script(head):
        return "command"
    if content_words(line) < 3 or not _says_work(line) or line.startswith(("http://", "https://")):
        return "weak"
    return "ask" if is_wish(line) or (len(head) > 600 and _HEADING.match(head)) else "weak"


def _says_work(line: str) -> bool:
    """Whether a line has two words of its own besides those of shipping and going on."""
    count = 0
    for word in _WORD.findall(line.lower()):  # most lines show it soon; only the others need the long search
        if len(word) >= 4 and word.isascii() and word.isalpha() and word not in _STOPWORDS:
            count += not _CARRIER.fullmatch(word)
            if count == 2:
                return True
    return content_words(_CARRIER.sub(" ", line)) >= 2


#: A line break inside a sentence: the next line goes on with a small letter.
_JOINED: Final = re.compile(r"(?<=[^\s.!?:;,。！？：#>*-]) ?\n(?=[a-zà-öø-ÿа-я])")


def _first_line(text: str) -> str:
    """The first line with words of its own, without marks in front."""
    head = text[:1_000]
    for line in (_JOINED.sub(" ", head) if "\n" in head else head).split("\n"):
        leading = _LEADING.match(line)
        stripped = (line[leading.end() :] if leading else line).strip(" *_#`=:")
        if content_words(stripped) >= 2 or len(stripped) > 40:
            return one_line(stripped)
    return one_line(text)


_SENTENCE: Final = re.compile(r"[.!?]\s+(?=[A-ZÀ-ÖА-Я¿¡])|[。！？]|[.!]\s*$|\s[-–—]{1,2}\s")


def ask_title(text: str, limit: int = 120) -> str:
    """One line that says what was wanted: the first line that has words, up to its first sentence's end."""
    stripped = text.strip()
    if stripped.startswith(PLAN_PREFIX):
        stripped = stripped[len(PLAN_PREFIX) :].strip()
    line = _first_line(stripped)
    match = next((m for m in _SENTENCE.finditer(line) if m.start() >= 25), None)
    if match is not None and match.start() < limit:
        line = line[: match.start()]
    line = _OPENING.sub("", line).strip(" \\*_?？:") or line
    return cut(line[:1].upper() + line[1:], limit)
