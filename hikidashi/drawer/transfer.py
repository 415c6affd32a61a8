"""Facts as JSON lines, out and in (`hikidashi export`, `hikidashi import`).

One line a fact, sorted by scope and key, keys in one order, no row ids: the same drawer gives the same bytes. What is
read back is checked as a whole before anything is written. It is written in pieces, so that nobody else waits for the
whole of it; an import that is cut off between two goes on where it was when it is run again.

Whoever runs the import vouches for it, so type, text, proof, aliases and status come in as they are. Not what would
act or weigh on its own: a probe is a command, and comes from the tool table or a person's hands only; confidence is
at most that of an import; times and counts begin anew.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from hikidashi.db.connection import transaction
from hikidashi.drawer.draft import CheckedDraft, checked
from hikidashi.drawer.fact import CONFIDENCE, Draft, Fact, FactStatus, FactType, Scope, Trust
from hikidashi.drawer.places import Drawers
from hikidashi.drawer.reading import FactVersion
from hikidashi.drawer.store import Drawer
from hikidashi.errors import Busy, HikidashiError, StorageFailure, UsageError
from hikidashi.source import Source

__all__ = ["FORMAT", "Imported", "Incoming", "fact_line", "import_facts", "parse_lines"]

#: Of the lines that this program writes; it reads up to this.
FORMAT: Final = 1

#: Facts that are written under one hold of the database's write lock: others wait for a moment, not for the file.
_AT_ONCE: Final = 100

#: Seconds between two pieces. Who waits for the lock tries again up to a tenth of a second apart
#: (`sqliteDefaultBusyCallback` of SQLite), and would miss every gap that is much shorter.
_PAUSE_SECONDS: Final = 0.05

#: What a line may hold beside what is read: left as it is, for people and other programs.
_PASSED_OVER: Final = frozenset(
    {
        "origin", "version", "versions", "created_at", "updated_at", "last_seen", "last_verified", "last_failed",
        "failure", "uses",
    }
)  # fmt: skip


def fact_line(fact: Fact, versions: Iterable[FactVersion] | None = None) -> dict[str, Any]:
    """The line of a fact, with its `versions` if they are given."""
    line: dict[str, Any] = {
        "format": FORMAT,
        "scope": fact.scope,
        "key": fact.key,
        "type": fact.type,
        "body": fact.body,
        "status": fact.status,
        "confidence": fact.confidence,
        "proof": fact.proof,
        "probe": list(fact.probe),
        "aliases": list(fact.aliases),
        "trust": fact.trust,
        "origin": fact.origin,
        "digest": fact.digest,
        "machine_id": fact.machine_id,
        "machine_name": fact.machine_name,
        "source": dict(sorted(fact.source.items())),
        "version": fact.version,
        "created_at": fact.created_at,
        "updated_at": fact.updated_at,
        "last_seen": fact.last_seen,
        "last_verified": fact.last_verified,
        "last_failed": fact.last_failed,
        "failure": fact.failure,
        "uses": fact.uses,
    }
    if versions is not None:
        line["versions"] = [dataclasses.asdict(version) for version in versions]
    return line


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """One line that may come in."""

    #: Counted from 1.
    number: int
    draft: CheckedDraft
    status: FactStatus
    #: It had a probe, which was left out.
    had_probe: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of one line."""

    scope: Scope
    key: str
    action: Literal["created", "replaced", "unchanged"]


def parse_lines(data: bytes, scope: Scope | None = None) -> list[Incoming]:
    """The facts of a file of lines, all of them put into `scope` if it is given; blank lines are passed over.

    Raises `UsageError` or `SecretRefused` that names the first line that cannot come in.
    """
    found: list[Incoming] = []
    numbers: dict[tuple[str, str], int] = {}
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            incoming = _incoming(number, line, scope)
        except HikidashiError as exc:
            raise type(exc)(f"line {number}: {exc}; nothing was imported") from exc
        name = incoming.draft.scope, incoming.draft.key
        if name in numbers:
            raise UsageError(
                f"line {number}: {incoming.draft.key} stands on line {numbers[name]} already: "
                "keep one of them; nothing was imported"
            )
        numbers[name] = number
        found.append(incoming)
    return found


def _incoming(number: int, line: bytes, scope: Scope | None) -> Incoming:
    try:
        data = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as exc:
        raise UsageError("it is not UTF-8: convert the file") from exc
    except (ValueError, RecursionError) as exc:
        raise UsageError("it is no JSON: give a file that `hikidashi export` wrote") from exc
    if not isinstance(data, dict):
        raise UsageError("it is no JSON object: give a file that `hikidashi export` wrote")
    fields = _Fields(data)
    fields.refuse_newer()
    probe = fields.words("probe")
    said: Scope = fields.choice("scope", get_args(Scope), "workspace")
    draft = Draft(
        scope=scope or said,
        key=fields.text("key", required=True),
        type=fields.choice("type", get_args(FactType)),
        body=fields.text("body", required=True),
        confidence=min(fields.fraction("confidence", CONFIDENCE["import"]), CONFIDENCE["import"]),
        proof=fields.text("proof"),
        aliases=fields.words("aliases"),
        trust=fields.choice("trust", get_args(Trust), "user"),
        origin="import",
        digest=fields.text("digest"),
        machine_id=fields.text("machine_id"),
        machine_name=fields.text("machine_name"),
        source=fields.source(),
    )
    status = fields.choice("status", get_args(FactStatus), "active")
    fields.refuse_unknown()
    return Incoming(number=number, draft=checked(draft), status=status, had_probe=bool(probe))


class _Fields:
    """The values of a line, each checked as it is taken."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._left = dict(data)

    def refuse_newer(self) -> None:
        found = self._left.pop("format", FORMAT)
        if found != FORMAT:
            raise UsageError(f"its format is {found!r}, this hikidashi reads {FORMAT}: upgrade hikidashi")

    def refuse_unknown(self) -> None:
        for name in self._left:
            if name not in _PASSED_OVER:
                raise UsageError(f"{name!r} is nothing that a fact has: take it out")

    def text(self, name: str, *, required: bool = False) -> str:
        value = self._left.pop(name, None)
        if value is None and not required:
            return ""
        return str(self._expect(name, value, lambda: isinstance(value, str), "a text"))

    def words(self, name: str) -> tuple[str, ...]:
        value = self._left.pop(name, [])
        good = isinstance(value, list) and all(isinstance(word, str) for word in value)
        return tuple(self._expect(name, value, lambda: good, "a list of texts"))

    def fraction(self, name: str, default: float) -> float:
        value = self._left.pop(name, default)
        good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
        return float(self._expect(name, value, lambda: good, "a number from 0 to 1"))

    def choice(self, name: str, words: Sequence[str], default: str | None = None) -> Any:
        value = self._left.pop(name, default)
        return self._expect(name, value, lambda: value in words, f"one of {', '.join(words)}")

    def source(self) -> dict[str, Any]:
        value = self._left.pop("source", {})
        if value == {}:
            return {}
        try:
            return Source.from_dict(value).to_dict()
        except ValueError as exc:
            raise UsageError(f"{exc}: correct it, or leave source out") from exc

    def _expect(self, name: str, value: Any, good: Callable[[], bool], what: str) -> Any:
        if not good():
            raise UsageError(f"{name} is missing: add it" if value is None else f"{name} is not {what}: correct it")
        return value


def import_facts(
    drawers: Drawers, lines: Iterable[Incoming], *, sleep: Callable[[float], None] = time.sleep
) -> list[Imported]:
    """Write what differs from what is there, one scope after the other, a piece a transaction; gives one for each line.

    Raises `Busy` or `StorageFailure` that says how many are in; the same import again passes over these.
    """
    lines = list(lines)
    pieces = [
        of_scope[start : start + _AT_ONCE]
        for scope in get_args(Scope)
        if (of_scope := [line for line in lines if line.draft.scope == scope])
        for start in range(0, len(of_scope), _AT_ONCE)
    ]
    done: dict[int, Imported] = {}
    for piece in pieces:
        if done:
            sleep(_PAUSE_SECONDS)
        try:
            done |= _import_piece(drawers.writable(piece[0].draft.scope), piece)
        except (Busy, StorageFailure) as exc:
            if not done:
                raise
            counted = f"{len(done)} of {len(lines)} facts are in: run the same import again for the rest"
            raise type(exc)(f"{exc}; {counted}") from exc
    return [done[line.number] for line in lines]


def _import_piece(drawer: Drawer, piece: Iterable[Incoming]) -> dict[int, Imported]:
    with transaction(drawer.connection):
        return {line.number: _import_one(drawer, line) for line in piece}


def _import_one(drawer: Drawer, line: Incoming) -> Imported:
    draft = line.draft
    before = drawer.replaced(draft.key)
    if before is not None and _same(before, line):
        return Imported(scope=draft.scope, key=draft.key, action="unchanged")
    if before is not None and before.type == draft.type:
        draft = CheckedDraft(dataclasses.replace(draft, probe=before.probe))  # not the line's: it was here already
    drawer.put_checked(draft)
    if line.status != "active":
        drawer.set_status(draft.key, line.status)
    return Imported(scope=draft.scope, key=draft.key, action="created" if before is None else "replaced")


def _same(fact: Fact, line: Incoming) -> bool:
    draft = line.draft
    return (fact.type, fact.body, fact.proof, fact.aliases, fact.status) == (
        draft.type, draft.body, draft.proof, draft.aliases, line.status,
    )  # fmt: skip
