"""Entries, and both phases of the rules engine on a tree in memory, as a run does them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hikidashi.config.settings import Settings, load_settings
from hikidashi.records.finding import Finding
from hikidashi.records.library import Library
from hikidashi.records.linter import lint_tree
from hikidashi.records.record import Record
from hikidashi.source import Source, Trust
from hikidashi.staging.entry import Disposition, Entry, EntryKind, EntryStatus, entry_id
from hikidashi.times import format_time
from hikidashi.worker.dispositions import check_dispositions
from hikidashi.worker.materials import build_cleanup_materials, build_materials, make_lint
from hikidashi.worker.operations import judge_operations
from hikidashi.worker.report import Operation
from hikidashi.worker.rules import RulesEngine
from hikidashi.worker.scratch import Scratch

__all__ = ["DAY_ONE", "Desk", "entry", "settings", "source"]

#: The day on which everything happens, unless a case says otherwise.
DAY_ONE = datetime(2026, 5, 1, 9, 0, tzinfo=UTC)


def settings(**environment: str) -> Settings:
    """The defaults, with what `environment` changes (`HIKIDASHI_CLEANUP_MAX_SOURCES="3"`)."""
    return load_settings(None, environ=environment)


def source(number: int, session: str = "s1", at: datetime | None = None) -> Source:
    """Line `number` of a session; by default that many minutes after `DAY_ONE`."""
    at = DAY_ONE + timedelta(minutes=number) if at is None else at
    return Source(
        host="claude-code",
        session_id=session,
        lines=(number, number + 2),
        uuids=(f"u{number}", f"u{number + 2}"),
        at=format_time(at),
    )


def entry(
    number: int,
    kind: EntryKind,
    title: str,
    body: str = "",
    *,
    why: str = "",
    quote: str = "",
    trust: Trust = "user",
    status: EntryStatus = "",
    topic: str = "",
    session: str = "s1",
    at: datetime | None = None,
) -> Entry:
    """An entry whose source is line `number`."""
    where = source(number, session, at)
    return Entry(
        id=entry_id("claude-code", where.at, f"{session}-{number}", kind, 0),
        kind=kind,
        title=title,
        body=body,
        why=why,
        quote=quote,
        source=where,
        trust=trust,
        status=status or ("open" if kind == "request" else ""),
        topic=topic,
    )


@dataclass
class Desk:
    """A tree, and what the engine makes of it."""

    tree: dict[str, bytes] = field(default_factory=dict)
    settings: Settings = field(default_factory=settings)

    def integrate(self, *entries: Entry) -> list[Disposition]:
        """One integration; its dispositions hold, as a run would check."""
        before = dict(self.tree)
        materials = build_materials(entries, before, self.settings)
        lint = make_lint("integration", now=DAY_ONE, entries=entries, read_only=materials.read_only)
        scratch = Scratch(before, lint)
        dispositions = RulesEngine(self.settings, lambda: DAY_ONE).integrate(scratch, materials)
        assert lint(scratch.before, scratch.tree, scratch.named) == []
        assert check_dispositions(dispositions, entries, scratch.before, scratch.tree) == []
        self.tree = dict(scratch.tree)
        return dispositions

    def clean_up(
        self, *, days: float = 0, losses: int = 10, protected: Mapping[str, bytes] | None = None
    ) -> list[Operation]:
        """One clean-up, `days` after `DAY_ONE`; its operations hold, as a run would check."""
        at = DAY_ONE + timedelta(days=days)
        texts = dict(protected or {})
        findings = lint_tree(self.tree, now=at, max_sources=self.settings.cleanup.max_sources)
        materials = build_cleanup_materials(self.tree, findings, texts, losses, self.settings, at)
        lint = make_lint("cleanup", now=at, protected=texts, read_only=materials.read_only, losses_left=losses)
        scratch = Scratch(self.tree, lint)
        operations = RulesEngine(self.settings, lambda: at).clean_up(scratch, materials)
        assert lint(scratch.before, scratch.tree, scratch.named) == []
        judged, wrong = judge_operations(
            operations, scratch.before, scratch.tree, protected=materials.protected, losses_left=losses
        )
        assert wrong == []
        assert [operation.op for operation in judged] == [operation.op for operation in operations]
        self.tree = dict(scratch.tree)
        return operations

    def text(self, path: str) -> str:
        """A file's text; short names are completed (`summary`, `decisions/x`, `requests/x`)."""
        return self.tree[path if path.endswith(".md") else f"memory/{path}.md"].decode("utf-8")

    def put(self, path: str, text: str) -> None:
        """A person writes a file."""
        self.tree[path if path.endswith(".md") else f"memory/{path}.md"] = text.encode("utf-8")

    def record(self, name: str) -> Record:
        """The record `decisions/x`."""
        record = Library(self.tree).get(f"memory/{name}.md")
        assert record is not None, f"{name} is not there or broken: {sorted(self.tree)}"
        return record

    def names(self, folder: str) -> list[str]:
        """Slugs in `decisions` or `requests`."""
        start = f"memory/{folder}/"
        return sorted(path.removeprefix(start).removesuffix(".md") for path in self.tree if path.startswith(start))

    def errors(self) -> list[Finding]:
        """The linter's errors of the tree."""
        return [f for f in lint_tree(self.tree, now=DAY_ONE) if f.severity == "error"]


def kinds(dispositions: Sequence[Disposition]) -> list[str]:
    """The kinds alone."""
    return [disposition.kind for disposition in dispositions]


def only(values: Collection[Any]) -> Any:
    """The one value."""
    (value,) = values
    return value
