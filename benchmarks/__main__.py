"""All measurements, one after the other.

    python -m benchmarks [NAME]... [--help]     all of them, or those named
    python -m benchmarks.NAME [ARGUMENT]...     one of them, with arguments of its own

Figures and what they mean are in docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.reader import write_sessions

#: Name -> what it measures, in the order in which they run.
MEASUREMENTS = {
    "reader": "transcripts read, beside parsing their lines",
    "redact": "text searched for secrets",
    "secrets": "secrets caught, and harmless text taken for one",
    "phase1": "sessions to staged entries, per core",
    "activities": "what the rules make of a folder of sessions",
    "capture": "what classify finds in labelled sessions, beside plain patterns",
    "drawer": "a fact written, beside a bare insert and commit",
    "recall": "a turn's facts found among 100, 10,000 and 100,000",
    "hook": "a hook as the host starts it, beside bare Python and node",
    "mcp": "the MCP server from its start to its first answer, and calls",
    "pod": "tokens that each turn of a pod reads anew, with the server's cache and without",
    "consolidate": "200 entries into 1,000 records: time and peak memory",
}

#: Those that take a folder of sessions; made-up ones do for speed, and say nothing to the others.
_TAKE_SESSIONS = {"phase1": True, "activities": False, "capture": False}


def present() -> list[str]:
    """The measurements that this checkout has."""
    return [name for name in MEASUREMENTS if importlib.util.find_spec(f"benchmarks.{name}") is not None]


def _parser() -> argparse.ArgumentParser:
    listed = "\n".join(f"  {name:12} {MEASUREMENTS[name]}" for name in present())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Run the measurements, each in a process of its own.",
        epilog=f"measurements:\n{listed}\n\n`python -m benchmarks.NAME --help` tells what one takes.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="run these only")
    parser.add_argument("--sessions", metavar="FOLDER", help="transcripts for those that take some")
    return parser


def _made_up(name: str, folder: Path) -> str:
    """A folder of made-up sessions where they do, else ''."""
    if not _TAKE_SESSIONS.get(name):
        return ""
    write_sessions(folder, count=10, steps=1_000)
    return str(folder)


def main(arguments: Sequence[str]) -> int:
    """Run them; gives 1 when one failed."""
    parser = _parser()
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in present()]
    if unknown:
        parser.error(f"no measurement {', '.join(unknown)}: choose of {', '.join(present())}")
    failed = []
    with tempfile.TemporaryDirectory(prefix="hikidashi-bench-") as made:
        for name in given.names or present():
            print(f"== {name}: {MEASUREMENTS[name]}", flush=True)
            sessions = given.sessions or _made_up(name, Path(made))
            if name in _TAKE_SESSIONS and not sessions:
                print("left out: it needs --sessions FOLDER\n", flush=True)
                continue
            own = [sessions] if name in _TAKE_SESSIONS else []
            # A process each: what one loads and allocates is not charged to the next.
            done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *own], check=False)
            failed += [name] if done.returncode else []
            print(flush=True)
    if failed:
        print(f"failed, or missed its target: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
