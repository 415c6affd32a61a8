"""Publishing one phase of a run: all of it or nothing, whatever kills us (design section 6, step 6).

The order is the safety. Before the journal is renamed in, nothing has changed and the entries are staged.
After it, `finish` can be repeated from any point, by this process or by the next one, and ends in the same
state: files replaced, history committed, entries consumed, journal gone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Final, NoReturn, Protocol

from hikidashi.db.connection import transaction
from hikidashi.errors import Busy, Conflict, CorruptData, LintErrors, StorageFailure
from hikidashi.times import parse_time
from hikidashi.worker.bench import Bench
from hikidashi.worker.journal import Journal, drop_journal, is_publishable, write_journal
from hikidashi.worker.ledger import add_losses, entry_state, lost_paths, note_run, run_row
from hikidashi.worker.report import RunReport
from hikidashi.worker.scratch import Change
from hikidashi.worker.tree_files import path_state, put

__all__ = ["PHASE_TRAILER", "RUN_TRAILER", "Guarded", "TakenBack", "finish", "publish"]

RUN_TRAILER: Final = "Run"
PHASE_TRAILER: Final = "Phase"

#: Commits looked through for a run's own one; recovery is the first thing after a crash, so it is near the tip.
_NEAR_TIP: Final = 20

_COMMIT_TRIES: Final = 5

#: What each phase adds to the run's report.
_PHASE_KEYS: Final = {"integration": ("consumed", "dispositions", "entries"), "clean-up": ("operations",)}


class Guarded(Protocol):
    """What publication needs of the claim that this run holds."""

    def verify(self) -> None:
        """Raises `LostClaim` when the claim is no longer ours."""


class TakenBack(Exception):
    """A person changed a file while a publication stood half-way; it was taken back. `paths` are theirs."""

    def __init__(self, paths: list[str]) -> None:
        super().__init__(", ".join(paths))
        self.paths = paths


def publish(bench: Bench, held: Guarded, journal: Journal) -> str:
    """Publish under the guard, which the caller holds; gives the commit's object ID.

    Raises `LostClaim` or `Conflict` with nothing changed, `StorageFailure` with nothing lost: when the disk
    refuses after the commit point, the journal stays and the next run finishes it.
    """
    held.verify()
    if not bench.workspace.database.is_file():  # it is open still, wherever it went: the rows must not go alone
        raise StorageFailure(
            f"{bench.workspace.database} is gone: the project was moved or deleted while the run was at work; nothing "
            "was published, run it again where the project is now"
        )
    bench.checkpoint("publish:guarded")
    strange = [path for path in journal.changes if not is_publishable(path)]
    if strange:
        raise LintErrors(f"a run may not write {', '.join(strange)}; records are .md files under memory/ or knowledge/")
    gone = [entry_id for entry_id in _entry_ids(journal) if not _consumable(bench, journal, entry_id)]
    if gone:
        raise CorruptData(f"{', '.join(gone)} is not staged any more; run `hikidashi status` to see what waits")
    changed = _paths_not(bench, journal.changes, ("before",))
    if changed:
        raise Conflict(_changed_line(changed))
    write_journal(bench.workspace, journal)
    bench.checkpoint("publish:journal-renamed")
    try:
        return finish(bench, journal)
    except TakenBack as exc:
        raise Conflict(_changed_line(exc.paths)) from exc


def finish(bench: Bench, journal: Journal) -> str:
    """From a journal that is in place to a whole publication; gives the commit's object ID.

    May be repeated. Raises `TakenBack` when a person's text stands where one of its files belongs.
    """
    commit = _own_commit(bench, journal)
    if not commit:
        _replace_files(bench, journal)
        bench.checkpoint("publish:replaced")
        commit = _commit(bench, journal)
        bench.checkpoint("publish:committed")
    _record(bench, journal, commit)
    bench.checkpoint("publish:database")
    bench.store.delete_files(_entry_ids(journal))
    bench.checkpoint("publish:entries-deleted")
    drop_journal(bench.workspace)
    bench.checkpoint("publish:journal-dropped")
    return commit


def _changed_line(paths: list[str]) -> str:
    return (
        f"a person changed {', '.join(sorted(paths))} while the run wrote it; their text stays and the entries wait: "
        "run `hikidashi consolidate` again"
    )


def _entry_ids(journal: Journal) -> list[str]:
    return [disposition.entry_id for disposition in journal.dispositions]


def _consumable(bench: Bench, journal: Journal, entry_id: str) -> bool:
    state, run_id = entry_state(bench.connection, entry_id)
    return state == "staged" or (state == "consumed" and run_id == journal.run_id)


def _paths_not(bench: Bench, changes: Mapping[str, Change], allowed: tuple[str, ...]) -> list[str]:
    return [path for path, change in changes.items() if path_state(bench.workspace, path, change) not in allowed]


def _own_commit(bench: Bench, journal: Journal) -> str:
    """The commit of this run and phase when history has it already, else ''."""
    for commit in bench.history.log(_NEAR_TIP):
        trailers = commit.trailers
        if journal.run_id in trailers.get(RUN_TRAILER, ()) and journal.phase in trailers.get(PHASE_TRAILER, ()):
            return commit.id
    return ""


def _replace_files(bench: Bench, journal: Journal) -> None:
    """Put every file in place; if one holds a person's text, put none, and what was put back again."""
    foreign = _paths_not(bench, journal.changes, ("before", "after"))
    if foreign:
        take_back(bench, journal, foreign)
    for path, change in journal.changes.items():
        state = path_state(bench.workspace, path, change)  # again: a person may have saved since
        if state == "foreign":
            take_back(bench, journal, [path])
        if state == "before":
            put(bench.workspace, path, change[1])
        bench.checkpoint("publish:file-replaced")


def take_back(bench: Bench, journal: Journal, foreign: list[str]) -> NoReturn:
    """Undo a publication that is not in history yet; raises `TakenBack` at the end.

    Files that hold our text go back to what they were, a person's stay. Our version is kept under
    `refs/lost/<run>`. The entries were never consumed: that comes after the commit.
    """
    tip = bench.history.tip()
    ours = _with(bench.history.tree(tip.id if tip else None), journal.changes)
    bench.history.keep_lost(journal.run_id, ours, bench.clock())
    for path, change in journal.changes.items():
        if path_state(bench.workspace, path, change) == "after":
            put(bench.workspace, path, change[0])
        bench.checkpoint("recover:file-taken-back")
    with transaction(bench.connection):
        if journal.phase == "integration":
            bench.store.release(journal.run_id)
    bench.checkpoint("recover:taken-back")
    drop_journal(bench.workspace)
    bench.checkpoint("recover:journal-dropped")
    raise TakenBack(foreign)


def _with(tree: Mapping[str, bytes], changes: Mapping[str, Change]) -> dict[str, bytes]:
    """`tree` with each path of `changes` as it is afterwards."""
    new = dict(tree)
    for path, (_, after) in changes.items():
        if after is None:
            new.pop(path, None)
        else:
            new[path] = after
    return new


def _commit(bench: Bench, journal: Journal) -> str:
    """Commit the tip's tree with our changes. A person's edits elsewhere wait for their own commit."""
    for _ in range(_COMMIT_TRIES):
        tip = bench.history.tip()
        tree = _with(bench.history.tree(tip.id if tip else None), journal.changes)
        with contextlib.suppress(Conflict):  # somebody committed with git just now: once more on theirs
            return bench.history.commit(
                tree,
                author="worker",
                subject=journal.subject,
                body=journal.body,
                trailers={RUN_TRAILER: journal.run_id, PHASE_TRAILER: journal.phase, **journal.trailers},
                at=parse_time(journal.at),
                parent=tip.id if tip else None,
            )
    raise Busy(f"somebody keeps committing to {bench.workspace.history}; the next run finishes the publication")


def _record(bench: Bench, journal: Journal, commit: str) -> None:
    """One transaction: entries consumed, losses counted, the run's row says how far it is."""
    before = {path: change[0] or b"" for path, change in journal.changes.items() if change[0] is not None}
    after = {path: change[1] or b"" for path, change in journal.changes.items() if change[1] is not None}
    with transaction(bench.connection):
        row = run_row(bench.connection, journal.run_id)
        if row is not None and journal.phase in row.phases:
            return
        # Only after the database was put back from a backup are there others; nothing can be said of them.
        consumable = [d for d in journal.dispositions if _consumable(bench, journal, d.entry_id)]
        bench.store.consume(journal.run_id, consumable)
        add_losses(bench.connection, journal.run_id, lost_paths(journal.operations, before, after), journal.at)
        report = row.report if row is not None else {}
        note_run(bench.connection, journal.run_id, journal.engine, journal.at, _progress(report, journal, commit))


def _progress(report: dict[str, object], journal: Journal, commit: str) -> dict[str, object]:
    """The run's report with this phase in it, in the form of `RunReport.to_dict`."""
    phase = RunReport(run_id=journal.run_id, engine=journal.engine, started_at=journal.at)
    phase.dispositions = list(journal.dispositions)
    phase.operations = list(journal.operations)
    phase.commits = {journal.phase: commit}
    phase.consumed = len(journal.dispositions)
    new = phase.to_dict()
    if not report:
        return new
    commits = report.get("commits")
    return {
        **report,
        **{key: new[key] for key in _PHASE_KEYS[journal.phase]},
        "commits": {**(commits if isinstance(commits, dict) else {}), journal.phase: commit},
    }
