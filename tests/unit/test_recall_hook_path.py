"""A hook can recall with the bare interpreter, and loads nothing that it would wait for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.commands import ROOT
from tests.support.drawers import DEPLOY, fact, filled

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import json
from datetime import UTC, datetime
from hikidashi.db.connection import read_only
from hikidashi.recall.inject import block
from hikidashi.recall.match import recall
from hikidashi.recall.question import Question
import hikidashi.recall.start
from hikidashi.recall.seen import note_turn
drawers = {"workspace": read_only(sys.argv[2])}
found = recall(Question(sys.argv[3]), drawers, top_k=5, max_tokens=600, now=datetime.now(UTC))
assert note_turn(found, {"workspace": sys.argv[2]}, session_id="s", via="hook", at=datetime.now(UTC)) == []
text = block([match.fact for match in found.facts], [], now=datetime.now(UTC), machine_id="")
print(json.dumps({"text": text, "modules": sorted(sys.modules)}))
"""

#: Each costs more than a look-up.
SLOW = {"dataclasses", "inspect", "pathlib", "typing", "urllib.parse", "subprocess", "logging", "tempfile", "asyncio"}


def test_recall_runs_on_the_bare_interpreter_and_loads_little(tmp_path: Path) -> None:
    with filled(tmp_path, fact("deploy:lantern", "npm run dist", *DEPLOY, type="capability")):
        database = tmp_path / "workspace.sqlite"
        command = [sys.executable, "-I", "-S", "-W", "error", "-c", PROGRAM, str(ROOT), str(database), "デプロイして"]
        ran = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert ran.stderr == b""
    said = json.loads(ran.stdout)
    assert "`deploy:lantern`" in said["text"]
    loaded = set(said["modules"])
    third_party = {name for name in loaded if name.split(".")[0] not in {*sys.stdlib_module_names, "hikidashi"}}
    assert third_party - {"__main__"} == set()
    assert not {name for name in loaded if name.startswith(("hikidashi.redact", "hikidashi.config.settings"))}
    assert loaded & SLOW == set()
