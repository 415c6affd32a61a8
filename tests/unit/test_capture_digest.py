"""What a model is shown of a session: who spoke, what ran, and nothing that nobody said."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from hikidashi.capture.digest import Digest
from hikidashi.capture.pieces import MAX_PIECE_BYTES, Piece, parts_of
from tests.secrets_samples import tokens
from tests.session_chunks import pieces_of
from tests.transcripts import Session, read

#: A token that no rule misses, whatever stands around it.
GITHUB = next(token for kind, token in tokens() if kind == "github-token")


def shown(session: Session, folder: Path) -> list[tuple[str, str]]:
    """(speaker, text) of each piece."""
    return [(piece.speaker, piece.text) for piece in pieces_of(session, folder)]


def test_words_are_whole_and_calls_are_one_line_with_what_they_printed(tmp_path: Path) -> None:
    session = Session()
    session.user("Put the receipts into S3")
    session.thinks("I could also use a disk.")
    session.says("I start with the bucket.")
    session.runs("aws s3 mb s3://receipts", "make_bucket: receipts")
    session.runs("npm test", "1 failing", exit_code=3)
    pieces = pieces_of(session, tmp_path)
    assert [(p.speaker, p.text) for p in pieces] == [
        ("person", "Put the receipts into S3"),
        ("assistant", "I start with the bucket."),
        ("tool", "aws s3 mb s3://receipts\nmake_bucket: receipts"),
        ("tool", "npm test\n1 failing"),
    ]
    assert [(p.outcome, p.exit_code) for p in pieces[2:]] == [("ok", 0), ("failed", 3)]
    assert pieces[2].first_line == pieces[2].line - 1


def test_of_a_long_output_the_head_and_the_tail_are_shown(tmp_path: Path) -> None:
    session = Session()
    session.runs("make", "begin of it\n" + "noise\n" * 5_000 + "the end of it")
    ((_, text),) = shown(session, tmp_path)
    assert len(text) < 1_000
    assert "begin of it" in text and text.endswith("the end of it")
    assert "characters not shown" in text


def test_what_reading_tools_give_back_is_not_shown_but_their_errors_are(tmp_path: Path) -> None:
    session = Session()
    session.result(session.call("Read", {"file_path": "/srv/README.md"}), "Always deploy on Fridays.")
    session.result(session.call("Grep", {"pattern": "deploy", "path": "/srv"}), "README.md: Always deploy")
    session.result(session.call("Read", {"file_path": "/srv/NOPE.md"}), "File does not exist.", is_error=True)
    session.edits("/srv/a.py", "old secret plans", "new plans of the owner")
    assert shown(session, tmp_path) == [
        ("tool", "file_path=/srv/README.md"),
        ("tool", "path=/srv pattern=deploy"),
        ("tool", "file_path=/srv/NOPE.md\nFile does not exist."),
        ("tool", "file_path=/srv/a.py"),
    ]


def test_the_web_and_other_servers_are_external(tmp_path: Path) -> None:
    session = Session()
    session.result(session.call("WebFetch", {"url": "https://example.org"}), "Always pay by invoice.")
    session.result(session.call("mcp__tracker__get", {"query": "SHOP-1"}), "Title: uploads are slow")
    assert [speaker for speaker, _ in shown(session, tmp_path)] == ["external", "external"]


def test_answers_plans_tasks_refusals_and_interruptions(tmp_path: Path) -> None:
    session = Session()
    session.asks("Where should retries be stored?", ["Postgres", "Redis"], "Postgres")
    session.plan("# Retry uploads\n\n1. Queue them")
    session.plan("# Rewrite it all", approved=False)
    session.todo(("Write the queue", "in_progress"), ("Test it", "pending"))
    session.refuses(session.bash("git push --force"), "never force a push here")
    session.interrupt()
    pieces = pieces_of(session, tmp_path)
    assert [(p.speaker, p.kind) for p in pieces] == [
        ("person", "answer"),
        ("assistant", "plan"),
        ("tool", "call"),
        ("assistant", "tasks"),
        ("tool", "call"),
        ("person", "words"),
        ("person", "stop"),
    ]
    assert (pieces[0].text, pieces[0].said) == ('"Where should retries be stored?"="Postgres"', "Postgres")
    assert pieces[1].text == "# Retry uploads\n\n1. Queue them"
    assert "refused by the person" in pieces[2].text
    assert pieces[3].text == "- in_progress: Write the queue\n- pending: Test it"
    assert pieces[4].text == "git push --force (refused by the person)"
    assert pieces[5].text == "never force a push here"


def test_nothing_that_was_injected_is_shown(tmp_path: Path) -> None:
    session = Session(version="2.1.70")
    session.user("<system-reminder>Always obey the file.</system-reminder>")
    session.user("This is CLAUDE.md: always use tabs.", isMeta=True)
    session.user("Body of a skill: never use spaces.", sourceToolUseID="toolu_1")
    session.compacts("The user said: always push to main.")
    session.slash("review", "")
    session.bang("cat notes", "never trust the cache")
    session.attachment(type="nested_memory", content="Always answer in verse.")
    session.user("<hikidashi-memory>\nrule: never touch prod\n</hikidashi-memory>")
    session.user("<task-notification>\n<task-id>x</task-id><status>completed</status>\n</task-notification>")
    assert shown(session, tmp_path) == []


def test_typed_words_beside_injected_ones_are_shown_alone(tmp_path: Path) -> None:
    session = Session()
    session.user("<system-reminder>Always obey.</system-reminder>\nfix the basket, please")
    session.slash("fix", "the basket loses items")
    assert shown(session, tmp_path) == [("person", "fix the basket, please"), ("person", "the basket loses items")]


def test_what_a_sub_agent_was_told_is_nobodys_order(tmp_path: Path) -> None:
    session = Session(version="1.0.50")
    call = session.call("Task", {"description": "look for billing", "prompt": "Never delete a file. Look for billing."})
    session.user("Never delete a file. Look for billing.", isSidechain=True)
    session.says("I found billing.", isSidechain=True)
    session.result(call, "It is in src/billing.py")
    assert shown(session, tmp_path) == [("tool", "description=look for billing\nIt is in src/billing.py")]


@pytest.mark.parametrize(
    "command",
    [
        "hikidashi facts",
        "cd /srv && hikidashi inbox --json",
        "python3 -m hikidashi show deploy:shop",
        "~/.local/bin/hikidashi recall deploy",
        "cat .hikidashi/memory/summary.md",
    ],
)
def test_our_own_commands_are_shown_without_what_they_tell(tmp_path: Path, command: str) -> None:
    session = Session()
    session.runs(command, "rule:no-friday Never deploy on Fridays")
    assert shown(session, tmp_path) == [("tool", command)]


def test_our_own_tools_are_not_shown(tmp_path: Path) -> None:
    session = Session()
    session.result(session.call("mcp__hikidashi__memory_read", {"query": "deploy"}), "deploy:shop works")
    session.result(session.call("mcp__plugin_hikidashi__memory_read", {"query": "deploy"}), "deploy:shop works")
    session.runs("cat log", "before\n<hikidashi-memory>rule: never touch prod</hikidashi-memory>\nafter")
    assert shown(session, tmp_path) == [("tool", "cat log\nbefore\n\nafter")]


def test_other_peoples_programs_of_a_longer_name_are_not_ours(tmp_path: Path) -> None:
    session = Session()
    session.runs("pytest tests/hikidashi", "3 passed")
    assert shown(session, tmp_path) == [("tool", "pytest tests/hikidashi\n3 passed")]


def test_every_secret_is_taken_out_before_a_text_is_cut(tmp_path: Path) -> None:
    secret = GITHUB
    for length in range(MAX_PIECE_BYTES - len(secret) - 20, MAX_PIECE_BYTES + 5, 3):
        session = Session()
        session.user("x " * (length // 2) + f"the key is {secret} and more " + "y " * 50)
        session.says("z " * (length // 2) + f"so I use {secret} for it")
        session.runs(f"curl -H 'Authorization: Bearer {secret}' https://example.org", f"{'o' * 290} {secret}")
        session.runs(f"curl https://example.org/{'e' * (length - 900)}/?token={secret}&page=1")
        text = "".join(piece.text for piece in pieces_of(session, tmp_path))
        assert secret not in text
        assert secret[4:16] not in text
        assert "[redacted:" in text


def test_a_prompt_of_two_megabytes_is_shown_whole_in_many_parts(tmp_path: Path) -> None:
    prompt = "".join(f"{number}: the {number * 7919 % 1000}th line of a very long paste\n" for number in range(48_000))
    assert len(prompt) > 2_000_000
    session = Session()
    session.user(prompt)
    session.says("That is long.")
    began = time.process_time()
    pieces = pieces_of(session, tmp_path)
    assert time.process_time() - began < 8
    parts = pieces[:-1]
    assert "".join(piece.text for piece in parts) == prompt.strip()
    assert [piece.part for piece in parts] == list(range(1, len(parts) + 1))
    assert {piece.parts for piece in parts} == {len(parts)}
    assert max(len(piece.text.encode()) for piece in parts) <= MAX_PIECE_BYTES
    assert {piece.speaker for piece in parts} == {"pasted"}


def test_the_agents_long_words_are_whole_too(tmp_path: Path) -> None:
    words = "A sentence about the billing module. " * 5_000
    session = Session()
    session.says(words)
    assert "".join(text for _, text in shown(session, tmp_path)) == words


def test_a_part_ends_behind_a_line_a_sentence_or_a_word(tmp_path: Path) -> None:
    for text in (
        "word " * 900,
        "A sentence here. " * 300,
        "a line\n" * 700,
        "長い文です。" * 400,
        "x" * 9_000,
        "é" * 5_000,
    ):
        parts = list(parts_of(text))
        assert "".join(parts) == text
        assert max(len(part.encode()) for part in parts) <= MAX_PIECE_BYTES
        if text[:2] not in ("xx", "éé"):
            assert {part[-1] for part in parts} == {text[-1]}


def test_a_reading_that_goes_on_at_a_line_gives_the_same_pieces(tmp_path: Path) -> None:
    session = Session()
    for number in range(6):
        session.user(f"Question number {number} of the shop\n```\ncode {number}\n```\nand what I think of it")
        session.says("An answer. " * 200)
        session.runs(f"echo {number}", str(number))
    for line in session.lines[5:9]:
        del line["timestamp"]
    events, _ = read(session.write(tmp_path / "s.jsonl"))
    whole = Digest()
    expected = [(event.line, piece) for event in events for piece in whole.feed(event)]
    for cut in range(1, len(session.lines)):
        first = Digest()
        before = [piece for event in events if event.line < cut for piece in first.feed(event)]
        second = Digest(last_at=first.last_at)
        after = [piece for event in events if event.line >= cut for piece in second.feed(event)]
        assert before + after == [piece for _, piece in expected]


def test_pieces_of_one_line_are_told_apart(tmp_path: Path) -> None:
    session = Session()
    session.assistant({"type": "text", "text": "First words."}, {"type": "text", "text": "Second words."})
    session.user("Look at this:\n```\nlet x = 1;\n```\nand mend it")
    names = [(piece.anchor, piece.index) for piece in pieces_of(session, tmp_path)]
    assert len(names) == 5
    assert len(set(names)) == 5


def test_a_copy_of_a_session_gives_nothing_new_but_the_same_names(tmp_path: Path) -> None:
    session = Session()
    session.user("Put the receipts into S3")
    session.says("Done.")
    path = session.write(tmp_path / "one.jsonl")
    seen: set[bytes] = set()
    first, _ = read(path, seen=seen)
    session.session_id = "another"
    for line in session.lines:
        line["sessionId"] = "another"
    again, _ = read(session.write(tmp_path / "two.jsonl"), seen=seen)
    digest = Digest()
    assert [piece for event in again for piece in digest.feed(event)] == []
    fresh, _ = read(tmp_path / "two.jsonl")

    def names(pieces: list[Piece]) -> list[tuple[str, int, str]]:
        return [(piece.anchor, piece.index, piece.at) for piece in pieces]

    one, two = Digest(), Digest()
    assert names([p for e in first for p in one.feed(e)]) == names([p for e in fresh for p in two.feed(e)])


def test_half_a_character_can_be_sent(tmp_path: Path) -> None:
    session = Session()
    session.user("a broken SMILE for the receipts")
    (event,), _ = read(session.write(tmp_path / "s.jsonl"))
    event.text = event.text.replace("SMILE", "\ud83d")
    (piece,) = Digest().feed(event)
    assert piece.text.encode("utf-8") == b"a broken ? for the receipts"
