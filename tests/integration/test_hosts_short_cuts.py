"""The reader's short cuts change its speed alone."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from hikidashi.hosts import claude_code
from hikidashi.hosts.transcript import Event, ReadReport
from tests.transcripts import Session, read


def quiet_lines(session: Session) -> list[dict[str, Any]]:
    """Lines that carry nothing, and lines that look like them but carry something."""
    at = len(session.lines)
    session.progress(type="bash_progress", output='"type":"user"', fullOutput="x" * 3000)
    session.progress(type="agent_progress", message={"type": "user", "message": {"content": "nested"}})
    session.progress(type="hook_progress", text='{"parentUuid":null}{"type":"user"}')
    session.user('the word "progress" alone is no type')
    session.user([{"type": "text", "text": "x"}], note={"type": "progress"})
    session.add({"type": "file-history-snapshot", "messageId": "m", "snapshot": {"text": "y" * 3000}})
    session.add({"type": "file-history-snapshot", "messageId": "m", "snapshot": {"text": '}{"type":"user"'}})
    session.says("progress " * 400)
    made = session.lines[at:]
    del session.lines[at:]
    return made


def test_an_event_that_was_made_without_the_constructor_equals_one_made_with_it(tmp_path: Path) -> None:
    session = Session(version="2.1.42")
    session.user("go")
    session.runs("make", "done")
    session.thinks("hm")
    session.says("all is built")
    session.compacts("a summary")
    session.edits("/b.py", "x", "y")
    events, _ = read(session.write(tmp_path / "s.jsonl"))
    names = [field.name for field in dataclasses.fields(Event)]
    for event in events:
        assert Event(**{name: getattr(event, name) for name in names}) == event
        assert dataclasses.replace(event, text="other").uuid == event.uuid
        beside = event.beside(repeat=True)
        shared = {
            name: getattr(event, name) for name in ("line", "uuid", "at", "session_id", "cwd", "branch", "sidechain")
        }
        assert beside == Event(kind="context", role="tool", repeat=True, **shared)
    assert Event.input == {} and Event.tokens == {}, "no event wrote to what all of them share"


def test_the_report_is_right_at_each_event(tmp_path: Path) -> None:
    session = Session(version="2.1.42")
    session.user("go")
    session.lines += quiet_lines(session)
    session.runs("make", "done")
    path = session.write(tmp_path / "s.jsonl")
    raw = path.read_bytes()
    starts = [0, *(at + 1 for at, byte in enumerate(raw) if byte == 10)]
    report = ReadReport()
    events = claude_code.HOST.events(path, start=report.position, report=report, max_line_bytes=1 << 20, seen=set())
    for event in events:
        assert (report.line, report.lines, report.offset) == (event.line, event.line, starts[event.line])
    assert (report.line, report.lines, report.offset) == (len(session.lines), len(session.lines), len(raw))
