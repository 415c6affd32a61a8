"""Records for a host: the two searches, and the records as resources `hikidashi:///memory/decisions/<slug>.md`.

Texts are redacted on the way out: a person may have written a secret into a record since the linter saw it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote

from hikidashi.config.workspace import HOME_NAME, Workspace, open_workspace
from hikidashi.db.connection import connect
from hikidashi.db.migrations import migrate
from hikidashi.errors import Busy, CorruptData, StorageFailure
from hikidashi.records.library import Library, load_tree
from hikidashi.records.record import Record, RecordKind, record_kind
from hikidashi.records.search import Hit, search_records
from hikidashi.redact import redact
from hikidashi.serve.mcp_place import is_paused
from hikidashi.serve.mcp_wire import INVALID_PARAMS, RpcError
from hikidashi.times import format_time, now
from hikidashi.usage.events import UseKind, record

__all__ = ["KNOWLEDGE", "MEMORY", "TEMPLATES", "list_resources", "read_resource", "search"]

#: What the two searches look through.
MEMORY: Final[tuple[RecordKind, ...]] = ("decision", "request", "summary")
KNOWLEDGE: Final[tuple[RecordKind, ...]] = ("knowledge",)

_PREFIX: Final = "hikidashi:///"
_MIME: Final = "text/markdown"
_LIMIT: Final = 10
_PAGE: Final = 200
_DESCRIBED: Final = 200

#: The summary first, then what is in force, then what explains it.
_ORDER: Final = {"summary": 0, "decision": 1, "request": 2, "knowledge": 3}

#: Where records of each kind are.
TEMPLATES: Final = tuple(
    {"uriTemplate": f"{_PREFIX}{folder}/{{slug}}.md", "name": kind, "title": title, "mimeType": _MIME}
    for kind, folder, title in (
        ("decision", "memory/decisions", "A decision"),
        ("request", "memory/requests", "A request"),
        ("knowledge", "knowledge", "A piece of knowledge"),
    )
)


def search(
    folder: Path, arguments: dict[str, Any], kinds: Collection[RecordKind], *, via: str, session_id: str
) -> dict[str, Any]:
    """What a search finds, as its output schema says. Raises as `open_workspace` does."""
    workspace = open_workspace(folder)
    tree = load_tree(workspace)
    hits = search_records(tree, arguments["query"], kinds=kinds, limit=arguments.get("limit", _LIMIT))
    library = Library(tree)
    forms = [_hit_form(hit, found) for hit in hits if (found := library.get(hit.path)) is not None]
    _note(workspace, "exposure", (hit.path for hit in hits), via=via, session_id=session_id)
    return {"hits": forms, "note": "" if forms else _nothing(library, kinds)}


def _nothing(library: Library, kinds: Collection[RecordKind]) -> str:
    count = sum(len(library.records(kind)) for kind in kinds)
    return f"Nothing meets that among {count} records." if count else "There are no such records yet."


def _hit_form(hit: Hit, found: Record) -> dict[str, Any]:
    return {
        "uri": _uri(hit.path),
        "file": f"{HOME_NAME}/{hit.path}",
        "kind": found.knowledge_kind or hit.kind,
        "title": redact(hit.title),
        "status": found.status,
        "replaced_by": found.replaced_by,
        "updated_at": found.updated_at,
        "line": hit.line,
        "snippet": redact(hit.snippet),
    }


def list_resources(folder: Path, cursor: object) -> dict[str, Any]:
    """One page of the records. Raises `RpcError` for a cursor that is none of ours."""
    start = 0
    if cursor is not None:
        if not (isinstance(cursor, str) and cursor.isascii() and cursor.isdecimal() and len(cursor) < 10):
            raise RpcError(INVALID_PARAMS, "the cursor is none that this server gave: list from the start")
        start = int(cursor)
    records = Library(load_tree(open_workspace(folder))).records()
    records.sort(key=lambda one: (_ORDER[one.kind], one.path))
    page = {"resources": [_resource(one) for one in records[start : start + _PAGE]]}
    return page if len(records) <= start + _PAGE else page | {"nextCursor": str(start + _PAGE)}


def _resource(one: Record) -> dict[str, Any]:
    about = ", ".join(filter(None, (one.knowledge_kind or one.kind, one.status, one.description)))
    return {
        "uri": _uri(one.path),
        "name": one.slug,
        "title": redact(one.title)[:_DESCRIBED],
        "description": redact(about)[:_DESCRIBED],
        "mimeType": _MIME,
        "annotations": {"lastModified": one.updated_at},
    }


def read_resource(folder: Path, uri: object, *, missing: int, session_id: str) -> dict[str, Any]:
    """The text of a record, which counts as a use. Raises `RpcError` with the code `missing` when there is none."""
    if not isinstance(uri, str):
        raise RpcError(INVALID_PARAMS, "uri is missing: give one of the list")
    path = unquote(uri.removeprefix(_PREFIX)) if uri.startswith(_PREFIX) else ""
    workspace = open_workspace(folder)
    data = load_tree(workspace).get(path) if record_kind(path) is not None else None
    if data is None:
        raise RpcError(missing, "there is no such resource: resources/list tells which there are", {"uri": uri})
    _note(workspace, "explicit", [path], via="resource", session_id=session_id)
    return {"contents": [{"uri": uri, "mimeType": _MIME, "text": redact(data.decode("utf-8", "replace"))}]}


def _uri(path: str) -> str:
    return _PREFIX + quote(path)


def _note(workspace: Workspace, kind: UseKind, paths: Iterable[str], *, via: str, session_id: str) -> None:
    """Note the use of records. A database that takes no note is no reason not to show them."""
    subjects = [f"record:{path}" for path in paths]
    if not subjects or is_paused(workspace, session_id):
        return
    with (
        contextlib.suppress(Busy, StorageFailure, CorruptData),
        contextlib.closing(connect(workspace.database, busy_seconds=1.0)) as connection,
    ):
        migrate(connection)
        for subject in subjects:
            record(connection, kind, subject, session_id=session_id, via=via, at=format_time(now()))
