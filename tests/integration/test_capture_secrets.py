"""Secrets of every known shape, planted in prompts, commands, outputs and lists, reach nothing under `.hikidashi/`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture_workspace import LATE, SOON, Desk, desk
from tests.secrets_samples import Sample, samples
from tests.transcripts import Session


def planted_session(number: int, planted: list[Sample]) -> Session:
    """A session that leaves plans, choices, attempts and open work, with a secret in each."""
    session = Session(name=f"session {number}", branch="ann/shop-1")
    for sample in planted:
        plant(session, number, sample.text)
    return session


def plant(session: Session, number: int, text: str) -> None:
    """One secret wherever a session has text."""
    session.user(f"Add the following setting to the upload client of the shop: {text}")
    session.plan(
        f"# Store the setting of the upload client\n\n## Context\n\nIt is {text} for now.\n\n## Steps\n\n1. Write it"
    )
    session.asks(f"Where should {text} be kept?", ["the vault", "a file"], f"In the vault, under {text} please")
    session.todo((f"Write {text} into the vault", "pending"), ("Tell the client", "pending"))
    session.user(f"Use the vault with {text} instead of a file in the repository.")
    for _ in range(2):
        session.runs(f"npm test -- {text}", f"Error: cannot connect with {text}\n1 failed", exit_code=1)
        session.says(f"The client needs {text} here. Should it be A or B?\n\nA) the long {text}\nB) the short {text}")
        session.edits(f"/home/ann/shop/{number}.ts", "a", text)
    session.runs(f"npm test -- {text}", f"12 passed with {text}")
    session.user("let's go with B")
    session.runs("git commit -am x", f"[ann/shop-1 1a2b3c4] Use {text} in the client\n 1 file changed")
    session.runs(f"gh pr create --title 'Use {text}'", f"https://github.com/ann/shop/pull/7?{text}")
    session.todo((f"Write {text} into the vault", "in_progress"))
    session.runs(f"npm run build -- '{text}'", f"Error: still no access with {text}", exit_code=1)


def found(here: Desk, needle: str) -> list[str]:
    """Files under `.hikidashi/` that hold the needle as it stands or escaped as JSON."""
    here.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    forms = {needle.encode(), needle.encode().replace(b"\n", b"\\n").replace(b'"', b'\\"')}
    return [
        path.name
        for path in sorted(here.workspace.home.rglob("*"))
        if path.is_file() and any(form in path.read_bytes() for form in forms)
    ]


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_no_planted_secret_is_kept_anywhere(tmp_path: Path, every: int) -> None:
    planted = samples()[::every]
    for number in range(0, len(planted), 8):
        planted_session(number, planted[number : number + 8]).write(tmp_path / "sessions" / f"{number}.jsonl")
    with desk(tmp_path / "shop") as here:
        report = here.extract(tmp_path / "sessions", at=LATE)
        assert len(report.new) >= 4 * len(planted)
        here.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        everything = b"".join(path.read_bytes() for path in here.workspace.home.rglob("*") if path.is_file())
        kept = [
            (sample.kind, needle)
            for sample in planted
            for needle in sample.needles
            if needle.encode() in everything or needle.encode().replace(b'"', b'\\"') in everything
        ]
        assert kept == []


@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_what_is_not_settled_yet_holds_no_secret_either(tmp_path: Path, home: Path, every: int) -> None:
    with desk(tmp_path / "shop") as here:
        root = str(here.workspace.root)
        slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in root)
        for number, sample in enumerate(samples()[1::every]):
            session = planted_session(number, [sample])
            for line in session.lines:
                line["cwd"] = root
            session.write(home / ".claude" / "projects" / slug / f"{number}.jsonl")
            here.extract(own=True, at=SOON)
            for needle in sample.needles:
                assert found(here, needle) == [], sample.kind
