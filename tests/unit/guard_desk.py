"""The desk at which the guard's cases happen: what is on record there, and a case as a turn that ends."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import hikidashi
from hikidashi.drawer.fact import Fact
from hikidashi.recall.guard import Challenge, challenge

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
HERE = "a" * 32
VERBS = tomllib.loads((Path(hikidashi.__file__).parent / "capture/tools/verbs.toml").read_text(encoding="utf-8"))
CASES = Path(__file__).parent / "guard_cases"


def fact(key: str = "deploy:blyck", **changed: Any) -> Fact:
    """A capability as promotion makes it, with all the words of its verb."""
    verb = key.partition(":")[0]
    values: dict[str, Any] = {
        "id": 1, "scope": "workspace", "key": key, "type": "capability", "body": "npm run dist", "confidence": 0.9,
        "proof": "done", "status": "active", "probe": (),
        "aliases": tuple(alias for some in VERBS.get(verb, {}).values() for alias in some), "trust": "tool",
        "origin": "promotion", "digest": "", "machine_id": HERE, "machine_name": "desk",
        "source": {"at": "2026-03-08T09:00:00.000Z"}, "rules_version": 1, "version": 1,
        "created_at": "2026-03-08T10:00:00.000Z", "updated_at": "2026-03-08T10:00:00.000Z",
        "last_seen": "2026-03-08T10:00:00.000Z", "last_verified": None, "last_failed": None, "failure": "", "uses": 0,
    }  # fmt: skip
    return Fact(**{**values, **changed})


def rule(body: str) -> Fact:
    """A lasting rule of the person."""
    return fact("rule:x", type="rule", body=body, aliases=(), origin="rule", machine_id="")


DEPLOY = fact(
    body="npm run dist\naws s3 cp dist s3://blyck-releases --recursive",
    proof="upload: dist/index.html to s3://blyck-releases/index.html",
    probe=("aws", "sts", "get-caller-identity"),
)


def desk() -> list[Fact]:
    """What is on record in the cases: a project `blyck` that is built, tested, pushed, published and deployed."""
    return [
        DEPLOY,
        fact("push:mika/blyck", body="git push origin main", proof="1a2b3c4..5d6e7f8  main -> main"),
        fact("publish:blyck", body="npm publish", proof="+ blyck@1.4.0", probe=("npm", "whoami")),
        fact("test:blyck", body="npm test", proof="Tests: 41 passed, 41 total"),
        fact("build:blyck", body="npm run build", proof="built in 1.20s"),
        fact("connect-db:db.example.com/shop", body="psql -h db.example.com shop -c 'select 1'", proof="(1 row)"),
        fact("connect-ssh:web1.example.com", body="ssh mika@web1.example.com uptime", proof="up 41 days"),
        fact(
            "auth:github",
            body="gh auth status",
            proof="Logged in to github.com as mika",
            probe=("gh", "auth", "status"),
        ),
        fact("container:blyck", body="docker compose up -d", proof="Container blyck-web-1  Started"),
        fact("infra:blyck-network", body="terraform apply", proof="Apply complete! Resources: 3 added"),
    ]


def cases(name: str) -> list[dict[str, Any]]:
    """The cases of a file."""
    found: list[dict[str, Any]] = tomllib.loads((CASES / f"{name}.toml").read_text(encoding="utf-8"))["case"]
    return found


def decide(case: dict[str, Any]) -> Challenge | None:
    """What happens to a case's turn."""
    return challenge(
        case["message"],
        prompt=case.get("prompt", ""),
        capabilities=[one for one in desk() if one.key in case.get("facts", (one.key,))],
        rules=[rule(body) for body in case.get("rules", ())],
        turn_failures=case.get("failures", ()),
        refused=case.get("refused", False),
        now=NOW,
        machine_id=case.get("machine", HERE),
    )
