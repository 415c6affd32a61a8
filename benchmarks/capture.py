"""What `classify` finds in labelled sessions, beside plain patterns, and how fast.

    python -m benchmarks.capture FOLDER [--project NAME]... [--mistakes] [--json]

FOLDER holds transcripts and `labels.json` (capabilities, traps, rules; lines count from 0). Scored per file on the
set of (verb, tool); rows in doubt count neither way. A call on a trap line that gives evidence of a verb that it must
not is a wrong one. The baseline, in the same run: one pattern a tool over the command, and the host's error flag.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hikidashi.capture.classified import Classified, classify_files
from hikidashi.capture.classify import command_line
from hikidashi.hosts.registry import recognise
from hikidashi.hosts.transcript import Host, Position, ReadReport, SessionFile

#: The targets of design section 11.
PRECISION, RECALL, TRAPS = 0.95, 0.90, 0.02

_MAX_LINE = 64 << 20

#: Patterns as one would write them first.
PLAIN: tuple[tuple[str, str, str], ...] = (
    ("deploy", "pm2", r"\bpm2 (?:start|restart|reload)\b"),
    ("deploy", "rsync", r"\brsync\b"),
    ("deploy", "vercel", r"\bvercel\b"),
    ("deploy", "aws", r"\baws s3 (?:cp|sync)\b"),
    ("deploy", "firebase", r"\bfirebase deploy\b"),
    ("publish", "npm", r"\bnpm publish\b"),
    ("publish", "twine", r"\btwine upload\b"),
    ("push", "git", r"\bgit push\b"),
    ("auth", "gh", r"\bgh (?:auth status|api|pr|repo|issue|run)\b"),
    ("auth", "aws", r"\baws sts\b"),
    ("auth", "curl", r"\bcurl\b.*Authorization"),
    ("build", "npm", r"\b(?:npm|pnpm|yarn|bun) run build\b"),
    ("build", "cargo", r"\bcargo build\b"),
    ("build", "gradle", r"\bgradlew? \S*(?:build|assemble)"),
    ("test", "npm", r"\b(?:npm|pnpm|yarn|bun)(?: run)? test\b"),
    ("test", "pytest", r"\bpytest\b"),
    ("test", "vitest", r"\bvitest\b"),
    ("test", "jest", r"\bjest\b"),
    ("test", "cargo", r"\bcargo test\b"),
    ("test", "go", r"\bgo test\b"),
    ("connect-db", "psql", r"\bpsql\b"),
    ("connect-db", "redis-cli", r"\bredis-cli\b"),
    ("connect-ssh", "ssh", r"\bssh \S+@\S+"),
    ("container", "docker compose", r"\bdocker[- ]compose up\b"),
)


@dataclass(slots=True, kw_only=True)
class Shown:
    """One piece of evidence."""

    file: str
    line: int
    verb: str
    tool: str
    target: str = ""


@dataclass(slots=True, kw_only=True)
class Score:
    """How evidence agrees with the labels."""

    right: int = 0
    wrong: list[Shown] = field(default_factory=list)
    missed: list[dict[str, Any]] = field(default_factory=list)
    found: int = 0
    wanted: int = 0
    targets: int = 0
    traps_hit: list[dict[str, Any]] = field(default_factory=list)
    traps: int = 0

    @property
    def precision(self) -> float:
        """Share of what was told that is labelled."""
        return self.right / max(1, self.right + len(self.wrong))

    @property
    def recall(self) -> float:
        """Share of what is labelled that was told."""
        return self.found / max(1, self.wanted)

    @property
    def trap_share(self) -> float:
        """Share of the trap lines that gave evidence of what they must not."""
        return len(self.traps_hit) / max(1, self.traps)


def score(shown: Iterable[Shown], labels: dict[str, Any], files: Iterable[str]) -> Score:
    """Compare evidence with the labelled capabilities and traps of `files`."""
    told = Score()
    by_file: dict[str, list[Shown]] = {}
    for one in shown:
        by_file.setdefault(one.file, []).append(one)
    for name in files:
        rows = [row for row in labels["capabilities"] if row["f"] == name]
        traps = [row for row in labels["traps"] if row["f"] == name]
        _score_file(told, by_file.get(name, []), rows, traps)
    return told


def _score_file(told: Score, shown: list[Shown], rows: list[dict[str, Any]], traps: list[dict[str, Any]]) -> None:
    told.traps += len(traps)
    trapped: list[Shown] = []
    for trap in traps:
        hits = [one for one in shown if one.line == trap["ln"] and _is_not(trap, one.verb)]
        if hits:
            told.traps_hit.append(trap)
            trapped += hits
    pairs: dict[tuple[str, str], Shown] = {}
    for one in shown:
        pairs.setdefault((one.verb, one.tool), one)
    told.wrong += trapped
    for one in pairs.values():
        agreeing = [row for row in rows if _agrees(row, one)]
        if any(not row.get("doubt") for row in agreeing):
            told.right += 1
            told.targets += any(_same_target(row, other) for row in agreeing for other in shown if _agrees(row, other))
        elif not agreeing and not any(hit.verb == one.verb and hit.tool == one.tool for hit in trapped):
            told.wrong.append(one)
    wanted: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        if not row.get("doubt"):
            wanted.setdefault((row["verb"], row["tool"]), row)
    told.wanted += len(wanted)
    for row in wanted.values():
        if any(_agrees(row, one) for one in shown):
            told.found += 1
        else:
            told.missed.append(row)


def _is_not(trap: dict[str, Any], verb: str) -> bool:
    return not trap.get("not_verbs") or verb in trap["not_verbs"]


def _agrees(row: dict[str, Any], one: Shown) -> bool:
    return bool(row["verb"] == one.verb and one.tool in (row["tool"], *row.get("alt_tool", ())))


def _same_target(row: dict[str, Any], one: Shown) -> bool:
    told = one.target.lower()
    names = [str(name).lower() for name in (row["target"], *row.get("alt_target", ()))]
    return any(told == name or told.endswith("/" + name) or name.endswith("/" + told) for name in names)


def classified_evidence(told: Classified, root: Path) -> tuple[list[Shown], list[Shown]]:
    """What `classify` found: capabilities, and rules."""
    capabilities: list[Shown] = []
    rules: list[Shown] = []
    for candidate in told.candidates.values():
        for seen in candidate.sightings:
            name = Path(seen.path).relative_to(root).as_posix()
            one = Shown(file=name, line=seen.line, verb=seen.verb, tool=seen.tool, target=seen.target)
            (rules if candidate.draft.type == "rule" else capabilities).append(one)
    return capabilities, rules


def plain_patterns(files: Iterable[tuple[Host, SessionFile]], root: Path) -> Iterator[Shown]:
    """The baseline's evidence."""
    patterns = [(verb, tool, re.compile(pattern)) for verb, tool, pattern in PLAIN]
    for host, file in files:
        name = file.path.relative_to(root).as_posix()
        for event in host.events(
            file.path, start=Position(), report=ReadReport(), max_line_bytes=_MAX_LINE, seen=set()
        ):
            line = command_line(event)
            if line and event.outcome == "ok":
                for verb, tool, pattern in patterns:
                    if pattern.search(line):
                        yield Shown(file=name, line=event.call_line, verb=verb, tool=tool)


def rule_score(rules: list[Shown], labels: dict[str, Any], files: set[str]) -> tuple[int, int, int, int]:
    """(right, told, found, wanted) of a person's lasting imperatives, by line."""
    rows = [row for row in labels["rules"] if row["f"] in files]
    doubtful = {(row["f"], row["ln"]) for row in rows if row.get("doubt")}
    wanted = {(row["f"], row["ln"]) for row in rows} - doubtful
    told = {(one.file, one.line) for one in rules} - doubtful
    return len(told & wanted), len(told), len(told & wanted), len(wanted)


def measure(folder: Path, projects: list[str]) -> dict[str, Any]:
    """Everything there is to tell about a folder, or some projects (first folders) of it."""
    root = folder.resolve()
    labels = json.loads((root / "labels.json").read_text(encoding="utf-8"))
    names = [name for name in labels["files"] if not projects or name.split("/")[0] in projects]
    files = [known for name in names if (known := recognise(root / name)) is not None]
    size = sum(file.size for _, file in files)
    began = time.process_time()
    told = classify_files(files, max_line_bytes=_MAX_LINE)
    seconds = time.process_time() - began
    shown, rules = classified_evidence(told, root)
    return {
        "files": len(files),
        "calls": told.calls,
        "candidates": len(told.candidates),
        "candidates per 50 calls": 50 * len(told.candidates) / max(1, told.calls),
        "MB/s": size / 1e6 / max(seconds, 1e-9),
        "classify": score(shown, labels, names),
        "plain": score(plain_patterns(files, root), labels, names),
        "rules": rule_score(rules, labels, set(names)),
        "keys": [key for _, key in told.candidates],
    }


def _row(name: str, one: Score) -> str:
    return (
        f"{name:16} {one.precision:9.3f} {one.recall:8.3f} {one.trap_share:8.1%}"
        f"   {one.right} right, {len(one.wrong)} wrong, {len(one.missed)} missed,"
        f" {len(one.traps_hit)} of {one.traps} traps, {one.targets} targets named alike"
    )


def _show(told: dict[str, Any], *, mistakes: bool) -> None:
    print(f"{'':16} {'precision':>9} {'recall':>8} {'traps':>8}")
    print(_row("classify", told["classify"]))
    print(_row("plain patterns", told["plain"]))
    right, said, found, wanted = told["rules"]
    print(f"rules: precision {right}/{said}, recall {found}/{wanted}")
    share = told["candidates per 50 calls"]
    print(f"candidates: {told['candidates']}, {share:.2f} per 50 of {told['calls']} shell calls")
    print(f"speed: {told['MB/s']:.1f} MB/s")
    if mistakes:
        own: Score = told["classify"]
        for wrong in own.wrong:
            print(f"wrong   {wrong.file}:{wrong.line}  {wrong.verb} {wrong.tool} {wrong.target}")
        for row in own.missed:
            print(f"missed  {row['f']}:{row['ln']}  {row['verb']} {row['tool']} {row['target']}")
        for trap in own.traps_hit:
            print(f"trap    {trap['f']}:{trap['ln']}  {trap['why']}")
        for key in told["keys"]:
            print(f"key     {key}")


def _figures(told: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = {key: value for key, value in told.items() if key not in ("classify", "plain", "keys")}
    for name in ("classify", "plain"):
        one: Score = told[name]
        plain[name] = {"precision": one.precision, "recall": one.recall, "traps": one.trap_share}
    return plain


def main() -> int:
    """Run from the command line; exit code 1 when a target is missed."""
    parser = argparse.ArgumentParser(description="Score classify on labelled sessions.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--project", action="append", default=[], help="score these first folders only")
    parser.add_argument("--mistakes", action="store_true", help="list what was wrong, missed and trapped")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if not (arguments.folder / "labels.json").is_file():
        parser.error(f"{arguments.folder} holds no labels.json: give a folder of labelled sessions")
    told = measure(arguments.folder, arguments.project)
    if arguments.json:
        print(json.dumps(_figures(told)))
    else:
        _show(told, mistakes=arguments.mistakes)
    own: Score = told["classify"]
    good = own.precision >= PRECISION and own.recall >= RECALL and own.trap_share <= TRAPS
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
