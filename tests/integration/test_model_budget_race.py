"""Real processes spend one budget at once: it is never passed, also when some of them are killed in between."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from hikidashi.config.folders import data_folder
from hikidashi.db.connection import GLOBAL_DATABASE, connect
from hikidashi.db.migrations import migrate
from tests.support.ledgers import make_settings

ROOT = Path(__file__).resolve().parents[2]
WORKERS = 6

#: Forks the workers from one process, so that all are at the budget in the same moment.
SCRIPT = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from hikidashi.config.settings import load_settings
from hikidashi.db.connection import connect
from hikidashi.errors import BudgetSpent
from hikidashi.model.ledger import make_meter
from hikidashi.model.messages import Usage

def work(number, folder, killed):
    connection = connect(Path(folder) / "workspace.sqlite")
    meter = make_meter(connection, load_settings(None), f"RUN{{number}}")
    for turn in range(1000):
        try:
            ticket = meter.open("extraction", "local", 80, 20)
        except BudgetSpent:
            os._exit(0)
        if killed and number % 2 and turn == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        meter.close(ticket, Usage(input_tokens=60 + number, output_tokens=10), "ok", 0.1)
    os._exit(3)

folders, killed = sys.argv[2:], sys.argv[1] == "kill"
children = []
for number in range({workers}):
    child = os.fork()
    if not child:
        work(number, folders[number % len(folders)], killed)
    children.append(child)
print(*(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


def rows(path: Path) -> list[sqlite3.Row]:
    connection = connect(path)
    try:
        return connection.execute("SELECT state, counted_tokens FROM model_requests").fetchall()
    finally:
        connection.close()


@pytest.mark.skipif(sys.platform == "win32", reason="os.fork")
@pytest.mark.parametrize("killed", [False, True], ids=["all live", "half are killed"])
@pytest.mark.parametrize(("setting", "workspaces"), [("WORKER_DAY_TOKENS", 1), ("MEMORY_DAY_TOKENS", 3)])
def test_processes_cannot_pass_a_budget_together(
    tmp_path: Path, home: Path, killed: bool, setting: str, workspaces: int
) -> None:
    limit = 2_050
    folders = [tmp_path / f"w{number}" for number in range(workspaces)]
    for folder in folders:
        folder.mkdir()
        connection = connect(folder / "workspace.sqlite")
        migrate(connection)
        connection.close()
    script = SCRIPT.format(root=str(ROOT), workers=WORKERS)
    ran = subprocess.run(
        [sys.executable, "-c", script, "kill" if killed else "live", *map(str, folders)],
        env={**os.environ, f"HIKIDASHI_{setting}": str(limit)},
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    assert [int(code) for code in ran.stdout.split()] == [-9 if killed and n % 2 else 0 for n in range(WORKERS)]
    spent = rows(data_folder() / GLOBAL_DATABASE) if workspaces > 1 else rows(folders[0] / "workspace.sqlite")
    counted = sum(row["counted_tokens"] for row in spent)
    assert limit - 100 < counted <= limit  # one more reservation of 100 would not fit
    left = [row["state"] for row in spent].count("closed")
    assert len(spent) - left == (WORKERS // 2 if killed else 0)
    both = sum(len(rows(folder / "workspace.sqlite")) for folder in folders)
    assert both == len(rows(data_folder() / GLOBAL_DATABASE))
    assert make_settings().worker.day_tokens > limit  # the limit came from the environment alone
