"""How the rules engine words a record: what a person reads, and what it reads back from there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from hikidashi.source import Source, Trust
from hikidashi.staging.entry import Entry
from hikidashi.times import format_time, parse_time
from hikidashi.worker.entry_text import SECTIONS, clean, mute_references, one_line, quoted, text_block
from hikidashi.worker.sameness import normal

__all__ = [
    "MAX_BODY",
    "MAX_TITLE",
    "add_to_section",
    "bullet",
    "decision_body",
    "entry_title",
    "minute",
    "moment",
    "refreshed_body",
    "request_body",
    "section_lines",
    "speaker",
    "statement",
    "topic_of",
    "topic_of_entry",
    "with_done_line",
]

#: Characters of a body that this engine writes; the linter's cap is 8,000.
MAX_BODY: Final = 7_800
MAX_TITLE: Final = 160

_MAX_STATEMENT: Final = 3_500
_MAX_WHY: Final = 800
_MAX_QUOTE: Final = 700
_MAX_TOPIC: Final = 120
#: Characters of one item under Attempts or Discussion, and of the items that are no longer on a request's list.
_MAX_ITEM: Final = 700
_MAX_EARLIER: Final = 1_500

#: A reason repeats a quote when it holds its beginning and at most this many characters more.
_SAME_START: Final = 100
_FEW_WORDS: Final = 40

_SPEAKERS: Final[dict[Trust, str]] = {
    "user": "the user",
    "assistant": "the agent",
    "tool": "a tool's output",
    "external": "text from outside",
}

#: A code fence may hold spaces or back-ticks of its own, so the topic stands on a line of its own below the title.
_SECTION_LINE: Final = re.compile(rf"^## (?:{'|'.join(SECTIONS)})$", re.MULTILINE)
_TOPIC: Final = re.compile(r"\A# [^\n]*\n\n\*\*Topic:\*\* `([^\n]*)`\n?")
_WHY: Final = "**Why:** "
_LEAD_END: Final = re.compile(r"^(?:\*\*Why:\*\* |\*\*Done:\*\* |> |## )", re.MULTILINE)


def moment(entry: Entry) -> str:
    """When the entry happened, in the form of front matter."""
    return format_time(parse_time(entry.source.at))


def minute(at: str) -> str:
    """`2026-05-03 09:30` (UTC) of a stored time: what lines of the summary and of sections begin with."""
    return parse_time(at).strftime("%Y-%m-%d %H:%M")


def speaker(trust: Trust) -> str:
    """Who said it, in words."""
    return _SPEAKERS[trust]


def _place(source: Source) -> str:
    session = one_line(source.session_id, 60) or "?"
    return f"{one_line(source.host, 40) or '?'} session {session}, lines {source.lines[0] + 1}–{source.lines[1] + 1}"


def entry_title(entry: Entry) -> str:
    """The entry's title as one plain line; never empty."""
    for text in (entry.title, *entry.body.split("\n")[:20]):
        line = mute_references(one_line(text, MAX_TITLE))
        if normal(line):
            return line
    return f"Untitled {entry.kind}"


def _lead(entry: Entry, *, title: bool = True) -> list[str]:
    """Title, topic and statement of a body."""
    heading = entry_title(entry)
    parts = [f"# {heading}"] if title else []
    topic = topic_of_entry(entry)
    if topic and title:
        parts.append(f"**Topic:** `{topic}`")
    text = mute_references(text_block(_without_title(entry.body, heading), _MAX_STATEMENT, _place(entry.source)))
    if normal(text) != normal(heading):
        parts.append(text)
    return parts


def _without_title(body: str, title: str) -> str:
    """`body` without a first heading that only repeats the title."""
    first, _, rest = body.lstrip().partition("\n")
    heading = normal(one_line(first, MAX_TITLE)) if first.startswith("#") else ""
    return rest if heading and heading in normal(title) else body


def _evidence(entry: Entry) -> list[str]:
    """Why, and the quote with who said it."""
    parts: list[str] = []
    why = mute_references(text_block(entry.why, _MAX_WHY, _place(entry.source)))
    if why and (_said_already(entry) or not _only_quotes(entry)):
        parts.append(_WHY + why)
    said = f"{speaker(entry.trust)}, {minute(entry.source.at)[:10]}"
    quote = mute_references(quoted(entry.quote, _MAX_QUOTE, said))
    if quote and not _said_already(entry):
        parts.append(quote)
    return parts


def _said_already(entry: Entry) -> bool:
    """Whether a quote that is not certainly the user's stands in the record's words as it is: once is enough."""
    quote = normal(clean(entry.quote))
    return entry.trust != "user" and any(quote in normal(clean(text)) for text in (entry.title, entry.body, entry.why))


def _only_quotes(entry: Entry) -> bool:
    """Whether the reason is the quote with a few words around it: the block quote says that, and who said it."""
    why, quote = normal(clean(entry.why)), normal(clean(entry.quote))
    start = quote[:_SAME_START]
    return len(start) > 0 and start in why and len(why) <= len(quote) + _FEW_WORDS


def decision_body(entry: Entry) -> str:
    """The body of a new decision."""
    return "\n\n".join(part for part in [*_lead(entry), *_evidence(entry)] if part) + "\n"


def request_body(entry: Entry) -> str:
    """The body of a new request."""
    return decision_body(entry)


def topic_of_entry(entry: Entry) -> str:
    """The entry's topic as it stands in a record; '' for none."""
    return one_line(entry.topic, _MAX_TOPIC).replace("`", "'")


def topic_of(body: str) -> str:
    """The topic that stands below a body's title; '' for none."""
    match = _TOPIC.match(body)
    return match[1] if match else ""


def statement(body: str) -> str:
    """Title and statement of a body, without topic, reason, quote and sections: what two records are compared by."""
    topic = _TOPIC.match(body)
    start = topic.end() if topic else (body.find("\n") if body.startswith("# ") else 0)
    title = body.split("\n", 1)[0].lstrip("# ") if body.startswith("# ") else ""
    rest = body[start if start >= 0 else len(body) :]
    end = _LEAD_END.search(rest)
    return f"{title}\n{rest[: end.start()] if end else rest}".strip()


def bullet(entry: Entry) -> str:
    """The entry as an item of a section: date, title, and its body below, indented."""
    lines = [f"- {minute(entry.source.at)[:10]}: {entry_title(entry)}"]
    text = mute_references(text_block(entry.body, _MAX_ITEM, _place(entry.source)))
    if text and normal(text) != normal(entry_title(entry)):
        lines += ["", *(f"  {line}".rstrip() for line in text.split("\n")), ""]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Section:
    start: int
    end: int


def _find_section(body: str, heading: str) -> _Section | None:
    match = re.search(rf"^## {re.escape(heading)}$", body, re.MULTILINE)
    if match is None:
        return None
    following = re.compile(r"^#{1,2} ", re.MULTILINE).search(body, match.end())
    return _Section(match.end(), following.start() if following else len(body))


def section_lines(body: str, heading: str) -> list[str]:
    """The lines of a section that are not empty."""
    section = _find_section(body, heading)
    return [line for line in body[section.start : section.end].split("\n") if line.strip()] if section else []


def add_to_section(body: str, heading: str, item: str) -> str | None:
    """`body` with `item` at the end of `## heading`; None when it would pass `MAX_BODY`. Nothing else changes."""
    section = _find_section(body, heading)
    if section is None:
        grown = f"{body.rstrip()}\n\n## {heading}\n\n{item.rstrip()}\n"
    else:
        inside, after = body[section.start : section.end].rstrip(), body[section.end :]
        # an item that ends with indented text parts from the next one by an empty line
        gap = "\n\n" if inside.endswith("\n") or inside.rsplit("\n", 1)[-1].startswith(" ") or not inside else "\n"
        grown = f"{body[: section.start]}{inside}{gap}{item.rstrip()}\n" + (f"\n{after}" if after else "")
    return grown if len(grown) <= MAX_BODY else None


def refreshed_body(body: str, entry: Entry) -> str | None:
    """A request's body with the statement of a newer entry; what it no longer says stands under "Earlier items".

    Of those, the oldest give way to newer ones. None when the body has no room for the statement.
    """
    topic = _TOPIC.match(body)
    start = topic.end() if topic else (body.find("\n") + 1 if body.startswith("# ") else 0)
    end_match = _LEAD_END.search(body, start)
    end = end_match.start() if end_match else len(body)
    old_lines = [line for line in body[start:end].split("\n") if line.strip()]
    parts = _lead(entry, title=False)
    if normal(entry_title(entry)) != normal(body.split("\n", 1)[0].lstrip("# ")):
        parts.insert(0, f"**Latest:** {entry_title(entry)}")
    new = "\n\n".join(part for part in parts if part)
    if not new.strip():
        return body
    kept = {normal(one_line(line, 300)) for line in new.split("\n")}
    gone = [line for line in old_lines if normal(one_line(line, 300)) not in kept]
    head = body[:start].rstrip("\n")
    grown = "\n\n".join(part for part in (head, new, body[end:].strip("\n")) if part) + "\n"
    for line in gone:
        text = mute_references(one_line(line, len(line)))  # whole: it may be a person's
        item = f"- {text}"
        if not normal(text) or item in section_lines(grown, "Earlier items"):
            continue
        longer = add_to_section(grown, "Earlier items", item)
        if longer is None:
            return None
        grown = _without_oldest(longer, "Earlier items", _MAX_EARLIER)
    return grown if len(grown) <= MAX_BODY else None


def _without_oldest(body: str, heading: str, limit: int) -> str:
    """`body` without the first items of a section, as many as pass `limit` characters; the last one stays."""
    section = _find_section(body, heading)
    if section is None:
        return body
    lines = body[section.start : section.end].split("\n")
    items = [number for number, line in enumerate(lines) if line.startswith("- ")]
    size = sum(map(len, lines))
    gone: set[int] = set()
    for number in items[:-1]:
        if size <= limit:
            break
        size -= len(lines[number])
        gone.add(number)
    kept = "\n".join(line for number, line in enumerate(lines) if number not in gone)
    return body[: section.start] + kept + body[section.end :]


def with_done_line(body: str, entry: Entry, proof: str) -> str | None:
    """A request's body that says when it was done and by what proof; None when it would pass `MAX_BODY`."""
    line = f"**Done:** {minute(entry.source.at)[:10]}" + (f", {proof}" if proof else "")
    if line in body.split("\n"):
        return body
    section = _SECTION_LINE.search(body)
    head, tail = (body[: section.start()], body[section.start() :]) if section else (body, "")
    grown = f"{head.rstrip()}\n\n{line}\n" + (f"\n{tail}" if tail else "")
    return grown if len(grown) <= MAX_BODY else None
