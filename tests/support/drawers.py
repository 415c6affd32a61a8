"""Drawers filled for tests of recall."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hikidashi.db.connection import connect, transaction
from hikidashi.db.migrations import migrate
from hikidashi.drawer.fact import Draft, Scope
from hikidashi.drawer.store import Drawer
from hikidashi.recall.match import Recalled, recall
from hikidashi.recall.question import Question

__all__ = ["DEPLOY", "NOW", "Filled", "fact", "filled"]

NOW = datetime(2026, 5, 10, 9, tzinfo=UTC)

#: The verb in eight languages, as people say it.
DEPLOY = (
    *("deploy", "ship it", "roll out", "put it live", "デプロイ", "本番に反映", "部署", "上线", "배포", "desplegar"),
    *("déployer", "mettre en ligne", "deployen", "ausrollen", "implantar", "colocar no ar"),
)


def fact(key: str, body: str, *aliases: str, type: str = "fact", **values: Any) -> Draft:
    """A draft; `days` says how old it is."""
    given: dict[str, Any] = {"confidence": 1.0, "trust": "user", "origin": "command"} | values
    return Draft(key=key, type=type, body=body, aliases=aliases, **given)  # type: ignore[arg-type]


@dataclass(slots=True)
class Filled:
    """The workspace's drawer and the user's own one."""

    connections: dict[Scope, sqlite3.Connection]
    at: datetime = NOW
    #: What `recall` is called with besides the question.
    values: dict[str, Any] = field(default_factory=dict)

    def write(self, *drafts: Draft, days: float = 0) -> None:
        """Write facts as if `days` ago."""
        for draft in drafts:
            Drawer(self.connections[draft.scope], draft.scope, lambda: NOW - timedelta(days=days)).write(draft)

    def write_many(self, drafts: Sequence[Draft]) -> None:
        """Write hundreds of facts without waiting for the disk."""
        for connection in self.connections.values():
            connection.execute("PRAGMA synchronous = OFF")
        self.write(*drafts)

    def change(self, key: str, **values: Any) -> None:
        """Set columns of a fact, as decay, probes and failures do."""
        columns = ", ".join(f"{name} = :{name}" for name in values)
        for connection in self.connections.values():
            with transaction(connection):
                connection.execute(f"UPDATE facts SET {columns} WHERE key = :key", {**values, "key": key})

    def recall(self, prompt: str, *, given: Sequence[str] = (), **around: Any) -> Recalled:
        """What a turn with this prompt gets; other values go into the question."""
        values: dict[str, Any] = {"top_k": 5, "max_tokens": 600, "now": self.at} | self.values
        return recall(Question(prompt, **around), self.connections, given=given, **values)

    def keys(self, prompt: str, **around: Any) -> list[str]:
        """The keys of the facts that a turn gets, best first."""
        return [match.fact.key for match in self.recall(prompt, **around).facts]

    def rules(self, prompt: str, **around: Any) -> list[str]:
        """The keys of its rules."""
        return [match.fact.key for match in self.recall(prompt, **around).rules]


@contextlib.contextmanager
def filled(folder: Path, *drafts: Draft) -> Iterator[Filled]:
    """Two drawers in `folder`; drafts of the scope `global` go into the user's own."""
    with contextlib.ExitStack() as stack:
        connections: dict[Scope, sqlite3.Connection] = {}
        scopes: tuple[Scope, ...] = ("workspace", "global")
        for scope in scopes:
            connections[scope] = stack.enter_context(contextlib.closing(connect(folder / f"{scope}.sqlite")))
            migrate(connections[scope])
        here = Filled(connections)
        here.write_many(drafts)
        yield here


def in_global(draft: Draft) -> Draft:
    """The same for the user's own drawer."""
    return replace(draft, scope="global")
