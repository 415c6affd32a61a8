"""What a run does first with what a killed one left (design section 6, step 9).

A journal is redone or taken back, temporary files go, runs that never ended get their outcome. All of it may
itself be killed at any point and done again.
"""

from __future__ import annotations

from hikidashi.errors import CorruptData
from hikidashi.ulid import random_ulid
from hikidashi.worker.bench import Bench
from hikidashi.worker.journal import Journal, read_journal, set_aside
from hikidashi.worker.ledger import RunRow, close_run, halve_batch, run_row, unfinished_runs
from hikidashi.worker.publish import TakenBack, finish
from hikidashi.worker.tree_files import sweep_temporaries

__all__ = ["recover"]


def recover(bench: Bench, own_run: str) -> list[str]:
    """Finish or take back what a killed run left; gives one line for each thing found.

    The caller holds claim and guard: no other run is alive, so every run without an end was killed, except
    `own_run`.
    """
    lines = _journal(bench)
    bench.checkpoint("recover:journal-dropped")
    temporaries = sweep_temporaries(bench.workspace) + bench.history.sweep()
    if temporaries:
        lines.append(f"{temporaries} temporary files of a killed writer were deleted")
    for row in unfinished_runs(bench.connection, own_run):
        lines += _close(bench, row)
    bench.checkpoint("recover:runs-closed")
    return lines


def _journal(bench: Bench) -> list[str]:
    try:
        journal = read_journal(bench.workspace)
    except CorruptData as exc:
        place = set_aside(bench.workspace, random_ulid(bench.clock()))
        return [f"{exc} ({place.name})"]
    if journal is None:
        return []
    bench.checkpoint("recover:journal-read")
    try:
        finish(bench, journal)
    except TakenBack as exc:
        return [_taken_back(bench, journal, exc.paths)]
    line = f"run {journal.run_id} ended while it published its {journal.phase}; the publication was finished"
    row = run_row(bench.connection, journal.run_id)
    if row is not None and row.outcome == "crashed":  # it could still say so itself, but not finish
        _end(bench, row, *_ending(row))
    return [line]


def _taken_back(bench: Bench, journal: Journal, paths: list[str]) -> str:
    line = (
        f"run {journal.run_id} was killed while it published its {journal.phase} and a person changed "
        f"{', '.join(sorted(paths))} since: the publication was taken back, their text stays, ours is kept under "
        f"refs/lost/{journal.run_id}"
    )
    row = run_row(bench.connection, journal.run_id)
    if row is not None and row.outcome == "running":
        outcome = "partial" if "integration" in row.phases else "conflict"
        _end(bench, row, outcome, line)
    return line


def _close(bench: Bench, row: RunRow) -> list[str]:
    """Give a killed run its outcome, and the next one half of its batch.

    A system that is short of memory kills without a word. A run that it killed over too large a batch would be
    killed over it for ever; one that died of something else only takes two runs instead of one. A crash counts
    against an entry only when it was the whole batch.
    """
    outcome, message = _ending(row)
    _end(bench, row, outcome, message)
    lines = [f"run {row.run_id} {message}"]
    if outcome != "crashed" or not row.batch:  # one of clean-up alone took no entries
        return lines
    halve_batch(bench.connection, len(row.batch))
    if len(row.batch) == 1:
        # Closed first, counted second: killed in between, the crash goes uncounted, which costs one more try.
        # The other order could count one crash twice and set a sound entry aside.
        lines += [
            f"entry {i} went to quarantine: runs over it alone died" for i in bench.store.count_failure(row.batch)
        ]
    return lines


def _ending(row: RunRow) -> tuple[str, str]:
    """The outcome of a run that could not say it itself, and the line for people."""
    if "clean-up" in row.phases:
        return "done", "ended before it could say so, after everything was published; the next start closed it"
    if "integration" in row.phases:
        return "partial", "ended too early: its integration was published, its clean-up was not"
    return "crashed", "ended before it published anything; its entries stayed staged"


def _end(bench: Bench, row: RunRow, outcome: str, message: str) -> None:
    report = {**row.report, "outcome": outcome, "message": message}
    close_run(bench.connection, row.run_id, outcome, bench.clock(), report)
