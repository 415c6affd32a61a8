"""How fast transcripts are read, beside the least that any reader must do: parse each line.

    python -m benchmarks.reader [FOLDER]

Without a folder it writes sessions of its own: prompts, shell calls with outputs of a few kilobytes, edits,
file reads, progress lines and file snapshots, in the proportions of real sessions.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import orjson

from hikidashi.hosts.registry import transcripts_under
from hikidashi.hosts.transcript import Position, ReadReport
from tests.transcripts import Session

__all__ = ["main", "write_sessions"]

_ROUNDS = 3
_WORDS = [
    "the",
    "build",
    "test",
    "of",
    "module",
    "server",
    "token",
    "cache",
    "route",
    "failed",
    "passed",
    "import",
    "from",
    "file",
    "line",
    "error",
    "in",
    "at",
]


def write_sessions(folder: Path, count: int, steps: int) -> None:
    """Write `count` sessions of `steps` steps each, the same on every run."""
    chance = random.Random(20260301)
    for number in range(count):
        session = Session(version="2.1.42", name=f"session {number}", cwd=str(folder))
        for _ in range(steps):
            _step(session, chance)
        session.write(folder / f"{session.session_id}.jsonl")


def _step(session: Session, chance: random.Random) -> None:
    kind = chance.random()
    if kind < 0.06:
        session.user(_text(chance, 30))
        session.add({"type": "file-history-snapshot", "messageId": "m", "snapshot": {"files": _text(chance, 150)}})
    elif kind < 0.45:
        session.progress(hookEvent="PreToolUse", hookName="PreToolUse:Bash", command=_text(chance, 12))
        session.runs(_text(chance, 8), _text(chance, chance.choice((5, 60, 600))), exit_code=chance.random() < 0.2)
    elif kind < 0.65:
        session.edits("/src/app.py", _text(chance, 200), _text(chance, 200))
    elif kind < 0.85:
        call_id = session.call("Read", {"file_path": "/src/app.py"})
        body = _text(chance, 900)
        session.result(call_id, body, structured={"type": "text", "file": {"filePath": "/src/app.py", "content": body}})
    else:
        session.thinks(_text(chance, 80))
        session.says(_text(chance, 60))


def _text(chance: random.Random, words: int) -> str:
    return "\n".join(" ".join(chance.choices(_WORDS, k=8)) for _ in range(max(1, words // 8)))


def _parse_each_line(folder: Path) -> int:
    size = 0
    for _, file in transcripts_under(folder):
        data = file.path.read_bytes()
        size += len(data)
        for line in data.split(b"\n"):
            if line:
                orjson.loads(line)
    return size


def _read_events(folder: Path) -> int:
    size = 0
    seen: set[bytes] = set()
    for host, file in transcripts_under(folder):
        report = ReadReport()
        for _ in host.events(file.path, start=Position(), report=report, max_line_bytes=1 << 26, seen=seen):
            pass
        size += report.offset
    return size


def _best(run: Callable[[Path], int], folder: Path) -> float:
    """Megabytes per second of processor time, the best of a few rounds."""
    best = 0.0
    for _ in range(_ROUNDS):
        started = time.process_time()
        size = run(folder)
        best = max(best, size / 1e6 / (time.process_time() - started))
    return best


def main(arguments: Sequence[str]) -> int:
    """Print both rates and their ratio."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reader", description="How fast transcripts are read.")
    parser.add_argument("folder", type=Path, nargs="?", help="transcripts; made up when left out")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder or Path(made)
        if given.folder is None:
            write_sessions(folder, count=10, steps=1_000)
        files = [file for _, file in transcripts_under(folder)]
        size = sum(file.size for file in files)
        print(f"{len(files)} transcripts, {size / 1e6:.1f} MB")
        parsing, reading = _best(_parse_each_line, folder), _best(_read_events, folder)
        print(f"parse each line  {parsing:7.1f} MB/s")
        print(f"read events      {reading:7.1f} MB/s   {parsing / reading:.2f} times as long")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
