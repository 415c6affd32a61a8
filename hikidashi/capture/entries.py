"""From findings to entries: redaction, source, trust and ID are attached here, by the program."""

from __future__ import annotations

from hikidashi.capture.attempts import Solved
from hikidashi.capture.decisions import Finding
from hikidashi.capture.passages import Place, clean, cut, one_line
from hikidashi.capture.requests import Outcome
from hikidashi.source import Source, Trust
from hikidashi.staging.entry import Entry, EntryKind, EntryStatus, entry_id

__all__ = ["MAX_TITLE", "attempt_entry", "decision_entry", "request_entry"]

MAX_TITLE = 200
#: Characters of a quote and of a body; a plan is the longest.
MAX_QUOTE = 600
MAX_BODY = 4_000


def _entry(
    host: str,
    session_id: str,
    kind: EntryKind,
    *,
    title: str,
    body: str,
    why: str,
    quote: str,
    trust: Trust,
    first: Place,
    anchor: Place,
    status: EntryStatus = "",
    topic: str = "",
    ordinal: int = 0,
) -> Entry:
    source = Source(
        host=host,
        session_id=session_id,
        lines=(min(first.line, anchor.line), anchor.line),
        uuids=(first.uuid if first.line <= anchor.line else anchor.uuid, anchor.uuid),
        at=anchor.at,
    )
    return Entry(
        id=entry_id(host, anchor.at, anchor.anchor, kind, ordinal),
        kind=kind,
        title=cut(one_line(clean(title)), MAX_TITLE),
        body=cut(clean(body), MAX_BODY),
        why=cut(one_line(clean(why)), MAX_QUOTE),
        quote=_quoted(clean(quote)),
        source=source,
        trust=trust,
        status=status,
        topic=cut(clean(topic), MAX_TITLE),
    )


def _quoted(text: str) -> str:
    """Evidence stays word for word: cut without a mark of the cut."""
    return one_line(text)[:MAX_QUOTE].rstrip()


def decision_entry(host: str, session_id: str, found: Finding, first: Place, anchor: Place, topic: str) -> Entry:
    """A decision, anchored at the event that made it."""
    return _entry(
        host,
        session_id,
        "decision",
        title=found.title,
        body=found.body,
        why=found.why,
        quote=found.quote,
        trust=found.trust,
        first=first,
        anchor=anchor,
        topic=topic,
    )


def attempt_entry(host: str, session_id: str, solved: Solved) -> Entry:
    """An attempt, anchored at the run that passed. Its evidence is tool output, so its trust is `tool`."""
    failure = solved.failure
    command, error = failure.command.line, failure.error.line
    times = f"failed {failure.count} times" if failure.count > 1 else "failed here and in another session"
    parts = [f"`{command}` {times}:", f"    {error}"]
    parts.append("It passed after these were changed: " + ", ".join(failure.edits))
    if solved.proof:
        parts.append("Then: " + one_line(solved.proof))
    if failure.diagnosis is not None:
        parts.append("The agent's words before the last change: " + failure.diagnosis.line)
    return _entry(
        host,
        session_id,
        "attempt",
        title=f"`{cut(command, 70)}` failed: {cut(error, 110)}",
        body="\n\n".join(parts),
        why="",
        quote=error,
        trust="tool",
        first=failure.command.place,
        anchor=solved.passed,
        topic=f"command:{failure.key}",
    )


def request_entry(host: str, session_id: str, outcome: Outcome, topic: str) -> Entry:
    """The session's request, anchored at the last evidence of its outcome."""
    return _entry(
        host,
        session_id,
        "request",
        title=outcome.title,
        body=outcome.body,
        why=outcome.why,
        quote=outcome.quote,
        trust=outcome.trust,
        first=outcome.first,
        anchor=outcome.anchor,
        status=outcome.status,
        topic=topic,
        ordinal=1 if outcome.status == "done" else 0,
    )
