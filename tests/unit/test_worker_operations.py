"""What clean-up is said to have done is what the trees show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hikidashi.records.record import Record, Tree, render_record
from hikidashi.worker.cleanup_log import MAX_LINES, with_operations
from hikidashi.worker.operations import judge_operations, operation_line
from hikidashi.worker.report import Operation
from tests.support.workshop import decision, decision_path, make_entry

A, B, C, D = (decision_path(number) for number in (1, 2, 3, 4))


def _record(path: str, body: str = "# It\n\nOne.\n\nTwo.\n", sources: int = 3) -> Record:
    return decision(path, body, [make_entry(n).source for n in range(sources)])


def _tree(*records: Record) -> dict[str, bytes]:
    return {record.path: render_record(record) for record in records}


def _op(op: Any, *paths: str, into: tuple[str, ...] = (), **values: Any) -> Operation:
    return Operation(**({"op": op, "paths": paths, "into": into, "categories": ("noisy",), "reason": "why"} | values))


BEFORE = _tree(_record(A), _record(B))
LESS = _record(A, "# It\n\nOne.\n")
FEWER = _record(A, sources=2)
OTHER = _record(A, "# It\n\nSomething else.\n")

TRUE: dict[str, tuple[Operation, Tree]] = {
    "drop": (_op("drop", A), _tree(_record(B))),
    "drop of two": (_op("drop", A, B), {}),
    "merge": (_op("merge", A, into=(B,)), _tree(_record(B, sources=4))),
    "merge into an unchanged record": (_op("merge", A, into=(B,)), _tree(_record(B))),
    "merge into a new record": (_op("merge", A, B, into=(C,)), _tree(_record(C))),
    "split": (_op("split", A, into=(A, C)), _tree(LESS, _record(B), _record(C))),
    "split away": (_op("split", A, into=(C, D)), _tree(_record(B), _record(C), _record(D))),
    "trim of text": (_op("trim", A), _tree(LESS, _record(B))),
    "trim of sources": (_op("trim", A), _tree(FEWER, _record(B))),
    "rewrite": (_op("rewrite", A), _tree(OTHER, _record(B))),
    "rewrite of the status": (_op("rewrite", A), _tree(replace(_record(A), status="resolved"), _record(B))),
}


@pytest.mark.parametrize(("operation", "after"), TRUE.values(), ids=TRUE)
def test_what_the_trees_show_is_taken(operation: Operation, after: Tree) -> None:
    assert judge_operations([operation], BEFORE, after, losses_left=9) == ([operation], [])


UNTRUE: dict[str, tuple[list[Operation], Tree, str]] = {
    "a trim that dropped": ([_op("trim", A)], _tree(_record(B)), "the files show a drop"),
    "a rewrite that dropped": ([_op("rewrite", A)], _tree(_record(B)), "the files show a drop"),
    "a trim that rewrote": ([_op("trim", A)], _tree(OTHER, _record(B)), "the files show a rewrite"),
    "a merge that took nothing": ([_op("merge", A, into=(B,))], _tree(OTHER, _record(B)), "do not show"),
    "a drop that left one": ([_op("drop", A, B)], _tree(_record(B)), "do not show"),
    "nothing done": ([_op("drop", A)], BEFORE, "nothing changed"),
    "unnamed": ([], _tree(_record(B)), "deleted without an operation"),
    "unnamed change": ([_op("drop", A)], _tree(_record(B, "# Other\n")), "changed without an operation"),
    "unnamed new file": ([_op("drop", A)], _tree(_record(B), _record(C)), "made without an operation"),
    "no reason": ([_op("drop", A, reason=" ")], _tree(_record(B)), "say why"),
    "no category": ([_op("drop", A, categories=())], _tree(_record(B)), "categories must be"),
    "an unknown category": ([_op("drop", A, categories=("ugly",))], _tree(_record(B)), "categories must be"),
    "into nothing": ([_op("merge", A, into=(C,))], _tree(_record(B)), "does not exist afterwards"),
}


@pytest.mark.parametrize(("claimed", "after", "words"), UNTRUE.values(), ids=UNTRUE)
def test_what_the_trees_do_not_show_is_said_in_one_line(claimed: list[Operation], after: Tree, words: str) -> None:
    errors = judge_operations(claimed, BEFORE, after, losses_left=9)[1]
    assert any(words in line for line in errors), errors
    assert all("\n" not in line for line in errors)


def test_a_rewrite_that_only_took_away_is_recorded_as_a_trim() -> None:
    done, errors = judge_operations([_op("rewrite", A)], BEFORE, _tree(LESS, _record(B)), losses_left=0)
    assert ([operation.op for operation in done], errors) == (["trim"], [])


def test_the_summary_follows_without_an_operation_of_its_own() -> None:
    before, after = {**BEFORE, "memory/summary.md": b"a"}, {**_tree(_record(B)), "memory/summary.md": b"b"}
    assert judge_operations([_op("drop", A)], before, after, losses_left=1)[1] == []


def test_protected_records_are_not_lost_and_no_more_than_allowed() -> None:
    drop = _op("drop", A, B)
    assert "2 records would be lost, 1 may be" in judge_operations([drop], BEFORE, {}, losses_left=1)[1][0]
    assert "protected" in judge_operations([drop], BEFORE, {}, protected={B}, losses_left=2)[1][0]
    split = _op("split", A, into=(A, C))
    after = _tree(LESS, _record(B), _record(C))
    assert "protected" in judge_operations([split], BEFORE, after, protected={A}, losses_left=1)[1][0]


def test_the_log_keeps_its_newest_lines_and_a_persons_words() -> None:
    log = with_operations(None, [_op("drop", A, reason="two\nlines")], "RUN", "2026-05-03T09:30:00.000Z")
    assert log.decode().splitlines()[-1] == f"- 2026-05-03 drop {A} [noisy]: two lines (run RUN)"
    log += b"My own remark.\n"
    for number in range(MAX_LINES):
        log = with_operations(log, [_op("trim", B, reason=f"no {number}")], "RUN", "2026-05-04T09:30:00.000Z")
    lines = log.decode().splitlines()
    assert sum(line.startswith("- ") for line in lines) == MAX_LINES
    assert "no 0 " in next(line for line in lines if line.startswith("- "))
    assert "My own remark." in lines
    assert lines[0] == "# Clean-up log"


def test_a_line_says_what_where_and_why() -> None:
    operation = _op("merge", A, into=(B,), categories=("superseded", "noisy"), reason="same text")
    assert operation_line(operation) == f"merge {A} into {B} [superseded, noisy]: same text"
