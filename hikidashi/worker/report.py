"""What one run did: the form of `status --json`, `consolidate --json` and `show --json`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hikidashi.staging.entry import Disposition

__all__ = ["Operation", "OperationKind", "Outcome", "RunReport"]

#: How a run ended (design section 6, "Outcomes").
Outcome = Literal[
    "done",
    "partial",
    "idle",
    "busy",
    "aborted-lint",
    "budget",
    "conflict",
    "lost-claim",
    "crashed",
    "failed:auth",
    "failed:billing",
    "failed:overloaded",
    "failed:network",
    "failed:content",
]

OperationKind = Literal["drop", "merge", "split", "trim", "rewrite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One clean-up operation."""

    op: OperationKind
    #: Paths it took from or changed, relative to `.hikidashi/`.
    paths: tuple[str, ...]
    #: Paths that hold the text now (merge, split); empty otherwise.
    into: tuple[str, ...] = ()
    #: One or more of outdated, superseded, unused, noisy.
    categories: tuple[str, ...]
    reason: str


@dataclass(slots=True, kw_only=True)
class RunReport:
    """One run; filled while it goes."""

    run_id: str
    engine: str
    outcome: Outcome = "idle"
    #: One line for people: what happened, or why nothing did.
    message: str = ""
    started_at: str = ""
    seconds: float = 0.0
    consumed: int = 0
    remaining: int = 0
    dispositions: list[Disposition] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    #: Object IDs of the commits in history.git: integration, clean-up.
    commits: dict[str, str] = field(default_factory=dict)
    turns: int = 0
    #: input, output, cache_creation, cache_read.
    tokens: dict[str, int] = field(default_factory=dict)
    #: What recovery found and did before this run, one line each.
    recovered: list[str] = field(default_factory=list)
    #: What a person should know (read-only records, materials left out), one line each.
    notices: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, object]:
        """The JSON form; keys are stable."""
        by_kind: dict[str, int] = {}
        for disposition in self.dispositions:
            by_kind[disposition.kind] = by_kind.get(disposition.kind, 0) + 1
        return {
            "run_id": self.run_id,
            "engine": self.engine,
            "outcome": self.outcome,
            "message": self.message,
            "started_at": self.started_at,
            "seconds": round(self.seconds, 3),
            "consumed": self.consumed,
            "remaining": self.remaining,
            "dispositions": by_kind,
            "entries": [
                {"id": d.entry_id, "disposition": d.kind, "record": d.record, "reason": d.reason}
                for d in self.dispositions
            ],
            "operations": [
                {
                    "op": o.op,
                    "paths": list(o.paths),
                    "into": list(o.into),
                    "categories": list(o.categories),
                    "reason": o.reason,
                }
                for o in self.operations
            ],
            "commits": dict(self.commits),
            "turns": self.turns,
            "tokens": dict(self.tokens),
            "recovered": list(self.recovered),
            "notices": list(self.notices),
        }
