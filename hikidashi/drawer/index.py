"""The index by which a turn's prompt finds facts. Standard library only.

`index_fact` and `unindex_fact` are called in the transaction that changes the fact. Both may be called again for
the same fact. Facts that are retired or forgotten are not in the index.
"""

from __future__ import annotations

import sqlite3

from hikidashi.drawer.fact import Fact

__all__ = ["index_fact", "purge_index", "unindex_fact"]


def index_fact(connection: sqlite3.Connection, fact: Fact) -> None:
    """Put `fact` into the index, or replace what is there of it, in the CALLER's transaction."""


def unindex_fact(connection: sqlite3.Connection, fact_id: int) -> None:
    """Take a fact out of the index, in the CALLER's transaction."""


def purge_index(connection: sqlite3.Connection) -> None:
    """Leave nothing in the index of facts that were taken out (`forget`), in the CALLER's transaction.

    Full-text tables keep the words of a deleted row in their old segments until those are merged.
    """
