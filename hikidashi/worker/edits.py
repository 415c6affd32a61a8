"""What people changed since history's tip, committed in their name before a run looks (design section 6, step 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from hikidashi.errors import CorruptData
from hikidashi.records.finding import Finding
from hikidashi.records.history import blob_id
from hikidashi.records.library import read_tree
from hikidashi.times import format_time
from hikidashi.worker.bench import Bench
from hikidashi.worker.journal import is_publishable
from hikidashi.worker.ledger import protect
from hikidashi.worker.project import find_project

__all__ = ["Edits", "commit_edits"]

#: Written by the program; a person's change there protects nothing.
_LOG: Final = "memory/cleanup-log.md"

#: Places that a run cannot do without; what is refused elsewhere is left alone.
_NEEDED: Final = ("memory", "knowledge", "memory/decisions", "memory/requests")


@dataclass(slots=True, kw_only=True)
class Edits:
    """The live tree, which history's tip now equals, and what had to be committed for that."""

    tree: dict[str, bytes]
    #: Path -> why its file is not read (a link, a folder, too large): nobody deleted it, no run may write there.
    refused: dict[str, Finding] = field(default_factory=dict)
    #: What history has of refused paths; it stays there.
    kept: dict[str, bytes] = field(default_factory=dict)
    #: Paths that a person changed, made or deleted.
    person: list[str] = field(default_factory=list)
    #: Paths that the project's version control brought.
    vcs: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def commit_edits(bench: Bench) -> Edits:
    """Commit what differs from history's tip: `vcs` where it equals the project's HEAD, else `person`.

    A person's paths become protected. The caller holds the guard. Raises `CorruptData` when a link or the like
    stands where the records' folders belong.
    """
    edits = _live(bench)
    tip = bench.history.tip()
    known = bench.history.files(tip.id if tip else None)
    live = {path: blob_id(data) for path, data in edits.tree.items()}
    kept = {path for path in known.keys() - live.keys() if _is_refused(path, edits.refused)}
    edits.kept = {path: bench.history.blob(known[path]) for path in kept}
    changed = sorted(path for path in (live.keys() | known.keys()) - kept if live.get(path) != known.get(path))
    if not changed:
        return edits
    _sort_out(bench, edits, changed)
    if edits.vcs:
        brought = bench.history.tree(tip.id if tip else None)
        _overlay(brought, edits.tree, edits.vcs)
        bench.history.commit(
            brought,
            author="vcs",
            subject=_brought(edits.vcs),
            at=bench.clock(),
        )
    if edits.person:
        # Protected first: killed in between, the next start finds the same difference and does both again.
        at = bench.clock()
        protect(bench.connection, _person_blobs(edits.tree, edits.person), "person", format_time(at))
        bench.checkpoint("edits:protected")
        bench.history.commit({**edits.kept, **edits.tree}, author="person", subject=_subject(edits.person), at=at)
    bench.checkpoint("edits:committed")
    return edits


def _live(bench: Bench) -> Edits:
    loaded = read_tree(bench.workspace)
    edits = Edits(tree=loaded.tree, refused=loaded.refused)
    for folder in _NEEDED:
        if folder in edits.refused or folder in edits.tree:
            raise CorruptData(
                f"{bench.workspace.home / folder} is no plain folder (it is a file, a link or a device); "
                "move it away and run the same command again"
            )
    return edits


def _is_refused(path: str, refused: Mapping[str, Finding]) -> bool:
    return path in refused or any(path.startswith(f"{other}/") for other in refused)


def _sort_out(bench: Bench, edits: Edits, changed: list[str]) -> None:
    project = find_project(bench.workspace)
    head: Mapping[str, bytes | None] = {}
    if project is not None:
        try:
            if project.tracks_records():
                head = project.head_texts(changed)
        except ValueError as exc:
            edits.notices.append(f"{exc}; changed records count as a person's")
    for path in changed:
        from_vcs = path in head and _same_text(head[path], edits.tree.get(path))
        (edits.vcs if from_vcs else edits.person).append(path)


def _same_text(head: bytes | None, live: bytes | None) -> bool:
    """Whether a live file is HEAD's, as git puts it there: on Windows with CRLF line ends."""
    return head == live or (head is not None and live is not None and head == live.replace(b"\r\n", b"\n"))


def _overlay(tree: dict[str, bytes], live: Mapping[str, bytes], paths: list[str]) -> None:
    for path in paths:
        if path in live:
            tree[path] = live[path]
        else:
            tree.pop(path, None)


def _person_blobs(live: Mapping[str, bytes], paths: list[str]) -> dict[str, str | None]:
    records = [path for path in paths if is_publishable(path) and path != _LOG]
    return {path: blob_id(live[path]) if path in live else None for path in records}


def _brought(paths: list[str]) -> str:
    what = paths[0] if len(paths) == 1 else f"{len(paths)} files"
    return f"{what} from the project's version control"


def _subject(paths: list[str]) -> str:
    return f"A person changed {paths[0]}" if len(paths) == 1 else f"A person changed {len(paths)} files"
