"""What the rules make of a folder of sessions: the counts, and with `--read` each entry beside its lines.

    python -m benchmarks.activities FOLDER [--read] [--every N]

The bounds (design section 5): at most 1.5 activities a session on average, at least a quarter of the sessions
leave none. Whether the entries are worth keeping only a reader can say; `--read` puts both before their eyes.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from benchmarks.bench_workspace import throwaway_workspace
from hikidashi.capture.report import ExtractReport
from hikidashi.capture.run import extract
from hikidashi.hosts.registry import recognise
from hikidashi.hosts.transcript import Event, Position, ReadReport
from hikidashi.staging.entry import Entry

#: Characters of an event and events shown beside an entry.
_WIDTH = 150
_SHOWN = 14


def counts(report: ExtractReport) -> dict[str, object]:
    """The figures of one extraction."""
    sessions = {result.path: result.entries for result in report.results}
    empty = sum(1 for entries in sessions.values() if not entries)
    kinds = Counter(f"{entry.kind}{':' if entry.status else ''}{entry.status}" for entry in report.new)
    return {
        "sessions": len(sessions),
        "activities": len(report.new),
        "per session": round(len(report.new) / max(1, len(sessions)), 2),
        "sessions without": empty,
        "share without": round(empty / max(1, len(sessions)), 2),
        **dict(sorted(kinds.items())),
    }


def _told(event: Event) -> str:
    text = " ".join(event.text.split())[:_WIDTH]
    if event.kind == "tool_call":
        given = event.input.get("command") or event.input.get("file_path") or ""
        return f"  -> {event.tool} {' '.join(str(given).split())[:_WIDTH]}"
    if event.kind == "tool_result":
        return f"  <- {event.tool} {event.outcome} {text}" if event.tool == "Bash" or event.outcome == "failed" else ""
    return f"{event.kind.upper()}: {text}" if event.kind in ("user", "assistant", "interrupt", "link") else ""


def _beside(entry: Entry, path: Path) -> list[str]:
    """What the session says at the entry's lines, and how it ended."""
    known = recognise(path)
    if known is None:
        return []
    events = known[0].events(
        path, start=Position(), report=ReadReport(), max_line_bytes=64 << 20, seen=set()
    )  # fmt: skip
    told = [(event.line, _told(event)) for event in events]
    told = [(line, text) for line, text in told if text]
    first, last = entry.source.lines
    within = [f"{line:6} {text}" for line, text in told if first <= line <= last]
    if len(within) > 2 * _SHOWN:
        within = [*within[:_SHOWN], f"       … {len(within) - 2 * _SHOWN} more …", *within[-_SHOWN:]]
    after = [f"{line:6} {text}" for line, text in told if line > last]
    return [*within, *(["       … afterwards …", *after[-5:]] if after else [])]


def _print(entry: Entry, path: Path) -> None:
    print(f"\n{'=' * 100}\n{entry.kind} {entry.status} · trust {entry.trust} · {path.parent.name}/{path.name}")
    print(f"TITLE  {entry.title}\nWHY    {entry.why}\nQUOTE  {entry.quote}\nTOPIC  {entry.topic}")
    print("BODY   " + entry.body.replace("\n", "\n       "))
    print("-" * 100)
    print("\n".join(_beside(entry, path)))


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Count and read what the rules extract from a folder of sessions.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--read", action="store_true", help="print each entry beside the lines that it comes from")
    parser.add_argument("--every", type=int, default=1, help="with --read: only every Nth entry")
    arguments = parser.parse_args()
    with throwaway_workspace() as (workspace, settings, connection):
        report = extract(workspace, settings, connection, paths=[arguments.folder])
    if arguments.read:
        paths = iter([result.path for result in report.results for _ in range(result.entries)])
        for number, (entry, path) in enumerate(zip(report.new, paths, strict=True)):
            if number % arguments.every == 0:
                _print(entry, path)
    for name, value in counts(report).items():
        print(f"{name:20} {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
