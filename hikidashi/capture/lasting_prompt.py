"""Which sentences of a prompt are a person's own orders: no code, no quotes, no ticket, no pasted role (design 5.5)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from hikidashi.capture.asks import ask_kind
from hikidashi.capture.lasting_forms import fold

__all__ = ["MAX_PROMPT", "SHORT_PROMPT", "Spoken", "is_document", "is_pasted", "is_unsaid", "spoken"]

#: Characters: a longer prompt is a specification or a paste.
MAX_PROMPT: Final = 1_500
#: Up to here a prompt has little else to say than its rule.
SHORT_PROMPT: Final = 320
#: Characters by which a role or a ticket is known.
_HEAD: Final = 2_000


@dataclass(frozen=True, slots=True)
class Spoken:
    """One sentence of a prompt."""

    text: str
    #: It is an item of a list under a line that announces rules.
    announced: bool = False
    #: It is an item of another list.
    listed: bool = False


_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
#: Lines that nobody says: quotes, code, comments, tables, diffs, prompts of a shell.
_UNSAID: Final = re.compile(
    r"\s*(?:>|//|/\*|<!--|\||\+\+\+|@@|\$ |❯|⏺|⎿|│|<\w|</|[{}\[\]]|(?:import|from|def|class|function|const|let"
    r"|var|return)\s\S+"
    r"(?:[ (=:]|$)(?=.*[(){};=]))|\s{8,}\S.*[;{}()=]"
)
_ITEM: Final = re.compile(r"\s*(?:[-*•·・–—]\s+|[-*•](?=[^\W\d_])|\(?\d{1,2}[.):、]\s*|[①-⑨]\s*)(?=\S)")
_HEADING: Final = re.compile(r"^\s*(?:#{1,6}\s+\S|\*\*[^*\n]+\*\*\s*:?\s*$|=== )", re.MULTILINE)
#: Whose first line starts so, is somebody's ticket or a role for a model.
_PASTED: Final = re.compile(
    r"\A\s*(?:\W*(?:ticket|issue|epic|story|user story|bug report|task|prompt"
    r"|spec(?:ification)?)\b\s*(?:[#:\d—–-]|[a-z]+-\d)|\[?[a-z]{2,9}-\d+\b[\]: ]"
    r"|you(?:'re| are) (?:now )?(?:resuming|continuing|tasked|implementing|in charge|(?:an?|the"
    r"|my) (?:\S+ ){0,6}?(?:\w*engineers?|developer"
    r"|expert|assistant|agent|architect|specialist|designer|writer|reviewer|tester|analyst|programmer|consultant|hacker"
    r"|professional|manager|lead|bot|tutor|scientist|researcher|coder)\b)"
    r"|(?:act as|imagine you are|your (?:role|mission|task) is|tu es|vous etes|eres|actua como"
    r"|voce e|atue como|du bist|agiere als|sei|ti trovi)"
    r" (?:an? |the |now an? |un |une |um |uma |el |ein |eine )(?:\w+[ -]){0,4}?\w"
    r"|あなたは|君は.{0,20}です|你是(?:一|个|位|我的|资深|专业)|당신은|너는 .{0,20}(?:이야|다)\b|ты - |ты опытн"
    r"|sen bir)",
    re.IGNORECASE,
)
_DOCUMENT: Final = re.compile(
    r"\b(?:acceptance criteria|definition of done|requirements|deliverables|constraints|out of scope|user story"
    r"|livrables|contraintes|requisitos|criterios|anforderungen|akzeptanzkriterien)\b\s*(?::|$)|要件|受け入れ条件"
    r"|仕様[::]"
    r"|验收标准|需求[::]|요구 ?사항",
    re.IGNORECASE | re.MULTILINE,
)
_COMMAND: Final = re.compile(r"/[a-z][\w:-]*(?:\s|\Z)")
#: A line that announces rules for the agent, at its end.
_ANNOUNCES: Final = re.compile(
    r"(?:(?<!business )(?<!validation )(?<!game )(?<!firewall )(?<!lint )(?<!pricing )(?<!eslint )\b(?:rules"
    r"|guidelines|conventions|ground rules|preferences|instructions for you)"
    r"(?: (?:for|of|in|from) (?:this|the|our|you|all|now)\b.{0,30})?"
    r"|\bfrom now on\b.{0,30}|\bgoing forward\b.{0,20}|\bremember\b.{0,20}|(?:please )?\b(?:always|never)\b"
    r"|in this (?:project|repo|repository|codebase).{0,15}"
    r"|ルール|今後(?:は|のルール)?.{0,10}|覚えておいて|约定|规则|规范|以后.{0,8}|记住.{0,6}|규칙|앞으로(?:는)?"
    r"|기억해\w*"
    r"|reglas.{0,25}|a partir de (?:ahora|agora|maintenant).{0,15}|recuerda|regras.{0,25}|lembre-se|règles.{0,25}"
    r"|regeln.{0,25}|ab jetzt.{0,10}|правила.{0,20}|kurallar)"
    r"\s*[:：]\s*\Z",
    re.IGNORECASE,
)
_ABBREVIATION: Final = re.compile(r"\b(?:e\.g|i\.e|etc|vs|z\.b|d\.h|p\.ej|ex|ca|bzw|no|nr)\.$", re.IGNORECASE)
_END: Final = re.compile(r"(?<=[.!?…])[\"')\]]*\s+|(?<=[。！？])\s*|\s*\n\s*|;\s+")
#: A line break inside a sentence: the next line goes on with a small letter, and the line was long.
_JOINED: Final = re.compile(r"(?<=[^\s.!?:;。！？：…]{1}) ?\n(?=[ \t]*[a-zà-öø-ÿа-я])")


def spoken(text: str) -> list[Spoken]:
    """The sentences of a prompt that may be orders of the person who typed it; [] for documents and roles."""
    if len(text) > MAX_PROMPT:
        return []
    body = _FENCE.sub("\n", text) if "```" in text else text
    return [] if is_document(text, body) else _sentences(_whole_lines(body))


def is_document(text: str, body: str) -> bool:
    """Whether a prompt (`body`: without its fenced code) is a ticket, a role for a model, a specification."""
    if _PASTED.match(fold(text[:_HEAD])):
        return True
    return body.count("\n") > 2 and (len(_HEADING.findall(body)) >= 2 or _DOCUMENT.search(body) is not None)


def is_unsaid(line: str) -> bool:
    """Whether nobody says such a line: quotes, code, comments, tables, diffs, prompts of a shell."""
    return _UNSAID.match(line) is not None


def is_pasted(text: str) -> bool:
    """Whether a prompt is no speech: a paste, a command with what it is given, a plan that a client sends on."""
    kind = ask_kind(text)
    if kind == "command" and "\n" not in text and not text.isascii() and text[:1] not in "/!":
        return False  # 「rm -rf は使わないで」 begins like a command
    return kind in ("paste", "command", "plan", "none") or _COMMAND.match(text) is not None


def _whole_lines(body: str) -> list[str]:
    """Lines, those of one wrapped sentence joined."""
    lines: list[str] = []
    for line in body.split("\n"):
        wrapped = (
            lines
            and len(lines[-1]) >= 50
            and line.lstrip()[:1].islower()
            and lines[-1].rstrip()[-1:] not in ".!?:;。！？："
            and not _ITEM.match(line)
        )
        if wrapped:
            lines[-1] = f"{lines[-1].rstrip()} {line.strip()}"
        else:
            lines.append(line)
    return lines


def _sentences(lines: list[str]) -> list[Spoken]:
    found: list[Spoken] = []
    announced = False
    quoted = 0
    for line in lines:
        if not line.strip():
            continue
        if _UNSAID.match(line):
            quoted += 1
            announced = False
            continue
        item = _ITEM.match(line)
        rest = line[item.end() :] if item else line
        rest = rest.strip(" \t*_#")
        found += [Spoken(piece, announced=bool(item) and announced, listed=bool(item)) for piece in _split(rest)]
        if not item:
            announced = _ANNOUNCES.search(line) is not None
    # Where most of a prompt is quoted or code, the rest is about that.
    return [] if quoted > 2 * len(found) else found


def _split(line: str) -> list[str]:
    pieces: list[str] = []
    last = 0
    for end in _END.finditer(line):
        head = line[last : end.start()]
        if _ABBREVIATION.search(head):
            continue
        pieces.append(head)
        last = end.end()
    pieces.append(line[last:])
    return [piece.strip() for piece in pieces if piece.strip(" .!?。…-*")]
