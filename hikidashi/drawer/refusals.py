"""What is not proposed again: candidates that a person rejected, and keys that a person had forgotten.

    rejected    one content of one key; the key comes back with another content
    forgotten   a key, whatever is proposed under it; only a write brings it back

The table holds keyed hashes and no text: after `forget` neither the key nor its words stand anywhere. The hash's
key is random, made once a database and kept in it, so that equal keys of two workspaces cannot be told from their
marks. Who can read the database can still try whether a certain key was forgotten.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
from typing import Final

from hikidashi.db.connection import database_errors, database_name, queries
from hikidashi.drawer.fact import Scope

__all__ = [
    "allow",
    "content_of",
    "is_forgotten",
    "is_rejected",
    "note_forgotten",
    "note_rejected",
    "take_back_rejected",
]

_SQL: Final = queries("refusals")
_META: Final = queries("meta")
_META_KEY: Final = "refusal_key"


def content_of(digest: str, body: str) -> str:
    """What two proposals of one key are compared by: their digest, or the words of the body when there is none."""
    return f"digest:{digest}" if digest else "body:" + " ".join(body.split())


def note_forgotten(connection: sqlite3.Connection, *, scope: Scope, key: str, at: str) -> None:
    """Let nothing be proposed under `key` again, in the CALLER's transaction. `at`: ISO 8601."""
    _add(connection, _forgotten(connection, scope, key), "forgotten", at)


def is_forgotten(connection: sqlite3.Connection, *, scope: Scope, key: str) -> bool:
    """Whether a person had `key` forgotten and nobody wrote it anew since."""
    return _has(connection, _forgotten(connection, scope, key))


def allow(connection: sqlite3.Connection, *, scope: Scope, key: str) -> None:
    """A person writes `key` anew: it is no forgotten one any more. In the CALLER's transaction."""
    _delete(connection, _forgotten(connection, scope, key))


def note_rejected(connection: sqlite3.Connection, *, scope: Scope, key: str, content: str, at: str) -> None:
    """Let `content` (see `content_of`) not be proposed under `key` again, in the CALLER's transaction."""
    _add(connection, _rejected(connection, scope, key, content), "rejected", at)


def is_rejected(connection: sqlite3.Connection, *, scope: Scope, key: str, content: str) -> bool:
    """Whether a person turned this content of `key` down."""
    return _has(connection, _rejected(connection, scope, key, content))


def take_back_rejected(connection: sqlite3.Connection, *, scope: Scope, key: str, content: str) -> None:
    """The rejection was undone, or the same was approved after all. In the CALLER's transaction."""
    _delete(connection, _rejected(connection, scope, key, content))


def _forgotten(connection: sqlite3.Connection, scope: Scope, key: str) -> bytes | None:
    return _mark(connection, "forgotten", scope, key)


def _rejected(connection: sqlite3.Connection, scope: Scope, key: str, content: str) -> bytes | None:
    return _mark(connection, "rejected", scope, key, content)


def _mark(connection: sqlite3.Connection, *parts: str) -> bytes | None:
    """The hash of `parts`; None while this database has no hash key, and so no refusal."""
    with database_errors(database_name(connection)):
        row = connection.execute(_META["get_meta"], {"key": _META_KEY}).fetchone()
        if row is None:
            if not connection.in_transaction:
                return None
            connection.execute(_META["add_meta"], {"key": _META_KEY, "value": secrets.token_hex(32)})
            row = connection.execute(_META["get_meta"], {"key": _META_KEY}).fetchone()
    return hmac.digest(bytes.fromhex(row[0]), "\0".join(parts).encode(), hashlib.sha256)


def _add(connection: sqlite3.Connection, mark: bytes | None, cause: str, at: str) -> None:
    if mark is None:
        raise RuntimeError("a refusal is noted inside a transaction only")
    with database_errors(database_name(connection)):
        connection.execute(_SQL["add_refusal"], {"mark": mark, "cause": cause, "at": at})


def _has(connection: sqlite3.Connection, mark: bytes | None) -> bool:
    with database_errors(database_name(connection)):
        return mark is not None and connection.execute(_SQL["has_refusal"], {"mark": mark}).fetchone() is not None


def _delete(connection: sqlite3.Connection, mark: bytes | None) -> None:
    with database_errors(database_name(connection)):
        connection.execute(_SQL["delete_refusal"], {"mark": mark})
