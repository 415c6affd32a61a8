"""`hikidashi classify`: sessions in, candidates out, nothing stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import hikidashi
from tests.transcripts import Session

PUSHED = "To github.com:ann/till.git\n   4f2a91c..77b0e12  main -> main"


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    for name in ("one", "two"):
        session = Session(name=name, cwd="/home/ann/till")
        session.user("ship it")
        session.runs("git status --short", "")
        session.runs("pytest -q", "..\n2 passed in 0.04s")
        session.runs("git push origin main", PUSHED)
        session.runs("git push --dry-run origin main", PUSHED)
        session.runs("pytest -q | tail -1", "1 failed, 1 passed in 0.05s")
        session.write(folder / f"{name}.jsonl")
    return folder


def test_it_prints_candidates_with_their_evidence(sessions: Path, tmp_path: Path) -> None:
    ran = hikidashi("classify", str(sessions), "--json", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert set(ran.json) == {"files", "calls", "candidates"}
    candidates = {candidate["key"]: candidate for candidate in ran.json["candidates"]}
    assert set(candidates) == {"test:till", "push:ann/till"}
    push = candidates["push:ann/till"]
    assert set(push) == {"type", "key", "body", "proof", "probe", "trust", "evidence"}
    assert (push["type"], push["trust"]) == ("capability", "tool")
    evidence = [(Path(one["file"]).name, one["verb"], one["tool"], one["target"]) for one in push["evidence"]]
    assert evidence == [(f"{name}.jsonl", "push", "git", "ann/till") for name in ("one", "two")]
    first = push["evidence"][0]
    call = Path(first["file"]).read_text(encoding="utf-8").split("\n")[first["line"]]
    assert "git push origin main" in call
    assert all(one["outcome"] == "ok" for candidate in candidates.values() for one in candidate["evidence"])


def test_it_explains_why_the_other_calls_show_nothing(sessions: Path, tmp_path: Path) -> None:
    ran = hikidashi("classify", str(sessions / "one.jsonl"), "--explain", "--json", cwd=tmp_path)
    whys = {one["command"]: one["why"] for one in ran.json["nothing"]}
    assert set(whys) == {"git status --short", "git push --dry-run origin main", "pytest -q | tail -1"}
    assert "only tells or pretends" in whys["git push --dry-run origin main"]
    assert "1 failed" in whys["pytest -q | tail -1"]
    text = hikidashi("classify", str(sessions / "one.jsonl"), "--explain", cwd=tmp_path).out
    lines = {one["command"]: one["line"] for one in ran.json["nothing"]}
    assert f"one.jsonl:{lines['git status --short'] + 1}  " in text  # as editors count
    assert "push:ann/till" in text
    assert "only tells or pretends" in text
    assert "2 candidates from 1 transcript, 5 shell calls. Nothing was stored." in text


def test_it_stores_nothing_and_needs_no_workspace(sessions: Path, tmp_path: Path, home: Path) -> None:
    before = sorted(path for folder in (tmp_path, home) for path in folder.rglob("*"))
    assert hikidashi("classify", str(sessions), cwd=tmp_path).code == 0
    assert sorted(path for folder in (tmp_path, home) for path in folder.rglob("*")) == before


def test_a_path_without_sessions_is_refused_with_the_mend(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("{}\n")
    for path in ("nowhere", "notes.jsonl"):
        ran = hikidashi("classify", path, cwd=tmp_path)
        assert ran.code == 2
        assert ran.err.count("\n") == 1
        assert "give a" in ran.err
