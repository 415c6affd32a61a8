"""A journal is applied only if it is ours, whole and harmless; anything else is set aside and said."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hikidashi.errors import CorruptData
from hikidashi.staging.entry import Disposition
from hikidashi.worker.journal import Journal, is_publishable, parse_journal, write_journal
from hikidashi.worker.recover import recover
from hikidashi.worker.report import Operation
from tests.support.workshop import WORKSPACE_ID, Workshop, make_entry

RUN = "01KQS55DE0WR4VJPYNTPRWQWRJ"


def _journal(**changes: Any) -> Journal:
    values: dict[str, Any] = {
        "workspace_id": WORKSPACE_ID,
        "run_id": RUN,
        "phase": "clean-up",
        "engine": "plain",
        "at": "2026-05-04T09:30:00.000Z",
        "changes": {"memory/decisions/a.md": (None, b"new\n"), "knowledge/b.md": (b"old\n", None)},
        "operations": (
            Operation(op="merge", paths=("x.md",), into=("y.md",), categories=("noisy",), reason="\u2028 \ud800"),
        ),
        "dispositions": (Disposition(entry_id=make_entry(1).id, kind="discarded", reason="empty"),),
        "subject": "Clean up",
        "trailers": {"Engine": ("plain",)},
    }
    return Journal(**(values | changes))


def test_a_journal_is_read_as_it_was_written() -> None:
    journal = _journal()
    assert parse_journal(journal.to_bytes(), WORKSPACE_ID) == journal


@pytest.mark.parametrize(
    "path",
    [
        "memory/summary.md",
        "memory/decisions/a.md",
        "memory/cleanup-log.md",
        "knowledge/日本語.md",
        "knowledge/with space.md",
    ],
)
def test_a_run_may_write_records(path: str) -> None:
    assert is_publishable(path)


HARMFUL_PATHS = [
    "",
    "memory",
    "config.toml",
    "staging/x.md",
    "history.git/hooks/post-commit.md",
    "/etc/passwd.md",
    "../memory/a.md",
    "memory/../config.md",
    "memory/../../x.md",
    "memory/./a.md",
    "memory//a.md",
    "memory/a.md/",
    "memory/a.txt",
    "memory/a",
    "memory/.hidden.md",
    "memory/.git/a.md",
    "memory/workflow/a.md",
    "memory\\..\\a.md",
    "memory/a\\b.md",
    "C:/memory/a.md",
    "memory/a:stream.md",
    "memory/a\0.md",
    "memory/a\n.md",
    "memory/dots./a.md",
    "memory/space /a.md",
    "memory/" + "a" * 1100 + ".md",
]


@pytest.mark.parametrize("path", HARMFUL_PATHS)
def test_a_run_may_write_nothing_else(path: str) -> None:
    assert not is_publishable(path)
    data = _journal(changes={path: (None, b"x")}).to_bytes()
    with pytest.raises(CorruptData, match="is no record"):
        parse_journal(data, WORKSPACE_ID)


def _changed(**changes: Any) -> Callable[[dict[str, Any]], bytes]:
    return lambda data: json.dumps({**data, **changes}).encode()


def _change(**fields: Any) -> dict[str, Any]:
    return {"path": "memory/decisions/a.md", "before": None, "after": "eA==", **fields}


def _without(key: str) -> Callable[[dict[str, Any]], bytes]:
    return lambda data: json.dumps({k: v for k, v in data.items() if k != key}).encode()


TAMPERED: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "empty": lambda data: b"",
    "garbage": lambda data: b"\x00\xff\xfe" * 40,
    "cut": lambda data: json.dumps(data).encode()[:-40],
    "cut to one byte": lambda data: b"{",
    "a list": lambda data: b"[]",
    "null": lambda data: b"null",
    "deep": lambda data: b"[" * 100_000,
    "another workspace": _changed(workspace="f" * 32),
    "a newer format": _changed(format=2),
    "no workspace": _without("workspace"),
    "no changes": _without("changes"),
    "an unknown key": _changed(command="rm -rf"),
    "no run": _changed(run_id="../../x"),
    "no phase": _changed(phase="anything"),
    "no time": _changed(at="yesterday"),
    "changes as a mapping": _changed(changes={}),
    "a change with a mode": _changed(changes=[_change(mode=0o777)]),
    "bytes that are no base64": _changed(changes=[_change(after="!!!")]),
    "bytes as a number": _changed(changes=[_change(after=3)]),
    "a path twice": _changed(changes=[_change(), _change()]),
    "paths that differ in case": _changed(changes=[_change(), _change(path="memory/Decisions/A.md")]),
    "a path as a list": _changed(changes=[_change(path=["memory", "a.md"])]),
    "an absolute path": _changed(changes=[_change(path="/tmp/x.md")]),
    "a path upwards": _changed(changes=[_change(path="memory/../../../x.md")]),
    "an unknown disposition": _changed(dispositions=[[make_entry(1).id, "eaten", "", ""]]),
    "a disposition of nothing": _changed(dispositions=[["x", "applied", "", ""]]),
    "a short disposition": _changed(dispositions=[["x"]]),
    "an unknown operation": _changed(operations=[["explode", [], [], [], ""]]),
    "trailers as a list": _changed(trailers=["Run: x"]),
    "a trailer as a number": _changed(trailers={"Run": [3]}),
}


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path / "project")
    yield workshop
    workshop.close()


@pytest.mark.parametrize("tamper", TAMPERED.values(), ids=TAMPERED)
def test_a_tampered_journal_is_refused_in_one_line(tamper: Callable[[dict[str, Any]], bytes]) -> None:
    with pytest.raises(CorruptData, match="the publication journal is not applied: ") as caught:
        parse_journal(tamper(json.loads(_journal().to_bytes())), WORKSPACE_ID)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["garbage", "another workspace", "a path upwards"])
def test_a_refused_journal_is_set_aside_and_said_and_the_run_goes_on(workshop: Workshop, name: str) -> None:
    ids = workshop.stage(1)
    data = TAMPERED[name](json.loads(_journal().to_bytes()))
    workshop.workspace.journal.write_bytes(data)
    report = workshop.run()
    assert report.outcome == "done"
    assert "the publication journal is not applied" in report.recovered[0]
    aside = list(workshop.workspace.home.glob("publish.journal.*"))
    assert [file.read_bytes() for file in aside] == [data]
    assert "memory/decisions/a.md" not in workshop.tree()
    workshop.assert_whole(ids)


def test_a_journal_that_is_a_link_or_a_folder_is_not_followed(workshop: Workshop, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_bytes(_journal().to_bytes())
    workshop.workspace.journal.symlink_to(target)
    assert "no plain file" in recover(workshop.bench(), RUN)[0]
    workshop.workspace.journal.mkdir()
    assert "no plain file" in recover(workshop.bench(), RUN)[0]
    assert recover(workshop.bench(), RUN) == []
    assert target.exists()
    assert len(list(workshop.workspace.home.glob("publish.journal.*"))) == 2
    assert "memory/decisions/a.md" not in workshop.tree()


def test_a_good_journal_writes_through_no_link(workshop: Workshop, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    workshop.workspace.memory.mkdir()
    (workshop.workspace.memory / "decisions").symlink_to(outside, target_is_directory=True)
    write_journal(workshop.workspace, _journal(dispositions=(), changes={"memory/decisions/a.md": (None, b"new\n")}))
    lines = recover(workshop.bench(), "")
    assert "taken back" in lines[0]
    assert list(outside.iterdir()) == []
    assert not workshop.workspace.journal.exists()


def test_before_and_after_survive_any_bytes() -> None:
    data = bytes(range(256))
    journal = _journal(changes={"memory/a.md": (data, base64.b64encode(data))})
    assert parse_journal(journal.to_bytes(), WORKSPACE_ID).changes == journal.changes
