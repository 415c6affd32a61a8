"""What a person decides of candidates: yes, no, later; and taking the last decision back.

Several candidates are decided in one transaction: all of them or none. Two people (or two windows) who decide one
candidate decide it once: the second one is told that it does not wait any more.
"""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal

from hikidashi.db.connection import queries, transaction
from hikidashi.drawer.candidates import Candidate, candidate_of
from hikidashi.drawer.fact import Draft, Fact, FactType, clean_key
from hikidashi.drawer.gate import apply_failures
from hikidashi.drawer.index import index_fact, unindex_fact
from hikidashi.drawer.intake import NO_PROBE
from hikidashi.drawer.reading import fact_of, find_fact, sound_fact
from hikidashi.drawer.refusals import content_of, note_rejected, take_back_rejected
from hikidashi.drawer.store import Drawer
from hikidashi.errors import Conflict
from hikidashi.times import Clock, format_time, now

__all__ = ["LATER_DAYS", "Decided", "Edit", "approve", "completed", "edited", "later", "reject", "undo"]

#: How long a candidate that was put off is not shown.
LATER_DAYS: Final = 7

_SQL: Final = queries("gate")
_FACTS: Final = queries("drawer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What a person changed before saying yes."""

    key: str
    type: FactType
    body: str
    probe: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """One decision; what `undo` needs to take it back."""

    kind: Literal["approved", "rejected", "later"]
    candidate: Candidate
    #: The fact as it is now, for a yes.
    fact: Fact | None = None
    #: The fact that it replaced; None when the key was free.
    replaced: Fact | None = None
    #: Its row as it stood.
    row: Mapping[str, Any] | None = None


def completed(draft: Draft, fact: Fact | None, *, edited: bool = False) -> Draft:
    """`draft` with what `fact`, which it would replace, has and the draft could not bring.

    No agent, model or import may bring a probe, so that none there says nothing: the fact's stays, as with `write` and
    `import`. That the tool table has none says that the fact's does not check the new text; whoever `edited` the
    draft saw its probe. Aliases stay where the draft has none.
    """
    if fact is None:
        return draft
    keeps = draft.origin in NO_PROBE and draft.type == fact.type and not edited
    probe = draft.probe or (fact.probe if keeps else ())
    return dataclasses.replace(draft, probe=probe, aliases=draft.aliases or fact.aliases)


def edited(draft: Draft, edit: Edit) -> Draft:
    """`draft` as a person changed it. Raises `UsageError` for what can be no key."""
    return dataclasses.replace(draft, key=clean_key(edit.key), type=edit.type, body=edit.body, probe=edit.probe)


def approve(
    drawer: Drawer,
    ids: Sequence[str],
    *,
    edits: Mapping[str, Edit] | None = None,
    shown: Mapping[str, Candidate] | None = None,
    clock: Clock = now,
) -> list[Decided]:
    """Write the candidates with these IDs into the drawer, `completed`, each as its `Edit` says where there is one.

    A person vouches for them now; how sure they are, and where they were proven, stays. `shown` are the candidates as
    the person saw them. Gives what was decided: an ID that does not wait any more is left out. Raises `SecretRefused`
    and `UsageError` for what may not be written, `Conflict` when a text is not the one that was shown; nothing is
    decided then.
    """
    with transaction(drawer.connection):
        done = (_approve(drawer, name, (edits or {}).get(name), (shown or {}).get(name), clock) for name in ids)
        return [decided for decided in done if decided is not None]


def _approve(
    drawer: Drawer, candidate_id: str, edit: Edit | None, shown: Candidate | None, clock: Clock
) -> Decided | None:
    connection = drawer.connection
    row = connection.execute(_SQL["approve"], {"id": candidate_id, "at": format_time(clock())}).fetchone()
    if row is None:
        return None
    candidate = candidate_of(row)
    if edit is None and shown is not None and _said(shown) != _said(candidate):
        raise Conflict(f"a session told {candidate.key} in other words meanwhile: look at it again")
    original = dataclasses.replace(candidate.draft(), trust="user")
    draft = original if edit is None else edited(original, edit)
    before = connection.execute(_FACTS["fact"], {"scope": drawer.scope, "key": draft.key}).fetchone()
    replaced = sound_fact(connection, drawer.scope, draft.key)
    fact = drawer.put(completed(draft, replaced, edited=edit is not None))
    _settle_original(connection, original, draft, format_time(clock()))
    apply_failures(connection, fact)
    return Decided(
        kind="approved",
        candidate=candidate,
        fact=find_fact(connection, fact.scope, fact.key),
        replaced=replaced,
        row=None if before is None else dict(before),
    )


def _said(candidate: Candidate) -> tuple[object, ...]:
    """What a yes is a yes to."""
    return candidate.key, candidate.type, candidate.body, candidate.proof, candidate.probe, candidate.machine_id


def _settle_original(connection: sqlite3.Connection, original: Draft, draft: Draft, at: str) -> None:
    """What a person changed is not proposed again as it was; a digest recognises it whatever its words are."""
    content = content_of(original.digest, original.body)
    if draft.key != original.key or (not original.digest and content != content_of("", draft.body)):
        note_rejected(connection, scope=original.scope, key=original.key, content=content, at=at)


def reject(connection: sqlite3.Connection, ids: Iterable[str], *, clock: Clock = now) -> list[Decided]:
    """Turn candidates down: what they say is not proposed again. An ID that does not wait any more is left out."""
    at = format_time(clock())
    done = []
    with transaction(connection):
        for candidate_id in ids:
            row = connection.execute(_SQL["reject"], {"id": candidate_id, "at": at}).fetchone()
            if row is None:
                continue
            candidate = candidate_of(row)
            content = content_of(candidate.digest, candidate.body)
            note_rejected(connection, scope=candidate.scope, key=candidate.key, content=content, at=at)
            done.append(Decided(kind="rejected", candidate=candidate))
    return done


def later(connection: sqlite3.Connection, candidate: Candidate, *, clock: Clock = now) -> Decided | None:
    """Put a candidate off for `LATER_DAYS`; None when it does not wait any more."""
    until = format_time(clock() + timedelta(days=LATER_DAYS))
    with transaction(connection):
        row = connection.execute(_SQL["put_off"], {"id": candidate.id, "until": until}).fetchone()
    return None if row is None else Decided(kind="later", candidate=candidate)


def undo(drawer: Drawer, decided: Decided) -> None:
    """Take a decision back: the candidate waits again, and the fact is as it was before.

    Raises `Conflict` when somebody changed the fact or proposed something else since; nothing was changed then.
    """
    candidate = decided.candidate
    state = "waiting" if decided.kind == "later" else decided.kind
    with transaction(drawer.connection):
        if decided.kind == "approved":
            _take_back(drawer.connection, decided)
        if decided.kind == "rejected":
            content = content_of(candidate.digest, candidate.body)
            take_back_rejected(drawer.connection, scope=candidate.scope, key=candidate.key, content=content)
        values = {"id": candidate.id, "state": state, "later_until": candidate.later_until}
        of_key = {"scope": candidate.scope, "key": candidate.key}
        other = drawer.connection.execute(_SQL["waiting_of_key"], of_key).fetchone()
        if other is not None and other["id"] != candidate.id:
            raise Conflict(f"another candidate waits under {candidate.key} since: decide {other['id']} instead")
        if drawer.connection.execute(_SQL["wait_again"], values).rowcount == 0:
            raise Conflict(f"candidate {candidate.id} was changed since: look at it with `hikidashi candidates`")


def _take_back(connection: sqlite3.Connection, decided: Decided) -> None:
    fact = decided.fact
    if fact is None:
        raise ValueError("an approval without its fact")
    now_there = {"id": fact.id, "undone": fact.version}
    connection.execute(_SQL["delete_version"], now_there)
    if decided.row is None:
        unindex_fact(connection, fact.id)
        changed = connection.execute(_SQL["delete_fact"], now_there).rowcount
    else:
        restored = connection.execute(_SQL["restore_fact"], {**decided.row, **now_there}).fetchone()
        changed = int(restored is not None)
        if restored is not None:
            before = fact_of(restored)
            (unindex_fact(connection, before.id) if before.status == "retired" else index_fact(connection, before))
    if not changed:
        raise Conflict(f"{fact.key} was written again since: look at it with `hikidashi read {fact.key}`")
    candidate = decided.candidate
    content = content_of(candidate.digest, candidate.body)
    take_back_rejected(connection, scope=candidate.scope, key=candidate.key, content=content)
