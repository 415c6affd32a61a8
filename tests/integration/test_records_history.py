"""The history: what was committed comes back, git itself agrees, nothing planted runs, a kill loses nothing."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hikidashi.records.history as history_module
from hikidashi import atomic
from hikidashi.errors import Busy, Conflict, CorruptData, StorageFailure, UsageError
from hikidashi.records.history import Author, History, blob_id
from tests.support.examples import examples

AT = datetime(2026, 5, 3, 9, 30, tzinfo=UTC)
SMALL = {"memory/summary.md": b"# Summary\n", "memory/decisions/a.md": b"one\n", "knowledge/k.md": b"k\n"}

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "a project" / ".hikidashi" / "history.git")


def place(history: History) -> Path:
    return history._path


def commit(history: History, tree: dict[str, bytes], subject: str = "Change", **more: object) -> str:
    author: Author = "worker"
    return history.commit(tree, author=author, subject=subject, at=AT, **more)  # type: ignore[arg-type]


def git(history: History, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "--git-dir", str(place(history)), *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def many(count: int) -> dict[str, bytes]:
    return {f"memory/decisions/d-{n}.md": f"# Decision {n}\n{'text ' * 100}\n".encode() for n in range(count)}


def test_before_the_first_commit_there_is_nothing(history: History) -> None:
    assert history.tip() is None
    assert (history.tree(), history.files()) == ({}, {})
    assert (history.log(), history.versions("memory/summary.md")) == ([], [])
    assert history.lost() == {}
    assert not place(history).exists()
    history.create()
    history.create()
    assert history.tip() is None
    assert history.tree() == {}


def test_a_commit_comes_back_as_it_was_made(history: History) -> None:
    first = history.commit(SMALL, author="person", subject="First", at=AT)
    second = history.commit(
        {**SMALL, "memory/decisions/b.md": "日本語\n".encode()},
        author="worker",
        subject="Integrate\n2 entries",
        body="why\n\nRun: forged\nPhase: forged",
        trailers={"Run": "01ABC", "Operation": ["drop a (outdated)", "merge b\nRun: forged"]},
        at=AT + timedelta(hours=1),
        parent=first,
    )
    tip = History(place(history)).tip()
    assert tip is not None
    assert (tip.id, tip.parent, tip.author, tip.at) == (second, first, "worker", "2026-05-03T10:30:00.000Z")
    assert tip.subject == "Integrate 2 entries"
    assert tip.body == "why\n\nRun: forged\nPhase: forged"
    assert tip.trailers == {"Run": ("01ABC",), "Operation": ("drop a (outdated)", "merge b Run: forged")}
    assert [c.subject for c in history.log()] == ["Integrate 2 entries", "First"]
    assert [c.id for c in history.log(1)] == [second]
    assert history.tree(first) == SMALL
    assert History(place(history)).tree()["memory/decisions/b.md"] == "日本語\n".encode()
    assert history.log()[1].trailers == {}
    assert tip.to_dict()["trailers"] == {"Run": ["01ABC"], "Operation": ["drop a (outdated)", "merge b Run: forged"]}


BODIES = st.text(st.characters(codec="utf-8"), max_size=60)


@settings(deadline=None, max_examples=examples(10, 300), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    BODIES,
    BODIES,
    st.dictionaries(st.from_regex(r"[A-Z][a-z]{1,8}", fullmatch=True), BODIES, max_size=3),
    st.dictionaries(
        st.from_regex(r"(memory/decisions|knowledge|memory/workflow/x)/[a-z]{1,5}\.md", fullmatch=True),
        st.binary(max_size=200),
    ),
)
def test_any_message_and_tree_come_back(
    tmp_path_factory: pytest.TempPathFactory, subject: str, body: str, trailers: dict[str, str], tree: dict[str, bytes]
) -> None:
    history = History(tmp_path_factory.mktemp("any") / "history.git")
    commit(history, tree, subject, body=body, trailers=trailers)
    tip = History(place(history)).tip()
    assert tip is not None
    assert tip.author == "worker"
    assert {key: values[0] for key, values in tip.trailers.items()} == {
        key: " ".join(value.replace("\0", "").split()) for key, value in trailers.items()
    }
    assert History(place(history)).tree() == tree


@needs_git
@pytest.mark.parametrize("count", [3, 300], ids=["loose", "packed"])
def test_git_reads_the_history_and_finds_nothing_wrong(history: History, count: int) -> None:
    tree = many(count) | {"knowledge/日本.md": b"x\n", "memory/workflow/a/b.md": b"y\n", "memory/decisions.md": b"z"}
    history.commit(tree, author="person", subject="First", at=AT)
    del tree["memory/decisions/d-1.md"]
    tree["memory/decisions/d-2.md"] = b"changed\n"
    history.commit(tree, author="worker", subject="Second", trailers={"Run": "01R"}, at=AT)
    history.keep_lost("01LOST", SMALL, AT)
    assert git(history, "fsck", "--strict", "--full").strip() == ""
    log = git(history, "log", "-p", "--format=%an <%ae> %aI %s %(trailers:key=Run)")
    assert "Hikidashi worker <worker@hikidashi.invalid> 2026-05-03T09:30:00+00:00 Second Run: 01R" in log
    assert "Hikidashi person <person@hikidashi.invalid>" in log
    assert "+changed" in log
    assert "deleted file mode 100644" in log
    assert git(history, "show", "refs/lost/01LOST:knowledge/k.md") == "k\n"
    assert git(history, "hash-object", "--stdin-paths", "--no-filters") == ""
    assert git(history, "rev-parse", "HEAD").strip() == (history.tip() or pytest.fail()).id


@needs_git
def test_what_git_packs_and_commits_is_read(history: History) -> None:
    first = commit(history, many(5))
    git(history, "gc", "-q", "--prune=now")
    git(history, "pack-refs", "--all")
    assert not (place(history) / "refs/heads/main").exists()
    assert History(place(history)).tree() == many(5)
    second = commit(History(place(history)), SMALL, parent=first)
    ann = ("-c", "user.name=Ann", "-c", "user.email=a@x")
    by_hand = git(history, *ann, "commit-tree", f"{second}^{{tree}}", "-m", "by hand", "-p", second)
    git(history, "update-ref", "refs/heads/main", by_hand.strip())
    tip = history.tip()
    assert tip is not None
    assert (tip.author, tip.subject, tip.parent) == ("Ann", "by hand", second)


@needs_git
def test_nothing_planted_in_the_repository_runs_or_counts(history: History, tmp_path: Path) -> None:
    history.create()
    witness = tmp_path / "witness"
    hooks = place(history) / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "post-commit", "reference-transaction", "update", "pre-auto-gc"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{witness}'\n")
        (hooks / name).chmod(0o755)
    elsewhere = History(tmp_path / "elsewhere.git")
    commit(elsewhere, {"memory/summary.md": b"planted\n"})
    run = f"touch '{witness}'"
    (place(history) / "config").write_text(
        f"[core]\n\trepositoryformatversion = 9\n\tbare = false\n\tfsmonitor = {run}\n\thooksPath = {hooks}\n"
        f'\tsshCommand = {run}\n[alias]\n\tlog = !{run}\n[filter "x"]\n\tclean = {run}\n'
        "[include]\n\tpath = /etc/passwd\n[user]\n\tname = Mallory\n[gc]\n\tauto = 1\n"
    )
    (place(history) / "objects/info/alternates").write_text(f"{elsewhere._path / 'objects'}\n")
    (place(history) / "HEAD").write_text("ref: refs/heads/evil\n")
    (place(history) / "hikidashi").mkdir()
    planted = elsewhere.tip()
    assert planted is not None
    before = (place(history) / "config").read_bytes()
    first = commit(history, SMALL)
    commit(history, many(100), parent=first)
    history.pack_loose()
    history.diff(first)
    assert [c.author for c in history.log()] == ["worker", "worker"]
    assert (place(history) / "config").read_bytes() == before
    with pytest.raises(CorruptData):
        history.commit_at(planted.id)
    assert not witness.exists()


def test_files_and_folders_are_the_users_alone(history: History) -> None:
    commit(history, SMALL)
    commit(history, many(100))
    history.keep_lost("01A", SMALL, AT)
    if sys.platform != "win32":
        for path in [place(history), *place(history).rglob("*")]:
            mode = stat.S_IMODE(path.lstat().st_mode)
            assert mode == (0o700 if path.is_dir() else 0o600), path


def test_a_diff_shows_what_changed(history: History) -> None:
    first = commit(history, SMALL)
    second = commit(history, {"memory/summary.md": b"# Summary\nmore", "memory/decisions/b.md": b"\xff\n"})
    added, *rest = history.diff(second)
    assert [d.path for d in (added, *rest)] == [
        "knowledge/k.md",
        "memory/decisions/a.md",
        "memory/decisions/b.md",
        "memory/summary.md",
    ]
    assert rest[-1].text == (
        "--- a/memory/summary.md\n+++ b/memory/summary.md\n"
        "@@ -1 +1,2 @@\n # Summary\n+more\n\\ No newline at end of file\n"
    )
    assert rest[0].text.startswith("--- a/memory/decisions/a.md\n+++ /dev/null\n")
    assert (rest[1].old, rest[1].new) == (None, b"\xff\n")
    assert [d.to_dict()["change"] for d in (added, *rest)] == ["deleted", "deleted", "added", "changed"]
    assert {d.path for d in history.diff(first)} == set(SMALL)
    third = commit(history, {"memory/summary.md": b"", "memory/decisions/b.md": b"\xff\n"})
    assert history.diff(third)[0].text.endswith("@@ -1,2 +0,0 @@\n-# Summary\n-more\n\\ No newline at end of file\n")


def test_versions_of_a_file_are_the_commits_that_changed_it(history: History) -> None:
    path = "memory/decisions/a.md"
    trees = [{}, {path: b"1"}, {path: b"1", "knowledge/k.md": b""}, {path: b"2"}, {"knowledge/k.md": b""}, {path: b"1"}]
    ids = [commit(history, tree, str(n)) for n, tree in enumerate(trees)]
    versions = History(place(history)).versions(path)
    assert [(c.id, data) for c, data in versions] == [(ids[5], b"1"), (ids[4], None), (ids[3], b"2"), (ids[1], b"1")]
    assert history.versions("memory/decisions") == history.versions("memory/none/a.md") == []


def test_a_commit_is_found_by_the_beginning_of_its_id(history: History) -> None:
    first = commit(history, SMALL)
    assert history.find(first[:4]).id == history.find(first.upper()).id == first
    for wrong, reason in (
        (first[:3], "4 or more"),
        ("HEAD~1", "4 or more"),
        ("0000", "no commit starts"),
        ("", "4 or"),
    ):
        with pytest.raises(UsageError, match=reason):
            history.find(wrong)


def test_a_blob_is_read_by_its_id(history: History) -> None:
    commit(history, SMALL)
    assert History(place(history)).blob(blob_id(b"one\n")) == b"one\n"
    with pytest.raises(CorruptData, match="damaged"):
        history.blob("0" * 40)


@pytest.mark.parametrize(
    "path",
    ["x.md", "memory", "staging/x.md", "memory/../x.md", "/memory/x.md", "memory//x.md", "memory/.git/config",
     "knowledge/.GIT/x", "config.toml", "memory/./x.md", "memory/x\0.md", ""],
)  # fmt: skip
def test_only_records_are_committed(history: History, path: str) -> None:
    with pytest.raises(ValueError, match="not a file of the history"):
        commit(history, {path: b""})
    assert history.tip() is None


def test_a_moved_tip_is_a_conflict(history: History) -> None:
    first = commit(history, SMALL)
    second = commit(history, many(2), parent=first)
    with pytest.raises(Conflict, match="moved on"):
        commit(history, many(3), parent=first)
    assert (history.tip() or pytest.fail()).id == second


def test_commits_of_many_threads_follow_each_other(history: History) -> None:
    threads = [
        threading.Thread(target=commit, args=(History(place(history)), {f"knowledge/k{n}.md": b""}, f"{n}"))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(c.subject for c in history.log()) == [str(n) for n in range(8)]


def test_a_writer_that_holds_on_makes_others_say_busy(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_module, "LOCK_SECONDS", 0.05)
    with history._lock(), pytest.raises(Busy, match="try again"):
        commit(History(place(history)), SMALL)


def test_lost_versions_are_kept_beside_the_branch(history: History) -> None:
    first = commit(history, SMALL)
    kept = history.keep_lost("01RUN", many(2), AT)
    assert (history.tip() or pytest.fail()).id == first
    assert list(history.lost()) == ["01RUN"]
    assert history.lost()["01RUN"].id == kept
    assert history.lost()["01RUN"].trailers == {"Run": ("01RUN",)}
    assert History(place(history)).tree(kept) == many(2)
    for wrong in ("", "../x", "a/b", "x" * 65, "a.lock"):
        with pytest.raises(ValueError, match="not a run"):
            history.keep_lost(wrong, SMALL, AT)


def loose(history: History) -> list[Path]:
    return sorted(path for path in place(history).glob("objects/??/*") if path.is_file())


@needs_git
def test_loose_objects_are_packed_and_read_as_before(history: History) -> None:
    ids = [commit(history, {**SMALL, "memory/summary.md": f"{n}\n".encode()}) for n in range(10)]
    (place(history) / "objects" / ids[0][:2] / f"{atomic.TEMP_PREFIX}dead").write_bytes(b"half")
    count = len(loose(history)) - 1
    assert history.pack_loose().packed == count > 20
    assert loose(history) == []
    assert history.pack_loose().packed == 0
    assert git(history, "fsck", "--strict", "--full").strip() == ""
    assert [c.id for c in History(place(history)).log()] == ids[::-1]
    assert History(place(history)).tree(ids[3])["memory/summary.md"] == b"3\n"
    commit(history, SMALL)
    assert git(history, "fsck", "--strict", "--full").strip() == ""


def test_a_long_history_packs_itself(history: History) -> None:
    # The number of loose objects is guessed from one of the 256 folders: fill that one.
    texts = (f"{n}\n".encode() for n in range(100_000))
    seventeen = list(itertools.islice((data for data in texts if blob_id(data).startswith("17")), 9))
    commit(history, {f"knowledge/k{n}.md": data for n, data in enumerate(seventeen)})
    assert len(loose(history)) > 9
    commit(history, SMALL)
    report = history.packed
    assert report is not None
    assert (report.packed > 9, report.skipped) == (True, "")
    assert not list(place(history).glob("objects/17/*"))
    assert list(place(history).glob("objects/pack/*.idx"))
    assert [len(History(place(history)).tree(c.id)) for c in history.log()] == [3, 9]


def test_a_damaged_object_keeps_the_others_loose(history: History) -> None:
    commit(history, SMALL)
    victim = loose(history)[0]
    victim.write_bytes(b"rubbish")
    before = loose(history)
    report = history.pack_loose()
    assert report.packed == 0
    assert "damaged" in report.skipped
    assert loose(history) == before


def test_a_full_disk_while_packing_loses_nothing(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(history, SMALL)
    before = loose(history)

    def full(*_: object, **__: object) -> None:
        raise StorageFailure("cannot write: the disk is full")

    monkeypatch.setattr("hikidashi.records.history_objects.write_atomic", full)
    assert "disk is full" in history.pack_loose().skipped
    assert loose(history) == before


@pytest.mark.parametrize("step", range(9))
def test_a_write_that_fails_leaves_the_old_tip(history: History, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    first = commit(history, SMALL)
    steps = iter(range(100))
    real = atomic.write_atomic

    def failing(path: Path, data: bytes, **more: bool) -> None:
        if next(steps) == step:
            raise StorageFailure("cannot write: the disk is full; free some space and run the same command again")
        real(path, data, **more)

    for module in ("history", "history_objects"):
        monkeypatch.setattr(f"hikidashi.records.{module}.write_atomic", failing)
    new = {**SMALL, "memory/decisions/b.md": b"new\n", "knowledge/l.md": b"l\n"}
    if step < 8:  # two blobs, memory/decisions, memory, knowledge, the root, the commit; then the ref
        with pytest.raises(StorageFailure):
            commit(history, new)
        assert (History(place(history)).tip() or pytest.fail()).id == first
        monkeypatch.undo()
    commit(history, new)
    assert History(place(history)).tree() == new


CHILD = """
import sys
from datetime import datetime, UTC
from pathlib import Path
from hikidashi.records.history import History
history = History(Path(sys.argv[1]))
for n in range(10_000):
    tree = {f"memory/decisions/d{i}.md": b"%d\\n" % (n if i == n % 5 else i) for i in range(5)}
    history.commit(tree, author="worker", subject=str(n), at=datetime(2026, 5, 3, tzinfo=UTC))
    if n == 0:
        print("ready", flush=True)
"""


@needs_git
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_a_kill_at_any_moment_leaves_a_sound_history(history: History) -> None:
    package = Path(history_module.__file__).parents[2]
    for wait in (0.0, 0.007, 0.031):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(place(history))],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(package)},
        )
        assert child.stdout is not None
        with child.stdout:
            assert child.stdout.readline() == b"ready\n"
        time.sleep(wait)
        child.send_signal(signal.SIGKILL)
        child.wait()
        tip = History(place(history)).tip()
        assert tip is not None
        assert len(History(place(history)).tree()) == 5
        assert commit(History(place(history)), SMALL, parent=tip.id)
    History(place(history)).pack_loose()
    assert git(history, "fsck", "--strict", "--full", "--no-dangling").strip() == ""


def damage_ref(data: bytes) -> Callable[[History], None]:
    def damage(history: History) -> None:
        (place(history) / "refs/heads/main").write_bytes(data)

    return damage


def damage_objects(data: bytes | None) -> Callable[[History], None]:
    def damage(history: History) -> None:
        for path in loose(history):
            if data is None:
                path.unlink()
            else:
                path.write_bytes(data)

    return damage


def swap_objects(history: History) -> None:
    """Each object's file holds another, valid one."""
    paths = loose(history)
    texts = [path.read_bytes() for path in paths]
    for path, data in zip(paths, texts[1:] + texts[:1], strict=True):
        path.write_bytes(data)


DAMAGES: dict[str, Callable[[History], None]] = {
    "an empty ref": damage_ref(b""),
    "a ref of rubbish": damage_ref(b"hello\n"),
    "a ref that leads elsewhere": damage_ref(b"ref: ../../../etc/passwd\n"),
    "a ref to nothing": damage_ref(b"1" * 40 + b"\n"),
    "empty objects": damage_objects(b""),
    "objects of rubbish": damage_objects(b"\x78\x9c\xff\xff" * 20),
    "objects gone": damage_objects(None),
    "objects swapped": swap_objects,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_history_is_said_in_one_line_with_the_mend(
    history: History, damage: Callable[[History], None]
) -> None:
    commit(history, SMALL)
    damage(history)
    for use in (History(place(history)).tip, History(place(history)).tree, History(place(history)).log):
        with pytest.raises(
            CorruptData, match=r"^the history is damaged \(.*move \.hikidashi/history\.git elsewhere"
        ) as caught:
            use()
        assert "\n" not in str(caught.value)
    with pytest.raises(CorruptData):
        commit(History(place(history)), many(2))


def test_a_damaged_pack_is_said_too(history: History) -> None:
    commit(history, many(100))
    for path in place(history).glob("objects/pack/*"):
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])
    with pytest.raises(CorruptData):
        History(place(history)).tree()


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_in_place_of_the_history_is_not_followed(history: History, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place(history).parent.mkdir(parents=True)
    place(history).symlink_to(elsewhere)
    with pytest.raises(CorruptData, match="is a link"):
        commit(history, SMALL)
    with pytest.raises(CorruptData, match="is a link"):
        history.create()
    assert list(elsewhere.iterdir()) == []


def test_a_change_of_three_of_a_thousand_records_writes_little(history: History) -> None:
    tree = many(1_000)
    first = commit(history, tree)
    tree |= {f"memory/decisions/d-{n}.md": b"new\n%d" % n for n in range(3)}
    start = time.process_time()
    commit(History(place(history)), tree, parent=first)
    assert time.process_time() - start < 0.5  # 0.03 s alone
    assert len(loose(history)) == 3 + 3 + 1  # files, folders up to the root, the commit
    start = time.process_time()
    assert History(place(history)).tree() == tree
    assert time.process_time() - start < 1.0  # 0.08 s alone


def test_a_tree_is_read_whole_when_the_cache_forgets_a_part_of_it(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hikidashi.records.history._CACHED", 4)
    first = {f"knowledge/a{n}.md": b"%d" % n for n in range(4)}
    history.commit(first, author="person", subject="four", at=AT)
    second = first | {f"knowledge/b{n}.md": b"b%d" % n for n in range(4)}
    History(history._path).commit(second, author="person", subject="eight", at=AT)
    assert history.tree() == second
    assert history.tree() == second
