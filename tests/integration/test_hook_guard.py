"""At Stop: a claim that contradicts what is on record sends the turn back, once; all else lets it end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hikidashi.config.machine import this_machine
from tests.support.drawers import DEPLOY, fact
from tests.support.hooks import Answer, Project

CLAIM = "I cannot deploy, I have no credentials for that here."


@pytest.fixture
def project(tmp_path: Path) -> Project:
    capability = fact(
        "deploy:lantern",
        "npm run dist, then aws s3 cp dist/app.zip s3://lantern/",
        *DEPLOY,
        type="capability",
        proof="upload: dist/app.zip to s3://lantern/app.zip",
        probe=("aws", "sts", "get-caller-identity"),
        machine_id=this_machine().id,
    )
    return Project(tmp_path / "lantern", capability)


def turn(folder: Path, *lines: dict[str, Any], prompt: str = "deploy lantern") -> str:
    file = folder / "t.jsonl"
    first = {"type": "user", "message": {"role": "user", "content": prompt}}
    file.write_text("".join(json.dumps(line) + "\n" for line in (first, *lines)))
    return str(file)


def call(command: str, output: str, *, failed: bool) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": output, "is_error": failed}
    return [
        {"type": "assistant", "message": {"role": "assistant", "content": [use]}},
        {"type": "user", "message": {"role": "user", "content": [result]}},
    ]


def stop(project: Project, transcript: str, message: str = CLAIM, **values: Any) -> Answer:
    return project.fire("Stop", last_assistant_message=message, transcript_path=transcript, **values)


@pytest.mark.parametrize(
    "message",
    [
        CLAIM,
        "デプロイできません。認証情報がありません。",
        "我无法部署，没有凭证。",
        "No puedo desplegar: no tengo credenciales.",
    ],
)
def test_a_claim_against_the_record_is_sent_back_once(project: Project, tmp_path: Path, message: str) -> None:
    transcript = turn(tmp_path, prompt="デプロイして" if "デ" in message else "deploy lantern")
    first = stop(project, transcript, message)
    assert first.said is not None
    assert first.said.keys() == {"decision", "reason"}
    assert first.said["decision"] == "block"
    for part in ("deploy:lantern", "upload: dist/app.zip", "aws sts get-caller-identity"):
        assert part in first.said["reason"]
    assert stop(project, transcript, message).said is None
    assert stop(project, transcript, message, session_id="another").said is not None
    assert project.query("SELECT count(*) FROM usage_events WHERE via = 'guard'") == [(2,)]


@pytest.mark.parametrize(
    "values",
    [{"stop_hook_active": True}, {"permission_mode": "plan"}, {"agent_id": "a1"}],
    ids=lambda values: next(iter(values)),
)
def test_sent_back_already_planning_or_a_sub_agent_it_is_silent(
    project: Project, tmp_path: Path, values: dict[str, Any]
) -> None:
    assert stop(project, turn(tmp_path), **values).said is None


@pytest.mark.parametrize("message", ["", "Done, it is live.", "I could not deploy yesterday.", "x" * 2_000_000])
def test_without_a_claim_nothing_is_even_opened(project: Project, tmp_path: Path, message: str) -> None:
    project.workspace.database.write_bytes(b"damaged")
    answer = stop(project, turn(tmp_path), message)
    assert (answer.said, answer.err) == (None, "")


def test_what_failed_or_was_refused_in_this_turn_is_no_lie(project: Project, tmp_path: Path) -> None:
    failed = turn(tmp_path, *call("npm run deploy", "Exit code 1\nAccess denied", failed=True))
    assert stop(project, failed).said is None
    refused = turn(tmp_path, *call("npm run deploy", "The user doesn't want to proceed with this", failed=True))
    assert stop(project, refused).said is None
    before = call("npm run deploy", "Exit code 1\nAccess denied", failed=True)
    file = Path(turn(tmp_path, *before))
    with file.open("a") as stream:
        stream.write(json.dumps({"type": "user", "message": {"role": "user", "content": "deploy lantern now"}}) + "\n")
    assert stop(project, str(file)).said is not None  # that failure was in the turn before


def test_a_transcript_that_cannot_be_read_lets_the_turn_end(project: Project, tmp_path: Path) -> None:
    for transcript in ("", str(tmp_path / "none"), str(tmp_path)):
        assert stop(project, transcript).said is None


def test_a_rule_that_covers_it_another_machine_or_the_switch_keeps_it_silent(project: Project, tmp_path: Path) -> None:
    transcript = turn(tmp_path)
    project.workspace.config_file.write_text("[recall]\nguard = false\n")
    assert stop(project, transcript).said is None
    project.workspace.config_file.unlink()
    elsewhere = fact("deploy:lantern", "x", *DEPLOY, type="capability", machine_id="0" * 32, machine_name="other")
    project.write(elsewhere)
    assert stop(project, transcript).said is None
    project.write(fact("deploy:lantern", "x", *DEPLOY, type="capability", machine_id=this_machine().id))
    project.write(fact("rule:deploy", "Never deploy from here", type="rule", origin="rule"))
    assert stop(project, transcript).said is None


def test_where_nothing_can_be_remembered_nothing_is_raised(project: Project, tmp_path: Path) -> None:
    (project.workspace.home / "sessions").write_text("in the way")
    assert stop(project, turn(tmp_path)).said is None


def test_a_damaged_row_stands_in_no_other_ones_way(project: Project, tmp_path: Path) -> None:
    from contextlib import closing

    from hikidashi.db.connection import connect, transaction

    project.write(fact("publish:shop", "npm publish", type="capability"))
    with closing(connect(project.workspace.database)) as connection, transaction(connection):
        connection.execute("UPDATE facts SET probe = '{' WHERE key = 'publish:shop'")
    assert stop(project, turn(tmp_path)).said is not None
