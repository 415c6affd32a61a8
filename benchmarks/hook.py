"""What a hook costs: the whole process at each event, beside bare Python and node.

    python -m benchmarks.hook [--facts N] [--rounds N]

A workspace with 10,000 facts (those of `benchmarks.recall`), a summary and ten sessions of memory is made in a home of
its own. Each event is answered by a process as the host starts it, in turns with `python -I -S -c "import sqlite3,
json"` and with `node -e 0`, since other programs disturb: printed are the median and the best of wall and processor
time in milliseconds, and the median ratio of the two processor times in a round. Exit code 1 when UserPromptSubmit
takes more than twice the bare one's (design section 11).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from benchmarks.recall import PACKAGE, Made, made, questions
from hikidashi.db.connection import transaction
from hikidashi.rules_version import RULES_VERSION
from hikidashi.worker.adopt import found_workspace

#: The target of design section 11: times a bare process.
TARGET = 2.0

HOOK = PACKAGE / "serve" / "hook.py"
BARE = [sys.executable, "-I", "-S", "-c", "import sqlite3, json"]

_MESSAGES = {
    "silent": "Done: the totals agree now, and the tests pass. I changed two files.",
    "claims": "I cannot deploy it, since I have no credentials for that here.",
}


def _workspace(folder: Path, count: int) -> tuple[Path, Made]:
    root = folder / "project"
    root.mkdir()
    workspace = found_workspace(root)
    for suffix in ("", "-wal", "-shm"):
        workspace.database.with_name(workspace.database.name + suffix).unlink(missing_ok=True)
    here = made(workspace.database, count)
    with transaction(here.connection):
        here.connection.execute("INSERT INTO meta (key, value) VALUES ('workspace_id', ?)", (workspace.id,))
        here.connection.execute("UPDATE facts SET rules_version = ?", (RULES_VERSION,))
    lines = "\n".join(f"- {here.words.sentence(12)}" for _ in range(40))
    (workspace.memory / "summary.md").write_text(f"---\nupdated_at: x\n---\n## Decisions in force\n\n{lines}\n")
    return root, here


def _inputs(root: Path, here: Made) -> dict[str, list[dict[str, str]]]:
    """For each row of the table the events that are sent, one a round and then again from the first."""
    asked = questions(here, 30)
    form = {"cwd": str(root), "transcript_path": "", "source": "startup"}
    prompts = [*asked["key"], *asked["alias"]]
    return {
        "SessionStart": [form],
        "UserPromptSubmit": [{**form, "prompt": prompt} for prompt in prompts],
        "UserPromptSubmit, a page": [{**form, "prompt": prompt} for prompt in asked["a page"]],
        "UserPromptSubmit, nothing found": [{**form, "prompt": "thanks, that looks right"}],
        "Stop": [{**form, "last_assistant_message": _MESSAGES["silent"]}],
        "Stop, a claim": [{**form, "last_assistant_message": _MESSAGES["claims"]}],
        "SubagentStart": [{**form, "agent_type": "Explore", "agent_id": "a"}],
        "no workspace": [{**form, "cwd": str(root.parent), "prompt": "deploy it"}],
    }


def _run(command: Sequence[str], given: bytes) -> tuple[float, float]:
    """Wall and processor time in milliseconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, input=given, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall * 1000, spent * 1000


def _measure(name: str, events: list[dict[str, str]], rounds: int) -> float:
    """Print a row; gives the median ratio of processor times."""
    event = name.partition(",")[0] if name != "no workspace" else "UserPromptSubmit"
    node = shutil.which("node")
    ours, bare, nodes = [], [], []
    for number in range(rounds + 1):
        values = {**events[number % len(events)], "hook_event_name": event, "session_id": f"{name}-{number}"}
        ours.append(_run([sys.executable, "-I", "-S", str(HOOK), event], json.dumps(values).encode()))
        bare.append(_run(BARE, b""))
        if node:
            nodes.append(_run([node, "-e", "0"], b""))
    ours, bare, nodes = ours[1:], bare[1:], nodes[1:]  # the first one compiles
    ratio = statistics.median(a[1] / b[1] for a, b in zip(ours, bare, strict=True))
    row = [f"  {name:<34}"]
    for figures in (ours, bare, nodes):
        for kind in (0, 1):
            taken = [figure[kind] for figure in figures]
            row.append(f"{statistics.median(taken):>6.0f} /{min(taken):>4.0f}" if taken else f"{'-':>12}")
    print("".join(row) + f"{ratio:>8.2f}")
    return ratio


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; gives 1 when the target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hook", description="What a hook costs.")
    parser.add_argument("--facts", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=20, help="of each event (default 20)")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="hikidashi-bench-") as name:
        folder = Path(name)
        os.environ |= {"HOME": str(folder / "home"), "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}
        os.environ["HIKIDASHI_CAPTURE_AUTOMATIC"] = "0"
        root, here = _workspace(folder, given.facts)
        with closing(here.connection):
            inputs = _inputs(root, here)
        print(f"{given.facts:,} facts; milliseconds, median / best of {given.rounds}")
        heads = ("hook: wall", "processor", "bare: wall", "processor", "node: wall", "processor")
        print(f"  {'':<34}" + "".join(f"{head:>12}" for head in heads) + f"{'ratio':>8}")
        ratios = {name: _measure(name, events, given.rounds) for name, events in inputs.items()}
    return 0 if ratios["UserPromptSubmit"] <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
