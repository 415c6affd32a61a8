"""A model that reads, from the command line: nothing is spent without a yes, and what it did is told."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hikidashi.capture.back_fill import ExpectedCost, model_since
from hikidashi.cli.reading import expected_text
from hikidashi.config.settings import user_file
from hikidashi.db.connection import connect
from hikidashi.testing import FakeMessages, rate_limited, say, unauthorized
from tests.support.command import Ran, hikidashi, put_demo_sessions
from tests.support.readers import KEY, age_sessions, answer_about, claim, shown_to, use_model
from tests.transcripts import Session

EMPTY = say('{"activities": [], "facts": []}')
CHOICE = "Use pnpm instead of npm."
READING = {
    "run_id", "model", "outcome", "message", "started_at", "sessions", "chunks", "failed_chunks", "pieces", "requests",
    "tokens", "entries", "candidates", "dropped", "samples", "passed_over", "passages", "older", "errors", "seconds",
}  # fmt: skip


def honest(body: dict[str, Any]) -> Any:
    """Quotes the choice, and claims beside it what nobody said."""
    return answer_about(
        body, CHOICE, claim(1, "person", "Always deploy on Fridays, I insist.", title="Deploy on Fridays")
    )


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    put_demo_sessions(home, folder)
    return folder


@pytest.fixture
def older(project: Path, home: Path) -> Path:
    """A workspace whose sessions are from before any model was switched on, and read by nobody."""
    age_sessions(home)
    assert hikidashi("init", cwd=project).code == 0
    return project


@contextlib.contextmanager
def reading(model: Any = honest, *lines: str, **options: Any) -> Iterator[FakeMessages]:
    with FakeMessages(model, **options) as fake:
        use_model(fake, *lines)
        yield fake


def extract(project: Path, *arguments: str) -> Ran:
    return hikidashi("extract", "--no-consolidate", *arguments, cwd=project)


# -- consent


@pytest.mark.parametrize(
    "arguments", [["init", "--yes"], ["extract", "--yes"], ["extract", "--engine", "auto", "--yes"]]
)
def test_an_ambient_key_alone_makes_no_request_and_status_says_why(
    project: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    with FakeMessages(honest) as fake:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", fake.url)
        hikidashi("init", cwd=project)
        assert hikidashi(*arguments, cwd=project).code == 0
        status = hikidashi("status", cwd=project)
        assert "ANTHROPIC_API_KEY in the environment alone is no consent, and no request is made" in status.out
        assert hikidashi("status", "--json", cwd=project).json["extraction"]["engine"] == "rules"
        assert fake.calls == []
    assert not user_file().exists()
    assert KEY not in status.out


def test_init_says_that_a_key_is_there_and_asks_nobody_without_a_terminal(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    ran = hikidashi("init", "--yes", cwd=project)
    assert "ANTHROPIC_API_KEY is set here and not used; `hikidashi init --use-key`" in ran.out
    assert "not used" not in hikidashi("init", "--yes", "--no-use-key", cwd=project).out
    assert hikidashi("init", "--json", cwd=project).json["key"] == {
        "variable": "ANTHROPIC_API_KEY", "agreed": False, "file": None
    }  # fmt: skip
    assert not user_file().exists()


def test_use_key_writes_the_variable_s_name_and_never_the_key(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("HIKIDASHI_MEMORY_LOCAL_ONLY", "0")  # nothing is sent: nobody agrees to any reading
    ran = hikidashi("init", "--use-key", "--json", cwd=project)
    assert ran.json["key"] == {"variable": "ANTHROPIC_API_KEY", "agreed": True, "file": str(user_file())}
    assert user_file().read_text() == '[memory]\napi_key_variable = "ANTHROPIC_API_KEY"\n'
    assert user_file().stat().st_mode & 0o777 == 0o600
    again = hikidashi("init", "--use-key", cwd=project)
    assert again.code == 0
    assert user_file().read_text().count("api_key_variable") == 1
    kept = [file for file in (project / ".hikidashi").rglob("*") if file.is_file()]
    assert not [file for file in kept if KEY.encode() in file.read_bytes()]
    assert KEY not in ran.out + ran.err + again.out + again.err


def test_an_agent_cannot_agree(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("CLAUDECODE", "1")
    ran = hikidashi("init", "--use-key", "--yes", cwd=project)
    assert ran.code == 14
    assert "init --use-key` in a terminal of your own" in ran.err
    assert not user_file().exists()
    assert not (project / ".hikidashi").exists()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("", "ANTHROPIC_API_KEY is not set here: set it, or write memory.api_key into"),
        (f'[memory]\napi_key = "{KEY}"\n', "memory.api_key is set already"),
        ('[memory]\nbase_url = "http://127.0.0.1:9"\n', "memory.base_url is set already"),
    ],
)
def test_use_key_without_a_key_or_beside_other_settings_is_refused(project: Path, settings: str, said: str) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text(settings)
    ran = hikidashi("init", "--use-key", cwd=project)
    assert (ran.code, said in ran.err) == (2, True)
    assert KEY not in ran.err
    assert user_file().read_text() == settings


# -- cost, and the yes to it


def test_older_sessions_are_read_only_after_a_yes_to_their_cost(older: Path) -> None:
    with reading() as fake:
        ran = extract(older)
        assert (ran.code, fake.requests) == (0, [])
        assert "claude-haiku-5-5 has not read 4 sessions, about " in ran.out
        assert " tokens, less than $0.01" in ran.out
        assert "`hikidashi extract --yes` agrees to that" in ran.out
        agreed = extract(older, "--yes")
        assert agreed.code == 0
        assert len(fake.requests) >= 1
        assert "read 4 sessions in 4 chunks" in agreed.out
        before = len(fake.requests)
        assert extract(older, "--yes").code == 0
        assert len(fake.requests) == before, "read once"


def test_a_model_without_a_price_costs_something_unknown_and_not_nothing(older: Path) -> None:
    with reading(honest, 'extraction_model = "local-reader"'):
        assert "tokens, cost unknown." in extract(older).out


@pytest.mark.parametrize(
    ("tokens", "micro_usd", "said"),
    [
        (99, 0, "about 99 tokens, less than $0.01"),
        (17_660, 10_000, "about 18,000 tokens, less than $0.01"),
        (120_400, 10_001, "about 130,000 tokens, about $0.02"),
        (99_500_000, 12_345_678, "about 100,000,000 tokens, about $12.35"),
        (5_000, None, "about 5,000 tokens, cost unknown"),
    ],
)
def test_an_expected_cost_is_rounded_up(tokens: int, micro_usd: int | None, said: str) -> None:
    expected = ExpectedCost(sessions=1, tokens=tokens, micro_usd=micro_usd, model="a-model")
    assert expected_text(expected) == f"1 session, {said}"


def test_init_s_yes_alone_has_no_model_read_older_sessions(project: Path, home: Path) -> None:
    age_sessions(home)
    with reading() as fake:
        ran = hikidashi("init", "--yes", cwd=project)
        assert (ran.code, fake.requests) == (0, [])
        assert "Read 4 session files" in ran.out


def test_init_again_leaves_a_model_that_reads_here_at_work(older: Path, home: Path) -> None:
    def since() -> str:
        with contextlib.closing(connect(older / ".hikidashi" / "workspace.sqlite")) as connection:
            return str(model_since(connection))

    with reading() as fake:
        assert extract(older, "--yes").code == 0
        begun, asked = since(), len(fake.requests)
        (session,) = home.rglob("4-change-of-mind.jsonl")
        fresh = session.read_text("utf-8").replace('"uuid":"', '"uuid":"9').replace('"uuid": "', '"uuid": "9')
        session.with_name("5-later.jsonl").write_text(fresh, "utf-8")
        ran = hikidashi("init", "--yes", cwd=older)
        assert ran.code == 0
        assert "by the rules alone" not in ran.out
        assert since() == begun != "None"
        extract(older)
        assert len(fake.requests) > asked


def test_init_with_use_key_and_yes_reads_them(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    age_sessions(home)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with reading(honest, 'api_key_variable = "ANTHROPIC_API_KEY"', key=KEY) as fake:
        ran = hikidashi("init", "--use-key", "--yes", cwd=project)
        assert ran.code == 0
        assert "1 decision staged" in ran.out
        assert {call.outcome for call in fake.requests} == {"ok"}


def test_a_named_transcript_asks_too_and_reads_nothing_on_a_no(older: Path, home: Path) -> None:
    session = next((home / ".claude").rglob("1-first-deploy.jsonl"))
    with reading() as fake:
        ran = extract(older, str(session))
        assert ran.code == 2
        assert "nothing was read (1 session, about " in ran.err
        assert "--engine rules reads it without a model" in ran.err
        assert fake.requests == []
        assert extract(older, "--yes", str(session)).code == 0
        assert [CHOICE in shown_to(call.body) for call in fake.requests] == [True]


def test_engine_rules_asks_no_model(older: Path) -> None:
    with reading() as fake:
        assert extract(older, "--engine", "rules", "--yes").code == 0
        assert fake.calls == []


def test_the_yes_of_an_agent_is_no_yes(older: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = next((home / ".claude").rglob("1-first-deploy.jsonl"))
    monkeypatch.setenv("CLAUDECODE", "1")
    with reading() as fake:
        for arguments in (["--yes"], ["--yes", str(session)]):
            ran = extract(older, *arguments)
            assert ran.code == 14
            assert "extract --yes" in ran.err
            assert "in a terminal of your own" in ran.err
        assert extract(older).code == 0
        assert fake.calls == []
        user_file().write_text(user_file().read_text() + "[gate]\nallow_agent = true\n")
        assert extract(older, "--yes").code == 0
        assert fake.requests


def test_the_yes_of_an_agent_is_none_while_the_key_is_missing_either(
    older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be remembered, and the sessions read once the key is there."""
    with reading(honest, 'api_key_variable = "MY_KEY"') as fake:
        with monkeypatch.context() as agent:
            agent.setenv("CLAUDECODE", "1")
            assert extract(older, "--yes").code == 14
            assert extract(older).code == 0
        monkeypatch.setenv("MY_KEY", "the-key-of-the-user")
        assert extract(older).code == 0
        assert fake.requests == []


def test_programs_are_told_what_it_would_cost(older: Path) -> None:
    with reading():
        expected = extract(older, "--json").json["expected_cost"]
        assert set(expected) == {"sessions", "bytes", "tokens", "requests", "model", "micro_usd", "agreed"}
        assert (expected["sessions"], expected["agreed"]) == (4, False)
        assert extract(older, "--json", "--yes").json["expected_cost"] == {**expected, "agreed": True}
        assert extract(older, "--json").json["expected_cost"] is None


def test_a_paused_workspace_asks_nothing(older: Path) -> None:
    hikidashi("pause", cwd=older)
    with reading() as fake:
        ran = extract(older, "--yes")
        assert "paused since" in ran.out
        assert "has not read" not in ran.out
        assert fake.calls == []


# -- what is told of it


def test_what_was_read_and_what_was_dropped_is_told(older: Path) -> None:
    with reading():
        told = extract(older, "--yes").out
        assert "claude-haiku-5-5 read 4 sessions in" in told
        assert "1 claim dropped: 1 the quote stands in no event" in told
        shown = hikidashi("show", "extraction", cwd=older)
    assert shown.code == 0
    assert "decision: Deploy on Fridays" in shown.out
    assert "jsonl, line " in shown.out
    found = hikidashi("show", "extraction", "--json", cwd=older).json
    assert set(found) == READING | {"finished_at"}
    assert (found["outcome"], sum(found["dropped"].values()), len(found["samples"])) == ("done", 1, 1)
    assert hikidashi("show", found["run_id"][:14].lower(), "--json", cwd=older).json == found


def test_the_json_of_an_extraction_tells_of_the_model(older: Path) -> None:
    with reading():
        report = extract(older, "--yes", "--json").json
    assert set(report["model"]) == READING
    assert (report["model"]["outcome"], report["model"]["entries"]["decision"]) == ("done", 1)
    assert [entry["title"] for entry in report["entries"] if entry["kind"] == "decision"] == [
        "pnpm takes the place of npm"
    ]


def test_without_any_extraction_show_says_what_to_do(older: Path) -> None:
    ran = hikidashi("show", "extraction", cwd=older)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "`hikidashi status` says why" in ran.err
    assert hikidashi("show", "01ARZ3NDEKTSV4RRFFQ69G5FAV", cwd=older).code == 2


def test_status_tells_how_the_last_reading_went(older: Path) -> None:
    with reading():
        extract(older, "--yes")
        status = hikidashi("status", cwd=older)
        found = hikidashi("status", "--json", cwd=older).json["extraction"]
    assert "claude-haiku-5-5, beside the rules" in status.out
    assert "claude-haiku-5-5 read 4 sessions in" in status.out
    assert (found["model"], found["trouble"], found["last"]["outcome"]) == ("claude-haiku-5-5", None, "done")


# -- trouble


def test_a_refused_key_ends_the_command_with_its_code_and_loses_nothing(older: Path) -> None:
    with reading([], f'api_key = "{KEY}"', then=unauthorized()) as fake:
        ran = extract(older, "--yes")
        assert ran.code == 11
        assert "it could not be asked, the rest waits" in ran.out
        assert "Read 4 session files" in ran.out, "the rules read all the same"
        status = hikidashi("status", cwd=older)
        assert "claude-haiku-5-5 read nothing; it could not be asked" in status.out
        assert len(fake.requests) == 1
        again = extract(older, "--yes")
        assert again.code == 11
        assert "The rules found nothing new in 4 session files." in again.out
        assert "the rest waits: claude-haiku-5-5 is not asked; no request since" in again.out
        assert again.out.count("claude-haiku-5-5 is not asked") == 1
        assert len(fake.requests) == 1, "a refused key is not tried again"
    for text in (ran.out, ran.err, status.out):
        assert KEY not in text
    with reading():
        assert "1 decision staged" in extract(older, "--yes").out


def test_a_missing_key_is_said_and_the_rules_read_all_the_same(older: Path) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text('[memory]\napi_key_variable = "NOBODY_SET_THIS"\n')
    ran = extract(older, "--yes")
    assert ran.code == 11
    assert "NOBODY_SET_THIS, which is not set here" in ran.out
    assert "Read 4 session files" in ran.out
    assert "it cannot be asked: " in hikidashi("status", cwd=older).out
    assert "NOBODY_SET_THIS, which is not set here" in extract(older).out, "also where nothing is to be asked"


def test_a_spent_budget_has_its_own_code(older: Path) -> None:
    with reading(honest, "day_tokens = 10") as fake:
        ran = extract(older, "--yes")
        assert (ran.code, fake.requests) == (9, [])
        assert "a budget is spent, the rest waits" in ran.out


def test_a_server_that_wants_a_long_wait_is_left_alone(older: Path) -> None:
    with reading([], "attempts = 1", then=rate_limited(seconds=3600)):
        ran = extract(older, "--yes")
        assert ran.code == 11
        assert "the server is overloaded, the rest waits" in ran.out


@pytest.mark.parametrize(
    "wrong", ['base_url = "http://ann:secret@127.0.0.1:9"', 'base_url = "http://127.0.0.1:9/v1"', 'base_url = "here"']
)
def test_settings_that_cannot_work_end_the_command_before_anything_is_read(older: Path, wrong: str) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text(f"[memory]\n{wrong}\n")
    ran = extract(older, "--yes")
    assert (ran.code, ran.out) == (6, "")
    assert "secret" not in ran.err


def test_no_file_and_no_output_holds_the_key(
    project: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through consent, work and failure, over all commands that touch a model."""
    age_sessions(home)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    lines = (["init", "--use-key", "--yes"], ["ping"], ["extract", "--yes"], ["show", "extraction"], ["cost"])
    said = ""
    for key, then in ((KEY, None), (None, unauthorized(f"invalid key {KEY}"))):
        with FakeMessages(honest if then is None else [], then=then, key=key) as fake:
            use_model(fake, 'api_key_variable = "ANTHROPIC_API_KEY"')
            for line in (*lines, ["status"]):
                for more in ([], ["--json"]):
                    ran = hikidashi(*line, *more, cwd=project)
                    said += ran.out + ran.err
            assert fake.requests
            assert all(call.headers for call in fake.requests)
        session = Session(cwd=str(project.resolve()), name="another")  # so that there is something to ask again
        session.user("Keep bun out of this repository, the build server does not have it.")
        session.says("Understood.")
        session.write(next((home / ".claude").rglob("4-*.jsonl")).with_name("5-another.jsonl"))
    assert KEY not in said
    files = [file for folder in (home, tmp_path) for file in folder.rglob("*") if file.is_file()]
    assert {"workspace.sqlite", "global.sqlite", "config.toml"} <= {file.name for file in files}
    assert "it could not be asked" in said
    assert "1 decision staged" in said
    assert not [file for file in files if KEY.encode() in file.read_bytes()]


def test_consolidation_by_a_model_names_the_engine_there_is(older: Path) -> None:
    with reading(honest, 'engine = "anthropic"'):
        ran = hikidashi("consolidate", cwd=older)
        assert (ran.code, "`hikidashi consolidate --engine rules`" in ran.err) == (11, True)
        assert hikidashi("consolidate", "--engine", "rules", cwd=older).code == 0
