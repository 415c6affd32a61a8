"""Reading again what older redaction rules let pass (design section 5.4).

Facts carry the version of the rules that read them, and hooks give only those of the current one. So when the program
brings newer rules, everything in the drawer is read again once: what is clean is marked, a secret is replaced by
`[redacted:kind]` in facts, versions, candidates and sightings, and the database's files are cleaned of it.

A key that holds one gets a few random characters too, so that two keys never become one. A probe that holds one is
dropped: redacted, it would check nothing.
"""

from __future__ import annotations

import json
import secrets
import shlex
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from hikidashi.db.connection import database_errors, database_name, queries, transaction
from hikidashi.drawer.fact import Scope, fact_subject
from hikidashi.drawer.forget import WAIT_SECONDS, clean_files
from hikidashi.drawer.index import index_fact, purge_index, unindex_fact
from hikidashi.drawer.reading import DamagedFact, fact_of
from hikidashi.errors import HikidashiError
from hikidashi.redact import RULES_VERSION, find_secrets, redact

__all__ = ["Rescanned", "rescan_if_due", "rescan_warning"]

_SQL: Final = queries("rescan")

#: Stands behind the version until the files are clean, so that the next call tries again.
_UNCLEAN: Final = " unclean"

#: (scope, key that holds a secret) -> the key it gets.
_Names = dict[tuple[Scope, str], str]

#: Columns of plain text; `aliases`, `probe` and `source` are JSON.
_TEXTS: Final = ("body", "proof", "failure", "target", "told")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescanned:
    """What reading everything again changed."""

    #: Keys (as they are now) whose fact, versions, candidates or sightings held a secret.
    redacted: tuple[str, ...] = ()
    #: Why bytes of it may still be in the database's files; None when none are.
    left: HikidashiError | None = None


def rescan_if_due(
    connection: sqlite3.Connection, *, rules_version: int = RULES_VERSION, wait_seconds: float = WAIT_SECONDS
) -> Rescanned:
    """Read everything again if these rules have not read this database yet.

    Commands that open the drawer call it, and `extract`, so that hooks give facts again after an update.
    """
    with database_errors(database_name(connection)):
        row = connection.execute(_SQL["get_rules"]).fetchone()
        read_by = "" if row is None else str(row["value"])
        if read_by.isdecimal() and int(read_by) >= rules_version:
            return Rescanned()
        rules = {"rules": rules_version}
        facts = connection.execute(_SQL["facts_read"], rules).fetchall()
        candidates = connection.execute(_SQL["candidates_read"], rules).fetchall()
        others = {
            "version_redacted": connection.execute(_SQL["versions_read"]).fetchall(),
            "sighting_redacted": connection.execute(_SQL["sightings_read"]).fetchall(),
        }
    # Without the lock: it takes a third of a millisecond a fact.
    names = _names({(row["scope"], row["key"]) for row in (*facts, *candidates, *others["sighting_redacted"])})
    clean = {name: [(row, _cleaned(row, names)) for row in rows] for name, rows in others.items()}
    clean["fact_redacted"] = [(row, _cleaned(row, names)) for row in facts]
    clean["candidate_redacted"] = [(row, _cleaned(row, names)) for row in candidates]
    with transaction(connection):
        changed = _apply(connection, clean, names)
        marks = [{"row_id": row["row_id"], "version": row["version"], "rules": rules_version} for row in facts]
        connection.executemany(_SQL["fact_passed"], marks)
        marks = [{"row_id": row["row_id"], "rules": rules_version} for row in candidates]
        connection.executemany(_SQL["candidates_passed"], marks)
        unclean = bool(changed) or read_by.endswith(_UNCLEAN)
        connection.execute(_SQL["set_rules"], {"value": f"{rules_version}{_UNCLEAN if unclean else ''}"})
        if changed:
            purge_index(connection)
    left = clean_files(connection, wait_seconds) if unclean else None
    if unclean and left is None:
        with transaction(connection):
            connection.execute(_SQL["set_rules"], {"value": str(rules_version)})
    return Rescanned(redacted=tuple(sorted(changed)), left=left)


def rescan_warning(found: Iterable[Rescanned]) -> str:
    """What a person should know of it, in one line; '' for nothing."""
    found = list(found)
    keys = [key for one in found for key in one.redacted]
    named = ", ".join(keys[:5]) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")
    said = [f"newer rules found secrets in the drawer and took them out ({named}): change them"] if keys else []
    said += [
        f"bytes of redacted secrets may still be in the database's files ({one.left}): the next command tries again"
        for one in found
        if one.left is not None
    ]
    return "; ".join(said)


def _names(keys: set[tuple[Scope, str]]) -> _Names:
    """New keys for those that hold a secret."""
    return {
        (scope, key): f"{redact(key)}~{secrets.token_hex(3)}" for scope, key in keys if find_secrets(key)
    }  # fmt: skip


def _cleaned(row: sqlite3.Row, names: _Names) -> dict[str, Any] | None:
    """The row's values without secrets; None when it has none."""
    before: dict[str, Any] = dict(row)
    after = dict(before)
    for name in _TEXTS:
        if name in after:
            after[name] = redact(after[name])
    if "aliases" in after:
        after["key"] = names.get((after["scope"], after["key"]), after["key"])
        after["aliases"] = _json_redacted(after["aliases"])
        after["source"] = _json_redacted(after["source"])
        after["probe"] = "[]" if _holds_secret(after["probe"]) else after["probe"]
    return None if after == before else after


def _json_redacted(text: str) -> str:
    """The JSON text with each of its strings redacted by itself; the same text when none holds a secret."""
    try:
        data = json.loads(text)
    except ValueError:  # a damaged row may hold one as well
        return redact(text)
    clean = _strings_redacted(data)
    return text if clean == data else json.dumps(clean, ensure_ascii=False, sort_keys=True)


def _strings_redacted(data: Any) -> Any:
    if isinstance(data, str):
        return redact(data)
    if isinstance(data, list):
        return [_strings_redacted(item) for item in data]
    if isinstance(data, dict):
        return {key: _strings_redacted(value) for key, value in data.items()}
    return data


def _holds_secret(probe: str) -> bool:
    try:
        words = [word for word in json.loads(probe) if isinstance(word, str)]
    except (ValueError, TypeError):
        return bool(find_secrets(probe))
    return any(map(find_secrets, (shlex.join(words), *words)))


def _apply(
    connection: sqlite3.Connection,
    clean: dict[str, list[tuple[sqlite3.Row, dict[str, Any] | None]]],
    names: _Names,
) -> set[str]:
    """Write what changed, in the CALLER's transaction; gives the keys, as they are now."""
    changed = set(names.values())
    for statement, rows in clean.items():
        for row, after in rows:
            if after is None:
                continue
            found = connection.execute(_SQL[statement], after).fetchall()
            if statement == "fact_redacted":
                for mended in found:  # none when it was written anew meanwhile, with these rules
                    _index_anew(connection, mended)
            changed.add(names.get((row["scope"], row["key"]), row["key"]))
    for (scope, old), new in names.items():
        connection.execute(_SQL["sightings_renamed"], {"scope": scope, "old": old, "new": new})
        subjects = {"old": fact_subject(scope, old), "new": fact_subject(scope, new)}
        connection.execute(_SQL["uses_renamed"], subjects)
    return changed


def _index_anew(connection: sqlite3.Connection, row: sqlite3.Row) -> None:
    try:
        index_fact(connection, fact_of(row))
    except DamagedFact:  # what is indexed of it may be what was taken out
        unindex_fact(connection, row["id"])
