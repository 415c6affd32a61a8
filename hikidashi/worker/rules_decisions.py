"""Decisions: a new file, a further source of an existing one, or the one that replaces it (design section 6)."""

from __future__ import annotations

from dataclasses import replace

from hikidashi.records.record import Record, free_slug, make_slug, record_path
from hikidashi.source import trust_rank
from hikidashi.staging.entry import Entry
from hikidashi.times import parse_time
from hikidashi.worker.choice import content, read_choice, supersedes
from hikidashi.worker.rules_plan import Plan, at_hand, discarded
from hikidashi.worker.rules_text import (
    add_to_section,
    bullet,
    decision_body,
    entry_title,
    moment,
    statement,
    topic_of,
    topic_of_entry,
)
from hikidashi.worker.sameness import Wording, same
from hikidashi.worker.shelf import Shelf, joined_sources, later

__all__ = ["plan_decision", "plan_discussion"]


def plan_decision(entry: Entry, shelf: Shelf) -> Plan:
    """What becomes of a decision entry."""
    if trust_rank(entry.trust) > trust_rank("assistant"):
        return discarded("what tools and outside texts say never becomes a decision")
    body = decision_body(entry)
    wording = Wording.of(statement(body))
    for record in shelf.carriers(entry.source, "decision"):
        if same(wording, shelf.wording(record)):
            return at_hand("duplicate", record, shelf.existed, "this source stands in the record already")
    match = shelf.same_decision(wording, parse_time(entry.source.at))
    if match is not None:
        return _merge(entry, match, shelf)
    return _new(entry, body, shelf)


def _merge(entry: Entry, record: Record, shelf: Shelf) -> Plan:
    if trust_rank(entry.trust) > trust_rank(record.trust):
        return at_hand("covered", record, shelf.existed, f"the same text stands there with trust {record.trust}")
    if not shelf.writable(record.path):
        return at_hand("covered", record, shelf.existed, "the same text stands there; the record is read-only now")
    merged = replace(
        record,
        sources=joined_sources(record.sources, [entry.source]),
        updated_at=later(record.updated_at, moment(entry)),
    )
    if merged == record:
        return at_hand("covered", record, shelf.existed, "the same text and source stand there")
    return Plan(kind="merged", record=record.path, writes=(merged,), takes=frozenset({record.path}))


def _new(entry: Entry, body: str, shelf: Shelf) -> Plan:
    at = moment(entry)
    slug = free_slug(make_slug(entry_title(entry), "decision", at, entry.id), shelf.slugs)
    record = Record(
        kind="decision",
        path=record_path("decision", slug),
        slug=slug,
        body=body,
        created_at=at,
        updated_at=at,
        status="open",
        trust=entry.trust,
        sources=(entry.source,),
    )
    given_up = tuple(
        replace(old, status="replaced", replaced_by=slug, updated_at=later(old.updated_at, at))
        for old in _given_up(entry, shelf)
    )
    reason = f"replaces {', '.join(old.slug for old in given_up)}" if given_up else ""
    return Plan(
        kind="applied",
        record=record.path,
        reason=reason,
        writes=(record, *given_up),
        takes=frozenset({record.path}),
    )


def _given_up(entry: Entry, shelf: Shelf) -> list[Record]:
    """Open, older decisions of no higher trust whose value the entry's text names as given up."""
    choice = read_choice(entry_title(entry), entry.body[:2_000])
    if not choice.given_up:
        return []
    words = frozenset(content(f"{entry.title}\n{entry.body[:8_000]}\n{entry.why[:2_000]}"))
    at = parse_time(entry.source.at)
    return [
        record
        for record, old_choice, old_words in shelf.choosing(choice.given_up)
        if shelf.writable(record.path)
        and trust_rank(entry.trust) <= trust_rank(record.trust)
        and parse_time(record.created_at) <= at
        and supersedes(choice, words, old_choice, old_words)
    ]


def plan_discussion(entry: Entry, shelf: Shelf) -> Plan:
    """What becomes of a discussion entry: it goes into its decision or request, of one session and topic."""
    topic = topic_of_entry(entry)
    item = bullet(entry)
    records = [
        record
        for kind in ("decision", "request")
        for record in shelf.of_session(entry.source.host, entry.source.session_id, kind)
        if topic_of(record.body) == topic
    ]
    first_line = item.split("\n", 1)[0]
    for record in records:
        if entry.source in record.sources and first_line in record.body.split("\n"):
            return at_hand("duplicate", record, shelf.existed, "this source stands in the record already")
    open_to_it = [
        record
        for record in records
        if shelf.writable(record.path)
        and record.status == "open"
        and trust_rank(entry.trust) <= trust_rank(record.trust)
    ]
    for record in sorted(open_to_it, key=lambda r: (parse_time(r.updated_at), r.path), reverse=True):
        body = add_to_section(record.body, "Discussion", item)
        if body is not None:
            grown = replace(
                record,
                body=body,
                sources=joined_sources(record.sources, [entry.source]),
                updated_at=later(record.updated_at, moment(entry)),
            )
            return Plan(kind="merged", record=record.path, writes=(grown,), takes=frozenset({record.path}))
    return discarded("a discussion that led to no decision or request of its session and topic")
