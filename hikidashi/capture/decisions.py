"""Decisions: an approved plan, an answered question, an option that was picked, a contrastive choice."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Any, Final

from hikidashi.capture.asks import content_words
from hikidashi.capture.passages import cut, one_line
from hikidashi.redact import redact
from hikidashi.source import Trust

__all__ = [
    "MIN_QUOTE",
    "Finding",
    "answered_questions",
    "approved_plan",
    "enough_quote",
    "may_pick",
    "picked_option",
    "stated_choice",
]

#: Characters (NFC, whitespace folded) that a quote needs to be evidence (design section 5.6).
MIN_QUOTE: Final = 12

#: An approved plan is kept up to here.
MAX_PLAN: Final = 1_500


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a rule found, before it is redacted and given its source."""

    title: str
    body: str
    quote: str
    why: str
    trust: Trust


def enough_quote(text: str) -> bool:
    """Whether `text` is long enough to be evidence."""
    return len(one_line(unicodedata.normalize("NFC", text))) >= MIN_QUOTE


_PLAN_TITLE: Final = re.compile(
    r"^(?:#+\s*)?(?:(?:implementation|final|migration|brainstorming|refactoring|project|the) )?(?:(?:plan|plano"
    r"|piano|план)\b|計画|计划|계획)(?: (?:for|de|para|pour|to)\b)?\s*[:：—–-]?\s*",
    re.IGNORECASE,
)
_GENERIC: Final = frozenset(
    {
        "context",
        "overview",
        "summary",
        "goal",
        "background",
        "plan",
        "problem",
        "implementation plan",
        "contexto",
        "概要",
        "背景",
    }
)


def _plan_title(lines: list[str]) -> str:
    headings = [line.lstrip("#").strip(" *") for line in lines if line.startswith("#")]
    for candidate in [*headings[:2], *lines]:
        title = one_line(_PLAN_TITLE.sub("", candidate.strip()).strip(" *#-`")) if candidate.strip() else ""
        if title and title.lower().rstrip(":") not in _GENERIC and content_words(title) >= 2:
            return title
    return ""


def approved_plan(plan: str) -> Finding | None:
    """A plan that a person approved; None when it says too little to be found again."""
    plan = redact(plan)  # before it is cut
    lines = [line.rstrip() for line in plan.strip().split("\n") if line.strip()]
    title = _plan_title(lines)
    if not title or len(plan) < 80:
        return None
    body = plan.strip()
    if len(body) > MAX_PLAN:
        headings = [line for line in lines if line.startswith("#")][:20]
        opening = body[: max(300, MAX_PLAN - sum(len(h) + 1 for h in headings) - 20)]
        body = cut(opening, len(opening)).rstrip() + "\n…\n" + "\n".join(h for h in headings if h not in opening)
    return Finding(
        title=cut(f"Plan: {title}", 180),
        body=body[:MAX_PLAN],
        quote="",
        why="A person approved this plan.",
        trust="assistant",
    )


_PROCEED: Final = re.compile(
    r"^\W*(?:yes|no|ok(?:ay)?|sure|proceed|continue|go ahead|skip|cancel|stop|done|later|none|not now|approve[d]?"
    r"|looks? good|sí|sim|oui|ja|はい|いいえ|是|否|네|아니요)\b"
    r"(?:[,. !]+(?:please|thanks|proceed|continue|go ahead|do it|looks good|commit|push|create (?:the )?pr|all"
    r" good|start|run it)?)*\W*$",
    re.IGNORECASE,
)
_NEXT_STEP: Final = re.compile(
    r"\b(?:shall i|should i|do you want me to|would you like me to|ready to|how (?:would|do) you (?:like|want)"
    r" (?:me )?to proceed|what(?:'s| is| should i do) next|proceed|next step"
    r"|commit|push (?:it|this|now)|which (?:file|task|issue|pr|branch|session|execution)|what would you like"
    r" (?:me )?to (?:do|work))\b",
    re.IGNORECASE,
)


def answered_questions(data: dict[str, object] | None, given: dict[str, object], text: str) -> Finding | None:
    """The questions of one call and the options that a person chose; None when nothing lasting was settled."""
    answers = (data or {}).get("answers")  # those in `given` are the model's
    pairs: list[tuple[str, str]] = []
    if isinstance(answers, dict):
        pairs = [(str(q), ", ".join(map(str, a)) if isinstance(a, list) else str(a)) for q, a in answers.items()]
    else:
        pairs = [(q, a) for q, a in re.findall(r'"([^"]{3,400})"\s*=\s*"([^"]{1,600})"', text)]
    kept = [
        (_told_line(q), _told_line(a))
        for q, a in pairs
        if a.strip() and not _PROCEED.match(a) and not _NEXT_STEP.search(q)
    ]
    if not kept:
        return None
    question, answer = kept[0]
    title = cut(f"{cut(question.rstrip('?？ '), 110)}: {answer}", 190)
    body = "\n".join(f"- {cut(q, 300)}\n  - **{cut(a, 400)}**{_described(given, q, a)}" for q, a in kept[:4])
    quote = answer if enough_quote(answer) else f'"{question}"="{answer}"'
    return Finding(title=title, body=body, quote=quote, why="The person chose this when asked.", trust="user")


def _told_line(text: object) -> str:
    """A text in one line, redacted before it is folded and cut: half a secret is one that no rule knows."""
    return one_line(redact(str(text)))


def _described(given: dict[str, object], question: str, answer: str) -> str:
    """` — description` of the chosen option, from the call's input."""
    questions: Any = given.get("questions")
    for item in questions if isinstance(questions, list) else []:
        if isinstance(item, dict) and _told_line(item.get("question", "")) == question:
            options: Any = item.get("options")
            for option in options if isinstance(options, list) else []:
                if (
                    isinstance(option, dict)
                    and _told_line(option.get("label", "")) == answer
                    and option.get("description")
                ):
                    return " — " + cut(_told_line(option["description"]), 300)
    return ""


def stated_choice(sentence: str) -> Finding | None:
    """A contrastive choice in the person's own words, redacted; None for ''."""
    sentence = redact(sentence)
    if not sentence or not enough_quote(sentence):
        return None
    words = one_line(sentence).strip(" .-*")
    return Finding(title=cut(words[:1].upper() + words[1:], 180), body=words, quote=words, why="", trust="user")


_PICK: Final = re.compile(
    r"\A\W*(?:(?i:hmm+|ok|okay|yes|yeah|yep|i think|i like|i'd|let'?s|go|with|do|use|try|prefer|choose|pick|say"
    r"|vamos|de|com|usa|prefiro|prefiero|je préfère|nimm)[,.:\s]*)*"
    r"(?:(?P<label>(?i:option|approach|choice|opción|opcion|opção|opcao|variante|パターン|案|选项|方案"
    r"|옵션))\s*(?P<word>[A-Ea-e1-6])(?![\w.]*\d)|(?P<letter>[A-E])(?=\)|\.|,|:|\s*[-–—]|\s+(?:option|is|works|for"
    r"|seems|please|it)\b|\s*$)|(?P<number>[1-6])の(?:方法|案|やり方))"
    r"(?P<rest>.*)",
    re.DOTALL,
)
_LABELLED: Final = re.compile(
    r"^[^\w\n]*(?:option|approach|choice|opción|opção|パターン|案|方案|选项"
    r"|옵션)\s*(?P<key>[A-Ea-e1-6])\b[\s*_:：.)—–-]*(?P<text>\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_LETTERED: Final = re.compile(
    r"^\s*(?:[-*|]\s*)?(?:#+\s*)?(?:\*\*)?\(?(?P<key>[A-E])(?:\*\*)?[.):](?:\*\*)?\s*(?P<text>\S.*)$", re.MULTILINE
)
_NUMBERED: Final = re.compile(r"^(?:#+\s*)?(?:\*\*)?(?P<key>[1-6])[.)]\s*(?P<text>\S.*)$", re.MULTILINE)

#: Options that are no choice.
_NO_CHOICE: Final = re.compile(
    r"^\W*(?:something else|other|none|neither|both|skip|stop|custom|describe|a new feature|improvement|その他)\b",
    re.IGNORECASE,
)
_ACCEPTING: Final = re.compile(
    r"^\W*(?:is|works?|sounds?|looks?|seems?|please|for|it is|fine|good|ok|yes"
    r"|でいき|で行き|でお願い|がいい|でいい|でやっ|でなげ|で(?:す"
    r"|$)|に(?:し|する)|です|vamos|por favor|s'il|bitte)",
    re.IGNORECASE,
)
_ERRAND: Final = re.compile(r"^\W*(?:i'?d like|i want|update|push|commit|let'?s tackle|first,? )\b", re.IGNORECASE)


#: Questions that say nothing of what is chosen.
_GENERIC_QUESTION: Final = re.compile(
    r"^(?:which (?:one|option|approach)? ?(?:would|do|should|feels|sounds|works)\b.{0,60}|what do you (?:think"
    r"|prefer).{0,40}|does (?:this|that).{0,60}|your (?:choice|preference)|thoughts)\?$|^\W*どちら|^- ",
    re.IGNORECASE,
)
#: The answer tells of something done.
_TOLD: Final = re.compile(r"^.{0,14}(?:ました|でした|した)(?:[。、!\s]|$)")


def _last_list(pattern: re.Pattern[str], message: str) -> dict[str, str]:
    """The last list of `message` in that form: a list begins anew where its first key comes again."""
    options: dict[str, str] = {}
    for option in pattern.finditer(message):
        key = option.group("key").upper()
        if key in ("A", "1"):
            options = {}
        options[key] = one_line(option.group("text").replace("|", " — ")).replace("**", "").strip(" *—")
    return options


def _options(match: re.Match[str], message: str) -> dict[str, str]:
    labelled = _last_list(_LABELLED, message)
    if len(labelled) > 1:
        return labelled
    return _last_list(
        _LETTERED if match.group("letter") or (match.group("word") or "").isalpha() else _NUMBERED, message
    )


def may_pick(prompt: str) -> bool:
    """Whether a prompt has the form of a short answer that picks an option."""
    return len(prompt) <= 300 and _PICK.match(prompt.strip()) is not None


def picked_option(prompt: str, message: str) -> Finding | None:
    """The option of the assistant's message that a short answer picks; None when it is not clear which."""
    match = _PICK.match(prompt.strip())
    if match is None or len(prompt) > 300:
        return None
    prompt, message = redact(prompt), redact(message)
    match = _PICK.match(prompt.strip()) or match
    key = (match.group("word") or match.group("letter") or match.group("number")).upper()
    options = _options(match, message)
    chosen = options.get(key, "")
    if (
        len(options) < 2
        or content_words(chosen) < 2
        or _NO_CHOICE.match(chosen)
        or not _accepts(match.group("rest"), chosen)
    ):
        return None
    question = _question(message, chosen)
    others = "\n".join(f"- not chosen: {cut(text, 200)}" for other, text in sorted(options.items()) if other != key)
    plain = re.sub(r"\*\*|__|`|\s*\((?:recommended|recomendado|推奨)\)", "", chosen, flags=re.IGNORECASE)
    # An option's name says what was chosen; what it means stands in the body.
    name = plain.partition(" — ")[0]
    plain = name if len(plain) > 80 and content_words(name) else plain
    answer = one_line(prompt)
    return Finding(
        title=cut(f"{cut(question, 90)} {plain}" if question else plain, 180),
        body=(f"Asked: {cut(question, 300)}\n\n" if question else "") + f"Chosen: {cut(chosen, 500)}\n\n{others}",
        quote=answer,
        why=f"The person picked it: “{cut(answer, 250)}”",
        trust="user" if enough_quote(answer) else "assistant",
    )


_FIRST_OPTION: Final = re.compile(
    r"\W*(?:(?:option|approach|choice|opción|opcion|opção|opcao|案|パターン|方案|选项|옵션)\s*)?[a1](?:\W|$)",
    re.IGNORECASE,
)


def _question(message: str, chosen: str) -> str:
    """What the options answer: the question or announcement right before them, else the last line's."""
    prose = re.sub(r"^```.*?^```", "", message, flags=re.MULTILINE | re.DOTALL)
    lines = [one_line(line.strip(" *#>_")).replace("**", "") for line in prose.split("\n") if line.strip()]
    place = next((n for n, line in enumerate(lines) if chosen[:25] in line.replace("|", " — ")), len(lines) - 1)
    first = next((n for n in range(place, -1, -1) if _FIRST_OPTION.match(lines[n])), place)
    asked = [line for line in lines[max(0, first - 8) : first] if line.endswith(("?", "？"))]
    if asked:
        found = asked[-1]
    elif first and lines[first - 1].endswith((":", "：")) and len(lines[first - 1]) < 120:
        found = lines[first - 1]
    else:
        found = lines[-1] if lines and lines[-1].endswith(("?", "？")) else ""
    found = re.sub(r"^(?:next |first |another )?question:\s*", "", found, flags=re.IGNORECASE)
    return "" if content_words(found) < 2 or _GENERIC_QUESTION.search(found) else found


def _accepts(rest: str, chosen: str) -> bool:
    """Whether what follows the option's name agrees with it rather than orders something of its own."""
    rest = rest.lstrip(" ).,:-–—\n")
    if _TOLD.match(rest):
        return False
    if len(rest) <= 30 or _ACCEPTING.match(rest):
        return not _ERRAND.match(rest)
    said = set(re.findall(r"[^\W\d_]{4,}", rest.lower()))
    return not _ERRAND.match(rest) and len(said & set(re.findall(r"[^\W\d_]{4,}", chosen.lower()))) >= 1
