"""A session of 600 MB with lines of every size goes through `extract` in bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import Commands
from tests.support.project import Project, python_environ
from tests.transcripts import Session, dump

MEGABYTE = 1_000_000

#: Resident memory of the whole process, in megabytes; the largest line that is read has 50.
MOST = 320


#: The command, and then the peak of this process's own memory in kB. (What `wait4` says of a child begins with
#: the memory of the process that started it.)
_MEASURED = """
import sys
from hikidashi.cli.main import main
try:
    main()
finally:
    status = open("/proc/self/status").read()
    print(status.partition("VmHWM:")[2].split()[0], file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc")
def test_a_session_of_600_megabytes_takes_bounded_memory(tmp_path: Path, run: Commands) -> None:
    project = Project.made(tmp_path / "shop", run)
    path = tmp_path / "huge.jsonl"
    _write(project, path)
    assert path.stat().st_size > 600 * MEGABYTE

    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, "-C", str(project.root), "extract", "--no-consolidate", "--json", str(path)],
        env=python_environ(),
        capture_output=True,
        text=True,
        check=True,
    )
    report, peak = json.loads(done.stdout), int(done.stderr.split()[-1]) // 1_000
    print(f"peak {peak} MB")
    assert peak < MOST

    # All of it was read, the line that is too long was skipped and said, and both ends were understood.
    assert report["bytes"] == path.stat().st_size
    assert sum(report["skipped"].values()) == 2, report["skipped"]
    project.assert_whole([0, 1, 2])
    assert len(project.staged_files()) == 3
    again = run("extract", "--no-consolidate", "--json", str(path), cwd=project.root).json()
    assert (again["unchanged"], again["entries"]) == (1, [])


def _write(project: Project, path: Path) -> None:
    session = project.choices("huge", [0])
    with open(path, "wb") as stream:
        stream.write(session.data())
        _talk(session, stream, 200)
        # One line of 50 MB that is read, one of 100 MB that is too long, one of 30 MB that is no JSON.
        for size in (25, 50):  # which stands in a line twice
            session.lines.clear()
            session.ok(session.bash("cat big.log"), "x" * (size * MEGABYTE))
            stream.write(session.data())
        stream.write(b"{" * (30 * MEGABYTE) + b"\n")
        session.lines.clear()
        session.asks("Which port does service1 listen on?", ["port 9001 for service1", "no"], "port 9001 for service1")
        stream.write(session.data())
        _talk(session, stream, 230)
        session.lines.clear()
        session.asks("Which port does service2 listen on?", ["port 9002 for service2", "no"], "port 9002 for service2")
        stream.write(session.data())


def _talk(session: Session, stream: object, megabytes: int) -> None:
    """Ordinary calls with outputs of 8 kB, each line with IDs of its own."""
    written = 0
    output = "a line of some output that says nothing in particular\n" * 75
    while written < megabytes * MEGABYTE:
        session.lines.clear()
        session.runs("make report", output)
        data = b"".join(map(dump, session.lines))
        stream.write(data)  # type: ignore[attr-defined]
        written += len(data)
