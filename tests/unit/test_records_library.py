"""Reading the tree from disk, looking records up, and the references between them."""

from __future__ import annotations

import os
import random
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikidashi.errors import StorageFailure, UsageError
from hikidashi.records.check import check_records
from hikidashi.records.library import MAX_FILE_BYTES, Library, load_tree, read_tree, references
from hikidashi.records.record import Record, RecordKind, record_path, render_record
from hikidashi.records.similarity import similar_pairs

DAY = "2026-05-20T00:00:00.000Z"


@dataclass(frozen=True)
class Workspace:
    home: Path


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    home = tmp_path / "a project" / ".hikidashi"
    for folder in ("memory/decisions", "memory/requests", "memory/workflow/deep", "knowledge", "staging"):
        (home / folder).mkdir(parents=True)
    return Workspace(home)


def record(kind: RecordKind, slug: str, body: str = "text", **values: str) -> Record:
    given = {"created_at": DAY, "updated_at": DAY, "trust": "user", "status": "open"} | values
    if kind == "knowledge":
        given = {**given, "knowledge_kind": "fact", "status": ""}
    return Record(kind=kind, path=record_path(kind, slug), slug=slug, body=body, **given)  # type: ignore[arg-type]


def tree(*records: Record) -> dict[str, bytes]:
    return {r.path: render_record(r) for r in records}


def test_only_memory_and_knowledge_are_read(workspace: Workspace) -> None:
    kept = {
        "memory/summary.md": b"a",
        "memory/cleanup-log.md": b"b",
        "memory/decisions/x.md": b"c",
        "memory/workflow/deep/手順　一.md": b"d",
        "memory/odd.txt": b"e",
        "knowledge/k.md": b"",
    }
    left_out = ("staging/x.md", "config.toml", "memory/.DS_Store", "memory/decisions/.tmp-00-x.md", "x.md")
    for path in (*kept, *left_out):
        (workspace.home / path).write_bytes(kept.get(path, b"no"))
    assert load_tree(workspace) == kept
    assert read_tree(workspace).findings == []


def test_a_workspace_without_records_is_empty(tmp_path: Path) -> None:
    assert load_tree(Workspace(tmp_path / "none")) == {}


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes need POSIX here")
def test_links_devices_and_large_files_are_refused_and_named(workspace: Workspace) -> None:
    outside = workspace.home.parent / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    decisions = workspace.home / "memory" / "decisions"
    (decisions / "link.md").symlink_to(outside / "secret.md")
    (decisions / "gone.md").symlink_to(outside / "nothing")
    (workspace.home / "memory" / "workflow" / "linked").symlink_to(outside)
    os.mkfifo(decisions / "pipe.md")
    (decisions / "large.md").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    (decisions / "full.md").write_bytes(b"x" * MAX_FILE_BYTES)
    (workspace.home / "knowledge").rmdir()
    (workspace.home / "knowledge").symlink_to(outside)
    loaded = read_tree(workspace)
    assert list(loaded.tree) == ["memory/decisions/full.md"]
    assert [(f.path, f.code) for f in loaded.findings] == [
        ("knowledge", "H125"),
        ("memory/decisions/gone.md", "H125"),
        ("memory/decisions/large.md", "H126"),
        ("memory/decisions/link.md", "H125"),
        ("memory/decisions/pipe.md", "H125"),
        ("memory/workflow/linked", "H125"),
    ]


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the file system refuses such names itself")
@pytest.mark.parametrize("name", [b"line\nbreak.md", b"\xff.md", b"back\\slash.md", b"\x1b[31m.md"])
def test_a_name_that_no_system_takes_is_refused(workspace: Workspace, name: bytes) -> None:
    with open(os.fsencode(workspace.home / "knowledge") + b"/" + name, "wb"):
        pass
    loaded = read_tree(workspace)
    assert loaded.tree == {}
    assert [f.code for f in loaded.findings] == ["H116"]
    assert loaded.findings[0].path.isprintable()


def test_folders_without_end_are_not_followed(workspace: Workspace) -> None:
    deep = workspace.home / "memory" / "workflow"
    for _ in range(600):
        deep = deep / "d"
        deep.mkdir()
    (workspace.home / "memory" / "workflow" / "d" / "w.md").write_bytes(b"w")
    loaded = read_tree(workspace)
    assert list(loaded.tree) == ["memory/workflow/d/w.md"]
    assert [f.code for f in loaded.findings] == ["H117"]


def test_a_file_that_cannot_be_read_is_one_line(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace.home / "knowledge" / "k.md").write_bytes(b"")

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("hikidashi.records.library.os.open", refuse)
    with pytest.raises(StorageFailure, match=r"cannot read .*permission denied"):
        load_tree(workspace)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see #use-x, and (#use-y).", [("use-x", 1), ("use-y", 1)]),
        ("a\n\n- #b\n", [("b", 3)]),
        ("# heading\n## use-x\n#", []),
        ("#12 a#b x/#c http://h/p#d &#e; ?q=#f #Upper #a_b #-a", []),
        ("`#code` ``a ` #code`` #real", [("real", 1)]),
        ("```\n#code\n```\n#real", [("real", 4)]),
        ("~~~~\n#code\n~~~\n#code\n~~~~\n#real", [("real", 6)]),
        ("```\n#never closed", []),
        ("日本語#use-x は", []),
        ("日本語 #use-x は、", [("use-x", 1)]),
        ("「#use-x」", [("use-x", 1)]),
    ],
)
def test_references_are_found_outside_code(text: str, found: list[tuple[str, int]]) -> None:
    assert list(references(text)) == found


def test_records_are_looked_up_by_path_slug_and_reference() -> None:
    old, new = record("decision", "old", status="replaced", replaced_by="new"), record("decision", "new", "see #ask")
    ask, know = record("request", "ask"), record("knowledge", "old", "\n\n# K\n\n#new")
    files = tree(old, new, ask, know) | {
        "memory/decisions/bad.md": b"x",
        "memory/workflow/w.md": b"do\n#ask\n",
        "memory/cleanup-log.md": b"#ask\n",
    }
    library = Library(files)
    assert [r.path for r in library.records()] == sorted(r.path for r in (old, new, ask, know))
    assert library.records("request") == [ask]
    assert library.by_slug("decision", "old") == old
    assert library.get("memory/decisions/none.md") is library.by_slug("summary", "") is None
    assert library.slugs["old"] == (old.path, know.path)
    assert list(library.broken) == ["memory/decisions/bad.md"]
    assert library.referrers("ask") == ["memory/decisions/new.md", "memory/workflow/w.md"]
    assert library.referrers("new") == ["knowledge/old.md", "memory/decisions/old.md"]
    (slug, line), *_ = library.references("knowledge/old.md")
    assert files["knowledge/old.md"].decode().split("\n")[line - 1] == f"#{slug}"
    assert library.replaced_chains == {old.path: ("new",)}


def test_a_circle_of_replacements_ends() -> None:
    links = {"a": "b", "b": "c", "c": "a", "d": "a", "e": "e"}
    library = Library(tree(*(record("decision", s, status="replaced", replaced_by=by) for s, by in links.items())))
    assert library.chain("a") == ("b", "c")
    assert library.chain("d") == ("a", "b", "c")
    assert library.chain("e") == ()


CONTENTS = st.sampled_from(
    [None, b"broken", render_record(record("decision", "x")), render_record(record("request", "x"))]
)
PATHS = ("memory/decisions/a.md", "memory/requests/a.md", "knowledge/b.md", "memory/summary.md", "memory/workflow/w.md")


@settings(deadline=None)
@given(st.tuples(*(CONTENTS for _ in PATHS)), st.tuples(*(CONTENTS for _ in PATHS)))
def test_a_changed_library_is_the_one_read_anew(one: tuple[bytes | None, ...], two: tuple[bytes | None, ...]) -> None:
    before = {path: data for path, data in zip(PATHS, one, strict=True) if data is not None}
    after = {path: data for path, data in zip(PATHS, two, strict=True) if data is not None}
    changed = {path for path in PATHS if before.get(path) != after.get(path)}
    library, anew = Library(before).changed(after, changed), Library(after)
    assert library.parsed == anew.parsed
    assert {slug: sorted(paths) for slug, paths in library.slugs.items()} == {
        slug: sorted(paths) for slug, paths in anew.slugs.items()
    }
    assert library.records() == anew.records()


def test_no_similar_pair_is_missed() -> None:
    dice = random.Random(7)
    sets = [frozenset(dice.choices("abcdefghijklmnop", k=dice.randint(0, 12))) for _ in range(120)]
    found = {later: earlier for earlier, later in similar_pairs(sets, 0.6, lambda *_: True)}
    alone: list[int] = []
    for later, members in enumerate(sets):
        alike = [i for i in alone if members and len(sets[i] & members) >= 0.6 * len(sets[i] | members)]
        assert found.get(later) == (alike[0] if alike else None)
        if not alike:
            alone.append(later)


def test_a_check_is_about_the_paths_that_were_named(workspace: Workspace) -> None:
    files = tree(record("decision", "good"), record("request", "r")) | {
        "memory/decisions/bad.md": b"x",
        "knowledge/bad.md": b"x",
        "memory/workflow/w.md": b"w",
    }
    for path, data in files.items():
        (workspace.home / path).write_bytes(data)
    (workspace.home / "memory" / "requests" / "link.md").symlink_to(workspace.home / "config.toml")

    def paths(*named: str) -> tuple[int, list[str]]:
        checked = check_records(workspace, [workspace.home / name for name in named], find_secrets=lambda _: [])
        return checked.records, [finding.path for finding in checked.findings]

    every = ["knowledge/bad.md", "memory/decisions/bad.md", "memory/requests/link.md"]
    assert paths() == paths("") == paths("..") == (4, every)
    assert paths("memory") == (3, every[1:])
    assert paths("memory/decisions/good.md") == (1, [])
    assert paths("memory/decisions/bad.md", "knowledge") == (2, every[:2])
    assert paths("memory/requests/link.md") == (0, every[2:])
    for outside in ("config.toml", "staging", "../..", "memory/../../x.md"):
        with pytest.raises(UsageError, match="not among"):
            paths(outside)
