"""Secrets of every shape, in every place of a session that memory is made of, reach no byte that is kept."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from dulwich.repo import Repo

from tests.secrets_samples import Sample, samples
from tests.support.commands import Commands
from tests.support.project import Project
from tests.transcripts import Session

#: Characters before a secret: just before and across each length at which titles, quotes and bodies are cut.
PADDINGS = (0, 40, 60, 72, 90, 110, 120, 140, 150, 155, 160, 280, 300, 390, 400, 480, 500, 590, 600, 690, 790, 1490)


def _in_a_choice(session: Session, secret: str, where: str) -> None:
    session.asks(f"How does {where} log in? Now: {secret}", [f"with {secret}", "not at all"], f"with {secret}")


def _in_a_rule(session: Session, secret: str, where: str) -> None:
    session.user(f"use the {where} login {secret} instead of the old login")


def _in_a_plan(session: Session, secret: str, where: str) -> None:
    session.plan(f"# Move {where} {secret}\n\n## Steps {secret}\n\n1. Log in: `{secret}`\n2. Move it\n\n{secret}\n")


def _in_open_work(session: Session, secret: str, where: str) -> None:
    session.user(f"finish the login of {where}: {secret}")
    session.todo((f"Rotate {secret} of {where}", "in_progress"), (f"Write {secret} down", "pending"))


def _in_a_mended_failure(session: Session, secret: str, where: str) -> None:
    # A command, its error line, the file that was edited and the passing output: all that an attempt holds.
    command = f"pytest tests/test_{where}.py --login '{secret}'"
    error = f"E   LoginError: refused {secret}\n1 failed in 0.1s"
    for _ in range(2):
        session.runs(command, error, exit_code=1)
        session.edits(f"{session.cwd}/src/{secret}/login.py", f"login('{secret}')", f"login_again('{secret}')")
    session.runs(command, f"1 passed in 0.1s {secret}")
    session.runs(f"git commit -m 'Log in with {secret}'", f"[main 0fedcba] Log in with {secret}\n 1 file changed")


PLACES = (_in_a_choice, _in_a_rule, _in_a_plan, _in_open_work, _in_a_mended_failure)


def _needles(sample: Sample) -> Iterator[bytes]:
    """What must be nowhere: the secret, and halves of a long one, for a cut may leave half of it."""
    for needle in sample.needles:
        yield needle.encode()
        if len(needle) >= 40:
            yield needle[: len(needle) // 2].encode()
            yield needle[len(needle) // 2 :].encode()


def _kept(project: Project) -> Iterator[tuple[str, bytes]]:
    """Every byte that is kept, plain, inflated, and as the database gives it."""
    home = Path(os.environ["HOME"])
    folders = [project.home, *(path for path in home.iterdir() if path.name != ".claude")]
    for file in (file for folder in folders for file in folder.rglob("*") if file.is_file()):
        data = file.read_bytes()
        yield str(file), data
        yield f"the name {file}", os.fsencode(file)
    with closing(Repo(str(project.workspace.history))) as repo:
        for key in repo.object_store:  # loose and packed, inflated
            yield f"object {key!r}", repo.object_store[key].as_raw_string()
    with closing(sqlite3.connect(project.workspace.database)) as database:
        for (table,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            for row in database.execute(f'SELECT * FROM "{table}"'):
                yield f"table {table}", "\n".join(str(value) for value in row).encode("utf-8", "replace")


def _leaks(project: Project, told: list[tuple[Sample, str]]) -> list[tuple[str, str, str]]:
    wanted = {needle: (sample.kind, where) for sample, where in told for needle in _needles(sample)}
    everything = list(_kept(project))
    joined = b"\0".join(data for _, data in everything)
    wanted = {needle: told for needle, told in wanted.items() if needle in joined}
    found = []
    for place, data in everything if wanted else ():
        for needle, (kind, where) in wanted.items():
            if needle in data:
                at = data.index(needle)
                found.append((kind, where, f"{place}: {data[max(0, at - 60) : at + 20]!r}"))
    return found


#: Each sample in one place; in the slow tests each in all.
CASES = [
    pytest.param(place, first, every, id=f"{place.__name__.strip('_')}-{every}", marks=marks)
    for number, place in enumerate(PLACES)
    for first, every, marks in ((number, len(PLACES), ()), (0, 1, pytest.mark.slow))
]


@pytest.mark.parametrize(("place", "first", "every"), CASES)
def test_planted_secrets_reach_no_byte_that_is_kept(
    tmp_path: Path, run: Commands, place: Callable[[Session, str, str], None], first: int, every: int
) -> None:
    project = Project.made(tmp_path / "shop", run)
    told = []
    for number, sample in enumerate(samples()[first::every]):
        where = f"service{number}"
        session = project.session(f"secret {number}")
        session.branch = f"fix/{sample.text}"
        place(session, sample.text, where)
        session.says(f"Done, I used {sample.text}.")
        project.keep(session)
        told.append((sample, where))
    said = run("extract", "--no-consolidate", cwd=project.root).out
    # Its sessions do become entries, with the secret in the text that is kept.
    ((redacted,),) = project.rows("SELECT count(*) FROM entries WHERE content LIKE '%[redacted:%'")
    assert int(str(redacted)) >= len(told) // 3
    assert _leaks(project, told) == []
    said += run("consolidate", "--drain", cwd=project.root).out
    said += run("consolidate", "--clean-up", cwd=project.root, clock_by=200 * 86_400).out
    said += run("status", cwd=project.root).out + run("log", "-p", cwd=project.root).out
    assert project.staged_files() == set()
    assert _leaks(project, told) == []
    printed = said.encode()
    assert [sample.kind for sample, _ in told for needle in _needles(sample) if needle in printed] == []
    run("lint", cwd=project.root)


def test_a_secret_at_a_place_where_text_is_cut_leaves_no_half(tmp_path: Path, run: Commands) -> None:
    project = Project.made(tmp_path / "shop", run)
    long = [sample for sample in samples() if len(sample.needles) == 1 and len(sample.needles[0]) >= 40]
    told = []
    for number, padding in enumerate(PADDINGS):
        for offset, place in enumerate(PLACES[:4]):
            sample = long[(number * 4 + offset) % len(long)]
            words = "and the words before it go on for a while, as people do " * 40
            text = f"{words[:padding]} {sample.text}"
            session = project.session(f"cut {number} {offset}")
            place(session, text, f"service{number}")
            project.keep(session)
            told.append((sample, f"{place.__name__} after {padding}"))
    run("extract", "--no-consolidate", cwd=project.root)
    assert len(project.states()) >= len(told) // 3
    run("consolidate", "--drain", cwd=project.root)
    assert _leaks(project, told) == []


def test_ordinary_hashes_ids_and_paths_survive(tmp_path: Path, run: Commands) -> None:
    project = Project.made(tmp_path / "shop", run)
    ordinary = [
        hashlib.sha1(b"a commit").hexdigest(),
        "sha256:" + hashlib.sha256(b"an image").hexdigest(),
        str(uuid.uuid5(uuid.NAMESPACE_DNS, "shop")),
        "/srv/shop/releases/2026-03-01/current/config/settings.production.yaml",
        "https://github.com/acme/shop/pull/1234",
        "main.7f8d9c0a1b2c3d4e.chunk.js",
    ]
    session = project.session("ordinary")
    for number, text in enumerate(ordinary):
        session.asks(f"Which one does service{number} take?", [f"take {text}", "none of them"], f"take {text}")
    project.keep(session)
    run("extract", "--no-consolidate", cwd=project.root)
    run("consolidate", cwd=project.root)
    texts = project.texts()
    assert [text for text in ordinary if f"take {text}" not in texts] == []
