"""Requests and attempts: what is open, what was done, what failed before it passed (design sections 5 and 6)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from hikidashi.records.record import Record, free_slug, make_slug, record_path
from hikidashi.source import trust_rank
from hikidashi.staging.entry import Entry
from hikidashi.times import parse_time
from hikidashi.worker.choice import content
from hikidashi.worker.entry_text import cut_line, mute_references, one_line
from hikidashi.worker.rules_plan import Plan, SummaryLine, at_hand, discarded
from hikidashi.worker.rules_text import (
    add_to_section,
    bullet,
    entry_title,
    minute,
    moment,
    refreshed_body,
    request_body,
    statement,
    topic_of,
    topic_of_entry,
    with_done_line,
)
from hikidashi.worker.sameness import Wording, normal, same
from hikidashi.worker.shelf import Shelf, joined_sources, later, time_of

__all__ = ["FAILURES", "RECENT", "plan_attempt", "plan_request", "summary_line"]

#: Headings of the summary that lines of entries go to.
RECENT: Final = "Recent work"
FAILURES: Final = "Known failures"

#: Characters of what follows the title in a line of the summary.
_MAX_PROOF: Final = 160
_MAX_LINE: Final = 300
#: Content words that make a line more than a repetition.
_NEW_WORDS: Final = 3


def proof_of(entry: Entry) -> str:
    """The first line of an entry's body that is not its title again; '' for none."""
    for line in entry.body.split("\n"):
        text = mute_references(one_line(line, _MAX_PROOF))
        if normal(text) and normal(text) != normal(entry_title(entry)):
            return text
    return ""


def _cure_of(entry: Entry) -> str:
    """The first line of an attempt's body that tells more than the title, which names command and error already."""
    title = set(content(entry_title(entry)))
    for line in entry.body.split("\n"):
        text = mute_references(one_line(line, _MAX_PROOF))
        if len(set(content(text)) - title) >= _NEW_WORDS:
            return text
    return ""


#: A proof that says no more than this beside its title is left out.
_SUCCESS: Final = frozenset({"succeeded"})


def _without(proof: str, title: str) -> str:
    """`commit 1a2b3c4 on main: <title>` without the title that stands before it already; '' when nothing is left."""
    if set(content(proof)) - set(content(title)) <= _SUCCESS:  # "Deployed: `x`. `x` succeeded"
        return ""
    head, found, tail = proof.partition(title)
    return head.rstrip(" :,;-–—") if found and not tail.strip(" .") and head.strip() else proof


def summary_line(entry: Entry, section: str) -> SummaryLine:
    """The entry as one line of the summary: date, what, and the proof or the cause."""
    title = entry_title(entry)
    more = _without(proof_of(entry), title) if section == RECENT else _cure_of(entry)
    end = "" if not more else (" " if title.endswith((".", "…", "!", "?", ":", "。")) else ". ") + more
    text = cut_line(f"- {minute(entry.source.at)}: {title}{end}", _MAX_LINE)
    return SummaryLine(section=section, text=text, source=entry.source)


def _matching(entry: Entry, shelf: Shelf, *, any_topic: bool = False) -> list[Record]:
    """Requests of the entry's topic, else of its session: open ones first, then the one touched last.

    A session's request with another topic is another matter, except for attempts, whose topic is a command.
    """
    topic = topic_of_entry(entry)
    found = {record.path: record for record in shelf.of_topic(topic, "request")}
    for record in shelf.of_session(entry.source.host, entry.source.session_id, "request"):
        if any_topic or not topic or topic_of(record.body) in ("", topic):
            found.setdefault(record.path, record)
    rows = sorted(found.values(), key=lambda r: r.path)
    rows.sort(key=time_of, reverse=True)
    rows.sort(key=lambda r: (r.status != "open", bool(topic) and topic_of(r.body) != topic))
    return [record for record in rows if shelf.writable(record.path)]


def _may_take(record: Record, entry: Entry) -> bool:
    """Whether the record may take in the entry's words; an attempt's stand in a section of their own, as evidence."""
    return entry.kind == "attempt" or trust_rank(entry.trust) <= trust_rank(record.trust)


def plan_request(entry: Entry, shelf: Shelf) -> Plan:
    """What becomes of a request entry, open or done."""
    return _plan_done(entry, shelf) if entry.status == "done" else _plan_open(entry, shelf)


def _plan_open(entry: Entry, shelf: Shelf) -> Plan:
    if entry.trust == "external":
        return discarded("a text from outside asks for nothing here")
    topic = topic_of_entry(entry)
    for record in shelf.carriers(entry.source, "request"):
        if not topic or topic_of(record.body) in ("", topic):
            return at_hand("duplicate", record, shelf.existed, "this source stands in the record already")
    wording = Wording.of(statement(request_body(entry)))
    for record in _matching(entry, shelf):
        if _may_take(record, entry):
            return _update(entry, record, _new(entry, shelf))
        if same(wording, shelf.wording(record)):
            return at_hand("covered", record, shelf.existed, f"the same text stands there with trust {record.trust}")
    return _new(entry, shelf)


def _new(entry: Entry, shelf: Shelf) -> Plan:
    """A record of its own."""
    at = moment(entry)
    slug = free_slug(make_slug(entry_title(entry), "request", at, entry.id), shelf.slugs)
    record = Record(
        kind="request",
        path=record_path("request", slug),
        slug=slug,
        body=request_body(entry),
        created_at=at,
        updated_at=at,
        status="open",
        trust=entry.trust,
        sources=(entry.source,),
    )
    return Plan(kind="applied", record=record.path, writes=(record,), takes=frozenset({record.path}))


def _update(entry: Entry, record: Record, alone: Plan) -> Plan:
    """A newer state of the same work refreshes the record (and opens it again); an older one adds its source.

    `alone` is the plan where the record has no room for it, or may not lose what would have to give way.
    """
    changed = replace(record, sources=joined_sources(record.sources, [entry.source]))
    if parse_time(entry.source.at) >= time_of(record):
        body = refreshed_body(record.body, entry)
        if body is None:
            return alone
        changed = replace(changed, body=body, status="open", updated_at=moment(entry))
    takes = frozenset({record.path})
    return Plan(kind="merged", record=record.path, writes=(changed,), takes=takes, otherwise=alone)


def _plan_done(entry: Entry, shelf: Shelf) -> Plan:
    line = summary_line(entry, RECENT)
    for record in shelf.carriers(entry.source, "request"):
        if record.status == "done":
            return at_hand("duplicate", record, shelf.existed, "this source stands in the record already")
    at = parse_time(entry.source.at)
    closing = [record for record in _matching(entry, shelf) if record.status == "open" and time_of(record) <= at]
    writes: list[Record] = []
    takes: list[str] = []
    for record in closing:
        closed = replace(record, status="done", updated_at=later(record.updated_at, moment(entry)))
        if _may_take(record, entry):
            body = with_done_line(record.body, entry, proof_of(entry))
            sources = joined_sources(record.sources, [entry.source])
            closed = replace(closed, sources=sources, body=record.body if body is None else body)
            takes.append(record.path)
        writes.append(closed)
    # evidence of lower trust closes a request of the user, but its words stay out of that record
    return Plan(
        kind="merged" if takes else "applied",
        record=takes[0] if takes else "",
        writes=tuple(writes),
        takes=frozenset(takes),
        line=line,
    )


def plan_attempt(entry: Entry, shelf: Shelf) -> Plan:
    """What becomes of an attempt: under "Attempts" of its open request, else a known failure in the summary."""
    item = bullet(entry)
    first_line = item.split("\n", 1)[0]
    for record in shelf.carriers(entry.source, "request"):
        if first_line in record.body.split("\n"):
            return at_hand("duplicate", record, shelf.existed, "this source stands in the record already")
    for record in _matching(entry, shelf, any_topic=True):
        if record.status != "open" or not _may_take(record, entry):
            continue
        body = add_to_section(record.body, "Attempts", item)
        if body is not None:
            grown = replace(
                record,
                body=body,
                sources=joined_sources(record.sources, [entry.source]),
                updated_at=later(record.updated_at, moment(entry)),
            )
            return Plan(
                kind="merged",
                record=record.path,
                writes=(grown,),
                takes=frozenset({record.path}),
                otherwise=Plan(kind="applied", line=summary_line(entry, FAILURES)),
            )
    return Plan(kind="applied", line=summary_line(entry, FAILURES))
