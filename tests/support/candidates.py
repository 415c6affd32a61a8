"""Candidates in a project's drawer, as if sessions had shown them."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from hikidashi.db.connection import connect, transaction
from hikidashi.drawer.fact import Draft, Sighting
from hikidashi.drawer.gate import propose
from hikidashi.redact import RULES_VERSION
from hikidashi.times import format_time, now

__all__ = ["seen"]


def seen(project: Path, key: str = "deploy:harbour", *, sessions: int = 1, told: str = "", **changes: Any) -> str:
    """Let `sessions` sessions show that `key` works; gives the candidate's ID ('' when it is none)."""
    at = format_time(now())
    values: dict[str, Any] = {
        "key": key,
        "type": "capability",
        "body": f"{key} works from here: `aws s3 sync dist s3://harbour`.",
        "confidence": 0.9,
        "proof": "`aws s3 sync dist s3://harbour` said `upload: dist/a.js`",
        "aliases": ("harbour",),
        "trust": "tool",
        "origin": "promotion",
        "digest": f"aws {key}",
        "source": {"host": "claude-code", "session_id": "s0", "at": at},
    }
    draft = Draft(**(values | changes))
    verb, _, target = key.partition(":")
    found = ""
    with contextlib.closing(connect(project / ".hikidashi" / "workspace.sqlite")) as connection:
        for number in range(sessions):
            sighting = Sighting(
                key=key,
                anchor=f"{key}-{draft.digest}-{number}-{at}",
                host="claude-code",
                session_id=f"s{number}",
                path=f"/sessions/s{number}.jsonl",
                line=41,
                at=at,
                verb=verb,
                tool="aws",
                target=target,
                told=told or "aws s3 sync dist s3://harbour",
            )
            with transaction(connection):
                found = propose(connection, draft, [sighting], at=at, rules_version=RULES_VERSION).id
    return found
