"""`import claude-memory` and `export claude-memory` as a person and an agent meet them."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from hikidashi.capture.from_auto_memory import plan_import
from hikidashi.config.settings import load_settings
from hikidashi.config.workspace import open_workspace
from hikidashi.db.connection import connect
from hikidashi.hosts.claude_memory import read_folder
from hikidashi.staging.claim import take_claim
from hikidashi.times import now
from hikidashi.ulid import random_ulid
from hikidashi.worker.adding import add_records
from tests.support.command import hikidashi, snapshot

INDEX = "- [Tea](tea.md) — drinks tea\n- [Tabs](tabs.md) — tabs only\n- [Barn](barn.md) — the barn\n"
FILES = {
    "MEMORY.md": INDEX,
    "tea.md": "---\nname: tea\ndescription: Drinks tea\nmetadata:\n  type: user\n---\nGreen, no milk.\n",
    "tabs.md": "---\nname: tabs\ndescription: Tabs only\nmetadata:\n  type: feedback\n---\n**Why:** the plotter.\n",
    "barn.md": "---\nname: barn\ndescription: The barn\nmetadata:\n  type: project\n---\nThe loom is in the barn.\n",
}


@pytest.fixture
def memory(tmp_path: Path, home: Path) -> Path:
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in os.path.realpath(tmp_path / "shop"))
    folder = home / ".claude" / "projects" / slug / "memory"
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    assert hikidashi("init", cwd=folder).code == 0
    return folder


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_nothing_happens_before_a_yes(project: Path, memory: Path) -> None:
    before = snapshot(project / ".hikidashi" / "knowledge")
    for words in (("--dry-run",), ()):
        ran = hikidashi("import", "claude-memory", *words, cwd=project)
        assert ran.code == (0 if words else 2)
        assert "candidate user:tea (fact)" in ran.out and "record knowledge/barn.md" in ran.out
    assert "--yes" in ran.err
    assert hikidashi("candidates", "--json", cwd=project).json["candidates"] == []
    assert snapshot(project / ".hikidashi" / "knowledge") == before


def test_the_round_there_and_back(project: Path, memory: Path, tmp_path: Path) -> None:
    there = _contents(memory)
    ran = hikidashi("import", "claude-memory", "--yes", "--json", cwd=project)
    assert (ran.code, ran.err) == (0, "")
    assert set(ran.json) == {"folder", "done", "candidates", "records", "left_out"}
    assert {row["key"]: row["outcome"] for row in ran.json["candidates"]} == {"user:tea": "new", "feedback:tabs": "new"}
    assert set(ran.json["candidates"][0]) == {"file", "scope", "key", "type", "body", "outcome", "id"}
    assert [(row["path"], row["action"]) for row in ran.json["records"]] == [("knowledge/barn.md", "create")]
    assert set(ran.json["records"][0]) == {"file", "path", "description", "action"}
    assert _contents(memory) == there
    assert hikidashi("lint", cwd=project).code == 0
    assert "Take over 1 record" in hikidashi("log", cwd=project).out
    assert hikidashi("facts", "--json", cwd=project).json["facts"] == []  # only a yes brings them in

    again = hikidashi("import", "claude-memory", "--yes", "--json", cwd=project).json
    assert {row["outcome"] for row in again["candidates"]} == {"seen"}
    assert [row["action"] for row in again["records"]] == ["unchanged"]
    waiting = hikidashi("candidates", "--json", cwd=project).json["candidates"]
    assert len(waiting) == 2
    for one in waiting:
        assert hikidashi("approve", one["id"], cwd=project).code == 0
    known = hikidashi("import", "claude-memory", "--yes", "--json", cwd=project).json
    assert {row["outcome"] for row in known["candidates"]} == {"known"}

    same = hikidashi("export", "claude-memory", "--yes", "--json", cwd=project)
    assert same.code == 0
    assert {"files": same.json["files"], "known": same.json["known"]} == {"files": [], "known": 3}
    assert _contents(memory) == there
    target = tmp_path / "elsewhere"
    out = hikidashi("export", "claude-memory", "--folder", str(target), "--yes", "--json", cwd=project)
    assert set(out.json) == {"folder", "done", "files", "known", "left_out"}
    assert out.json["files"] == sorted(path.name for path in target.iterdir()) == sorted(FILES)
    assert (target / "tabs.md").read_text().endswith("---\n\n**Why:** the plotter.\n")
    assert "type: feedback" in (target / "tabs.md").read_text()
    assert "type: user" in (target / "tea.md").read_text()
    assert (target / "MEMORY.md").read_text().count("\n- [") + 1 == 3


def test_an_export_writes_nothing_without_a_yes(project: Path, memory: Path) -> None:
    there = _contents(memory)
    hikidashi("write", "deploy:till", "--type", "capability", "`make deploy` works", cwd=project)
    for words in (("--dry-run",), (), ("--json",)):
        assert hikidashi("export", "claude-memory", *words, cwd=project).code == (0 if words == ("--dry-run",) else 2)
        assert _contents(memory) == there
    assert hikidashi("export", "claude-memory", "--yes", cwd=project).code == 0
    assert there.items() <= {**_contents(memory), "MEMORY.md": INDEX.encode()}.items()
    assert (memory / "MEMORY.md").read_text().startswith(INDEX + "- [deploy:till](deploy-till.md)")
    assert "`make deploy` works" in (memory / "deploy-till.md").read_text()
    assert hikidashi("export", "claude-memory", "--yes", "--json", cwd=project).json["files"] == []


def test_an_agent_leaves_candidates_and_writes_no_record(
    project: Path, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = _contents(memory)
    hikidashi("write", "deploy:till", "--type", "capability", "`make deploy` works", cwd=project)
    monkeypatch.setenv("CLAUDECODE", "1")
    ran = hikidashi("import", "claude-memory", "--yes", cwd=project)
    assert ran.code == 14
    assert "import claude-memory" in ran.err
    assert len(hikidashi("candidates", "--json", cwd=project).json["candidates"]) == 2
    assert not (project / ".hikidashi" / "knowledge" / "barn.md").exists()
    assert hikidashi("export", "claude-memory", "--yes", cwd=project).code == ran.code
    assert _contents(memory) == there


def test_a_record_that_differs_stays_until_replace_is_said(project: Path, memory: Path) -> None:
    assert hikidashi("import", "claude-memory", "--yes", cwd=project).code == 0
    (memory / "barn.md").write_text(FILES["barn.md"].replace("barn.\n", "attic.\n"))
    ran = hikidashi("import", "claude-memory", "--yes", cwd=project)
    assert "--replace" in ran.err + ran.out
    record = project / ".hikidashi" / "knowledge" / "barn.md"
    assert "in the barn." in record.read_text()
    assert hikidashi("import", "claude-memory", "--replace", "--yes", cwd=project).code == 0
    assert "in the attic." in record.read_text()
    assert hikidashi("restore", "knowledge/barn.md", cwd=project).code == 0
    assert "in the barn." in record.read_text()


def test_lines_and_the_word_do_not_meet(project: Path, memory: Path) -> None:
    line = json.dumps({"key": "a:b", "type": "fact", "body": "x"})
    (project / "claude-memory").write_text(line + "\n")
    assert hikidashi("import", "./claude-memory", "--json", cwd=project).json["created"] == 1
    assert hikidashi("import", "--json", "--", "claude-memory", cwd=project).json["unchanged"] == 1
    assert [json.loads(row)["key"] for row in hikidashi("export", cwd=project).out.splitlines()] == ["a:b"]
    assert "--folder" in hikidashi("import", "claude-memory", "--help", cwd=project).out
    assert hikidashi("import", "--scope", "global", "claude-memory", "--dry-run", cwd=project).code == 0


@pytest.mark.parametrize("words", [("import", "claude-memory"), ("export", "claude-memory")])
def test_a_folder_without_a_workspace_and_a_project_without_memory_say_the_mend(
    tmp_path: Path, home: Path, words: tuple[str, ...]
) -> None:
    folder = tmp_path / "bare"
    folder.mkdir()
    assert "hikidashi init" in hikidashi(*words, cwd=folder).err
    hikidashi("init", cwd=folder)
    ran = hikidashi(*words, cwd=folder)
    assert ("--folder" in ran.err) == (words[0] == "import")
    file = folder / "file"
    file.write_text("x")
    assert hikidashi(*words, "--folder", str(file), cwd=folder).code == 2


FACTS = {
    "deploy:till": ("capability", "`make deploy` puts the till on the counter's machine.\n\nIt takes a minute."),
    "rule:tabs": ("rule", "Never indent with tabs. " + "The plotter reads spaces only. " * 30),
    "name:cat": ("fact", "The cat is called Zuse.\nIt sleeps on the router."),
    "choose:yarn": ("decision", "# Yarn\n\nWool, and no cotton."),
}


def test_what_the_drawer_holds_is_whole_in_another_workspace_after_the_round(project: Path, tmp_path: Path) -> None:
    for key, (kind, body) in FACTS.items():
        assert hikidashi("write", key, "--type", kind, body, cwd=project).code == 0
    assert hikidashi("retire", "choose:yarn", cwd=project).code == 0
    target = tmp_path / "memory"
    words = ("export", "claude-memory", "--folder", str(target), "--yes", "--json")
    assert hikidashi(*words, cwd=project).json["left_out"] == 1
    assert hikidashi(*words, "--all", cwd=project).json["known"] == 3
    other = tmp_path / "other"
    other.mkdir()
    hikidashi("init", cwd=other)
    done = hikidashi("import", "claude-memory", "--folder", str(target), "--yes", "--json", cwd=other).json
    assert done["left_out"] == []
    texts = {row["file"]: row["body"] for row in done["candidates"]}
    for row in done["records"]:
        texts[row["file"]] = row["description"] + "\n" + (other / ".hikidashi" / row["path"]).read_text()
    assert set(texts) == {path.name for path in target.iterdir()} - {"MEMORY.md"}
    for key, (_, body) in FACTS.items():
        text = " ".join(texts[key.replace(":", "-") + ".md"].split())
        assert all(" ".join(part.split()) in text for part in body.removeprefix("# ").split("\n\n")), key


def test_records_stay_out_while_a_run_goes_and_come_in_after(project: Path, memory: Path) -> None:
    workspace = open_workspace(project)
    held = take_claim(workspace, random_ulid(now()), max_seconds=60)
    ran = hikidashi("import", "claude-memory", "--yes", cwd=project)
    assert ran.code == 3
    assert hikidashi("candidates", "--json", cwd=project).json["candidates"] == []
    held.release()
    assert hikidashi("import", "claude-memory", "--yes", cwd=project).code == 0


@pytest.mark.parametrize("step", ["add:protected", "add:written"])
def test_killed_between_two_steps_the_next_import_ends_it(project: Path, memory: Path, step: str) -> None:
    class Killed(BaseException):
        pass

    def kill(name: str) -> None:
        if name == step:
            raise Killed

    workspace = open_workspace(project)
    record = plan_import(read_folder(memory), at="2026-11-03T08:00:00.000Z").records[0].record
    with closing(connect(workspace.database)) as connection, pytest.raises(Killed):
        add_records(workspace, load_settings(workspace), connection, [record], subject="Add", checkpoint=kill)
    assert hikidashi("import", "claude-memory", "--yes", cwd=project).code == 0
    assert "in the barn." in (project / ".hikidashi" / "knowledge" / "barn.md").read_text()
    commits = hikidashi("log", "-p", "--json", cwd=project).json["commits"]
    touched = [commit for commit in commits if "knowledge/barn.md" in json.dumps(commit["files"])]
    assert [commit["author"] for commit in touched] == ["person"]
    assert hikidashi("lint", cwd=project).code == 0
