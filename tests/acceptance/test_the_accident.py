"""The accident that Hikidashi is made against: an agent that deployed yesterday says today that it cannot.

Session one deploys. A person says yes. What a new session is given for 「デプロイして」 and "deploy it" is that
capability and nothing beside it, in a small drawer and among five hundred other facts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Commands
from tests.transcripts import Session

KEY = "deploy:blyck-releases"
ASKS = ("デプロイして", "deploy it", "部署一下", "배포해 줘", "déploie le site", "deploye das bitte", "haz el deploy")


@pytest.fixture
def project(tmp_path: Path, home: Path, run: Commands) -> Path:
    """A project whose first session deployed: signed in, built, uploaded, the cache emptied."""
    root = (tmp_path / "blyck").resolve()
    root.mkdir()
    session = Session(cwd=str(root), name="first", at=datetime(2026, 3, 2, 9, tzinfo=UTC))
    session.user("Deploy the site.")
    session.runs("ls", "package.json\nsrc")
    session.runs(
        "aws sts get-caller-identity", '{\n    "Account": "123456789012",\n    "Arn": "arn:aws:iam::1:user/mika"\n}'
    )
    session.runs("npm run dist", "> blyck@1.4.0 dist\n> vite build\n\ndist/index.html  0.46 kB\n✓ built in 1.20s")
    session.runs(
        "aws s3 cp dist s3://blyck-releases --recursive", "upload: dist/index.html to s3://blyck-releases/index.html"
    )
    session.runs(
        "aws cloudfront create-invalidation --distribution-id E1 --paths '/*'",
        '{\n    "Invalidation": {\n        "Id": "I1",\n        "Status": "InProgress"\n    }\n}',
    )
    session.says("The site is online.")
    slug = "".join(char if char.isascii() and char.isalnum() else "-" for char in str(root))
    session.write(home / ".claude" / "projects" / slug / "first.jsonl")
    run("init", "--yes", cwd=root)
    run("extract", "--no-consolidate", cwd=root)
    return root


def asked(run: Commands, project: Path, text: str) -> dict[str, Any]:
    told: dict[str, Any] = run("recall", text, "--json", cwd=project).json()
    return told


def approved(run: Commands, project: Path) -> dict[str, Any]:
    """The person says yes to the deploy."""
    waiting = run("candidates", "--json", cwd=project).json()["candidates"]
    (candidate,) = [one for one in waiting if one["key"] == KEY]
    run("approve", candidate["id"], cwd=project)
    found: dict[str, Any] = candidate
    return found


def test_before_the_yes_a_new_session_knows_nothing(run: Commands, project: Path) -> None:
    for text in ASKS[:2]:
        assert asked(run, project, text)["facts"] == []
    assert run("facts", "--json", cwd=project).json()["facts"] == []


def test_after_it_every_way_to_ask_is_given_it_with_its_proof(run: Commands, project: Path) -> None:
    candidate = approved(run, project)
    for part in ("npm run dist", "aws s3 cp dist s3://blyck-releases --recursive", "create-invalidation"):
        assert part in candidate["body"]
    assert "upload: dist/index.html to s3://blyck-releases/index.html" in candidate["proof"]
    assert candidate["probe"] == ["aws", "sts", "get-caller-identity"]
    for text in ASKS:
        told = asked(run, project, text)
        assert [fact["key"] for fact in told["facts"]] == [KEY], text
        assert "aws s3 cp" in told["text"]
        assert "upload: dist/index.html" in told["text"]


@pytest.fixture
def others(project: Path, run: Commands) -> Callable[[], None]:
    """Puts five hundred other facts in: other verbs, other targets, decisions, procedures."""
    things = ("orders", "ledger", "gateway", "mailer", "search", "reports", "billing", "avatars", "metrics", "exports")
    makers: tuple[Callable[[str, int], tuple[str, str, str, list[str]]], ...] = (
        lambda t, n: (f"test:{t}-{n}", "capability", f"The tests of {t} {n} run with pytest.", ["test", "テスト"]),
        lambda t, n: (f"build:{t}-{n}", "capability", f"{t} {n} is built with make.", ["build", "ビルド"]),
        lambda t, n: (f"connect-db:{t}-{n}", "capability", f"psql reaches {t} {n}.", ["database", "データベース"]),
        lambda t, n: (f"{t}-format-{n}", "decision", f"{t} {n} keeps dates in UTC after the site was moved.", []),
        lambda t, n: (f"{t}-rotation-{n}", "procedure", f"Rotate the {t} certificates of host {n}, then tell it.", []),
    )
    lines = []
    for number in range(500):
        key, kind, body, aliases = makers[number % 5](things[number // 5 % 10], number)
        lines.append(json.dumps({"key": key, "type": kind, "body": body, "scope": "workspace", "aliases": aliases}))
    file = project / "others.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def put() -> None:
        assert run("import", str(file), "--json", cwd=project).code == 0
        assert len(run("facts", "--json", cwd=project).json()["facts"]) == 501

    return put


def test_five_hundred_other_facts_change_nothing(run: Commands, project: Path, others: Callable[[], None]) -> None:
    approved(run, project)
    others()
    for text in ASKS[:3]:
        assert [fact["key"] for fact in asked(run, project, text)["facts"]] == [KEY], text


def test_the_same_session_read_again_asks_for_no_second_yes(run: Commands, project: Path) -> None:
    approved(run, project)
    report = run("extract", "--no-consolidate", "--json", cwd=project).json()
    assert report["candidates"] == []
    assert KEY not in [one["key"] for one in run("candidates", "--json", cwd=project).json()["candidates"]]
