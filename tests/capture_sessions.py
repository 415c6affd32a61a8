"""Sessions that leave something of every kind, for the tests that count entries."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tests.transcripts import Session

__all__ = ["busy_session", "finished_session", "folder_of_sessions", "open_session"]

_NO_MODULE = "Error: Cannot find module 'left-pad'"


def busy_session(name: str = "busy", cwd: str = "/home/ann/shop") -> Session:
    """A plan, an answer, a choice, a pick, a stubborn failure and finished work."""
    session = Session(name=name, cwd=cwd, branch="ann/shop-12-uploads")
    session.user("Add a retry to the upload client and cover it with tests")
    session.asks("Where should retries be stored?", ["Postgres", "Redis"], "Postgres")
    session.plan(
        "# Retry uploads from a queue\n\n## Context\n\nUploads are lost when the network drops.\n\n## Steps\n\n1. Queue"
    )
    session.todo(("Write the queue", "in_progress"), ("Cover it with tests", "pending"))
    session.user("Use a worker with a queue instead of a cron job for this.")
    session.runs("npm test", f"{_NO_MODULE}\n1 failed", exit_code=1)
    session.edits(f"{cwd}/jest.config.js", "a", "b")
    session.runs("npm test", f"{_NO_MODULE}\n1 failed", exit_code=1)
    session.says("The package is missing from package.json, so I add it.")
    session.edits(f"{cwd}/package.json", "a", "b")
    session.runs("npm test", "12 passed")
    session.says("How should errors be shown?\n\nA) A toast in the corner\nB) A banner on top of the page")
    session.user("B, a banner is harder to miss")
    session.edits(f"{cwd}/banner.ts", "a", "b")
    session.todo(("Write the queue", "completed"), ("Cover it with tests", "completed"))
    session.runs("git commit -am x", "[ann/shop-12-uploads 1a2b3c4] Retry uploads from a queue\n 3 files changed")
    session.says("Committed.")
    return session


def open_session(name: str = "open", cwd: str = "/home/ann/shop") -> Session:
    """Work that is left."""
    session = Session(name=name, cwd=cwd, at=datetime(2026, 3, 1, 11, 0, tzinfo=UTC))
    session.user("Split the billing module into two packages")
    session.todo(("Move the invoices", "completed"), ("Move the taxes", "pending"))
    session.edits(f"{cwd}/billing.py", "a", "b")
    session.says("Half of it is moved.")
    return session


def finished_session(name: str = "finished", cwd: str = "/home/ann/shop") -> Session:
    """Finished work."""
    session = Session(name=name, cwd=cwd, at=datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    session.user("Show the order number on the receipt page")
    session.edits(f"{cwd}/receipt.ts", "a", "b")
    session.runs("git commit -am x", "[main 9f8e7d6] Show the order number on receipts\n 1 file changed")
    session.says("Done.")
    return session


def folder_of_sessions(folder: Path, cwd: str = "/home/ann/shop") -> Path:
    """Three sessions and one sub-agent's file."""
    for session in (busy_session(cwd=cwd), open_session(cwd=cwd), finished_session(cwd=cwd)):
        session.write(folder / f"{session.session_id}.jsonl")
    helper = Session(name="helper", cwd=cwd, sidechain=True)
    helper.user("look for the billing code")
    helper.runs("grep -rn billing src", "src/billing.py:1")
    helper.write(folder / "one" / "subagents" / "agent-1.jsonl")
    return folder
