"""What `memory_read` does: facts by key or by words. A reading counts as a use, as with `hikidashi read`."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import Any, Final

from hikidashi.config.machine import this_machine
from hikidashi.drawer.fact import Fact, Scope, clean_key, fact_subject, is_elsewhere
from hikidashi.drawer.near import near_keys
from hikidashi.drawer.reading import fact_keys, find_fact
from hikidashi.drawer.seen import note_read
from hikidashi.drawer.store import Drawer
from hikidashi.errors import Busy, StorageFailure, UsageError
from hikidashi.recall.match import search
from hikidashi.serve.mcp_place import Here, is_paused, opened_here
from hikidashi.times import format_time, now
from hikidashi.usage.events import UseKind, record

__all__ = ["memory_read"]

_LIMIT: Final = 10
#: Reasons by which a query names a fact, and does not merely share words with it.
_NAMED: Final = frozenset({"key", "key part", "alias"})


def memory_read(folder: Path, arguments: dict[str, Any], *, session_id: str) -> dict[str, Any]:
    """The facts of a call, as its output schema says. Raises as `opened_here` does, and `UsageError`."""
    key, query, scope = (arguments.get(name) for name in ("key", "query", "scope"))
    if (key is None) == (query is None):
        raise UsageError("give a key to read one fact, or a query to search; not both")
    with opened_here(folder) as here:
        if key is not None:
            return _by_key(here, clean_key(key), scope, session_id)
        return _by_words(here, query or "", scope, arguments.get("limit", _LIMIT), session_id)


def _by_key(here: Here, key: str, scope: Scope | None, session_id: str) -> dict[str, Any]:
    found = here.drawers.find(key, scope)
    if found is not None:
        drawer, fact = found
        fact = _noted(here, drawer, fact, "explicit", session_id)
        note = "It is out of use: the person took it away, or nobody asked for it in long." if _is_out(fact) else ""
        return {"facts": [_form(fact)], "near": [], "note": note}
    keys = [known for drawer in here.drawers.existing(scope) for known in fact_keys(drawer.connection, drawer.scope)]
    near = near_keys(key, keys)
    if near:
        note = f"No fact has the key {key}. Near: {', '.join(near)}."
    elif keys:
        note = f"No fact has the key {key}, and none is like it. A query searches by words."
    else:
        note = f"No fact has the key {key}: the memory holds none yet."
    return {"facts": [], "near": near, "note": note}


def _by_words(here: Here, query: str, scope: Scope | None, limit: int, session_id: str) -> dict[str, Any]:
    drawers = {drawer.scope: drawer for drawer in here.drawers.existing(scope)}
    connections = {name: drawer.connection for name, drawer in drawers.items()}
    facts = []
    for match in search(query, connections, limit=limit, now=now(), machine_id=this_machine().id):
        drawer = drawers[match.fact.scope]
        fact = find_fact(drawer.connection, drawer.scope, match.fact.key)
        if fact is not None:  # None: forgotten meanwhile
            named = any(reason.by in _NAMED for reason in match.reasons)
            facts.append(_form(_noted(here, drawer, fact, "explicit" if named else "exposure", session_id)))
    return {"facts": facts, "near": [], "note": "" if facts else "No fact meets that."}


def _noted(here: Here, drawer: Drawer, fact: Fact, kind: UseKind, session_id: str) -> Fact:
    """The fact after its use was noted. A disk that takes no note is no reason not to show it."""
    if is_paused(here.workspace, session_id):
        return fact
    at = format_time(now())
    with contextlib.suppress(Busy, StorageFailure):
        if kind == "explicit":
            fact = note_read(drawer.connection, fact, at)
        subject = fact_subject(fact.scope, fact.key)
        record(drawer.connection, kind, subject, session_id=session_id, via="memory_read", at=at)
    return fact


def _is_out(fact: Fact) -> bool:
    return fact.status == "retired"


def _form(fact: Fact) -> dict[str, Any]:
    elsewhere = is_elsewhere(fact, this_machine().id)
    return {
        "key": fact.key,
        "scope": fact.scope,
        "type": fact.type,
        "status": fact.status,
        "body": fact.body,
        "proof": fact.proof,
        "probe": shlex.join(fact.probe),
        "confidence": fact.confidence,
        "elsewhere": (fact.machine_name or "another machine") if elsewhere else "",
        "updated_at": fact.updated_at,
        "last_verified": fact.last_verified,
        "last_failed": fact.last_failed,
        "failure": fact.failure,
    }
