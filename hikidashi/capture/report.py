"""What one extraction did: the form of `extract --json` and of its lines for people."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from hikidashi.capture.model_report import ModelReport
from hikidashi.drawer.fact import Draft
from hikidashi.drawer.gate import Proposal
from hikidashi.drawer.rescan import Rescanned
from hikidashi.staging.entry import Entry

__all__ = ["ExtractReport", "FileResult"]


@dataclass(slots=True, kw_only=True)
class FileResult:
    """One transcript."""

    path: Path
    host: str
    session_id: str = ""
    bytes: int = 0
    lines: int = 0
    entries: int = 0
    #: Reason -> lines (or pieces) of this file that were skipped, in all readings of it.
    skipped: dict[str, int] = field(default_factory=dict)
    #: Why it could not be read; '' when it was.
    error: str = ""

    def to_dict(self) -> dict[str, object]:
        """The JSON form; keys are stable."""
        return {
            "path": str(self.path),
            "host": self.host,
            "session_id": self.session_id,
            "bytes": self.bytes,
            "lines": self.lines,
            "new_entries": self.entries,
            "skipped": dict(sorted(self.skipped.items())),
            "error": self.error,
        }


@dataclass(slots=True, kw_only=True)
class ExtractReport:
    """One call of `extract`; filled while it goes."""

    #: Another process was extracting: the paths wait for it, nothing was read here.
    queued: bool = False
    #: Since when the workspace is paused: then nothing was read; None when it is not.
    paused_since: str | None = None
    #: Transcripts found, and of those the ones that had not changed.
    files: int = 0
    unchanged: int = 0
    bytes: int = 0
    lines: int = 0
    #: Reason -> lines (or pieces of lines) that were skipped in this reading.
    skipped: dict[str, int] = field(default_factory=dict)
    #: Kind of activity -> new entries.
    kinds: dict[str, int] = field(default_factory=dict)
    new: list[Entry] = field(default_factory=list)
    results: list[FileResult] = field(default_factory=list)
    #: ID -> key of the candidates that began to wait.
    candidates: dict[str, str] = field(default_factory=dict)
    #: Keys of facts that calls bore out again.
    borne_out: set[str] = field(default_factory=set)
    #: What newer redaction rules found in the workspace's drawer.
    rescanned: Rescanned = field(default_factory=Rescanned)
    #: Entries of an earlier, interrupted extraction whose files were written now.
    recovered: int = 0
    #: What a model made of the sessions; None where the rules alone read them.
    model: ModelReport | None = None
    #: Activities that the rules found and that wait for the model to come to them.
    withheld: int = 0
    seconds: float = 0.0

    def add(self, entries: list[Entry]) -> None:
        """New entries that were committed."""
        self.new += entries
        for entry in entries:
            self.kinds[entry.kind] = self.kinds.get(entry.kind, 0) + 1

    def take_model(self, model: ModelReport) -> None:
        """What the pass of a model brought."""
        self.model = model
        self.add(model.new)
        self.candidates |= model.candidates

    def propose(self, proposals: list[tuple[Draft, Proposal]]) -> None:
        """Drafts that came before the gate, and what became of them."""
        for draft, proposal in proposals:
            if proposal.outcome == "new":
                # One that took the place of another under its key is the one that waits.
                self.candidates = {name: key for name, key in self.candidates.items() if key != draft.key}
                self.candidates[proposal.id] = draft.key
            elif proposal.outcome == "evidence":
                self.borne_out.add(draft.key)

    def to_dict(self) -> dict[str, object]:
        """The JSON form; keys are stable."""
        return {
            "queued": self.queued,
            "paused_since": self.paused_since,
            "files": self.files,
            "unchanged": self.unchanged,
            "bytes": self.bytes,
            "lines": self.lines,
            "skipped": dict(sorted(self.skipped.items())),
            "kinds": {kind: self.kinds.get(kind, 0) for kind in ("decision", "discussion", "attempt", "request")},
            "entries": [
                {
                    "id": entry.id,
                    "kind": entry.kind,
                    "status": entry.status,
                    "title": entry.title,
                    "why": entry.why,
                    "trust": entry.trust,
                    "source": entry.source.to_dict(),
                }
                for entry in self.new
            ],
            "candidates": [{"id": name, "key": key} for name, key in self.candidates.items()],
            "borne_out": sorted(self.borne_out),
            "redacted": list(self.rescanned.redacted),
            "results": [result.to_dict() for result in self.results],
            "recovered": self.recovered,
            "model": self.model.to_dict() if self.model is not None else None,
            "withheld": self.withheld,
            "seconds": round(self.seconds, 3),
        }
