"""The drawer by the command line: write, read, facts, retire, forget, why, export, import."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hikidashi.config.machine import this_machine
from hikidashi.db.connection import connect, transaction
from hikidashi.drawer.fact import Sighting, fact_subject
from hikidashi.drawer.places import global_database
from hikidashi.drawer.sightings import add_sighting
from hikidashi.drawer.store import Drawer
from hikidashi.errors import CorruptData
from hikidashi.times import format_time, now
from hikidashi.usage.events import record
from tests.support.command import Ran, hikidashi

FACT = {
    "scope", "key", "type", "body", "status", "confidence", "proof", "probe", "aliases", "trust", "origin", "machine",
    "elsewhere", "source", "version", "uses", "created_at", "updated_at", "last_seen", "last_verified", "last_failed",
    "failure",
}  # fmt: skip
LINE = (FACT - {"machine", "elsewhere"}) | {"format", "digest", "machine_id", "machine_name"}
TOKEN = "gh" + "p_" + "a1B2" * 9


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    folder = tmp_path / "港 'shop'"
    folder.mkdir()
    assert hikidashi("init", cwd=folder).code == 0
    return folder


@contextlib.contextmanager
def database(project: Path) -> Iterator[sqlite3.Connection]:
    connection = connect(project / ".hikidashi" / "workspace.sqlite")
    try:
        yield connection
    finally:
        connection.close()


def good(*arguments: str, cwd: Path, stdin: bytes = b"") -> Ran:
    ran = hikidashi(*arguments, cwd=cwd, stdin=stdin)
    assert (ran.code, ran.err) == (0, ""), ran
    return ran


def write(project: Path, key: str = "deploy:harbour", body: str = "fly deploy", *more: str) -> Ran:
    return good("write", key, body, *(more or ("--type", "capability")), cwd=project)


def facts(project: Path, *more: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = good("facts", *more, "--json", cwd=project).json["facts"]
    return found


def test_a_fact_is_written_listed_and_read(project: Path) -> None:
    ran = write(
        project, "deploy:harbour", "fly deploy --app harbour", "--type", "capability", "--proof", "v3 is live",
        "--probe", "fly status --app 'my harbour'", "--alias", "ship it", "--alias", "デプロイ",
    )  # fmt: skip
    assert ran.out == "Created deploy:harbour.\n"
    [fact] = facts(project)
    assert set(fact) == FACT
    assert (fact["body"], fact["proof"], fact["confidence"], fact["trust"], fact["origin"]) == (
        "fly deploy --app harbour", "v3 is live", 1.0, "user", "command",
    )  # fmt: skip
    assert fact["probe"] == ["fly", "status", "--app", "my harbour"]
    assert fact["aliases"] == ["ship it", "デプロイ"]
    assert (fact["machine"], fact["elsewhere"]) == (this_machine().name, False)
    text = good("facts", cwd=project).out
    assert all(part in text for part in ("deploy:harbour", "capability", "active", "0 min", "proof: v3 is live"))
    text = good("read", "deploy:harbour", cwd=project).out
    assert all(part in text for part in ("fly deploy --app harbour", "v3 is live", "'my harbour'", "デプロイ"))
    read = good("read", " deploy:harbour ", "--json", cwd=project).json
    assert set(read) == {"fact"} and set(read["fact"]) == FACT
    assert read["fact"]["uses"] == 2


def test_a_body_comes_from_standard_input_too(project: Path) -> None:
    good("write", "rule:ports", "-", "--type", "rule", cwd=project, stdin="ポートは\n3000\n".encode())
    assert facts(project)[0]["body"] == "ポートは\n3000"
    ran = hikidashi("write", "x", "-", "--type", "rule", cwd=project, stdin=b"\xff\xfe")
    assert (ran.code, ran.out) == (2, "")
    assert "not UTF-8" in ran.err


def test_replacing_shows_the_old_text_and_keeps_probe_and_aliases(project: Path) -> None:
    write(project, "k", "the first way", "--type", "capability", "--probe", "fly status", "--alias", "ship")
    ran = write(project, "k", "the second way")
    assert "version 2" in ran.out and "the first way" in ran.out
    assert (facts(project)[0]["probe"], facts(project)[0]["aliases"]) == (["fly", "status"], ["ship"])
    data = write(project, "k", "third", "--type", "procedure", "--probe", "", "--alias", "", "--json").json
    assert set(data) == {"action", "fact", "previous"}
    assert (data["action"], data["previous"]["body"], data["fact"]["version"]) == ("replaced", "the second way", 3)
    assert (data["fact"]["probe"], data["fact"]["aliases"]) == ([], [])
    assert write(project, "new", "n", "--type", "fact", "--json").json["previous"] is None


def test_the_users_own_drawer_is_made_by_the_first_write_alone(project: Path, tmp_path: Path, home: Path) -> None:
    for look in (["facts"], ["facts", "--scope", "global"], ["export"], ["export", "--scope", "global"]):
        good(*look, cwd=project)
    for miss in (["read", "k", "--scope", "global"], ["forget", "k", "--scope", "global", "--yes"], ["why", "k"]):
        assert hikidashi(*miss, cwd=project).code == 16
    assert not global_database().exists()
    write(project, "k", "everywhere", "--type", "rule", "--scope", "global")
    assert global_database().is_relative_to(home)
    assert global_database().stat().st_mode & 0o777 == 0o600
    assert global_database().parent.stat().st_mode & 0o777 == 0o700
    other = tmp_path / "other"
    other.mkdir()
    hikidashi("init", cwd=other)
    assert [(fact["scope"], fact["body"]) for fact in facts(other)] == [("global", "everywhere")]
    assert facts(other, "--scope", "workspace") == []
    outside = tmp_path / "outside"
    outside.mkdir()
    assert "everywhere" in good("read", "k", "--scope", "global", cwd=outside).out
    good("write", "k", "again", "--type", "rule", "--scope", "global", cwd=outside)
    assert hikidashi("facts", cwd=outside).code == 4


def test_the_workspace_shadows_the_users_own(project: Path) -> None:
    write(project, "k", "mine", "--type", "fact", "--scope", "global")
    ran = write(project, "k", "ours", "--type", "fact")
    assert "note: your own global fact of the same key is not given here" in ran.out
    assert good("read", "k", "--json", cwd=project).json["fact"]["body"] == "ours"
    assert good("read", "k", "--scope", "global", "--json", cwd=project).json["fact"]["body"] == "mine"
    assert [(fact["key"], fact["scope"]) for fact in facts(project)] == [("k", "workspace"), ("k", "global")]


def test_lists_are_narrowed(project: Path) -> None:
    for key, kind in (("b", "rule"), ("a", "decision"), ("c", "rule")):
        write(project, key, "text", "--type", kind)
    good("retire", "c", cwd=project)
    assert [fact["key"] for fact in facts(project)] == ["a", "b", "c"]
    assert [fact["key"] for fact in facts(project, "--type", "rule")] == ["b", "c"]
    assert [fact["key"] for fact in facts(project, "--type", "rule", "--status", "retired")] == ["c"]
    assert "No facts of that kind" in good("facts", "--type", "fact", cwd=project).out


def test_of_many_aliases_a_few_are_shown(project: Path) -> None:
    names = [f"name {number}" for number in range(14)]
    write(project, "k", "text", "--type", "fact", *(word for name in names for word in ("--alias", name)))
    text = good("read", "k", cwd=project).out
    assert "name 11 and 2 more (`--json` has all)" in text
    assert good("read", "k", "--json", cwd=project).json["fact"]["aliases"] == names


def test_a_missing_key_names_near_ones(project: Path) -> None:
    write(project)
    for command in ("read", "why", "retire", "forget"):
        ran = hikidashi(command, "deploy:harbor", cwd=project)
        assert (ran.code, ran.out) == (16, "")
        assert ran.err == "error: no fact has the key deploy:harbor: did you mean deploy:harbour?\n"
    write(project, "mine", "text", "--type", "fact", "--scope", "global")
    for command in ("retire", "forget"):
        ran = hikidashi(command, "mine", cwd=project)
        assert ran.code == 16 and ran.err.endswith("but one of global: add --scope global\n")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["k", f"export GH_TOKEN={TOKEN}", "--type", "fact"], 15, "the body holds a secret (github-token, column 17)"),
        ([f"k:{TOKEN}", "b", "--type", "fact"], 15, "the key holds a secret"),
        (["k", "b", "--type", "fact", "--proof", f"as {TOKEN}"], 15, "the proof holds a secret"),
        (["k", "b", "--type", "fact", "--probe", f"curl -H 'Authorization: Bearer {TOKEN}' x"], 15, "the probe holds"),
        (["k", "b", "--type", "fact", "--alias", TOKEN], 15, "the alias holds a secret"),
        (["k", "b", "--type", "fact", "--probe", "echo 'x"], 2, "close its quotes"),
        (["k", "", "--type", "fact"], 2, "the body is empty"),
        ([" ", "b", "--type", "fact"], 2, "the key is empty"),
        (["k", "x" * 4001, "--type", "fact"], 2, "shorten it, or split it over several keys"),
        (["k", "b"], 2, "missing option '--type'"),
        (["k", "b", "--type", "thing"], 2, "--type"),
    ],
)
def test_what_cannot_be_written_is_one_line(project: Path, arguments: list[str], code: int, said: str) -> None:
    write(project, "k", "before", "--type", "fact")
    ran = hikidashi("write", *arguments, cwd=project)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert said in ran.err and "a1B2" not in ran.err
    assert [(fact["body"], fact["version"]) for fact in facts(project)] == [("before", 1)]


def test_retired_facts_are_read_by_key_alone_and_a_write_brings_them_back(project: Path) -> None:
    write(project)
    assert good("retire", "deploy:harbour", "--json", cwd=project).json["fact"]["status"] == "retired"
    ran = good("read", "deploy:harbour", cwd=project)
    assert "Retired: no agent is given it" in ran.out
    assert facts(project)[0]["status"] == "retired"
    write(project)
    assert facts(project)[0]["status"] == "active"


def test_reading_revives_a_stale_fact(project: Path) -> None:
    write(project, "k", "text", "--type", "decision")
    with database(project) as connection:
        connection.execute("UPDATE facts SET status = 'stale', last_seen = '2026-01-01T00:00:00.000Z'")
    assert "stale" in good("facts", cwd=project).out
    fact = good("read", "k", "--json", cwd=project).json["fact"]
    assert fact["status"] == "active" and fact["last_seen"] > "2026-01-02"


def test_commands_let_facts_decay(project: Path) -> None:
    write(project, "old", "text", "--type", "decision")
    write(project, "kept", "text", "--type", "rule")
    write(project, "old", "text", "--type", "fact", "--scope", "global")
    at = now()
    seen, last = format_time(at - timedelta(days=100)), format_time(at - timedelta(days=2))
    for path in (project / ".hikidashi" / "workspace.sqlite", global_database()):
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("UPDATE facts SET last_seen = ?", (seen,))
            note = json.dumps({"last": last, "gaps": []})
            connection.execute("UPDATE meta SET value = ? WHERE key = 'decay_pass'", (note,))
    assert [(fact["key"], fact["status"]) for fact in facts(project)] == [
        ("kept", "active"), ("old", "stale"), ("old", "stale"),
    ]  # fmt: skip
    decay = good("why", "old", "--json", cwd=project).json["decay"]
    retired = format_time(at + timedelta(days=80))[:10]
    assert decay == {"exempt": False, "unseen_days": 100.0, "stale_on": None, "retired_on": retired}
    assert "will be retired on" in good("why", "old", cwd=project).out
    assert "A rule does not decay." in good("why", "kept", cwd=project).out


def test_forgetting_asks_and_leaves_nothing(project: Path) -> None:
    write(project, "deploy:zyzzyva", "rsync to the quincunx", "--type", "capability", "--alias", "xanthic")
    ran = hikidashi("forget", "deploy:zyzzyva", cwd=project)
    assert ran.code == 2
    assert ran.err == "error: nothing was forgotten: run `hikidashi forget deploy:zyzzyva --yes`\n"
    assert len(facts(project)) == 1
    good("read", "deploy:zyzzyva", cwd=project)
    done = good("forget", "deploy:zyzzyva", "--yes", "--json", cwd=project).json
    assert done == {
        "key": "deploy:zyzzyva", "scope": "workspace", "fact": True, "candidates": 0, "sightings": 0, "uses": 1,
        "again": False,
    }  # fmt: skip
    for file in (project / ".hikidashi").rglob("*"):
        if file.is_file():
            assert not [word for word in (b"zyzzyva", b"quincunx", b"xanthic") if word in file.read_bytes()], file
    assert facts(project) == []
    assert "forgotten before" in good("forget", "deploy:zyzzyva", "--yes", cwd=project).out
    assert write(project, "deploy:zyzzyva", "again").out == "Created deploy:zyzzyva.\n"


def test_a_reader_that_keeps_bytes_is_an_error_that_says_so(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = Drawer.forget.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "wait_seconds", 0.1)
    write(project)
    with database(project) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM facts").fetchone()
        ran = hikidashi("forget", "deploy:harbour", "--yes", cwd=project)
        assert (ran.code, ran.out) == (3, "")
        assert "is forgotten, but" in ran.err and "run the same command again" in ran.err
    assert good("forget", "deploy:harbour", "--yes", "--json", cwd=project).json["again"] is True


def test_why_tells_the_whole_story(project: Path) -> None:
    write(project, "k", "the first way", "--type", "decision")
    write(project, "k", "the second way", "--type", "decision")
    with database(project) as connection:
        with transaction(connection):
            add_sighting(
                connection,
                Sighting(
                    key="k", anchor="a", host="claude-code", session_id="s9", path="/home/mika/one.jsonl", line=41,
                    at="2026-03-01T10:00:00.000Z", outcome="failed", told="fly deploy --app harbour",
                ),
            )  # fmt: skip
            connection.execute(
                "UPDATE facts SET source = ?",
                (json.dumps({"host": "claude-code", "session_id": "s8", "lines": [3, 5]}),),
            )
        for _ in range(3):
            record(
                connection, "exposure", fact_subject("workspace", "k"), session_id="s7", via="hook",
                at="2026-03-02T10:00:00.000Z",
            )  # fmt: skip
    good("read", "k", cwd=project)
    text = good("why", "k", cwd=project).out
    for part in (
        "the second way", "the first way", "/home/mika/one.jsonl:42", "fly deploy --app harbour", "failed",
        "session s8, lines 4 to 6", "3 times", "by hook, session s7", "by read", "It will be stale on ",
    ):  # fmt: skip
        assert part in text
    data = good("why", "k", "--json", cwd=project).json
    assert set(data) == {"fact", "versions", "sightings", "uses", "decay"}
    assert [version["body"] for version in data["versions"]] == ["the first way", "the second way"]
    assert data["sightings"][0]["line"] == 41
    assert {(use["kind"], use["via"], use["session_id"], use["uses"]) for use in data["uses"]} == {
        ("exposure", "hook", "s7", 3), ("explicit", "read", "", 1),
    }  # fmt: skip
    assert data["decay"]["stale_on"] == format_time(now() + timedelta(days=90))[:10]


def test_a_capability_of_another_machine_says_where_it_worked(project: Path) -> None:
    write(project)
    with database(project) as connection:
        connection.execute("UPDATE facts SET machine_id = 'other', machine_name = 'laptop'")
    assert facts(project)[0]["elsewhere"] is True
    assert "worked on laptop" in good("facts", cwd=project).out
    assert "worked on laptop, not shown on" in good("read", "deploy:harbour", cwd=project).out


def test_a_search_finds_by_name_alias_and_words(project: Path) -> None:
    write(project, "deploy:harbour", "fly deploy", "--type", "capability", "--alias", "ship it", "--alias", "デプロイ")
    write(project, "rule:ports", "the preview listens on port 3000", "--type", "rule")
    write(project, "decision:database", "we keep the articles in SQLite", "--type", "decision")
    write(project, "deploy:quay", "the old way", "--type", "fact")
    write(project, "deploy:harbour", "everywhere else", "--type", "fact", "--scope", "global")
    good("retire", "deploy:quay", cwd=project)
    with database(project) as connection:
        connection.execute("UPDATE facts SET status = 'stale' WHERE status = 'active'")

    def search(text: str) -> dict[str, str]:
        data = good("read", "--query", text, "--json", cwd=project).json
        assert set(data) == {"facts"}
        assert all(set(fact) == FACT | {"reasons", "score"} and fact["reasons"] for fact in data["facts"])
        return {fact["key"]: fact["status"] for fact in data["facts"]}

    assert search("articles sqlite") == {"decision:database": "stale"}, "words alone are no use"
    assert search("harbour") == {"deploy:harbour": "active"}, "the workspace shadows; retired ones are not found"
    assert search("デプロイして") == {"deploy:harbour": "active"}
    assert search("which port") == {"rule:ports": "active"}, "a part of its key"
    assert search("zzz") == {}
    assert "fly deploy" in good("read", "--query", "ship it", cwd=project).out
    assert "No fact meets that" in good("read", "--query", '"(zzz', cwd=project).out
    uses = good("why", "decision:database", "--json", cwd=project).json["uses"]
    assert [(use["kind"], use["via"], use["uses"]) for use in uses] == [("exposure", "read", 1)]


def test_an_export_is_the_same_bytes_and_survives_a_round_trip(project: Path, tmp_path: Path) -> None:
    write(project, "b", "two\nlines \u2028 and \"quotes\" 'n'", "--type", "rule", "--alias", "ü")
    write(project, "deploy:harbour", "fly deploy", "--type", "capability", "--probe", "fly status", "--proof", "live")
    write(project, "deploy:harbour", "fly deploy -a harbour", "--type", "capability")
    write(project, "a", "old", "--type", "decision")
    good("retire", "a", cwd=project)
    write(project, "g", "everywhere", "--type", "fact", "--scope", "global")
    out = good("export", cwd=project).out
    assert out == good("export", cwd=project).out
    lines = [json.loads(line) for line in out.split("\n")[:-1]]
    assert [(line["scope"], line["key"], line["status"]) for line in lines] == [
        ("global", "g", "active"), ("workspace", "a", "retired"), ("workspace", "b", "active"),
        ("workspace", "deploy:harbour", "active"),
    ]  # fmt: skip
    assert all(set(line) == LINE for line in lines)
    assert good("export", "--json", cwd=project).json["facts"] == lines
    assert [json.loads(line)["key"] for line in good("export", "--scope", "global", cwd=project).out.splitlines()] == [
        "g"
    ]
    versions = good("export", "--versions", "--json", cwd=project).json["facts"][-1]["versions"]
    assert [version["body"] for version in versions] == ["fly deploy", "fly deploy -a harbour"]

    (tmp_path / "facts.jsonl").write_text(out, encoding="utf-8")
    again = good("import", str(tmp_path / "facts.jsonl"), "--json", cwd=project).json
    assert (again["created"], again["replaced"], again["unchanged"]) == (0, 0, 4)
    assert good("export", cwd=project).out == out

    other = tmp_path / "other"
    other.mkdir()
    hikidashi("init", cwd=other)
    ran = good("import", "-", cwd=other, stdin=b"\xef\xbb\xbf" + out.encode().replace(b"\n", b"\r\n\n"))
    assert "4 facts read: 3 created, 0 replaced, 1 unchanged" in ran.out
    assert "1 probe did not come in" in ran.out
    kept = ("scope", "key", "type", "body", "status", "proof", "aliases", "trust", "machine")
    before = {fact["key"]: fact for fact in facts(project, "--scope", "workspace")}
    for fact in facts(other, "--scope", "workspace"):
        assert {name: fact[name] for name in kept} == {name: before[fact["key"]][name] for name in kept}
        assert (fact["origin"], fact["confidence"], fact["probe"], fact["version"]) == ("import", 0.7, [], 1)


GOOD = {"key": "new", "type": "fact", "body": "text"}


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("nonsense", 2, "it is no JSON: give a file that `hikidashi export` wrote"),
        ("[" * 100_000, 2, "it is no JSON"),
        ("[1]", 2, "it is no JSON object"),
        (b"\xff", 2, "it is not UTF-8"),
        ({**GOOD, "key": None}, 2, "key is missing"),
        ({**GOOD, "body": 3}, 2, "body is not a text"),
        ({**GOOD, "body": "\ud800"}, 2, "the body holds bytes that are no text"),
        ({**GOOD, "type": "thing"}, 2, "type is not one of capability, decision, rule, procedure, fact"),
        ({**GOOD, "type": ["fact"]}, 2, "type is not one of"),
        ({**GOOD, "scope": "world"}, 2, "scope is not one of workspace, global"),
        ({**GOOD, "confidence": 1.5}, 2, "confidence is not a number from 0 to 1"),
        ({**GOOD, "confidence": float("nan")}, 2, "confidence is not a number"),
        ({**GOOD, "aliases": "a"}, 2, "aliases is not a list of texts"),
        ({**GOOD, "source": {"host": 1}}, 2, "source needs host"),
        ({**GOOD, "format": 2}, 2, "this hikidashi reads 1: upgrade hikidashi"),
        ({**GOOD, "bdy": "x"}, 2, "'bdy' is nothing that a fact has: take it out"),
        ({**GOOD, "key": "first"}, 2, "first stands on line 1 already"),
        ({**GOOD, "body": f"use {TOKEN}"}, 15, "the body holds a secret"),
        ({**GOOD, "machine_name": TOKEN}, 15, "the source holds a secret"),
    ],
)
def test_one_bad_line_keeps_all_out_and_is_named(
    project: Path, tmp_path: Path, line: str | bytes | dict[str, Any], code: int, said: str
) -> None:
    write(project, "first", "before", "--type", "fact")
    bad = line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode()
    first = json.dumps({**GOOD, "key": "first", "body": "after"}).encode()
    (tmp_path / "facts.jsonl").write_bytes(first + b"\n\n" + bad + b"\n")
    ran = hikidashi("import", str(tmp_path / "facts.jsonl"), cwd=project)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert ran.err.startswith("error: line 3: ") and "nothing was imported" in ran.err
    assert said in ran.err and "a1B2" not in ran.err
    assert [(fact["key"], fact["body"]) for fact in facts(project)] == [("first", "before")]


def test_importing_replaces_keeps_versions_and_the_probe_that_is_here(project: Path) -> None:
    write(project, "k", "here", "--type", "capability", "--probe", "fly status")
    line = json.dumps(
        {"key": "k", "type": "capability", "body": "there", "probe": ["rm", "-rf", "/"], "confidence": 0.4}
    )
    done = good("import", "-", "--json", cwd=project, stdin=line.encode()).json
    assert (done["replaced"], done["probes_left_out"]) == (1, 1)
    assert done["facts"] == [{"scope": "workspace", "key": "k", "action": "replaced"}]
    [fact] = facts(project)
    assert (fact["body"], fact["confidence"], fact["probe"], fact["version"]) == ("there", 0.4, ["fly", "status"], 2)


def test_importing_into_one_scope(project: Path) -> None:
    lines = json.dumps({**GOOD, "scope": "workspace"})
    good("import", "-", "--scope", "global", cwd=project, stdin=lines.encode())
    assert [(fact["key"], fact["scope"]) for fact in facts(project)] == [("new", "global")]


def test_nothing_to_import_and_no_file(project: Path) -> None:
    assert "0 facts read" in good("import", "-", cwd=project).out
    ran = hikidashi("import", "nowhere.jsonl", cwd=project)
    assert (ran.code, ran.out) == (2, "")
    assert "cannot read nowhere.jsonl" in ran.err
    assert hikidashi("import", ".", cwd=project).code == 2


DAMAGES = {
    "aliases": "aliases = '[nonsense'",
    "source": "source = '[1]'",
    "last_seen": "last_seen = 'soon'",
    "last_failed": "last_failed = 'yesterday'",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_a_damaged_fact_says_how_it_is_mended_and_that_mends_it(project: Path, damage: str) -> None:
    write(project, "note:whole", "stays", "--type", "fact")
    for mend in (
        ("write", "note:bad", "anew", "--type", "fact"),
        ("forget", "note:bad", "--yes"),
        ("import", "facts.jsonl"),
    ):
        write(project, "note:bad", "gets lost", "--type", "fact")
        with database(project) as connection:
            connection.execute(f"UPDATE facts SET {damage} WHERE key = 'note:bad'")
        for look in (("facts",), ("read", "note:bad"), ("why", "note:bad"), ("export",), ("verify", "note:bad")):
            ran = hikidashi(*look, cwd=project)
            assert ran.code == CorruptData.exit_code
            assert "note:bad is damaged" in ran.err
            assert "`hikidashi write`" in ran.err
            assert "`hikidashi forget`" in ran.err
        (project / "facts.jsonl").write_text('{"key": "note:bad", "type": "fact", "body": "anew"}\n')
        assert hikidashi(*mend, cwd=project).code == 0
        keys = [fact["key"] for fact in json.loads(good("facts", "--json", cwd=project).out)["facts"]]
        assert keys == (["note:whole"] if mend[0] == "forget" else ["note:bad", "note:whole"])


def test_a_full_disk_keeps_nobody_from_reading(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, "note:here", "still there", "--type", "fact")

    def full(connection: sqlite3.Connection, *arguments: object) -> None:
        connection.execute("PRAGMA max_page_count = 1")  # SQLite takes the file's own size: no page is free
        with transaction(connection):
            connection.execute("INSERT INTO meta VALUES ('filler', hex(zeroblob(500000)))")

    monkeypatch.setattr("hikidashi.cli.drawer.note_read", full)
    ran = hikidashi("read", "note:here", cwd=project)
    assert ran.code == 0
    assert "still there" in ran.out
    assert "the disk is full" in ran.err


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_a_damaged_fact_keeps_no_other_from_being_listed_exported_or_checked(project: Path, damage: str) -> None:
    capability = ("--type", "capability", "--probe", "true")
    write(project, "test:whole", "it passes", *capability)
    write(project, "test:bad", "gets lost", *capability)
    with database(project) as connection:
        connection.execute(f"UPDATE facts SET {damage} WHERE key = 'test:bad'")
    for look in (("facts",), ("export",), ("export", "--versions"), ("verify",), ("verify", "test:bad", "test:whole")):
        ran = hikidashi(*look, cwd=project)
        assert ran.code == CorruptData.exit_code, look
        assert "test:whole" in ran.out
        assert "test:bad" not in ran.out
        assert ran.err.startswith("error: the fact test:bad is damaged (")
        assert ran.err.endswith("`hikidashi forget`\n")
        assert ran.err.count("\n") == 1
        with_json = hikidashi(*look, "--json", cwd=project)
        assert (with_json.code, with_json.err) == (ran.code, ran.err)
        [named] = with_json.json["damaged"]
        assert (named["scope"], named["key"]) == ("workspace", "test:bad")
        assert [one["key"] for one in with_json.json[("checked" if look[0] == "verify" else "facts")]] == ["test:whole"]
    write(project, "test:bad", "anew", *capability)
    assert json.loads(good("facts", "--json", cwd=project).out)["damaged"] == []


def test_nothing_but_a_damaged_fact_is_no_empty_drawer(project: Path) -> None:
    write(project, "test:bad", "gets lost", "--type", "capability", "--probe", "true")
    with database(project) as connection:
        connection.execute("UPDATE facts SET aliases = '{}' WHERE key = 'test:bad'")
    for look in ("facts", "verify"):
        ran = hikidashi(look, cwd=project)
        assert (ran.code, ran.err.count("is damaged")) == (CorruptData.exit_code, 1)
        assert "No facts yet" not in ran.out
        assert "No active capability" not in ran.out


@pytest.mark.parametrize("column", ["aliases", "source", "last_seen"])
def test_a_damaged_fact_stops_neither_decay_nor_newer_redaction_rules(project: Path, column: str) -> None:
    token = "gh" + "p_" + "a1B2" * 9
    write(project, "note:whole", "stays", "--type", "fact")
    write(project, "note:bad", "gets lost", "--type", "fact")
    with database(project) as connection:
        connection.execute(f"UPDATE facts SET {column} = ?, rules_version = 0 WHERE key = 'note:bad'", (f"[{token}",))
        connection.execute("UPDATE facts SET body = ?, rules_version = 0 WHERE key = 'note:whole'", (token,))
        connection.execute("DELETE FROM meta WHERE key IN ('redaction_rules', 'decay_pass')")
    ran = hikidashi("facts", "--json", cwd=project)
    assert ran.code == CorruptData.exit_code
    assert [fact["body"] for fact in ran.json["facts"]] == ["[redacted:github-token]"]
    if column != "last_seen":  # no place for texts
        with database(project) as connection:
            [left] = connection.execute(f"SELECT {column} FROM facts WHERE key = 'note:bad'").fetchone()
        assert left == "[[redacted:github-token]"


def test_newer_redaction_rules_drop_a_damaged_probe_that_holds_a_secret(project: Path) -> None:
    write(project, "note:bad", "stays", "--type", "fact")
    with database(project) as connection:
        connection.execute("UPDATE facts SET probe = ?, rules_version = 0", ("[gh" + "p_" + "a1B2" * 9,))
        connection.execute("DELETE FROM meta WHERE key = 'redaction_rules'")
    ran = hikidashi("facts", "--json", cwd=project)
    assert (ran.code, [fact["probe"] for fact in ran.json["facts"]]) == (0, [[]])
