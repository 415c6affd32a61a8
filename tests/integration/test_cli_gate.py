"""The gate by the command line: candidates, approve, reject, verify, and what an agent may not do."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from hikidashi.config.settings import user_file
from hikidashi.db.connection import connect
from hikidashi.drawer import person
from hikidashi.drawer.candidates import waiting
from hikidashi.drawer.decisions import later
from hikidashi.drawer.person import MARKERS, Ancestor, Marker
from hikidashi.errors import CorruptData
from tests.secrets_samples import tokens
from tests.support.candidates import seen
from tests.support.command import Ran, hikidashi
from tests.support.commands import Commands
from tests.support.detached import Detached, run_detached
from tests.support.project import python_environ

SECRET = next(token for kind, token in tokens() if kind == "github-token")

CANDIDATE = {
    "id", "scope", "key", "type", "verb", "body", "confidence", "proof", "probe", "aliases", "trust", "origin",
    "digest", "machine_id", "machine_name", "source", "state", "sessions", "first_seen", "last_seen", "later_until",
    "replaces", "evidence",
}  # fmt: skip


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    folder = tmp_path / "港 'shop'"
    folder.mkdir()
    assert hikidashi("init", cwd=folder).code == 0
    return folder


def good(*arguments: str, cwd: Path) -> Ran:
    ran = hikidashi(*arguments, cwd=cwd)
    assert (ran.code, ran.err) == (0, ""), ran
    return ran


def candidates(project: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = good("candidates", "--json", cwd=project).json["candidates"]
    return found


def fact(project: Path, key: str = "deploy:harbour") -> dict[str, Any] | None:
    facts = good("facts", "--json", cwd=project).json["facts"]
    return next((fact for fact in facts if fact["key"] == key), None)


# -- candidates


def test_candidates_in_json_hold_all_that_is_known(project: Path) -> None:
    assert good("candidates", "--json", cwd=project).json == {"candidates": [], "damaged": []}
    first = seen(project, sessions=2)
    (found,) = candidates(project)
    assert set(found) == CANDIDATE
    assert (found["id"], found["key"], found["verb"], found["sessions"]) == (first, "deploy:harbour", "deploy", 2)
    assert found["replaces"] is None
    assert [(line["path"], line["line"]) for line in found["evidence"]] == [
        ("/sessions/s0.jsonl", 41),
        ("/sessions/s1.jsonl", 41),
    ]
    good("approve", first, cwd=project)
    seen(project, digest="wrangler", body="With wrangler.")
    (second,) = candidates(project)
    assert second["replaces"]["body"] == found["body"]
    assert second["replaces"]["version"] == 1


def test_the_ten_that_matter_are_listed_and_the_rest_counted(project: Path) -> None:
    for number in range(9):
        seen(project, f"test:n{number}")
    seen(project, "deploy:harbour", sessions=2)
    for number in range(3):
        seen(project, f"build:n{number}")
    text = good("candidates", cwd=project).out
    rows = [line for line in text.splitlines() if re.match(r"[0-9A-HJKMNP-TV-Z]{5} ", line)]
    assert len(rows) == 10
    assert rows[0].split()[1:3] == ["deploy", "2"]
    assert "… and 3 more: `hikidashi candidates --all`" in text
    assert len(re.findall(r"^[0-9A-Z]{5} ", good("candidates", "--all", cwd=project).out, re.MULTILINE)) == 13


def test_nothing_waits(project: Path) -> None:
    assert good("candidates", cwd=project).out.startswith("Nothing waits: `hikidashi extract`")


def put_off(project: Path, name: str) -> None:
    with contextlib.closing(connect(project / ".hikidashi" / "workspace.sqlite")) as connection:
        (one,) = [candidate for candidate in waiting(connection) if candidate.id == name]
        assert later(connection, one) is not None


def test_what_was_put_off_is_counted_until_it_is_listed(project: Path) -> None:
    first, other = seen(project), seen(project, "test:harbour")
    put_off(project, first)
    text = good("candidates", cwd=project).out
    assert other in text
    assert first not in text
    assert "… and 1 put off: `hikidashi candidates --all` lists them.\nNext: `hikidashi inbox`" in text
    listed = good("candidates", "--all", cwd=project).out
    assert listed.index(other) < listed.index(first)
    assert "candidates --all" not in listed
    assert "Put off: the last 1." in listed
    put_off(project, other)
    nothing = "Nothing waits. 2 put off: `hikidashi candidates --all` lists them.\n"
    assert good("candidates", cwd=project).out == good("inbox", cwd=project).out == nothing
    assert "hikidashi inbox" not in good("candidates", "--all", cwd=project).out


def test_old_ones_expire_by_the_setting(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen(project)
    with contextlib.closing(connect(project / ".hikidashi" / "workspace.sqlite")) as connection:
        connection.execute("UPDATE candidates SET last_seen = '2020-01-01T00:00:00.000Z'")
    monkeypatch.setenv("HIKIDASHI_GATE_EXPIRE_DAYS", "36500")
    assert len(candidates(project)) == 1
    monkeypatch.setenv("HIKIDASHI_GATE_EXPIRE_DAYS", "30")
    assert candidates(project) == []


# -- approve and reject


@pytest.mark.parametrize("name", ["{id}", "{lower}", "{start}", "deploy:harbour", "deploy:ha"])
def test_a_candidate_is_named_by_its_id_its_key_or_the_beginning_of_one(project: Path, name: str) -> None:
    first = seen(project)
    seen(project, "auth:harbour")
    given = name.format(id=first, lower=first.lower(), start=first[:3])
    assert good("approve", given, cwd=project).out == "deploy:harbour is in the drawer, version 1.\n"
    assert [found["key"] for found in candidates(project)] == ["auth:harbour"]
    found = fact(project)
    assert found is not None
    assert (found["trust"], found["confidence"], found["status"]) == ("user", 0.9, "active")


def test_letters_that_are_misread_are_meant_as_digits(project: Path) -> None:
    for number in range(40):
        name = seen(project, f"test:n{number}")
        if set(name) & {"0", "1"}:
            good("reject", name.replace("0", "O").replace("1", "l"), cwd=project)
            return
    raise AssertionError("no ID of forty has a 0 or a 1")


def test_several_at_once_and_a_verb_or_type_at_once(project: Path) -> None:
    names = [seen(project, f"deploy:n{number}") for number in range(3)]
    seen(project, "auth:harbour")
    seen(project, "rule:friday", type="rule", digest="", body="Never push on Friday.", origin="rule", trust="user")
    assert good("approve", names[0], names[0], "deploy:n1", cwd=project).out.count("is in the drawer") == 2
    ran = hikidashi("approve", "--verb", "deploy", cwd=project)
    assert (ran.code, ran.err) == (
        2,
        "error: nothing was approved: look at them, then run the same command with --yes\n",
    )
    assert "deploy:n2" in ran.out
    good("approve", "--verb", "deploy", "--yes", cwd=project)
    assert good("reject", "--type", "rule", "--json", cwd=project).json["rejected"][0]["key"] == "rule:friday"
    assert [found["key"] for found in candidates(project)] == ["auth:harbour"]


def test_several_verbs_and_types_are_all_taken(project: Path) -> None:
    for verb in ("deploy", "auth", "test"):
        seen(project, f"{verb}:harbour")
    seen(project, "rule:friday", type="rule", digest="", body="Never push on Friday.", origin="rule", trust="user")
    ran = hikidashi("approve", "--verb", "deploy", "--verb", "push", "--yes", cwd=project)
    assert (ran.code, ran.err) == (
        16,
        "error: no candidate of push waits: there are some of auth, deploy, rule, test\n",
    )
    ran = hikidashi("approve", "--verb", "deploy", "--type", "rule", "--yes", cwd=project)
    assert ran.err.startswith("error: no candidate of deploy and rule waits: ")
    assert len(candidates(project)) == 4
    good("approve", "--verb", "deploy", "--verb", "auth", "--yes", cwd=project)
    assert {found["key"] for found in candidates(project)} == {"test:harbour", "rule:friday"}
    good("reject", "--type", "rule", "--type", "capability", cwd=project)
    assert candidates(project) == []


@pytest.mark.parametrize("damage", ["aliases = '{'", "source = '[]'", "probe = '[1]'"])
def test_a_damaged_candidate_is_named_and_stands_in_no_others_way(project: Path, damage: str) -> None:
    seen(project, "deploy:harbour")
    seen(project, "auth:harbour")
    with contextlib.closing(connect(project / ".hikidashi" / "workspace.sqlite")) as connection:
        connection.execute(f"UPDATE candidates SET {damage} WHERE key = 'deploy:harbour'")
    for look in (("candidates",), ("candidates", "--all"), ("candidates", "--json")):
        ran = hikidashi(*look, cwd=project)
        assert (ran.code, ran.out.count("auth:harbour") > 0) == (CorruptData.exit_code, True)
        assert ran.err.startswith("warning: the candidate for deploy:harbour is damaged (")
        assert ran.err.endswith("give it up with `hikidashi forget deploy:harbour`\n")
    assert [(one["scope"], one["key"]) for one in ran.json["damaged"]] == [("workspace", "deploy:harbour")]
    assert good("status", "--json", cwd=project).json["drawer"]["candidates"] == 2
    assert hikidashi("approve", "--verb", "auth", "--yes", cwd=project).code == 0
    seen(project, "deploy:harbour", digest="other")
    assert [found["key"] for found in candidates(project)] == ["deploy:harbour"], "one that can be read took its place"
    with contextlib.closing(connect(project / ".hikidashi" / "workspace.sqlite")) as connection:
        connection.execute(f"UPDATE candidates SET {damage} WHERE key = 'deploy:harbour'")
    assert hikidashi("forget", "deploy:harbour", "--yes", cwd=project).code == 0
    assert candidates(project) == []


def test_approving_a_key_that_exists_shows_old_and_new(project: Path) -> None:
    good("write", "deploy:harbour", "The old way.", "--type", "procedure", cwd=project)
    text = good("approve", seen(project, body="The new way.", probe=("aws", "s3", "ls")), cwd=project).out
    assert "deploy:harbour is in the drawer; a yes replaces it (now, version 1):" in text
    assert "    - The old way.\n    + The new way.\n" in text
    assert "    - type: procedure\n    + type: capability\n" in text
    assert "    - check: none\n    + check: aws s3 ls\n" in text
    assert text.endswith("deploy:harbour is in the drawer, version 2.\n")
    ran = good("approve", seen(project, digest="z", body="The newest way."), "--json", cwd=project)
    (done,) = ran.json["approved"]
    assert (done["fact"]["body"], done["replaced"]["body"]) == ("The newest way.", "The new way.")
    assert ran.json["missed"] == []


def test_an_agent_s_words_over_a_fact_take_its_check_and_aliases_over(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = ["write", "deploy:harbour", "The old way.", "--type", "capability", "--probe", "fly status"]
    good(*old, "--alias", "ship it", cwd=project)
    said: dict[str, Any] = {"origin": "memory_write", "digest": "", "trust": "assistant", "aliases": ()}
    text = good("approve", seen(project, body="The agent's way.", **said), cwd=project).out
    assert "check:" not in text and "also:" not in text, "nothing of it changes"
    found = fact(project)
    assert found is not None
    assert (found["body"], found["probe"], found["aliases"]) == ("The agent's way.", ["fly", "status"], ["ship it"])
    # Whoever edits sees the check, and may take it away.
    _editor(
        tmp_path,
        monkeypatch,
        f"assert 'check = \"fly status\"' in text, text\ntext = text.replace('fly status', '')\n{SAVE}",
    )
    text = good("approve", seen(project, body="Another way.", **said), "--edit", cwd=project).out
    assert "    - check: fly status\n    + check: none\n" in text
    found = fact(project)
    assert found is not None
    assert (found["body"], found["probe"], found["aliases"]) == ("Another way.", [], ["ship it"])


def test_what_is_rejected_does_not_come_back(project: Path) -> None:
    name = seen(project)
    assert "deploy:harbour" in good("reject", name, cwd=project).out
    assert seen(project) == ""
    assert candidates(project) == []
    ran = hikidashi("approve", name, cwd=project)
    assert ran.code == 16
    assert ran.err == (
        f"error: {name} (deploy:harbour) was rejected: `hikidashi write deploy:harbour …` writes it all the same\n"
    )


def test_names_that_no_candidate_has(project: Path) -> None:
    name = seen(project)
    seen(project, "auth:harbour")
    ran = hikidashi("approve", name, "deploy:harbuor", cwd=project)
    assert (ran.code, fact(project)) == (16, None), "nothing is approved by half"
    assert ran.err == "error: no candidate is named deploy:harbuor: did you mean deploy:harbour?\n"
    good("approve", name, cwd=project)
    assert "was approved already" in hikidashi("reject", "deploy:harbour", cwd=project).err
    assert hikidashi("approve", cwd=project).code == 2
    ran = hikidashi("approve", "--verb", "deploy", cwd=project)
    assert (ran.code, ran.err) == (16, "error: no candidate of deploy waits: there are some of auth\n")


def test_a_name_that_may_mean_several(project: Path) -> None:
    one, two = seen(project, "deploy:one"), seen(project, "deploy:two")
    ran = hikidashi("approve", "deploy:", cwd=project)
    assert ran.code == 2
    assert ran.err.endswith("give the ID of the one you mean\n")
    assert f"{one} (deploy:one)" in ran.err
    assert f"{two} (deploy:two)" in ran.err


def test_a_candidate_of_the_user_s_own_drawer(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    assert hikidashi("write", "editor", "vim", "--type", "fact", "--scope", "global", cwd=project).code == 14
    monkeypatch.delenv("CLAUDECODE")
    (found,) = candidates(project)
    assert (found["scope"], found["key"]) == ("global", "editor")
    good("approve", found["id"], cwd=project)
    written = fact(project, "editor")
    assert written is not None
    assert written["scope"] == "global"


# -- approve --edit


def _editor(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """An editor that does `code` with `path` and its `text`."""
    script = folder / "my editor.py"
    script.write_text(f"import sys\npath = sys.argv[-1]\ntext = open(path, encoding='utf-8').read()\n{code}\n")
    monkeypatch.setenv("VISUAL", shlex.join([sys.executable, str(script), "--wait"]))


SAVE = "open(path, 'w', encoding='utf-8').write(text)"


def test_a_candidate_is_edited_before_it_is_approved(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = seen(project, body="one line\n\n  'two' \"three\" \\four 港", probe=("aws", "s3", "ls", "a b"))
    _editor(
        tmp_path,
        monkeypatch,
        'assert "check = \\"aws s3 ls \'a b\'\\"" in text, text\n'
        'assert "\\n  \'two\' \\"three\\" \\\\four 港\\n" in text, text\n'
        f"text = text.replace('deploy:harbour', 'deploy:port').replace('one line', 'first line')\n{SAVE}",
    )
    good("approve", name, "--edit", cwd=project)
    found = fact(project, "deploy:port")
    assert found is not None
    assert found["body"] == "first line\n\n  'two' \"three\" \\four 港"
    assert found["probe"] == ["aws", "s3", "ls", "a b"]
    assert found["trust"] == "user"
    assert fact(project) is None
    assert candidates(project) == []


@pytest.mark.parametrize(
    ("code", "exit_code", "said"),
    [
        (f"text = ''\n{SAVE}", 0, ""),
        (f"text = '# only a comment\\n'\n{SAVE}", 0, ""),
        ("import os\nos.unlink(path)", 0, ""),
        ("sys.exit(1)", 2, "ended with 1, nothing was approved"),
        (f"text = text.replace('works', {SECRET!r})\n{SAVE}", 15, "the body holds a secret (github-token"),
        (f"text = text.replace('key = ', 'kee = ')\n{SAVE}", 2, "unknown line kee"),
        (f"text = text.replace('key = \"', 'key = \"\"\"')\n{SAVE}", 2, "the file is no TOML"),
        (f"text = text.replace('\"capability\"', '\"ability\"')\n{SAVE}", 2, "there is no type ability"),
        (f"text = text.replace('check = \"', 'check = \"\\'')\n{SAVE}", 2, "the check cannot be taken apart"),
        (f"text = text.replace('\"deploy:harbour\"', '\"\"')\n{SAVE}", 2, "the key is empty"),
        ("open(path, 'wb').write(b'key = \"\\xff\"')", 2, "cannot be read as UTF-8"),
    ],
)
def test_an_edit_that_is_none_leaves_the_candidate_waiting(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, exit_code: int, said: str
) -> None:
    name = seen(project)
    _editor(tmp_path, monkeypatch, code)
    ran = hikidashi("approve", name, "--edit", cwd=project)
    assert ran.code == exit_code, ran
    assert said in ran.err
    assert SECRET not in ran.out + ran.err
    if not exit_code:
        assert ran.out == "Nothing was approved.\n"
    assert [found["id"] for found in candidates(project)] == [name]
    assert good("facts", "--json", cwd=project).json["facts"] == []


@pytest.mark.parametrize("name", ["no-such-editor-of-ours", '"unclosed'])
def test_an_editor_that_is_not_there(project: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    waits = seen(project)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", name)
    ran = hikidashi("approve", waits, "--edit", cwd=project)
    assert ran.code == 2
    assert "EDITOR" in ran.err
    assert len(candidates(project)) == 1


# -- inbox without a terminal


def test_the_inbox_without_a_terminal_names_the_other_commands(project: Path) -> None:
    assert good("inbox", cwd=project).out.startswith("Nothing waits: `hikidashi extract`")
    seen(project)
    ran = hikidashi("inbox", cwd=project)
    assert ran.code == 2
    assert "1 candidate waits: list them with `hikidashi candidates`, decide with `hikidashi approve ID`" in ran.err
    assert good("inbox", "--json", cwd=project).json == good("candidates", "--json", cwd=project).json


# -- verify


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, text in {"passes": "echo fine", "fails": "echo 'error: access denied' >&2; exit 3"}.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def _write(project: Path, key: str, probe: str, *more: str) -> None:
    given = more or ("--type", "capability")
    good("write", key, "It works.", *given, "--proof", "it went well", "--probe", probe, cwd=project)


def test_verify_notes_how_checks_end(project: Path, programs: Path) -> None:
    _write(project, "deploy:good", "passes --now")
    _write(project, "deploy:bad", "fails")
    _write(project, "deploy:gone", "no-such-program-of-ours")
    good("write", "deploy:none", "It works.", "--type", "capability", cwd=project)
    ran = hikidashi("verify", cwd=project)
    assert (ran.code, ran.err) == (17, "")
    assert "passed   deploy:good\n         `passes --now` ended with 0\n" in ran.out
    assert "failed   deploy:bad\n         `fails` ended with 3: error: access denied\n" in ran.out
    assert "not-run  deploy:gone\n         no-such-program-of-ours is not in your PATH\n" in ran.out
    assert "deploy:none" not in ran.out
    assert ran.out.endswith("1 passed, 1 failed, 1 not run.\n")
    good_fact, bad, gone = (fact(project, f"deploy:{name}") for name in ("good", "bad", "gone"))
    assert good_fact is not None and bad is not None and gone is not None
    assert (good_fact["confidence"], good_fact["proof"]) == (1.0, "`passes --now` ended with 0")
    assert good_fact["last_verified"] is not None
    assert (bad["confidence"], bad["proof"], bad["status"]) == (0.3, "it went well", "active")
    assert bad["failure"] == "`fails` ended with 3: error: access denied"
    assert bad["last_failed"] is not None
    assert (gone["confidence"], gone["last_failed"], gone["last_verified"]) == (1.0, None, None)


def test_verify_of_one_key(project: Path, programs: Path) -> None:
    _write(project, "deploy:good", "passes")
    _write(project, "deploy:bad", "fails")
    done = good("verify", "deploy:good", "deploy:good", "--json", cwd=project).json
    assert (done["passed"], done["failed"], done["not_run"], done["skipped"], done["changed"]) == (1, 0, 0, 0, 0)
    (one,) = done["checked"]
    assert set(one) == {"key", "scope", "outcome", "said", "probe", "exit_code", "seconds", "fact"}
    assert (one["outcome"], one["exit_code"], one["fact"]["confidence"]) == ("passed", 0, 1.0)
    ran = hikidashi("verify", "deploy:bad", "--json", cwd=project)
    assert (ran.code, ran.json["failed"]) == (17, 1)
    ran = hikidashi("verify", "deploy:goood", cwd=project)
    assert (ran.code, ran.err) == (
        16,
        "error: no fact has the key deploy:goood: did you mean deploy:good or deploy:bad?\n",
    )


def test_verify_does_not_check_what_it_cannot(project: Path, programs: Path) -> None:
    assert good("verify", cwd=project).out.startswith("No active capability of this machine has a check")
    good("approve", seen(project, machine_id="another", machine_name="lap", probe=("passes",)), cwd=project)
    assert "has a check" in good("verify", cwd=project).out
    ran = hikidashi("verify", "deploy:harbour", cwd=project)
    assert ran.code == 17
    assert "it was proven on lap: check it there" in ran.out
    good("write", "port", "3000", "--type", "fact", cwd=project)
    assert "it has no check" in hikidashi("verify", "port", cwd=project).out
    _write(project, "deploy:old", "passes")
    good("retire", "deploy:old", cwd=project)
    assert "it is retired" in hikidashi("verify", "deploy:old", cwd=project).out


def test_verify_takes_the_time_that_the_setting_gives(
    project: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (programs / "hangs").write_text("#!/bin/sh\nsleep 30\n")
    (programs / "hangs").chmod(0o755)
    _write(project, "deploy:slow", "hangs")
    monkeypatch.setenv("HIKIDASHI_DRAWER_PROBE_SECONDS", "0.2")
    ran = hikidashi("verify", "deploy:slow", cwd=project)
    assert ran.code == 17
    assert "did not end within 0.2 s" in ran.out


# -- the gate under a host's marker

LINE = json.dumps({"key": "build:harbour", "type": "capability", "body": "make builds it"})

#: Command line (`{id}`: a candidate's; `{file}`: a file of lines) and the command that is named for the person.
REFUSED = {
    "approve": ("approve {id}", "approve {id}"),
    "approve a verb": ("approve --verb deploy --yes", "approve --verb deploy"),
    "approve a kind twice": (
        "approve --type capability --verb deploy --verb deploy --yes",
        "approve --verb deploy --verb deploy --type capability",
    ),
    "approve and edit": ("approve deploy:harbour --edit", "approve deploy:harbour --edit"),
    "reject": ("reject {id}", "reject {id}"),
    "inbox": ("inbox", "inbox"),
    "write": ("write port 'Port 3000.' --type fact", "approve {new}"),
    "write over a fact": ("write kept 'It is green.' --type fact", "approve {new}"),
    "import": ("import {file}", "import {file}"),
    "forget": ("forget kept --yes", "forget kept"),
    "retire": ("retire kept", "retire kept"),
}
#: What waits afterwards besides `deploy:harbour`.
LEFT = {"write": "port", "write over a fact": "kept", "import": "build:harbour"}


@pytest.fixture
def stocked(project: Path, tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A project with a candidate, a fact and a file of lines, and their names."""
    good("write", "kept", "It is blue.", "--type", "fact", cwd=project)
    (tmp_path / "lines.jsonl").write_text(LINE + "\n")
    return project, {"id": seen(project), "file": str(tmp_path / "lines.jsonl")}


def _state(project: Path) -> dict[str, list[tuple[Any, ...]]]:
    with contextlib.closing(connect(project / ".hikidashi" / "workspace.sqlite")) as connection:
        tables = ("facts", "fact_versions", "refusals")
        return {name: sorted(map(tuple, connection.execute(f"SELECT * FROM {name}"))) for name in tables}


def _assert_refused(ran: Ran | Detached, project: Path, name: str, names: dict[str, str], before: Any) -> None:
    assert ran.code == 14, ran
    waiting = {found["key"]: found for found in candidates(project)}
    assert set(waiting) == {"deploy:harbour", *filter(None, [LEFT.get(name)])}
    new = waiting[LEFT[name]]["id"] if name in LEFT else ""
    if new:
        assert (waiting[LEFT[name]]["trust"], waiting[LEFT[name]]["confidence"]) == ("assistant", 0.7)
    line = shlex.join(["hikidashi", "-C", str(project), *shlex.split(REFUSED[name][1].format(**names, new=new))])
    assert f": run `{line}` in a terminal of your own\n" in ran.err
    assert _state(project) == before


#: Each marker with the one or other command; in the slow tests each with all of them.
UNDER_A_MARKER = [
    pytest.param(marker, names, marks=marks, id=f"{marker.variable}-{'all' if marks else names[0]}")
    for number, marker in enumerate(MARKERS)
    for names, marks in (([[*REFUSED][number % len(REFUSED)]], ()), ([*REFUSED], pytest.mark.slow))
]


@pytest.mark.parametrize(("marker", "refused"), UNDER_A_MARKER)
def test_a_refused_command_changes_nothing_leaves_a_candidate_and_names_the_command(
    stocked: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch, marker: Marker, refused: list[str]
) -> None:
    """Commands under one marker, one after the other: none of them changes what the next one finds."""
    project, names = stocked
    before = _state(project)
    for name in refused:
        monkeypatch.setenv(marker.variable, marker.value or "1")
        ran = hikidashi(*shlex.split(REFUSED[name][0].format(**names)), cwd=project)
        monkeypatch.delenv(marker.variable)
        assert marker.host in ran.err
        _assert_refused(ran, project, name, names, before)
        if name in LEFT:
            good("reject", LEFT[name], cwd=project)
            before = _state(project)


@pytest.mark.parametrize("name", REFUSED)
def test_the_same_with_a_host_above(
    stocked: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    project, names = stocked
    before = _state(project)
    with monkeypatch.context() as inside:
        inside.setattr(person, "system_ancestors", lambda: (Ancestor("codex", ("codex",)),))
        ran = hikidashi(*shlex.split(REFUSED[name][0].format(**names)), cwd=project)
    assert "Codex runs it (it runs this process)" in ran.err
    _assert_refused(ran, project, name, names, before)


def test_what_only_looks_is_open_to_agents(
    stocked: tuple[Path, dict[str, str]], programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, _ = stocked
    _write(project, "deploy:good", "passes")
    monkeypatch.setenv("CLAUDECODE", "1")
    for line in (
        "candidates",
        "candidates --json",
        "inbox --json",
        "facts",
        "read kept",
        "why kept",
        "export",
        "verify",
    ):
        assert hikidashi(*line.split(), cwd=project).code == 0, line


def test_the_person_s_own_settings_open_the_gate(
    stocked: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    project, names = stocked
    monkeypatch.setenv("CLAUDECODE", "1")
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text("[gate]\nallow_agent = true\n")
    good("approve", names["id"], cwd=project)
    good("write", "port", "Port 3000.", "--type", "fact", cwd=project)
    good("import", names["file"], cwd=project)
    good("retire", "kept", cwd=project)
    good("forget", "kept", "--yes", cwd=project)
    assert {found["key"] for found in good("facts", "--json", cwd=project).json["facts"]} == {
        "deploy:harbour",
        "port",
        "build:harbour",
    }


def test_trust_is_the_person_s_too(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = tmp_path / "clone"
    project.rename(clone)
    monkeypatch.setenv("CODEX_THREAD_ID", "t1")
    for more in ([], ["--yes"], ["--json"]):
        ran = hikidashi("trust", *more, cwd=clone)
        assert ran.code == 14
        assert f"run `hikidashi -C {clone} trust` in a terminal of your own" in ran.err
    assert hikidashi("status", cwd=clone).code == 5
    monkeypatch.delenv("CODEX_THREAD_ID")
    good("trust", "--yes", cwd=clone)


def test_a_secret_that_an_agent_writes_is_refused_and_not_shown(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    ran = hikidashi("write", "token", f"It is {SECRET}.", "--type", "fact", cwd=project)
    assert ran.code == 15
    assert SECRET not in ran.out + ran.err
    monkeypatch.delenv("CLAUDECODE")
    assert candidates(project) == []


def test_what_an_agent_writes_again_or_against_a_no(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = ["write", "port", "Port 3000.", "--type", "fact", "--probe", "passes", "--alias", "listen on"]

    def agent() -> str:
        with monkeypatch.context() as inside:
            inside.setenv("CLAUDECODE", "1")
            ran = hikidashi(*line, cwd=project)
        assert ran.code == 14
        return ran.err

    first, again = agent(), agent()
    assert first == again, "the same candidate"
    (found,) = candidates(project)
    assert (found["probe"], found["aliases"], found["origin"]) == ([], ["listen on"], "memory_write")
    good("reject", found["id"], cwd=project)
    said = agent()
    assert "a person turned that down before" in said
    assert shlex.join(["hikidashi", "-C", str(project), *line]) in said
    good(*line, cwd=project)
    assert "the drawer says so already" in agent()
    shown = seen(project)
    line[1:3] = ["deploy:harbour", "It does not work."]
    assert f"a better founded candidate, {shown}, waits under that key" in agent()


def test_of_a_large_import_the_first_lines_are_left(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [json.dumps({"key": f"port:{number}", "type": "fact", "body": f"Port {number}."}) for number in range(25)]
    (tmp_path / "many.jsonl").write_text("\n".join(lines))
    monkeypatch.setenv("GEMINI_CLI", "1")
    ran = hikidashi("import", str(tmp_path / "many.jsonl"), cwd=project)
    assert ran.code == 14
    assert "20 lines of it wait for `hikidashi inbox`, 5 more do not" in ran.err
    monkeypatch.delenv("GEMINI_CLI")
    assert len(candidates(project)) == 20


# -- in real processes


def test_six_people_who_approve_one_candidate_write_one_fact(project: Path, run: Commands) -> None:
    for number in range(2):
        name = seen(project, f"deploy:n{number}")
        ended = run.race([(["approve", name, "--json"], project)] * 6)
        assert {one.code for one in ended} <= {0, 16}, ended
        done = [one.json() for one in ended if one.code == 0]
        assert sum(len(answer["approved"]) for answer in done) == 1
        assert all(answer["missed"] == [name] for answer in done if not answer["approved"])
        found = fact(project, f"deploy:n{number}")
        assert found is not None
        assert found["version"] == 1


def _real(project: Path, *command: str, **environ: str) -> Detached:
    given = {name: value for name, value in python_environ().items() if name not in {m.variable for m in MARKERS}}
    return run_detached(command, cwd=project, environ=given | environ)


HIKIDASHI = (sys.executable, "-m", "hikidashi")


def test_a_real_process_below_a_program_named_like_a_host(project: Path, tmp_path: Path) -> None:
    name = seen(project)
    folder = tmp_path / "bin"
    folder.mkdir()
    for program in ("claude", "my-shell"):
        (folder / program).write_text('#!/bin/sh\n"$@"\n')  # no exec: it stays above what it runs
        (folder / program).chmod(0o755)
    refused = _real(project, str(folder / "claude"), *HIKIDASHI, "approve", name)
    assert refused.code == 14, refused
    assert "Claude Code runs it (it runs this process)" in refused.err
    deeper = _real(
        project, str(folder / "claude"), "sh", "-c", f"sh -c '{shlex.join(HIKIDASHI)} reject {name}; exit $?'"
    )
    assert deeper.code == 14, deeper
    passed = _real(project, str(folder / "my-shell"), *HIKIDASHI, "approve", name)
    assert passed.code == 0, passed
    assert fact(project) is not None


def test_a_real_process_under_a_marker(project: Path) -> None:
    name = seen(project)
    refused = _real(project, *HIKIDASHI, "approve", name, CLAUDECODE="1")
    assert refused.code == 14, refused
    assert "Claude Code runs it (CLAUDECODE is set)" in refused.err
    good("approve", name, cwd=project)
