"""`classify`: what transcripts show, candidate by candidate, without storing anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hikidashi.capture.classify import Promotion, command_line
from hikidashi.capture.evidence import Nothing
from hikidashi.capture.lasting import Lasting
from hikidashi.drawer.fact import Draft, Sighting
from hikidashi.hosts.transcript import Host, Position, ReadReport, SessionFile

__all__ = ["Candidate", "Classified", "classify_files"]


@dataclass(slots=True, kw_only=True)
class Candidate:
    """One key with all that bears it out, over all files."""

    draft: Draft
    sightings: list[Sighting] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        draft = self.draft
        return {
            "type": draft.type,
            "key": draft.key,
            "body": draft.body,
            "proof": draft.proof,
            "probe": list(draft.probe),
            "trust": draft.trust,
            "evidence": [
                {
                    "file": sighting.path,
                    "line": sighting.line,
                    "verb": sighting.verb or None,
                    "tool": sighting.tool or None,
                    "target": sighting.target or None,
                    "outcome": sighting.outcome,
                }
                for sighting in self.sightings
            ],
        }


@dataclass(slots=True, kw_only=True)
class Classified:
    """What a folder of transcripts shows."""

    files: int = 0
    #: Shell calls; of a session and its copy both count.
    calls: int = 0
    candidates: dict[tuple[str, str], Candidate] = field(default_factory=dict)
    #: With `explain`: file and why, for each shell call that shows no success.
    nothing: list[tuple[Path, Nothing]] = field(default_factory=list)
    #: Reason -> lines that were skipped.
    skipped: dict[str, int] = field(default_factory=dict)

    def add(self, draft: Draft, sightings: Iterable[Sighting]) -> None:
        """Take a draft and what bears it out; the same key is the same candidate, told as it was seen last."""
        known = self.candidates.setdefault((draft.scope, draft.key), Candidate(draft=draft))
        known.draft = draft
        known.sightings += sightings


def classify_files(
    files: Iterable[tuple[Host, SessionFile]], *, max_line_bytes: int, explain: bool = False
) -> Classified:
    """Read whole transcripts. Raises `OSError` of a file."""
    told = Classified()
    for host, file in files:
        told.files += 1
        _classify(host, file, told, max_line_bytes=max_line_bytes, explain=explain)
    return told


def _classify(host: Host, file: SessionFile, told: Classified, *, max_line_bytes: int, explain: bool) -> None:
    promotion = Promotion(host.name, path=str(file.path), explain=explain)
    lasting = Lasting(host.name, str(file.path))
    report = ReadReport()
    # Each file is judged for itself, whichever others are given: what another one told counts here too.
    seen: set[bytes] = set()
    for event in host.events(file.path, start=Position(), report=report, max_line_bytes=max_line_bytes, seen=seen):
        promotion.feed(event)
        for draft, sighting in lasting.feed(event):
            told.add(draft, [sighting])
        if command_line(event):
            told.calls += 1
    for draft, sightings in promotion.drafts():
        told.add(draft, sightings)
    told.nothing += [(file.path, nothing) for nothing in promotion.nothings]
    for reason, count in report.skipped.items():
        told.skipped[reason] = told.skipped.get(reason, 0) + count
