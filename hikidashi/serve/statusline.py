"""A host's status line: one line on what memory holds here. `python -I -S …/statusline.py`, JSON on standard input.

Standard library only, since a host asks again at every message. Nothing is shown outside a workspace.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from hikidashi.config.glance import Place, look
from hikidashi.config.user_paths import user_path
from hikidashi.db.connection import GLOBAL_DATABASE, database_errors, queries, read_only
from hikidashi.errors import CorruptData, HikidashiError
from hikidashi.times import format_time, parse_time

TYPE_CHECKING = False  # loading typing costs more than all of this
if TYPE_CHECKING:
    import sqlite3
    from typing import Any, Final

__all__ = ["main", "seen", "shown"]

_BUSY_SECONDS: Final = 0.2
_MAX_BYTES: Final = 1 << 20
_MAX_LINE: Final = 200

#: Ends of a run that are no trouble.
_FINE: Final = ("done", "partial", "idle", "busy", "running")

_MIGRATIONS: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "db", "sql", "migrations")


def seen(folder: str, *, now: datetime) -> dict[str, Any] | None:
    """What the line is made of, None outside a workspace; keys are stable. What is wrong stands in `trouble`."""
    try:
        place = look(folder)
        return None if place is None else _counted(place, now)
    except HikidashiError as exc:
        return {"facts": None, "waiting": None, "last_run": None, "paused": False, "trouble": str(exc)}


def shown(form: Mapping[str, Any] | None, *, now: datetime) -> str:
    """The line: `hikidashi: 12 facts, 3 wait for your yes, run done 2 h ago`; '' for None."""
    if form is None:
        return ""
    parts = []
    if form["facts"] is not None:
        parts.append("1 fact" if form["facts"] == 1 else f"{form['facts']:,} facts")
    if form["waiting"]:
        parts.append("1 waits for your yes" if form["waiting"] == 1 else f"{form['waiting']:,} wait for your yes")
    if form["last_run"] is not None:
        parts.append(f"run {form['last_run']['outcome']} {_age(form['last_run']['at'], now)}".rstrip())
    if form["paused"]:
        parts.append("paused")
    if form["trouble"]:
        parts.append(f"! {form['trouble']}")
    line = "hikidashi: " + ", ".join(parts)
    return "".join(c if c.isprintable() else " " for c in line)[:_MAX_LINE]


def _counted(place: Place, now: datetime) -> dict[str, Any]:
    at = format_time(now)
    with contextlib.ExitStack() as stack:
        own = stack.enter_context(contextlib.closing(_reader(place.database)))
        drawers = [own]
        users = os.path.join(user_path("data"), GLOBAL_DATABASE)
        if os.path.exists(users):
            drawers.append(stack.enter_context(contextlib.closing(_reader(users))))
        line, serve = queries("statusline"), queries("serve")

        def number(connection: sqlite3.Connection, statement: str, **values: object) -> int:
            return int(connection.execute(statement, values).fetchone()[0])

        with database_errors("workspace.sqlite"):
            set_aside = number(own, serve["quarantined"])
            run = own.execute(line["last_run"]).fetchone()
            paused = own.execute(serve["paused"]).fetchone() is not None
            facts = sum(number(drawer, line["facts"]) for drawer in drawers)
            waiting = sum(number(drawer, serve["waiting"], at=at) for drawer in drawers)
    trouble = f"{set_aside} entries set aside (`hikidashi status`)" if set_aside else ""
    if run is not None and run["outcome"] not in _FINE:
        trouble = "see `hikidashi status`"
    return {
        "facts": facts,
        "waiting": waiting,
        "last_run": None if run is None else {"outcome": run["outcome"], "at": run["started_at"]},
        "paused": paused,
        "trouble": trouble,
    }


def _reader(path: str) -> sqlite3.Connection:
    connection = read_only(path, busy_seconds=_BUSY_SECONDS)
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    known = max(int(name[:3]) for name in os.listdir(_MIGRATIONS) if name[:3].isdigit())
    if version > known:
        connection.close()
        raise CorruptData(f"{os.path.basename(path)} is of a newer hikidashi: upgrade this one")
    return connection


def _age(text: str, now: datetime) -> str:
    try:
        passed = now - parse_time(text)
    except ValueError:
        return ""
    if passed < timedelta(minutes=1):
        return "now"
    for unit, length in (("d", timedelta(days=1)), ("h", timedelta(hours=1)), ("min", timedelta(minutes=1))):
        if passed >= length:
            return f"{passed // length} {unit} ago"
    return ""


def folder_of(given: bytes) -> str:
    """The folder that a host's JSON names; '' for none."""
    try:
        form = json.loads(given)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(form, dict):
        return ""
    place = form.get("workspace")
    named = place.get("current_dir") if isinstance(place, dict) else None
    for folder in (named, form.get("cwd")):
        if isinstance(folder, str) and folder:
            return folder
    return ""


def main() -> None:
    """Read the host's JSON and print the line."""
    folder = folder_of(sys.stdin.buffer.read(_MAX_BYTES))
    if not folder:
        with contextlib.suppress(OSError):
            folder = os.getcwd()
    now = datetime.now(UTC)
    line = shown(seen(folder, now=now), now=now) if folder else ""
    with contextlib.suppress(OSError):
        sys.stdout.buffer.write((line + "\n" if line else "").encode("utf-8"))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
