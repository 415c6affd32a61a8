"""A contrastive choice is a decision; wondering, errands, pastes and questions are not."""

from __future__ import annotations

import pytest

from hikidashi.capture.choices import MAX_CHOICE, contrastive_choice

CHOICES = [
    "use Postgres instead of SQLite for the job queue",
    "Let's go with server-side rendering rather than a client app.",
    "Instead of a cron job, use a worker with a queue.",
    "I prefer composition over inheritance in the plugins",
    "Don't mock the database, use a real one in a container",
    "All migrations should live in db/migrations and not in the app folder",
    "we should use pnpm, not npm",
    "switch from Jest to Vitest",
    "From now on use yarn instead of npm in this repository, the build server only has yarn.",
    "in this project we use tabs instead of spaces",
    "For new services use Go rather than Python",
    "i dont want firebase - build the auth ourselves with our own tables",
    "never write temp files to the root, always put them under var/",
    "SQLiteではなくPostgresでいきましょう",
    "RESTじゃなくてgRPCを使って",
    "jQueryはやめて、Reactにしてください",
    "不要用MongoDB，改用PostgreSQL",
    "用Vue代替React",
    "MongoDB 대신 PostgreSQL을 사용해줘",
    "usa Postgres en lugar de MySQL para los informes",
    "En vez de Redux, usa el contexto de React",
    "todas as mudanças devem ficar no script e não no código",
    "use Postgres em vez de MySQL nos relatórios",
    "utilise Postgres au lieu de MySQL pour les rapports",
    "Nimm Postgres statt MySQL für die Berichte",
    "verwende nicht MySQL, sondern Postgres",
    "Используй Postgres вместо MySQL для отчётов",
]

NOTHING = [
    "should we use Postgres instead of SQLite?",
    "what happens if we use Postgres instead of SQLite?",
    "maybe we could use Postgres instead of SQLite, I am wondering",
    "can we rebase onto release instead of main please",
    "push to staging instead of main",
    "use 12px instead of 11px for the label",
    "use a const instead of let in src/app.ts",
    "I mean, use the other one instead of this one",
    "> use Postgres instead of SQLite\nwhat do you make of that",
    "```\nuse Postgres instead of SQLite\n```",
    '{"note": "use Postgres instead of SQLite"}',
    "it works now, not sure why",
    "thanks, that is better than before",
    "make the button red instead of blue",
    "フォントサイズを12ではなく11で",
    "x" * (MAX_CHOICE + 1) + " use A instead of B",
]


@pytest.mark.parametrize("text", CHOICES)
def test_a_choice_between_two_things_is_found_in_many_languages(text: str) -> None:
    found = contrastive_choice(text)
    assert found
    assert found in text


@pytest.mark.parametrize("text", NOTHING)
def test_questions_errands_pastes_and_wondering_are_no_choice(text: str) -> None:
    assert contrastive_choice(text) == ""


def test_only_the_sentence_that_chooses_is_quoted() -> None:
    text = "Looks good so far. Use Postgres instead of SQLite for the queue. Then continue."
    assert contrastive_choice(text) == "Use Postgres instead of SQLite for the queue."
