"""Phase 1 without a model: from transcripts on disk to staged entries, in MB/s of one core.

    python -m benchmarks.phase1 FOLDER [--repeat N]

Each pass extracts the folder into a fresh workspace: reader, rules, redaction, SQLite and entry files. Beside it,
in the same run, the floor under any reader: every line parsed with orjson and thrown away. CPU seconds of this
process are the measure (a core's worth of work); wall-clock time is shown, because files are flushed to disk.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from pathlib import Path

import orjson

from benchmarks.bench_workspace import throwaway_workspace
from hikidashi.capture.run import extract
from hikidashi.hosts.registry import transcripts_under
from hikidashi.hosts.transcript import Position, ReadReport

#: The target of design section 11.
TARGET_MB_S = 50.0


def _megabytes(folder: Path) -> float:
    return sum(file.size for _host, file in transcripts_under(folder)) / 1e6


def parse_only(folder: Path) -> float:
    """CPU seconds for parsing every line with orjson."""
    files = [file.path for _host, file in transcripts_under(folder)]
    began = time.process_time()
    for path in files:
        with path.open("rb") as stream:
            for line in stream:
                try:
                    orjson.loads(line)
                except orjson.JSONDecodeError:
                    continue
    return time.process_time() - began


def read_only(folder: Path) -> float:
    """CPU seconds for the event stream alone."""
    files = transcripts_under(folder)
    began = time.process_time()
    for host, file in files:
        report = ReadReport()
        for _event in host.events(file.path, start=Position(), report=report, max_line_bytes=64 << 20, seen=set()):
            pass
    return time.process_time() - began


def whole(folder: Path) -> tuple[float, float, int]:
    """CPU and wall seconds of one extraction into a fresh workspace, and its entries."""
    with throwaway_workspace() as (workspace, settings, connection):
        cpu, wall = time.process_time(), time.perf_counter()
        report = extract(workspace, settings, connection, paths=[folder])
        return time.process_time() - cpu, time.perf_counter() - wall, len(report.new)


def main() -> int:
    """Run from the command line; exit code 1 when the target is missed."""
    parser = argparse.ArgumentParser(description="Measure extraction without a model.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeat", type=int, default=3, help="passes; the best one counts")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    size = _megabytes(arguments.folder)
    parse = min(parse_only(arguments.folder) for _ in range(arguments.repeat))
    read = min(read_only(arguments.folder) for _ in range(arguments.repeat))
    cpu, wall, entries = min(whole(arguments.folder) for _ in range(arguments.repeat))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
    figures = {
        "MB": round(size, 1),
        "parsing only, MB/s": round(size / parse, 1),
        "event stream, MB/s": round(size / read, 1),
        "extract, MB/s of one core": round(size / cpu, 1),
        "extract, MB/s by the clock": round(size / wall, 1),
        "extract, times parsing": round(cpu / parse, 2),
        "entries": entries,
        "peak memory, MB": round(peak, 1),
    }
    if arguments.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:28} {value}")
    return 0 if size / cpu >= TARGET_MB_S else 1


if __name__ == "__main__":
    sys.exit(main())
