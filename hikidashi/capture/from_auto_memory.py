"""What Claude Code's auto memory becomes here, by its type (docs/claude-memory.md has the table).

What is known of the person and what they corrected are drafts for the gate; what is known of the project and where
things stand elsewhere are knowledge records. Nothing is left out without being named. Pure, but for `propose_all`.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from hikidashi.db.connection import transaction
from hikidashi.drawer.draft import MAX_ALIAS, CheckedDraft, checked
from hikidashi.drawer.fact import CONFIDENCE, MAX_BODY, Draft, FactType, Scope
from hikidashi.drawer.gate import Proposal, propose
from hikidashi.errors import HikidashiError
from hikidashi.hosts.claude_memory import INDEX, Memory, MemoryFolder
from hikidashi.records.record import Record, Tree, free_slug, make_slug, read_record, record_path, render_record
from hikidashi.records.rules_state import MAX_BODY as MAX_RECORD
from hikidashi.records.rules_state import MAX_DESCRIPTION, file_findings
from hikidashi.redact import RULES_VERSION, find_secrets

__all__ = ["Intake", "LeftOut", "PlannedFact", "PlannedRecord", "RecordAction", "plan_import", "propose_all",
           "record_action"]  # fmt: skip

#: `differs`: another text stands there.
RecordAction = Literal["create", "replace", "unchanged", "differs"]

#: Type of a memory -> type of the fact that it becomes; all others become records.
FACT_TYPES: Final[dict[str, FactType]] = {"user": "fact", "feedback": "rule"}
#: Type of a memory -> kind of its knowledge record.
KNOWLEDGE_KINDS: Final = {"reference": "know-how", "project": "fact"}

_NOTES: Final = "Notes in MEMORY.md of Claude Code's auto memory"

#: Candidates that are put under one hold of the write lock.
_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFact:
    """A memory that becomes a candidate."""

    file: str
    draft: CheckedDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRecord:
    """A memory, or a part of a long one, that becomes a knowledge record."""

    file: str
    record: Record


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A file, or something in it, that does not come in, and why."""

    file: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """What an import would do."""

    facts: tuple[PlannedFact, ...]
    records: tuple[PlannedRecord, ...]
    left_out: tuple[LeftOut, ...]


def plan_import(folder: MemoryFolder, *, at: str, scope: Scope = "workspace", resident: bool = False) -> Intake:
    """What becomes of each memory in `folder`; `at` is now.

    `scope` is that of the facts. With `resident` the descriptions of the records are put in front of agents, as the
    index of the auto memory is.
    """
    facts: list[PlannedFact] = []
    records: list[PlannedRecord] = []
    left = [LeftOut(file=file, why=why) for file, why in sorted(folder.refused.items())]
    keys: set[str] = set()
    slugs: set[str] = set()
    memories = [*folder.memories]
    if folder.notes:
        memories.append(
            Memory(file=INDEX, name="claude-memory-notes", modified=at, body=folder.notes, description=_NOTES)
        )
    for memory in memories:
        slug = _slug(memory)
        body = _body(memory)
        if not body:
            left.append(LeftOut(file=memory.file, why="it holds no text"))
            continue
        try:
            if memory.type in FACT_TYPES and len(body) <= MAX_BODY:
                facts.append(PlannedFact(file=memory.file, draft=_draft(memory, body, slug, scope, keys)))
            else:
                records += _records(memory, slug, resident, slugs)
        except HikidashiError as exc:
            left.append(LeftOut(file=memory.file, why=str(exc)))
            continue
        if memory.other_keys:
            left.append(LeftOut(file=memory.file, why=f"of its front matter only: {', '.join(memory.other_keys)}"))
    return Intake(facts=tuple(facts), records=tuple(records), left_out=tuple(left))


def _slug(memory: Memory) -> str:
    """A slug that stays when the memory is written anew: of its name, else of its file's, without a date."""
    for name in (memory.name, memory.file.rpartition("/")[2][:-3]):
        slug = make_slug(name, "memory", memory.modified, memory.file)
        if not re.fullmatch(r"memory-\d{8}-[0-9a-f]{6}", slug):
            return slug
    return f"memory-{hashlib.sha256(memory.file.encode('utf-8', 'replace')).hexdigest()[:8]}"


def folded(text: str) -> str:
    """Text for the question whether one says what another does: blanks and case aside."""
    return " ".join(text.casefold().split())


def _body(memory: Memory) -> str:
    """All that a memory says in one text: description, text, and what only the index says."""
    parts = [memory.description, memory.body, memory.hook]
    said: list[str] = []
    for part in parts:
        others = folded(" ".join([*said, memory.body if part is memory.description else ""]))
        if part and folded(part.removesuffix("…")) not in others:  # a cut one only repeats the text, too
            said.append(part)
    return "\n\n".join(said)


def _draft(memory: Memory, body: str, slug: str, scope: Scope, keys: set[str]) -> CheckedDraft:
    key = _free_key(f"{memory.type}:{_key_name(memory, slug)}", keys)
    names = (memory.title, memory.name.replace("-", " ").replace("_", " "))
    draft = checked(
        Draft(
            key=key,
            type=FACT_TYPES[memory.type],
            body=body,
            scope=scope,
            confidence=CONFIDENCE["import"],
            proof=f"from Claude Code's auto memory: {memory.file}, {memory.modified[:10]}",
            aliases=tuple(dict.fromkeys(name for name in names if name and len(name) <= MAX_ALIAS)),
            trust="assistant",
            origin="import",
        )
    )
    keys.add(key)
    return draft


def _key_name(memory: Memory, slug: str) -> str:
    """What its key says behind the type: the slug, or the name where that has no Latin letters."""
    name = " ".join(memory.name.split())
    return slug if name.isascii() or len(name) > MAX_ALIAS or not name.isprintable() else name


def _free_key(key: str, taken: set[str]) -> str:
    return next(one for number in itertools.count(1) if (one := key if number == 1 else f"{key}-{number}") not in taken)


def _records(memory: Memory, slug: str, resident: bool, slugs: set[str]) -> list[PlannedRecord]:
    """The records of a memory: one, or parts of a text that is too long for one. Raises `HikidashiError`."""
    description = memory.description or memory.hook
    body = memory.body or description
    if memory.hook and folded(memory.hook) not in folded(f"{description} {body}"):
        body += f"\n\n{memory.hook}"
    if len(description) > MAX_DESCRIPTION:
        body, description = f"{description}\n\n{body}", description[: MAX_DESCRIPTION - 1] + "…"
    parts = list(_parts(body, MAX_RECORD - 1))
    planned = []
    taken = set(slugs)
    for number, part in enumerate(parts, start=1):
        own = free_slug(slug, taken)
        taken.add(own)
        said = f"{description} (part {number} of {len(parts)})".strip() if len(parts) > 1 else description
        record = Record(
            kind="knowledge",
            path=record_path("knowledge", own),
            slug=own,
            body=part,
            created_at=memory.modified,
            updated_at=memory.modified,
            trust="assistant",
            knowledge_kind=KNOWLEDGE_KINDS.get(memory.type, "fact"),
            description=said[:MAX_DESCRIPTION],
            model_invocation=resident and bool(said.strip()),
        )
        _refuse_faults(record)
        planned.append(PlannedRecord(file=memory.file, record=record))
    slugs |= taken
    return planned


def _refuse_faults(record: Record) -> None:
    for finding in file_findings(record.path, render_record(record), find_secrets):
        if finding.severity == "error":
            what = finding.message.partition(":")[0]  # its mend is for records that are there
            raise HikidashiError(f"{what}: mend it there and import again")


def _parts(text: str, limit: int) -> Iterator[str]:
    """`text` in pieces of at most `limit` characters, cut between paragraphs, else lines, else words, else anywhere."""
    while len(text) > limit:
        cut = next((at for mark in ("\n\n", "\n", " ") if (at := text.rfind(mark, limit // 2, limit)) > 0), limit)
        yield text[:cut]
        text = text[cut:].lstrip("\n")
    if text.strip():
        yield text


def record_action(tree: Tree, record: Record, *, replace: bool) -> RecordAction:
    """What writing `record` means where `tree` lies."""
    data = tree.get(record.path)
    if data is None:
        return "create"
    old = read_record(record.path, data).record
    if old is not None and (old.body, old.description) == (record.body, record.description):
        return "unchanged"
    return "replace" if replace else "differs"


def propose_all(connection: sqlite3.Connection, drafts: Sequence[CheckedDraft], *, at: str) -> list[Proposal]:
    """Let the drafts wait for a person's yes, a piece a transaction; again, they count as what waits already."""
    done: list[Proposal] = []
    for start in range(0, len(drafts), _AT_ONCE):
        with transaction(connection):
            done += [
                propose(connection, draft, [], at=at, rules_version=RULES_VERSION)
                for draft in drafts[start : start + _AT_ONCE]
            ]
    return done
