"""How soon the MCP server answers, and what a call costs, beside a plain server on the protocol's own SDK.

    python -m benchmarks.mcp [--starts N] [--facts N] [--calls N]

Printed are, from the start of the process to the answer to `initialize`: wall time (median and worst), processor time
and peak memory of the process; for a bare interpreter that imports sqlite3 and json; for a server of one tool on the
SDK (only where the package `mcp` is installed). Then the first call, which loads what calls need, and further calls in
a workspace of so many facts: median and 99th percentile of the wall time. Exit code 1 when a target of design section
11 is missed: 300 ms and 40 MB on an idle machine. A start waits for nothing but the processor, so its processor time is
what counts on a busy one.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hikidashi
from hikidashi.db.connection import connect, transaction
from hikidashi.drawer.fact import Draft
from hikidashi.drawer.store import Drawer

ROOT = Path(hikidashi.__file__).parents[1]

#: Design section 11: milliseconds and megabytes.
TARGET_MS = 300.0
TARGET_MB = 40.0

START = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}
OURS = [sys.executable, "-m", "hikidashi", "mcp"]
#: Stays until it is ended, as a server does.
BARE_CODE = "import sqlite3, json, sys; sys.stdin.readline(); print('{}', flush=True); sys.stdin.read()"
BARE = [sys.executable, "-I", "-S", "-c", BARE_CODE]
SDK = [
    sys.executable,
    "-c",
    "from mcp.server import MCPServer\napp = MCPServer('plain')\n@app.tool()\ndef ask(key: str) -> str:\n"
    "    return key\napp.run('stdio')\n",
]


@dataclass(frozen=True, slots=True)
class Started:
    """One start."""

    wall_ms: float
    processor_ms: float
    peak_mb: float


def _spawn(command: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _ask(child: subprocess.Popen[bytes], number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    assert child.stdin is not None
    assert child.stdout is not None
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    child.stdin.write(json.dumps(message).encode() + b"\n")
    child.stdin.flush()
    answer: dict[str, Any] = json.loads(child.stdout.readline())
    return answer


def started(command: Sequence[str], folder: Path) -> Started:
    """Start a server, wait for its first answer, and see what it took until then."""
    began = time.perf_counter()
    child = _spawn(command, folder)
    _ask(child, 1, "initialize", START)
    wall = (time.perf_counter() - began) * 1000
    processor, peak = _taken(child.pid)
    child.kill()
    child.communicate()
    return Started(wall, processor, peak)


def _taken(pid: int) -> tuple[float, float]:
    """Processor time (ms) and peak memory (MB) of a running process; zeros where the system does not tell."""
    stat, status = Path(f"/proc/{pid}/stat"), Path(f"/proc/{pid}/status")
    if not stat.exists():
        return 0.0, 0.0
    fields = stat.read_text().rpartition(")")[2].split()
    ticks = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return ticks * 1000, int(peak.split()[1]) / 1024


def _workspace(folder: Path, facts: int) -> None:
    subprocess.run([sys.executable, "-m", "hikidashi", "init"], cwd=folder, check=True, capture_output=True)
    with closing(connect(folder / ".hikidashi" / "workspace.sqlite")) as connection, transaction(connection):
        drawer = Drawer(connection, "workspace")
        for number in range(facts):
            body = f"Service {number} goes to pier {number % 97} with `make ship-{number}`."
            drawer.put(
                Draft(
                    key=f"deploy:service-{number}",
                    type="capability",
                    body=body,
                    confidence=1.0,
                    trust="user",
                    origin="command",
                )
            )


def _calls(folder: Path, facts: int, calls: int) -> None:
    """Time calls of a server that runs."""
    child = _spawn(OURS, folder)
    _ask(child, 0, "initialize", START)

    def call(number: int, tool: str, **arguments: object) -> float:
        began = time.perf_counter()
        answer = _ask(child, number, "tools/call", {"name": tool, "arguments": arguments})
        taken = (time.perf_counter() - began) * 1000
        if answer["result"].get("isError"):
            raise RuntimeError(answer["result"]["content"][0]["text"])
        return taken

    print(f"first call            {call(1, 'memory_read', key='deploy:service-1'):7.1f} ms")
    kinds: dict[str, dict[str, object]] = {
        "memory_read, key": {"tool": "memory_read", "key": "deploy:service-{}"},
        "memory_read, words": {"tool": "memory_read", "query": "ship service-{} to its pier"},
        "memory_read, no such": {"tool": "memory_read", "key": "deploy:servce-{}"},
        "memory_search": {"tool": "memory_search", "query": "pier {}"},
    }
    for name, arguments in kinds.items():
        tool = str(arguments["tool"])
        given = [
            {key: str(value).format(number % facts) for key, value in arguments.items() if key != "tool"}
            for number in range(calls)
        ]
        times = sorted(call(number + 2, tool, **one) for number, one in enumerate(given))
        print(f"{name:21} {statistics.median(times):7.1f} ms   p99 {times[int(len(times) * 0.99) - 1]:7.1f} ms")
    print(f"memory after that     {_taken(child.pid)[1]:7.1f} MB")
    child.kill()
    child.communicate()


def main(arguments: Sequence[str]) -> int:
    """Measure, print, compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mcp", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--starts", type=int, default=15)
    parser.add_argument("--facts", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=100)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["HOME"] = os.environ["USERPROFILE"] = name
        _workspace(folder, given.facts)
        rivals = {"bare interpreter": BARE, "ours": OURS}
        if importlib.util.find_spec("mcp") is not None:
            rivals["server on the SDK"] = SDK
        runs: dict[str, list[Started]] = {rival: [] for rival in rivals}
        for command in rivals.values():  # compile and fill the disk's cache
            started(command, folder)
        for _ in range(given.starts):  # in turn, so that what else runs disturbs each alike
            for rival, command in rivals.items():
                runs[rival].append(started(command, folder))
        print(f"start to `initialize` answer, {given.starts} times; {given.facts:,} facts")
        for rival, some in runs.items():
            walls = [one.wall_ms for one in some]
            processor = statistics.median(one.processor_ms for one in some)
            peak = max(one.peak_mb for one in some)
            print(
                f"{rival:21} {statistics.median(walls):7.1f} ms   worst {max(walls):7.1f} ms   "
                f"processor {processor:6.0f} ms   peak {peak:5.1f} MB"
            )
        _calls(folder, given.facts, given.calls)
    ours = runs["ours"]
    times = [one.processor_ms or one.wall_ms for one in ours]
    missed = statistics.median(times) > TARGET_MS or max(one.peak_mb for one in ours) > TARGET_MB
    print("target missed" if missed else f"within {TARGET_MS:.0f} ms and {TARGET_MB:.0f} MB")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
