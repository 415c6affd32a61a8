"""Claude Code's auto memory: read with patience, each memory brought to its place, and written back for who leaves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hikidashi.capture.from_auto_memory import Intake, plan_import, record_action
from hikidashi.capture.to_auto_memory import MAX_INDEX_LINES, REST_INDEX, Leaving, memories_of, plan_export
from hikidashi.errors import UsageError
from hikidashi.hosts.claude_memory import (
    INDEX,
    MAX_FILE_BYTES,
    Memory,
    MemoryFolder,
    find_folder,
    new_folder,
    read_folder,
)
from hikidashi.records.record import render_record

AT = "2026-11-03T08:00:00.000Z"


def _put(folder: Path, files: dict[str, str | bytes]) -> MemoryFolder:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(place, (1_790_000_000, 1_790_000_000))
    return read_folder(folder)


def _topic(name: str, kind: str, description: str, body: str) -> str:
    return f"---\nname: {name}\ndescription: {description}\nmetadata:\n  type: {kind}\n---\n\n{body}\n"


def _plan(folder: MemoryFolder) -> Intake:
    return plan_import(folder, at=AT)


FOLDER: dict[str, str | bytes] = {
    INDEX: "# Memory\n\n- [Knits at night](knits.md) — answers after ten\n- [No mocks](no-mocks.md) — real database\n"
    "- [Gone](gone.md) — its file is missing\n\nThe cellar floods in March.\n",
    "knits.md": _topic("knits", "user", "Knits, and codes in Elm", "Prefers short answers."),
    "no-mocks.md": _topic("no-mocks", "feedback", "Never mock the yarn database", "**Why:** a test lied in May."),
    "loom.md": _topic("loom-move", "project", "The loom moves to the barn", "By 2026-12-24. See [[no-mocks]]."),
    "board.md": _topic("ticket-board", "reference", "Tickets: board WOOL", "At boards.example/wool."),
}


def test_each_memory_goes_where_its_type_belongs(tmp_path: Path) -> None:
    intake = _plan(_put(tmp_path / "memory", FOLDER))
    facts = {fact.draft.key: fact.draft for fact in intake.facts}
    assert {key: draft.type for key, draft in facts.items()} == {"user:knits": "fact", "feedback:no-mocks": "rule"}
    assert facts["user:knits"].body == "Knits, and codes in Elm\n\nPrefers short answers.\n\nanswers after ten"
    assert facts["user:knits"].aliases == ("Knits at night", "knits")
    assert {(d.trust, d.origin, d.confidence, d.probe) for d in facts.values()} == {("assistant", "import", 0.7, ())}
    records = {one.record.path: one.record for one in intake.records}
    assert {path: record.knowledge_kind for path, record in records.items()} == {
        "knowledge/loom-move.md": "fact",
        "knowledge/ticket-board.md": "know-how",
        "knowledge/claude-memory-notes.md": "fact",
    }
    assert records["knowledge/loom-move.md"].body == "By 2026-12-24. See [[no-mocks]].\n"
    notes = records["knowledge/claude-memory-notes.md"].body
    assert "The cellar floods in March." in notes and "gone.md" in notes and "no-mocks.md" not in notes
    assert intake.left_out == ()


def test_every_word_of_every_memory_is_in_what_is_planned(tmp_path: Path) -> None:
    long = "\n\n".join(f"Paragraph {n} of the history of felt. " + "wool " * 30 for n in range(120))
    files: dict[str, str | bytes] = {
        "felt.md": _topic("felt", "project", "History of felt", long),
        "line.md": _topic("line", "reference", "One line", "x" * 20_000),
        "wide.md": _topic("wide", "feedback", "Too long for a fact", "Knit tight. " * 500),
        "talk.md": _topic("talk", "project", "d" * 1_500, "Short."),
        "plain.md": "No front matter at all.",
        "open.md": "---\nname: never closed\nJust text.",
    }
    folder = _put(tmp_path / "memory", files)
    intake = _plan(folder)
    texts = [fact.draft.body for fact in intake.facts]
    texts += [f"{one.record.description} {one.record.body}" for one in intake.records]
    squeezed = "".join("".join(texts).split())
    for memory in folder.memories:
        for word in {*memory.body.split(), *memory.description.split()} - {"x" * 20_000}:
            assert "".join(word.split()) in squeezed
    assert sum(one.record.body.count("x") for one in intake.records if one.file == "line.md") == 20_000
    assert all(len(one.record.body) <= 8_000 for one in intake.records)
    assert len({one.record.path for one in intake.records}) == len(intake.records) > 6
    assert intake.left_out == ()


def test_what_cannot_come_in_is_named_with_the_reason_and_stops_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "memory"
    secret = "AKIA" + "Q7" * 8
    folder = _put(
        place,
        {
            "key.md": _topic("key", "user", "The key", f"It is {secret}."),
            "key2.md": _topic("key2", "project", "The key", f"It is {secret}."),
            "bytes.md": b"\xff\xfe\x00",
            "huge.md": b"a" * (MAX_FILE_BYTES + 1),
            "empty.md": "---\nname: empty\n---\n",
            "picture.png": b"\x89PNG",
            "odd.md": "---\nname: odd\nmood: sad\n---\nStill here.",
            "fine.md": "Fine.",
        },
    )
    (place / "link.md").symlink_to("/etc/passwd")
    os.mkfifo(place / "pipe.md")
    folder = read_folder(place)
    intake = _plan(folder)
    left = {one.file: one.why for one in intake.left_out}
    assert set(left) == {
        "key.md", "key2.md", "bytes.md", "huge.md", "empty.md", "picture.png", "odd.md", "link.md", "pipe.md",
    }  # fmt: skip
    assert secret not in "".join(left.values())
    assert "secret" in left["key.md"] and "secret" in left["key2.md"]
    assert left["odd.md"] == "of its front matter only: mood"
    assert [one.file for one in intake.records] == ["fine.md", "odd.md"]


@pytest.mark.parametrize(
    ("front", "description", "kind"),
    [
        ("description: a: b: c\ntype: user", "a: b: c", "user"),
        ('description: "say \\"hi\\" # twice"\nmetadata:\n  type: Feedback', 'say "hi" # twice', "feedback"),
        ("description: 'it''s'\nmetadata:\n    type: project", "it's", "project"),
        ("description: >-\n  first: half\n  second half\nmetadata:\n  type: user", "first: half second half", "user"),
        ("description: runs on\n  over two lines\ntype: reference", "runs on over two lines", "reference"),
        ("description: [not a text\ntype: mood", "[not a text", "mood"),
        ("- nothing\n- that is a key", "", ""),
    ],
)
def test_front_matter_as_models_write_it(tmp_path: Path, front: str, description: str, kind: str) -> None:
    (memory,) = _put(tmp_path / "memory", {"a.md": f"---\n{front}\n---\nText.\n"}).memories
    assert (memory.description, memory.type, memory.body, memory.name) == (description, kind, "Text.", "a")


def test_two_memories_of_one_name_both_come_in(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        f"{place}x.md": _topic("same name", kind, "d", f"{place}{kind}")
        for place in ("", "team/")
        for kind in ("user", "project")
    }
    files["y.md"] = _topic("Same Name", "project", "d", "another")
    files["z.md"] = _topic("Same Name", "user", "d", "one more")
    files["w.md"] = _topic("same-name", "user", "d", "the last")
    intake = _plan(_put(tmp_path / "memory", files))
    assert [one.record.slug for one in intake.records] == ["same-name", "same-name-2", "same-name-3"]
    assert sorted(fact.draft.key for fact in intake.facts) == ["user:same-name", "user:same-name-2"]


def test_a_record_of_another_text_is_left_unless_it_is_to_be_replaced(tmp_path: Path) -> None:
    intake = _plan(_put(tmp_path / "memory", {"a.md": "One."}))
    (record,) = (one.record for one in intake.records)
    there = {record.path: render_record(record)}
    assert record_action({}, record, replace=False) == "create"
    assert record_action(there, record, replace=True) == "unchanged"
    for other in (render_record(record).replace(b"One", b"Two"), b"no record"):
        assert record_action({record.path: other}, record, replace=False) == "differs"
        assert record_action({record.path: other}, record, replace=True) == "replace"


def test_resident_puts_descriptions_in_front_of_agents_where_there_is_one(tmp_path: Path) -> None:
    folder = _put(tmp_path / "memory", {"a.md": _topic("a", "project", "Said", "Text."), "b.md": "No description."})
    assert [one.record.model_invocation for one in _plan(folder).records] == [False, False]
    resident = plan_import(folder, at=AT, resident=True).records
    assert [one.record.model_invocation for one in resident] == [True, False]


def _leaving(folder: MemoryFolder, source: MemoryFolder) -> Leaving:
    tree = {one.record.path: render_record(one.record) for one in _plan(source).records}
    memories, left = memories_of([], tree, everything=False)
    assert left == 0
    return plan_export(folder, memories)


def test_records_go_back_as_they_came_and_what_is_there_is_not_said_twice(tmp_path: Path) -> None:
    source = _put(tmp_path / "one", FOLDER)
    assert _leaving(source, source) == Leaving(files={}, known=3)
    leaving = _leaving(MemoryFolder(path=tmp_path / "two", refused={}), source)
    assert list(leaving.files)[-1] == INDEX
    back = _put(tmp_path / "two", dict(leaving.files))
    before = {one.record.path: (one.record.body, one.record.description, one.record.knowledge_kind)
              for one in _plan(source).records if one.file != INDEX}  # fmt: skip
    after = {one.record.path: (one.record.body, one.record.description, one.record.knowledge_kind)
             for one in _plan(back).records}  # fmt: skip
    assert before.items() <= after.items()
    assert _leaving(back, source).files == {}
    assert back.notes == ""


def test_an_export_never_takes_a_name_that_is_there_and_keeps_the_index(tmp_path: Path) -> None:
    index = "# Mine\n\n- [Loom](LOOM-move.md) — old"
    there = _put(tmp_path / "there", {"LOOM-move.md": "Another loom.", INDEX: index})
    leaving = _leaving(there, _put(tmp_path / "source", FOLDER))
    assert "loom-move-2.md" in leaving.files
    assert not {name.lower() for name in leaving.files if name != INDEX} & {name.lower() for name in there.names}
    assert leaving.files[INDEX].decode().startswith(index + "\n- [")


def test_lines_that_claude_would_not_load_stand_behind_one_that_it_does(tmp_path: Path) -> None:
    index = "- a line\n" * (MAX_INDEX_LINES - 2)
    there = _put(tmp_path / "there", {INDEX: index, REST_INDEX: "taken"})
    memories = [
        Memory(file="", name=f"m{n}", description=f"About {n}", type="project", modified=AT, body=f"Body {n}.")
        for n in range(5)
    ]
    leaving = plan_export(there, memories)
    text = leaving.files[INDEX].decode()
    assert text.startswith(index) and text.count("\n") == MAX_INDEX_LINES - 1
    assert "(hikidashi-index-2.md)" in text
    assert leaving.files["hikidashi-index-2.md"].decode().count("\n- [m") == 5


def test_the_folder_is_found_by_the_repository_and_the_users_settings(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "shop.one"
    inner = project / "packages" / "till"
    inner.mkdir(parents=True)
    (project / ".git").mkdir()
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in os.path.realpath(project))
    expected = home / ".claude" / "projects" / slug / "memory"
    with pytest.raises(UsageError, match="--folder"):
        find_folder(inner)
    assert new_folder(inner) == expected
    expected.mkdir(parents=True)
    assert find_folder(inner) == find_folder(project) == expected
    moved = tmp_path / "elsewhere"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(moved))
    with pytest.raises(UsageError):
        find_folder(inner)
    moved.mkdir()
    (moved / "settings.json").write_text('{"autoMemoryDirectory": "~/kept"}')
    with pytest.raises(UsageError, match="only Claude Code knows"):
        new_folder(inner)
    (home / "kept").mkdir()
    assert find_folder(inner) == new_folder(inner) == home / "kept"


def test_names_in_other_scripts_keep_their_place_when_a_memory_is_written_anew(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "screen.md": _topic("端末の設定", "feedback", "端末は暗い色", "目が疲れる。"),
        "yarn.md": _topic("毛糸の棚", "project", "毛糸は三段目", "赤は上。"),
        "毛.md": _topic("毛", "project", "羊毛", "ドイツから。"),
    }
    folder = tmp_path / "memory"
    _put(folder, files)
    os.utime(folder / "yarn.md", (1_700_000_000, 1_700_000_000))
    os.utime(folder / "毛.md", (1_700_000_000, 1_700_000_000))
    before, after = _plan(read_folder(folder)), _plan(_put(folder, files))
    assert [fact.draft.key for fact in after.facts] == ["feedback:端末の設定"]
    paths = [one.record.path for one in after.records]
    assert paths == [one.record.path for one in before.records]
    assert paths[0] == "knowledge/yarn.md" and len(set(paths)) == 2
