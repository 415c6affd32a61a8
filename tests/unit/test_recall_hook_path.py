"""A hook can recall with the bare interpreter, and loads nothing that it would wait for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import ROOT
from tests.support.drawers import DEPLOY, fact, filled
from tests.support.hooks import HOOK, Project

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


#: What the hook itself may load of these: `pathlib` and the rest stay out on every turn.
EVENTS = {
    "UserPromptSubmit": {"prompt": "デプロイして"},
    "Stop": {"last_assistant_message": "Done, and the tests pass."},
    "SessionStart": {"source": "startup"},
}


@pytest.mark.parametrize("event", EVENTS)
def test_the_hook_itself_loads_nothing_that_a_turn_would_wait_for(event: str, tmp_path: Path) -> None:
    project = Project(tmp_path / "p")
    form = {"hook_event_name": event, "session_id": "s", "cwd": str(project.root), **EVENTS[event]}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-I", "-S", str(HOOK), event],
        input=json.dumps(form).encode(),
        capture_output=True,
        timeout=60,
        check=True,
    )
    lines = [line for line in done.stderr.splitlines() if b"|" in line and b"imported package" not in line]
    loaded = {line.rpartition(b"|")[2].strip().decode() for line in lines} - {"_sha2"}  # asked for before 3.12 has it
    assert (b"deploy:lantern" in done.stdout) == (event != "Stop")
    assert loaded & SLOW == set()
    assert not {name for name in loaded if name.split(".")[0] not in {*sys.stdlib_module_names, "hikidashi"}}
    assert ("hikidashi.serve.place" in loaded) == (event != "Stop")
