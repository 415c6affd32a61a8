"""What an agent may not write itself is left for the person as a candidate."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

from hikidashi.cli.output import amount
from hikidashi.db.connection import transaction
from hikidashi.drawer.fact import CONFIDENCE, Draft, Origin
from hikidashi.drawer.gate import Proposal, propose
from hikidashi.drawer.person import Left
from hikidashi.drawer.places import Drawers
from hikidashi.redact import RULES_VERSION
from hikidashi.times import format_time

__all__ = ["MAX_LEFT", "leave_import", "leave_write"]

#: Lines of one import that are left as candidates; nobody goes through more of them one by one.
MAX_LEFT: Final = 20


def leave_write(drawers: Drawers, draft: Draft) -> Left:
    """Propose what an agent wanted to write, as an agent's word: no probe, less sure."""
    done = _propose(drawers, draft, "memory_write")
    if done.outcome in ("new", "seen"):
        return Left(f"it waits as candidate {done.id}", ("approve", done.id))
    said = {
        "kept": f"a better founded candidate, {done.id}, waits under that key",
        "known": "the drawer says so already",
        "refused": "a person turned that down before",
    }
    return Left(said.get(done.outcome, ""))


def leave_import(drawers: Drawers, drafts: Sequence[Draft]) -> Left:
    """Propose what an agent wanted to import, the first `MAX_LEFT` of it."""
    done = [_propose(drawers, draft, "import") for draft in drafts[:MAX_LEFT]]
    waiting = [one for one in done if one.outcome in ("new", "seen")]
    parts = [f"{amount(len(waiting), 'line')} of it {'waits' if len(waiting) == 1 else 'wait'} for `hikidashi inbox`"]
    if len(drafts) > MAX_LEFT:
        parts.append(f"{len(drafts) - MAX_LEFT} more do not")
    return Left(", ".join(parts) if drafts else "")


def _propose(drawers: Drawers, draft: Draft, origin: Origin) -> Proposal:
    """A candidate in the drawer of its scope, in a transaction of its own."""
    connection = drawers.writable(draft.scope).connection
    wanted = dataclasses.replace(
        draft, origin=origin, confidence=CONFIDENCE[origin], trust="assistant", probe=(), source={}
    )
    with transaction(connection):
        return propose(connection, wanted, [], at=format_time(drawers.clock()), rules_version=RULES_VERSION)
