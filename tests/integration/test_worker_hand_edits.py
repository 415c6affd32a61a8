"""What people's editors make of a record neither shuts it nor loses a word of theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hikidashi.records.record import parse_record
from hikidashi.worker.rules import RulesEngine
from tests.support.workshop import Workshop, decision_path, make_entry


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path / "project")
    yield workshop
    workshop.close()


def rules(workshop: Workshop) -> Callable[[], RulesEngine]:
    return lambda: RulesEngine(workshop.settings, clock=workshop.clock)


def _windows(data: bytes) -> bytes:
    return b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")


def _no_last_newline(data: bytes) -> bytes:
    return data.rstrip(b"\n")


def _keys_and_tabs(data: bytes) -> bytes:
    return data.replace(b"trust: user", b"trust:\tuser   \nowner: \xe5\xb9\xb3\xe4\xba\x95\ndue: 2026-07-01", 1)


@pytest.mark.parametrize("edit", [_windows, _no_last_newline, _keys_and_tabs])
def test_an_edited_record_takes_in_further_sources_and_keeps_the_persons_words(
    workshop: Workshop, edit: Callable[[bytes], bytes]
) -> None:
    workshop.stage(1)
    workshop.run(engine=rules(workshop))
    file = workshop.workspace.home / decision_path(1)
    theirs = "\n## 背景\n\n\tタブで始まる行\n私の追記です。\n"
    file.write_bytes(edit(file.read_bytes() + theirs.encode()))
    summary = workshop.workspace.memory / "summary.md"
    summary.write_bytes(edit(summary.read_bytes() + "\n人が書いた行。\n".encode()))
    again = make_entry(1, id=make_entry(40).id, source=make_entry(40).source)
    with_it = [again, make_entry(2)]
    workshop.store.add_pending(with_it)
    workshop.store.flush_pending()
    report = workshop.run(engine=rules(workshop))
    assert (report.outcome, report.remaining) == ("done", 0)
    assert [d.kind for d in report.dispositions] == ["applied", "merged"]
    record = parse_record(decision_path(1), file.read_bytes())
    assert record.body.endswith(theirs)
    assert again.source in record.sources
    text = summary.read_text(encoding="utf-8")
    assert "人が書いた行。" in text
    assert "#choice-2" in text
    if edit is _keys_and_tabs:
        assert record.extra == {"owner": "平井", "due": "2026-07-01"}
