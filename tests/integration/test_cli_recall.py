"""`recall` and `read --query` by the command line."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from hikidashi.drawer.places import global_database
from tests.support.command import Ran, hikidashi

MATCH = {"scope", "key", "type", "status", "body", "version", "reasons", "score", "tokens"}
NAMED = {"scope", "key", "type", "status"}


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    folder = tmp_path / "blyck"
    folder.mkdir()
    for arguments in (
        ("init",),
        ("write", "deploy:blyck", "npm run dist, then s3 cp", "--type", "capability", "--alias", "デプロイ"),
        ("write", "deploy:shop", "fly deploy", "--type", "capability", "--alias", "デプロイ"),
        ("write", "port:dev", "The dev server listens on port 3000", "--type", "fact"),
        ("write", "rule:friday", "Never deploy on a Friday", "--type", "rule"),
        ("write", "editor:indent", "Four blanks", "--type", "fact", "--scope", "global"),
        ("write", "old:port", "The port was 8080 once", "--type", "fact"),
        ("retire", "old:port"),
    ):
        ran = hikidashi(*arguments, cwd=folder)
        assert ran.code == 0, ran
    return folder


def good(*arguments: str, cwd: Path) -> Ran:
    ran = hikidashi(*arguments, cwd=cwd)
    assert (ran.code, ran.err) == (0, ""), ran
    return ran


def keys(project: Path, *arguments: str) -> list[str]:
    return [match["key"] for match in good("recall", *arguments, "--json", cwd=project).json["facts"]]


def test_a_person_sees_what_a_turn_gets_and_why(project: Path) -> None:
    out = good("recall", "blyckをデプロイして", cwd=project).out
    assert "A turn with this text is given 1 fact and 1 rule" in out
    assert "- `deploy:blyck` (capability; worked on this machine; written by the person" in out
    assert "Never deploy on a Friday" in out
    assert "alias `デプロイ`" in out and "verb `deploy`" in out
    assert "deploy:shop" in out.partition("left out")[2]
    assert good("recall", "write a poem", cwd=project).out == "A turn with this text is given nothing.\n"


def test_programs_get_stable_keys(project: Path) -> None:
    said = good("recall", "deploy it on this port", "--json", cwd=project).json
    assert set(said) == {"facts", "rules", "left_out", "asked_for", "text", "tokens"}
    assert all(set(match) == MATCH for match in (*said["facts"], *said["rules"]))
    assert all(set(left) == {*NAMED, "reasons", "why"} for left in said["left_out"])
    assert all(set(fact) == NAMED for fact in said["asked_for"])
    assert said["facts"][0]["key"] == "deploy:blyck", "the folder is called so"
    assert said["facts"][0]["reasons"] == [{"by": "key part", "said": "deploy", "in": "prompt"}]
    assert said["text"].startswith("<hikidashi-memory>\n") and said["tokens"] > 50
    nothing = good("recall", "", "--json", cwd=project).json
    assert nothing == {"facts": [], "rules": [], "left_out": [], "asked_for": [], "text": "", "tokens": 0}


def test_both_drawers_are_asked_and_what_stands_around_counts(project: Path) -> None:
    assert keys(project, "which indent?") == ["editor:indent"]
    assert keys(project, "fix it") == []
    assert keys(project, "fix it", "--branch", "fix/port") == ["port:dev"]
    assert keys(project, "fix it", "--file", "src/port/dev.py", "--file", "b") == ["port:dev"]
    assert keys(project, "and now?", "--before", "which port?") == ["port:dev"]
    assert good("recall", "--json", "--", "--port", cwd=project).json["facts"][0]["key"] == "port:dev"


def test_settings_bound_it(project: Path) -> None:
    (project / ".hikidashi" / "config.toml").write_text("[recall]\ntop_k = 1\n")
    assert keys(project, "deploy it on this port") == ["deploy:blyck"]


def test_it_writes_nothing(project: Path) -> None:
    def state() -> list[tuple[str, bytes]]:
        files = [*(project / ".hikidashi").rglob("*"), *global_database().parent.rglob("*")]
        return sorted(
            (str(path), hashlib.sha256(path.read_bytes()).digest())
            for path in files
            if path.is_file() and not path.name.endswith(("-shm", "-wal"))
        )

    before, facts = state(), good("facts", "--json", cwd=project).out
    good("recall", "deploy it on this port", cwd=project)
    assert state() == before
    assert good("facts", "--json", cwd=project).out == facts


def test_a_search_gives_what_meets_anything(project: Path) -> None:
    found = good("read", "--query", "port", "--json", cwd=project).json["facts"]
    assert [fact["key"] for fact in found] == ["port:dev"], "a retired fact is not found"
    assert found[0]["reasons"] == [{"by": "key part", "said": "port"}] and found[0]["uses"] == 1
    deploys = good("read", "--query", "デプロイ", "--json", cwd=project).json["facts"]
    assert {fact["key"] for fact in deploys} == {"deploy:blyck", "deploy:shop"}
    out = good("read", "--query", "indent friday", cwd=project).out
    assert "editor:indent" in out and "rule:friday" in out and "found by" in out
    scoped = good("read", "--query", "indent", "--scope", "workspace", cwd=project).out
    assert scoped == "No fact meets that: `hikidashi facts` lists all keys.\n"


@pytest.mark.parametrize("arguments", [("read",), ("read", "port:dev", "--query", "port")])
def test_a_key_or_a_query_must_be_given(project: Path, arguments: tuple[str, ...]) -> None:
    ran = hikidashi(*arguments, cwd=project)
    assert (ran.code, ran.err) == (2, "error: give a KEY to read, or --query TEXT to search\n")


def test_outside_a_workspace_it_says_so(tmp_path: Path, home: Path) -> None:
    assert hikidashi("recall", "deploy", cwd=tmp_path).code == 4
