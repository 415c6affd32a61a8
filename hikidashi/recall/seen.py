"""What a turn leaves in the drawer once it has its answer. Standard library only.

Facts that the prompt named by key or alias were asked for: their `last_seen` moves (design section 8, "Decay"). Facts
that were given are exposures (section 10). A turn does not wait for this: another writer is given 20 ms.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from hikidashi.db.connection import queries, quick_writer, transaction
from hikidashi.errors import Busy
from hikidashi.recall.spool import drop, put_by, take_in
from hikidashi.times import format_time

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Final

    from hikidashi.drawer.fact import Scope
    from hikidashi.recall.match import Recalled

__all__ = ["WAIT_MS", "note_turn", "note_uses"]

#: How long another writer is waited for.
WAIT_MS: Final = 20


def note_turn(
    found: Recalled,
    databases: Mapping[Scope, Path | str],
    *,
    session_id: str,
    via: str,
    at: datetime,
    wait_ms: int = WAIT_MS,
) -> list[Scope]:
    """Note what a turn was given and asked for; gives the scopes whose database was busy.

    What could not be noted there waits in a spool file (`spool.py`), and what waited is taken in. `via` says what gave
    it (`hook`, `recall`). Raises `StorageFailure` and `CorruptData` as `quick_writer` does.
    """
    busy: list[Scope] = []
    for scope, path in databases.items():
        named = [fact.id for fact in found.named if fact.scope == scope]
        given = [match.fact.id for match in (*found.facts, *found.rules) if match.fact.scope == scope]
        if not note_uses(path, named, given, session_id=session_id, via=via, at=at, wait_ms=wait_ms):
            busy.append(scope)
    return busy


def note_uses(
    path: Path | str,
    named: Sequence[int],
    given: Sequence[int],
    *,
    session_id: str,
    via: str,
    at: datetime,
    wait_ms: int = WAIT_MS,
) -> bool:
    """The same for the IDs of one database's facts; False when it was busy and they wait in its spool file."""
    if not named and not given:
        return True
    sql = queries("recall")
    values = {"session_id": session_id, "via": via, "at": format_time(at)}
    try:
        with contextlib.closing(quick_writer(path, wait_ms=wait_ms)) as connection:
            with transaction(connection):
                taken = take_in(connection, path)
                connection.execute(sql["move_seen"], {"ids": json.dumps(named), "at": values["at"]})
                connection.execute(sql["note_exposures"], {**values, "ids": json.dumps(given)})
            drop(taken)
    except Busy:
        put_by(path, {**values, "named": list(named), "given": list(given)})
        return False
    return True
