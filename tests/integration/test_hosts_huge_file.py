"""A huge, damaged transcript is read in bounded memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.transcripts import Session

MEGABYTE = 1 << 20

READ = """
import json, resource, sys
from pathlib import Path
from hikidashi.hosts.claude_code import HOST
from hikidashi.hosts.transcript import Position, ReadReport

report = ReadReport()
kinds = {}
for event in HOST.events(
    Path(sys.argv[1]), start=Position(), report=report, max_line_bytes=64 << 20, seen=set()
):
    kinds[event.kind] = kinds.get(event.kind, 0) + 1
status = Path("/proc/self/status")
if status.exists():
    # getrusage would carry over the peak of the test process, from before this program was started.
    lines = status.read_text().splitlines()
    peak = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"kinds": kinds, "skipped": report.skipped, "offset": report.offset, "peak": peak}))
"""


def write_huge(path: Path, size: int, long_line: int) -> int:
    """A session of `size` bytes with one line of `long_line` bytes, NUL runs and a cut end; gives its steps."""
    session = Session()
    session.user("build it")
    session.runs("make", "x" * 20_000)
    session.edits("/a.py", "o" * 5_000, "n" * 5_000)
    session.says("done")
    steps = 0
    with path.open("wb") as stream:
        while stream.tell() < size:
            for line in session.lines:
                # Each step is another one: copies would be repeats of the first.
                line["uuid"] = f"{line['type']}-{steps}-{line['uuid'][-6:]}"
            stream.write(session.data())
            steps += 1
            if steps == 10:
                stream.write(b'{"parentUuid":null,"type":"user","message":{"content":"')
                for _ in range(long_line // MEGABYTE):
                    stream.write(b"y" * MEGABYTE)
                stream.write(b'"}}\n')
            if steps % 1000 == 0:
                stream.write(b"\0" * 4096 + b"\n")
        stream.write(session.data()[:-700])
    return steps


def read_in_a_process(path: Path) -> dict[str, object]:
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True, env=environment, cwd=root
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is read with the resource module")
@pytest.mark.parametrize(
    ("size", "long_line", "limit"),
    [
        pytest.param(24 * MEGABYTE, 80 * MEGABYTE, 100 * MEGABYTE, id="24 MB beside an 80 MB line"),
        pytest.param(600 * MEGABYTE, 100 * MEGABYTE, 200 * MEGABYTE, id="600 MB", marks=pytest.mark.slow),
    ],
)
def test_a_huge_damaged_file_is_read_in_bounded_memory(size: int, long_line: int, limit: int, tmp_path: Path) -> None:
    path = tmp_path / "huge.jsonl"
    steps = write_huge(path, size, long_line)
    found = read_in_a_process(path)
    kinds, skipped = found["kinds"], found["skipped"]
    assert isinstance(kinds, dict) and isinstance(skipped, dict)
    assert skipped.get("too-long") == 1
    assert skipped.get("nul", 0) == steps // 1000
    assert kinds["user"] == steps + 1
    assert kinds["tool_result"] >= 2 * steps
    assert isinstance(found["peak"], int) and found["peak"] < limit
    path.unlink()
