"""A transcript of 600 MB is read in bounded memory and committed in pieces."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.capture_sessions import finished_session
from tests.transcripts import Session, dump

ROOT = Path(__file__).resolve().parents[2]

#: What a process that extracts may hold, Python itself included.
MAX_MEGABYTES = 220

CHILD = """
import json, resource, sys
from pathlib import Path
from tests.capture_workspace import desk
with desk(Path(sys.argv[1])) as here:
    report = here.extract(Path(sys.argv[2]))
    marks = here.connection.execute("SELECT byte_offset FROM watermarks").fetchone()[0]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"peak": peak / (1024 if sys.platform != "darwin" else 1 << 20), "new": len(report.new),
                  "lines": report.lines, "bytes": report.bytes, "marks": marks}))
"""


def write_large(path: Path, megabytes: int) -> int:
    """Long outputs, many short lines between them, and finished work at the end; gives the number of lines."""
    session = Session(name="large")
    session.user("Show the order number on the receipt page")
    session.runs("cat big.log", "x" * 240_000)
    session.says("It is long.")
    template = [dump(line) for line in session.lines[1:]]
    lines = 1
    with path.open("wb") as stream:
        stream.write(dump(session.lines[0]))
        size, number = 0, 0
        while size < megabytes * 1_000_000:
            number += 1
            mark = f"{number:012d}".encode()
            for raw, line in zip(template, session.lines[1:], strict=True):
                text = raw.replace(line["uuid"].encode(), line["uuid"][:24].encode() + mark)
                text = text.replace(b"toolu_", b"toolu_" + mark)
                stream.write(text)
                size += len(text)
                lines += 1
        for line in finished_session(name="end of it").lines:
            stream.write(dump(line))
            lines += 1
    return lines


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="resource")
def test_600_megabytes_are_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    lines = write_large(path, 600)
    ended = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path / "shop"), str(path)],
        cwd=ROOT,
        timeout=900,
        check=True,
        capture_output=True,
    )
    figures = json.loads(ended.stdout)
    assert figures["lines"] == lines
    assert figures["bytes"] == figures["marks"] == path.stat().st_size
    assert figures["new"] == 1
    assert figures["peak"] < MAX_MEGABYTES
