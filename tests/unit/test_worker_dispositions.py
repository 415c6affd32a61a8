"""An engine's word about an entry is taken only where the trees bear it out."""

from __future__ import annotations

from typing import Any

import pytest

from hikidashi.records.record import render_record
from hikidashi.staging.entry import Disposition
from hikidashi.worker.dispositions import check_dispositions
from tests.support.workshop import decision, decision_path, make_entry

ENTRY, OTHER = make_entry(1), make_entry(2)
PATH, OLD = decision_path(1), decision_path(9)


def _bytes(path: str, *entries: Any, body: str = "# It\n") -> bytes:
    return render_record(decision(path, body, [entry.source for entry in entries]))


BEFORE = {OLD: _bytes(OLD, OTHER), "memory/workflow/how.md": b"ours\n"}
AFTER = {**BEFORE, PATH: _bytes(PATH, ENTRY), "memory/decisions/broken.md": b"---\n"}


def _given(**values: Any) -> Disposition:
    return Disposition(**({"entry_id": ENTRY.id, "kind": "applied", "record": PATH} | values))


@pytest.mark.parametrize(
    "disposition",
    [
        _given(),
        _given(kind="merged"),
        _given(kind="duplicate", record=OLD),
        _given(kind="covered", record=OLD),
        _given(kind="discarded", record="", reason="small talk"),
    ],
    ids=lambda d: d.kind,
)
def test_a_true_disposition_is_taken(disposition: Disposition) -> None:
    assert check_dispositions([disposition], [ENTRY], BEFORE, AFTER) == []


UNTRUE = {
    "no record": (_given(record=""), "name the record"),
    "a record that is not there": (_given(record="memory/decisions/none.md"), "does not exist"),
    "a record that was not changed": (_given(record=OLD), "did not change"),
    "a record that is not one": (_given(record="memory/decisions/broken.md"), "cannot be read"),
    "merged without the source": (_given(kind="merged", record=OLD), "did not change"),
    "people's folder": (_given(kind="covered", record="memory/workflow/how.md"), "is no record"),
    "the log": (_given(record="memory/cleanup-log.md"), "is no record"),
    "covered by what this run made": (_given(kind="covered"), "did not exist when the run began"),
    "duplicate of nothing": (_given(kind="duplicate", record=""), "name the record"),
    "discarded without a reason": (_given(kind="discarded", record="", reason=" \n"), "say why"),
    "an entry of nobody": (_given(entry_id=OTHER.id), "is no entry of this run"),
}


@pytest.mark.parametrize(("disposition", "words"), UNTRUE.values(), ids=UNTRUE)
def test_an_untrue_disposition_is_named_in_one_line(disposition: Disposition, words: str) -> None:
    lines = check_dispositions([disposition], [ENTRY], BEFORE, AFTER)
    assert any(words in line and line.startswith(disposition.entry_id) for line in lines), lines
    assert all("\n" not in line for line in lines)


def test_a_changed_record_must_carry_the_entrys_source() -> None:
    changed = {**AFTER, OLD: _bytes(OLD, OTHER, body="# It, and more\n")}
    assert "does not carry" in check_dispositions([_given(record=OLD)], [ENTRY], BEFORE, changed)[0]
    carried = {**AFTER, OLD: _bytes(OLD, OTHER, ENTRY)}
    assert check_dispositions([_given(kind="merged", record=OLD)], [ENTRY], BEFORE, carried) == []


def test_every_entry_has_exactly_one() -> None:
    lines = check_dispositions([_given(), _given()], [ENTRY, OTHER], BEFORE, AFTER)
    assert [line.split(":")[0] for line in lines] == [OTHER.id, ENTRY.id]
    assert "no disposition" in lines[0]
    assert "2 dispositions" in lines[1]
