"""What people's editors make of a record neither shuts it nor loses a word of theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hikidashi.db.connection import transaction
from hikidashi.records.record import parse_record
from hikidashi.staging.entry import Entry
from hikidashi.worker.rules import RulesEngine
from tests.support.workshop import Workshop, decision_path, make_entry


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path / "project")
    yield workshop
    workshop.close()


def rules(workshop: Workshop) -> Callable[[], RulesEngine]:
    return lambda: RulesEngine(workshop.settings, clock=workshop.clock)


def stage(workshop: Workshop, *entries: Entry) -> None:
    with transaction(workshop.connection):
        workshop.store.add_pending(entries)
    workshop.store.flush_pending()


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
    stage(workshop, again, make_entry(2))
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


def test_a_persons_paragraph_in_a_request_survives_ten_runs_and_costs_no_entry(workshop: Workshop) -> None:
    def work(number: int) -> Entry:
        items = f"Left open:\n- write part {number} of the manual\n- review part {number}"
        return make_entry(number, kind="request", status="open", topic="manual", title="The manual", body=items)

    stage(workshop, work(1))
    workshop.run(engine=rules(workshop))
    file = workshop.workspace.memory / "requests" / "the-manual.md"
    theirs = "What matters here: " + " ".join(f"reason {n} in a person's words," for n in range(60))
    file.write_text(file.read_text().replace("- review part 1\n", f"- review part 1\n\n{theirs}\n"))
    for number in range(2, 12):
        stage(workshop, work(number))
        report = workshop.run(engine=rules(workshop))
        assert report.outcome == "done"
        assert report.dispositions[0].kind in ("merged", "applied"), report.dispositions
        assert f"- write part {number} of the manual" in workshop.read(report.dispositions[0].record)
        assert theirs in file.read_text()
    assert len(list(file.parent.iterdir())) == 2


def test_a_persons_file_that_only_begins_like_a_temporary_one_stays(workshop: Workshop) -> None:
    mine = workshop.workspace.memory / "workflow" / ".tmp-notes.md"
    ours = mine.with_name(f".tmp-{'0' * 12}-notes.md")
    mine.parent.mkdir(parents=True)
    for file in (mine, ours):
        file.write_text("half\n")
    workshop.stage(1)
    workshop.run(engine=rules(workshop))
    assert mine.read_text() == "half\n"
    assert not ours.exists()
