"""What a session's start says of Hikidashi itself: what waits, and what went wrong. Standard library only.

What waits is told to the model in short, and to the person when there is more than the last time. Trouble (a run that
failed, an entry that was set aside) is told to the person, once.
"""

from __future__ import annotations

import json
import os

from hikidashi.serve.given import FOLDER, read, write
from hikidashi.times import format_time

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from hikidashi.serve.place import Here

__all__ = ["notices"]

#: Ends of a run that are no trouble.
_FINE: Final = ("done", "partial", "idle", "busy", "running")
_MAX_MESSAGE: Final = 300

_TOLD: Final = "told.json"


def notices(here: Here) -> tuple[str, str, Callable[[], object]]:
    """The line for the model and the lines for the person ('' for nothing), and what notes that they were told.

    Raises as the database does.
    """
    path = os.path.join(here.place.home, FOLDER, _TOLD)
    before: dict[str, Any] = read(path) or {}
    now_told = dict(before)
    count = sum(here.rows("waiting", scope, at=format_time(here.now))[0][0] for scope in here.drawers)
    to_person = []
    line = ""
    if count:
        waits = "1 candidate waits" if count == 1 else f"{count} candidates wait"
        line = f"{waits} for the person's yes; `hikidashi inbox`, in a terminal of their own, goes through them."
        if count > _number(before.get("waiting")):
            to_person.append(f"{waits} for your yes: `hikidashi inbox`")
    now_told["waiting"] = count
    set_aside = int(here.rows("quarantined", "workspace")[0][0])
    if set_aside > _number(before.get("quarantined")):
        what = "1 entry was" if set_aside == 1 else f"{set_aside} entries were"
        to_person.append(f"{what} set aside since no run could take it: `hikidashi status`")
    now_told["quarantined"] = set_aside
    run = _failed_run(here)
    if run and run[0] != before.get("run"):
        now_told["run"] = run[0]
        to_person.append(run[1])

    def keep() -> None:
        if now_told != before:
            write(path, now_told)

    return line, "\n".join(f"Hikidashi: {text}" for text in to_person), keep


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _failed_run(here: Here) -> tuple[str, str] | None:
    """ID and line of the last run, if it failed."""
    rows = here.rows("last_run", "workspace")
    if not rows or rows[0]["outcome"] in _FINE:
        return None
    try:
        report = json.loads(rows[0]["report"])
    except (ValueError, RecursionError):
        report = None
    message = report.get("message") if isinstance(report, dict) else ""
    said = f" ({' '.join(message.split())[:_MAX_MESSAGE]})" if isinstance(message, str) and message else ""
    return rows[0]["run_id"], f"the last consolidation ended as {rows[0]['outcome']}{said}: `hikidashi status`"
