"""The index by which a turn's prompt finds facts. Standard library only.

`index_fact` and `unindex_fact` are called in the transaction that changes the fact; calling either again does no
harm. Retired and forgotten facts are not in the index. It holds names (parts of keys, aliases) for the exact
look-up, and the words of key and body for the full-text search; how often a word occurs is counted as it goes in,
so that a question needs no scan.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from functools import lru_cache
from typing import Final

from hikidashi.db.connection import queries
from hikidashi.drawer.fact import Fact
from hikidashi.drawer.names import alias_names, key_names
from hikidashi.drawer.reading import DamagedFact, fact_of
from hikidashi.drawer.terms import terms

__all__ = ["FEW_ALIASES", "index_fact", "purge_index", "reindex", "unindex_fact"]

_SQL: Final = queries("index")

#: The words of aliases are searched too where somebody wrote a few; the long lists of a verb in eight languages are
#: looked up as whole names only, since their single words (image, version, server) say nothing about this fact.
FEW_ALIASES: Final = 12

#: Counts the facts in the table of words.
_ALL: Final = ""


def index_fact(connection: sqlite3.Connection, fact: Fact) -> None:
    """Put `fact` into the index, or replace what is there of it; a retired one is taken out."""
    unindex_fact(connection, fact.id)
    if fact.status == "retired":
        return
    names = key_names(fact.key)
    name_ids = [_name_id(connection, name) for name in names]
    connection.executemany(
        _SQL["put_key_name"],
        [
            {"name_id": name_id, "fact_id": fact.id, "how": how}
            for name_id, how in zip(name_ids, names.values(), strict=True)
        ],
    )
    connection.execute(
        _SQL["put_fact"],
        {
            "fact_id": fact.id,
            "set_id": _joined_set(connection, fact.aliases),
            "rule": fact.type == "rule",
            "key_names": json.dumps(name_ids),
        },
    )
    words = sorted(terms("\n".join((fact.key, fact.body, *_searched(fact.aliases)))))
    connection.execute(_SQL["put_words"], {"fact_id": fact.id, "words": " ".join(words)})
    connection.executemany(_SQL["count_word"], [{"word": word} for word in (_ALL, *words)])


def unindex_fact(connection: sqlite3.Connection, fact_id: int) -> None:
    """Take a fact out of the index; nothing happens when it is not there."""
    row = connection.execute(_SQL["indexed"], {"fact_id": fact_id}).fetchone()
    if row is None:
        return
    of_fact = [{"name_id": name_id, "fact_id": fact_id} for name_id in json.loads(row["key_names"])]
    connection.executemany(_SQL["take_key_name"], of_fact)
    connection.executemany(_SQL["unname"], of_fact)
    connection.executemany(_SQL["take_unnamed"], of_fact)
    if row["set_id"] is not None:
        _leave_set(connection, row["set_id"])
    for (text,) in connection.execute(_SQL["words_of"], {"fact_id": fact_id}).fetchall():
        words = [{"word": word} for word in (_ALL, *text.split())]
        connection.executemany(_SQL["uncount_word"], words)
        connection.executemany(_SQL["take_uncounted"], words)
    connection.execute(_SQL["take_words"], {"fact_id": fact_id})
    connection.execute(_SQL["take_fact"], {"fact_id": fact_id})


def purge_index(connection: sqlite3.Connection) -> None:
    """Leave nothing in the index of facts that were taken out (`forget`), in the caller's transaction.

    A full-text table keeps the words of a deleted row in old segments; this writes its index anew from what is
    left. The pages that become free are overwritten, since the connection has `secure_delete` on.
    """
    connection.execute(_SQL["rebuild_text"])


def reindex(connection: sqlite3.Connection) -> int:
    """Make the whole index anew from the facts, in the caller's transaction; gives the number of facts in it."""
    for (fact_id,) in connection.execute(_SQL["all_indexed"]).fetchall():
        unindex_fact(connection, fact_id)
    indexed = 0
    for row in connection.execute(_SQL["to_index"]).fetchall():
        with contextlib.suppress(DamagedFact):  # commands that list facts name it
            index_fact(connection, fact_of(row))
            indexed += 1
    purge_index(connection)
    return indexed


def _name_id(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(_SQL["put_name"], {"name": name}).fetchone()[0])


def _searched(aliases: tuple[str, ...]) -> tuple[str, ...]:
    return aliases if len(aliases) <= FEW_ALIASES else ()


def _joined_set(connection: sqlite3.Connection, aliases: tuple[str, ...]) -> int | None:
    """The set of these aliases, made if no fact has it yet; None for none."""
    names = _alias_names(aliases)
    if not names:
        return None
    digest = hashlib.blake2b(json.dumps(names).encode(), digest_size=16).digest()
    row = connection.execute(_SQL["join_set"], {"digest": digest}).fetchone()
    if row is not None:
        return int(row[0])
    set_id = int(connection.execute(_SQL["put_set"], {"digest": digest}).fetchone()[0])
    for name, how in names:
        values = {"name_id": _name_id(connection, name), "set_id": set_id, "how": how}
        connection.execute(_SQL["put_alias_name"], values)
    return set_id


@lru_cache(maxsize=512)
def _alias_names(aliases: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """The names of aliases, sorted; kept, since many facts share one list."""
    return tuple(sorted(alias_names(aliases).items()))


def _leave_set(connection: sqlite3.Connection, set_id: int) -> None:
    of_set = {"set_id": set_id}
    row = connection.execute(_SQL["leave_set"], of_set).fetchone()
    if row is not None and row[0] > 0:
        return
    for statement in ("unname_of_set", "take_unnamed_of_set", "take_alias_names", "take_set"):
        connection.execute(_SQL[statement], of_set)
