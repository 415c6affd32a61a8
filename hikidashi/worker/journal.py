"""The publication journal: the file whose rename into place is a run's commit point (design section 6, step 6).

It holds all that is needed to finish a publication or to take it back: bytes before and after of each file,
dispositions, operations, the commit's words. It is trusted by nobody: a journal of another workspace, with a
path that leaves `memory/` and `knowledge/`, or one that cannot be read is set aside and never applied.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, get_args

from hikidashi.atomic import move, remove_file, storage_errors, sync_folder, write_atomic
from hikidashi.config.workspace import Workspace
from hikidashi.errors import CorruptData
from hikidashi.staging.entry import Disposition, DispositionKind
from hikidashi.times import parse_time
from hikidashi.ulid import is_ulid
from hikidashi.worker.report import Operation, OperationKind
from hikidashi.worker.scratch import Change

__all__ = [
    "Journal",
    "Phase",
    "drop_journal",
    "is_publishable",
    "parse_journal",
    "read_journal",
    "set_aside",
    "write_journal",
]

Phase = Literal["integration", "clean-up"]

_FORMAT: Final = 1
_PHASES: Final = get_args(Phase)
_KEYS: Final = frozenset(
    {
        "format",
        "workspace",
        "run_id",
        "phase",
        "engine",
        "at",
        "changes",
        "dispositions",
        "operations",
        "subject",
        "body",
        "trailers",
    }
)

#: One part of a publishable path. No dot in front (hidden, `..`), no drive, stream or separator of any platform.
_PART: Final = re.compile(r"[^.\x00-\x1f\x7f/\\:*?\"<>|][^\x00-\x1f\x7f/\\:*?\"<>|]*")


def is_publishable(path: str) -> bool:
    """Whether a run may write or delete `path`: relative, `.md`, under memory/ or knowledge/, not workflow."""
    parts = path.split("/")
    return (
        len(path) <= 1_024
        and len(parts) >= 2
        and parts[0] in ("memory", "knowledge")
        and parts[:2] != ["memory", "workflow"]
        and path.endswith(".md")
        and all(_PART.fullmatch(part) and not part.endswith((" ", ".")) for part in parts)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """One phase of one run, about to be published."""

    workspace_id: str
    run_id: str
    phase: Phase
    engine: str
    #: ISO 8601: time of the publication, for the commit and the database.
    at: str
    #: Path -> bytes before and after; None where there is no file.
    changes: Mapping[str, Change]
    dispositions: tuple[Disposition, ...] = ()
    operations: tuple[Operation, ...] = ()
    subject: str
    body: str = ""
    #: Further trailers of the commit beside Run and Phase: key -> values.
    trailers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """The journal's file: JSON, ASCII."""
        data = {
            "format": _FORMAT,
            "workspace": self.workspace_id,
            "run_id": self.run_id,
            "phase": self.phase,
            "engine": self.engine,
            "at": self.at,
            "changes": [
                {"path": path, "before": _encoded(before), "after": _encoded(after)}
                for path, (before, after) in sorted(self.changes.items())
            ],
            "dispositions": [[d.entry_id, d.kind, d.record, d.reason] for d in self.dispositions],
            "operations": [[o.op, list(o.paths), list(o.into), list(o.categories), o.reason] for o in self.operations],
            "subject": self.subject,
            "body": self.body,
            "trailers": {key: list(values) for key, values in self.trailers.items()},
        }
        return json.dumps(data).encode("ascii")


def _encoded(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{what} is not text")
    return value


def _list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{what} is not a list")
    return value


def _texts(value: object, what: str) -> tuple[str, ...]:
    return tuple(_text(item, what) for item in _list(value, what))


def _bytes(value: object, what: str) -> bytes | None:
    return None if value is None else base64.b64decode(_text(value, what), validate=True)


def _changes(value: object) -> dict[str, Change]:
    changes: dict[str, Change] = {}
    for item in _list(value, "changes"):
        if not isinstance(item, dict) or item.keys() != {"path", "before", "after"}:
            raise ValueError("a change is not {path, before, after}")
        path = _text(item["path"], "path")
        if not is_publishable(path) or str(PurePosixPath(path)) != path:
            raise ValueError(f"it writes {path[:100]!r}, which is no record")
        if path in changes:
            raise ValueError(f"it writes {path} twice")
        changes[path] = (_bytes(item["before"], "before"), _bytes(item["after"], "after"))
    folded = {path.casefold() for path in changes}
    if len(folded) != len(changes):  # one file on macOS and Windows
        raise ValueError("two of its paths differ in case only")
    return changes


def _disposition(value: object) -> Disposition:
    entry_id, kind, record, reason = _texts(value, "a disposition")
    if not is_ulid(entry_id):
        raise ValueError("a disposition names no entry")
    if kind not in get_args(DispositionKind):
        raise ValueError(f"{kind[:40]!r} is no disposition")
    known: Any = kind
    return Disposition(entry_id=entry_id, kind=known, record=record, reason=reason)


def _operation(value: object) -> Operation:
    op, paths, into, categories, reason = _list(value, "an operation")
    if op not in get_args(OperationKind):
        raise ValueError("an operation has no known kind")
    return Operation(
        op=op,
        paths=_texts(paths, "paths"),
        into=_texts(into, "into"),
        categories=_texts(categories, "categories"),
        reason=_text(reason, "reason"),
    )


def _from_data(data: object, workspace_id: str) -> Journal:
    if not isinstance(data, dict) or data.get("format") != _FORMAT or data.keys() != _KEYS:
        raise ValueError("it is no journal of this version")
    if data["workspace"] != workspace_id:
        raise ValueError("it belongs to another workspace")
    run_id, phase, trailers = _text(data["run_id"], "run_id"), data["phase"], data["trailers"]
    if not is_ulid(run_id) or phase not in _PHASES:
        raise ValueError("it names no run or no phase")
    if not isinstance(trailers, dict):
        raise ValueError("trailers is not a mapping")
    at = _text(data["at"], "at")
    parse_time(at)
    return Journal(
        workspace_id=workspace_id,
        run_id=run_id,
        phase=phase,
        engine=_text(data["engine"], "engine"),
        at=at,
        changes=_changes(data["changes"]),
        dispositions=tuple(_disposition(item) for item in _list(data["dispositions"], "dispositions")),
        operations=tuple(_operation(item) for item in _list(data["operations"], "operations")),
        subject=_text(data["subject"], "subject"),
        body=_text(data["body"], "body"),
        trailers={_text(key, "a trailer"): _texts(values, "a trailer") for key, values in trailers.items()},
    )


def parse_journal(data: bytes, workspace_id: str) -> Journal:
    """Read a journal's bytes. Raises `CorruptData` that says why it must not be applied."""
    try:
        return _from_data(json.loads(data.decode("utf-8")), workspace_id)
    except (ValueError, RecursionError, binascii.Error) as exc:
        raise CorruptData(
            f"the publication journal is not applied: {exc}; look at it where it was set aside, then delete it"
        ) from exc


def write_journal(workspace: Workspace, journal: Journal) -> None:
    """The commit point: after this the publication is finished, by this process or by the next one."""
    write_atomic(workspace.journal, journal.to_bytes())


def read_journal(workspace: Workspace) -> Journal | None:
    """The journal that a killed run left, None when there is none. Raises `CorruptData` for one not to apply."""
    path = workspace.journal
    with storage_errors(f"read {path}"):
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(mode):
            raise CorruptData(
                "the publication journal is not applied: it is no plain file; look at it where it was set aside"
            )
        data = path.read_bytes()
    return parse_journal(data, workspace.id)


def drop_journal(workspace: Workspace) -> None:
    """The publication is whole: forget the journal."""
    remove_file(workspace.journal)
    sync_folder(workspace.journal.parent)


def set_aside(workspace: Workspace, name: str) -> Path:
    """Move a journal that must not be applied to `publish.journal.<name>`, where a person can look at it."""
    target = workspace.journal.with_name(f"{workspace.journal.name}.{name}")
    move(workspace.journal, target)
    return target
