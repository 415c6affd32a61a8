"""What sessions prove comes before the gate exactly once, whatever happens to the reading (design section 5.3)."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hikidashi.capture.run import CHECKPOINTS
from hikidashi.drawer.candidates import Candidate, waiting
from hikidashi.drawer.decisions import approve, reject
from hikidashi.drawer.reading import find_fact
from hikidashi.drawer.rescan import Rescanned
from hikidashi.drawer.store import Drawer
from hikidashi.redact import RULES_VERSION
from tests.capture_workspace import Desk, desk
from tests.transcripts import Session

UPLOAD = "aws s3 sync dist s3://shop-assets"
UPLOADED = "upload: dist/app.js to s3://shop-assets/app.js"
LOGGED_OUT = "fatal error: Unable to locate credentials"
KEY = "deploy:shop-assets"


def deploying(name: str = "deploy", *, hour: int = 9) -> Session:
    session = Session(name=name, at=datetime(2026, 3, 1, hour, tzinfo=UTC))
    session.user("From now on, never touch the PROD bucket.")
    session.user("Put the shop online.")
    session.runs(UPLOAD, UPLOADED)
    session.says("It is online.")
    return session


def candidates(here: Desk) -> list[Candidate]:
    return waiting(here.connection)


def sightings(here: Desk) -> list[sqlite3.Row]:
    return here.connection.execute("SELECT * FROM sightings ORDER BY key, at").fetchall()


def test_a_deploy_and_an_order_each_leave_one_candidate(tmp_path: Path) -> None:
    path = deploying().write(tmp_path / "s.jsonl")
    with desk(tmp_path / "shop") as here:
        report = here.extract(path)
        found = {candidate.key: candidate for candidate in candidates(here)}
        deploy = found.pop(KEY)
        assert UPLOAD in deploy.body
        assert UPLOADED in deploy.proof
        assert deploy.trust == "tool"
        assert deploy.machine_id
        (rule,) = found.values()
        assert (rule.type, rule.trust, rule.machine_id) == ("rule", "user", "")
        assert rule.body == "From now on, never touch the PROD bucket"
        assert set(report.candidates.values()) == {KEY, rule.key}
        seen = next(row for row in sightings(here) if row["key"] == KEY)
        assert (seen["path"], seen["line"], seen["tool"]) == (str(path), 2, "aws")


def test_reading_again_copies_and_other_orders_add_nothing(tmp_path: Path) -> None:
    path = deploying().write(tmp_path / "s.jsonl")
    copy = tmp_path / "resumed.jsonl"
    copy.write_bytes(path.read_bytes())
    with desk(tmp_path / "shop") as here:
        here.extract(path)
        before = candidates(here), [tuple(row) for row in sightings(here)]
        assert here.extract(path, copy).candidates == {}
        assert (candidates(here), [tuple(row) for row in sightings(here)]) == before


def test_a_second_session_counts_once_more(tmp_path: Path) -> None:
    with desk(tmp_path / "shop") as here:
        here.extract(deploying().write(tmp_path / "a.jsonl"))
        assert here.extract(deploying("again", hour=11).write(tmp_path / "b.jsonl")).candidates == {}
        (deploy,) = [candidate for candidate in candidates(here) if candidate.key == KEY]
        assert deploy.sessions == 2


def test_a_session_read_in_pieces_gives_what_it_gives_as_a_whole(tmp_path: Path) -> None:
    lines = deploying().data().splitlines(keepends=True)
    with desk(tmp_path / "one") as whole:
        whole.extract(deploying().write(tmp_path / "s.jsonl"))
        expected = [(c.key, c.body, c.proof, c.sessions) for c in candidates(whole)]
    path = tmp_path / "grows.jsonl"
    with desk(tmp_path / "two") as here:
        for count in range(1, len(lines) + 1):
            path.write_bytes(b"".join(lines[:count]))
            here.extract(path)
        assert [(c.key, c.body, c.proof, c.sessions) for c in candidates(here)] == expected


def test_a_workspace_of_an_earlier_version_is_read_again_for_it(tmp_path: Path) -> None:
    path = deploying().write(tmp_path / "s.jsonl")
    with desk(tmp_path / "shop") as here:
        here.extract(path)
        for table in ("candidates", "sightings"):
            here.connection.execute(f"DELETE FROM {table}")
        for row in here.connection.execute("SELECT path, state FROM watermarks").fetchall():
            state = json.loads(row["state"])
            del state["promoting"]
            here.connection.execute("UPDATE watermarks SET state = ?", (json.dumps(state),))
        report = here.extract(path)
        assert KEY in report.candidates.values()
        assert report.new == []


class Stopped(Exception):
    """The reading ends here, as if it were killed."""


@pytest.mark.parametrize("at", CHECKPOINTS)
def test_stopped_at_any_step_the_next_reading_gives_the_same(tmp_path: Path, at: str) -> None:
    path = deploying().write(tmp_path / "s.jsonl")
    with desk(tmp_path / "one") as whole:
        whole.extract(path)
        expected = [(c.id, c.key, c.sessions) for c in candidates(whole)], len(sightings(whole))

    def stop(name: str) -> None:
        if name == at:
            raise Stopped

    with desk(tmp_path / "shop") as here:
        with contextlib.suppress(Stopped):
            here.extract(path, checkpoint=stop)
        here.extract(path)
        assert ([(c.id, c.key, c.sessions) for c in candidates(here)], len(sightings(here))) == expected


def test_a_failure_later_on_stands_beside_the_proof(tmp_path: Path) -> None:
    with desk(tmp_path / "shop") as here:
        here.extract(deploying().write(tmp_path / "a.jsonl"))
        approve(Drawer(here.connection, "workspace"), [c.id for c in candidates(here) if c.key == KEY])
        for number, name in enumerate(("one", "two"), 12):
            session = Session(name=name, at=datetime(2026, 3, 1, number, tzinfo=UTC))
            session.user("Deploy")
            session.runs(UPLOAD, LOGGED_OUT, exit_code=1)
            here.extract(session.write(tmp_path / f"{name}.jsonl"))
            fact = find_fact(here.connection, "workspace", KEY)
            assert fact is not None
            assert fact.last_failed is not None
            assert "Unable to locate credentials" in fact.failure
            assert fact.status == ("active" if name == "one" else "stale")
        report = here.extract(deploying("later", hour=20).write(tmp_path / "later.jsonl"))
        assert report.borne_out == {KEY}


def test_what_other_folders_show_is_not_this_workspaces(tmp_path: Path, home: Path) -> None:
    with desk(tmp_path / "shop") as here:
        other = tmp_path / "other"
        other.mkdir()
        session = Session(cwd=str(here.workspace.root), name="mine")
        session.user("Hello")
        session.cwd = str(other)
        session.runs(UPLOAD, UPLOADED)
        slug = "".join(char if char.isascii() and char.isalnum() else "-" for char in str(here.workspace.root))
        session.write(home / ".claude" / "projects" / slug / "s.jsonl")
        here.extract(own=True)
        assert candidates(here) == []


def test_worktrees_and_folders_of_a_project_are_one_project(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "shop"
    (root / "web").mkdir(parents=True)
    tree = tmp_path / "42"
    tree.mkdir()
    gitdir = root / ".git" / "worktrees" / "42"
    gitdir.mkdir(parents=True)
    (tree / ".git").write_text(f"gitdir: {gitdir}\n")
    (gitdir / "gitdir").write_text(f"{tree}/.git\n")
    (gitdir / "commondir").write_text("../..\n")
    (gitdir / "HEAD").write_text("ref: refs/heads/fix\n")
    with desk(root) as here:
        for number, place in enumerate((tree, root / "web", root)):
            session = Session(cwd=str(place), name=str(number), at=datetime(2026, 3, 1, 9 + number, tzinfo=UTC))
            session.user("Run the tests")
            session.runs("pytest", "===== 12 passed in 0.10s =====")
            slug = "".join(char if char.isascii() and char.isalnum() else "-" for char in str(place))
            folder = home / ".claude" / "projects" / slug
            folder.mkdir(parents=True)
            session.write(folder / "s.jsonl")
        here.extract(own=True)
        assert [(c.key, c.sessions) for c in candidates(here)] == [("test:shop", 3)]


def test_another_tool_is_another_way_to_test_but_another_deploy(tmp_path: Path) -> None:
    with desk(tmp_path / "shop") as here:
        here.extract(deploying().write(tmp_path / "a.jsonl"))
        session = Session(name="tests", at=datetime(2026, 3, 1, 10, tzinfo=UTC))
        session.runs("pytest", "===== 12 passed in 0.10s =====")
        here.extract(session.write(tmp_path / "b.jsonl"))
        reject(here.connection, [c.id for c in candidates(here)])
        session = Session(name="others", at=datetime(2026, 3, 1, 11, tzinfo=UTC))
        session.runs("npx vitest run", " Test Files  3 passed (3)\n      Tests  12 passed (12)")
        session.runs("gsutil rsync -r dist gs://shop-assets", "Operation completed over 4 objects/1.2 MiB.")
        here.extract(session.write(tmp_path / "c.jsonl"))
        assert [c.key for c in candidates(here)] == [KEY]


def test_extracting_reads_the_drawer_again_when_redaction_has_newer_rules(tmp_path: Path) -> None:
    """Hooks give only what the current rules have read; nobody needs to look into the drawer for that."""
    secret = "gh" + "p_" + "a1B2" * 9
    with desk(tmp_path / "shop") as here:
        path = deploying().write(tmp_path / "s.jsonl")
        assert here.extract(path).rescanned == Rescanned()
        approve(Drawer(here.connection, "workspace"), [c.id for c in candidates(here)])
        here.connection.execute("UPDATE facts SET rules_version = 0")
        here.connection.execute("UPDATE facts SET body = ? WHERE key = ?", (f"with {secret}", KEY))
        here.connection.execute("DELETE FROM meta WHERE key = 'redaction_rules'")
        report = here.extract(path)
        assert (report.rescanned.redacted, report.rescanned.left) == ((KEY,), None)
        assert report.to_dict()["redacted"] == [KEY]
        rows = here.connection.execute("SELECT rules_version, body FROM facts").fetchall()
        assert {row["rules_version"] for row in rows} == {RULES_VERSION}
        assert "with [redacted:github-token]" in {row["body"] for row in rows}
        assert here.extract(path).rescanned == Rescanned()


def test_a_forgotten_key_is_gone_from_sessions_that_go_on_and_does_not_come_back(tmp_path: Path) -> None:
    session = deploying()
    path = session.write(tmp_path / "s.jsonl")
    with desk(tmp_path / "shop") as here:
        here.extract(path)
        approve(Drawer(here.connection, "workspace"), next(c.id for c in candidates(here) if c.key == KEY))
        (state,) = [str(row["state"]) for row in here.connection.execute("SELECT state FROM watermarks")]
        assert KEY in state
        Drawer(here.connection, "workspace").forget(KEY)
        for file in (tmp_path / "shop" / ".hikidashi").glob("workspace.sqlite*"):
            assert KEY.encode() not in file.read_bytes(), file
        session.user("And once more.")
        session.runs(UPLOAD, UPLOADED)
        session.write(tmp_path / "s.jsonl")
        here.extract(path)
        assert KEY not in [candidate.key for candidate in candidates(here)]
        assert find_fact(here.connection, "workspace", KEY) is None
