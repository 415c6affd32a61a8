"""A person's lasting orders become rules; what is said of a task, a product or somebody else does not."""

from __future__ import annotations

import re
import time
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hikidashi.capture.lasting import MAX_RULE, Lasting, lasting_orders, rule_key
from hikidashi.capture.lasting_forms import STRENGTHS, Tongue, fold, tongues
from hikidashi.capture.vocabulary import word_list
from hikidashi.drawer.fact import CONFIDENCE, MAX_KEY
from hikidashi.hosts.transcript import Event
from hikidashi.source import Source
from tests.secrets_samples import samples

CASES = Path(__file__).parent / "lasting_cases"
SENTENCES: dict[str, dict[str, list[str]]] = tomllib.loads((CASES / "sentences.toml").read_text(encoding="utf-8"))
PROMPTS: list[dict[str, Any]] = tomllib.loads((CASES / "prompts.toml").read_text(encoding="utf-8"))["prompt"]
#: Words before and between that may be left out of a rule.
ADDRESS = word_list(
    "ok so hey please pls also and thanks actually going forward quick thing bitte por favor oye stp lets"
)


def told(text: str, **fields: Any) -> Event:
    event = Event(
        kind="user", line=7, uuid="u-7", at="2026-03-01T09:00:00.000Z", session_id="s-1", role="user", text=text
    )
    return replace(event, **fields)


@pytest.mark.parametrize("language", SENTENCES)
def test_a_lasting_order_is_a_rule_in_the_persons_own_words(language: str) -> None:
    for text in SENTENCES[language]["rules"]:
        orders = lasting_orders(text)
        assert orders, text
        for order in orders:
            assert order in text
        kept = " ".join(orders).casefold()
        if len(orders) == 1 and not re.search(r"[.!?。;] |。", text):  # what is left out of the sentence is address
            lost = [word for word in re.findall(r"\w+", text.casefold()) if word not in kept]
            assert set(lost) <= ADDRESS, text


@pytest.mark.parametrize("language", SENTENCES)
def test_what_is_said_of_the_task_a_product_or_somebody_else_is_no_rule(language: str) -> None:
    assert {text: lasting_orders(text) for text in SENTENCES[language]["others"] if lasting_orders(text)} == {}


def test_of_a_prompt_only_its_lasting_sentences_are_kept() -> None:
    kept = {prompt["text"]: lasting_orders(prompt["text"]) for prompt in PROMPTS}
    assert kept == {prompt["text"]: prompt["keeps"] for prompt in PROMPTS}


def test_the_table_speaks_eight_languages_and_half_of_it_is_no_rule() -> None:
    rules = sum(len(group["rules"]) for group in SENTENCES.values())
    others = sum(len(group["others"]) for group in SENTENCES.values())
    assert {"en", "ja", "zh", "ko", "es", "de", "fr", "pt"} <= SENTENCES.keys()
    assert rules + others >= 150
    assert others * 2 >= rules + others - 20


@pytest.mark.parametrize("tongue", tongues(), ids=lambda tongue: tongue.name)
def test_every_pattern_of_a_language_can_be_searched_for(tongue: Tongue) -> None:
    for pattern in (tongue.refuses, tongue.task, tongue.work, tongue.conduct):
        re.compile(pattern)
    for form in tongue.forms:
        form.fits("x")
        assert form.marks and all(mark.strip() for mark in form.marks)
        assert form.strength in STRENGTHS


def test_every_form_has_an_example() -> None:
    kept = [text for group in SENTENCES.values() for text in group["rules"]]
    kept += [order for prompt in PROMPTS for order in prompt["keeps"]]
    folded = [" ".join(fold(text).split()) for text in kept]
    for tongue in tongues():
        for form in tongue.forms:
            assert any(map(form.fits, folded)), (tongue.name, form.marks)


def test_a_form_is_only_where_one_of_its_marks_is() -> None:
    texts = [text for group in SENTENCES.values() for kind in ("rules", "others") for text in group[kind]]
    for folded in (" ".join(fold(text).split()) for text in texts):
        for tongue in tongues():
            for form in tongue.forms:
                if form.fits(folded):
                    assert any(mark in f" {folded} " for mark in form.marks), (folded, form.says[:60])


# -- drafts


def test_a_draft_says_what_was_said_and_by_whom() -> None:
    [(draft, sighting)] = Lasting("claude-code", "/s/one.jsonl").feed(told("ok, please never push to main!"))
    assert draft.type == "rule"
    assert draft.body == "never push to main"
    assert draft.key == sighting.key == "rule:never-push-to-main"
    assert draft.scope == sighting.scope == "workspace"
    assert draft.origin == "rule"
    assert draft.trust == "user"
    assert draft.confidence == CONFIDENCE["rule"]
    assert draft.machine_id == "" and draft.probe == ()
    assert Source.from_dict(draft.source) == Source(
        host="claude-code", session_id="s-1", lines=(7, 7), uuids=("u-7", "u-7"), at="2026-03-01T09:00:00.000Z"
    )
    assert (sighting.line, sighting.path, sighting.anchor) == (7, "/s/one.jsonl", "u-7")
    assert sighting.told == "never push to main"
    assert sighting.outcome == "ok" and sighting.verb == sighting.target == ""


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "context"},
        {"kind": "assistant", "role": "assistant"},
        {"role": "assistant"},
        {"sidechain": True},
        {"repeat": True},
        {"kind": "compaction"},
    ],
)
def test_only_a_persons_own_first_hand_words_count(fields: dict[str, Any]) -> None:
    assert Lasting("claude-code", "/s").feed(told("never push to main", **fields)) == []
    assert Lasting("claude-code", "/s").feed(told("never push to main")) != []


def test_the_same_sentence_twice_in_one_prompt_is_one_draft() -> None:
    drafts = Lasting("h", "/s").feed(told("Never push to main. And please never push to main!"))
    assert [draft.key for draft, _ in drafts] == ["rule:never-push-to-main"]


def test_an_event_without_a_time_gets_the_last_one_seen() -> None:
    lasting = Lasting("h", "/s")
    lasting.feed(told("hello", at="2026-03-01T10:00:00.000Z"))
    [(draft, sighting)] = lasting.feed(told("never push to main", at=""))
    assert draft.source["at"] == sighting.at == "2026-03-01T10:00:00.000Z"


# -- keys


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("never push to main", "Please NEVER push to main!!"),
        ("never push to main", "never  push\nto main."),
        ("réponds toujours en français", "Réponds toujours en français, s'il te plaît."),
        ("PROD に触るな", "ＰＲＯＤ に触るな。"),
        ("don't commit secrets", "don’t commit secrets"),
    ],
)
def test_a_key_is_the_same_however_it_was_said(one: str, other: str) -> None:
    assert rule_key(one) == rule_key(other)


def test_a_key_can_be_read_in_any_script() -> None:
    assert rule_key("PROD に触るな") == "rule:prod-に触るな"
    assert rule_key("не трогай прод") == "rule:не-трогай-прод"
    assert rule_key("do not touch PROD") == "rule:do-not-touch-prod"


def test_long_sentences_with_one_beginning_have_keys_of_their_own() -> None:
    start = "never commit anything to the main branch of the repository that belongs to "
    one, other = rule_key(start + "the shop"), rule_key(start + "the stock room")
    assert one != other
    assert one.startswith("rule:never-commit-anything-to-the-main-branch") and len(one) < MAX_KEY
    assert rule_key("必ず" + "確認" * 60) != rule_key("必ず" + "確認" * 61)


# -- secrets


def test_a_secret_in_a_rule_is_taken_out() -> None:
    for sample in samples():
        for order in lasting_orders(
            f"from now on always use this for the staging deploys in this project: {sample.text}"
        ):
            for needle in sample.needles:
                assert needle not in order, sample.kind
                assert needle.casefold() not in rule_key(order), sample.kind


def test_a_rule_without_its_secret_still_is_one() -> None:
    [secret] = [sample for sample in samples() if sample.kind == "github-token"][:1]
    assert lasting_orders(f"never push to main with {secret.text} as the password") == [
        "never push to main with [redacted:github-token] as the password"
    ]


def test_a_sentence_that_is_mostly_a_secret_gives_nothing() -> None:
    [secret] = [sample for sample in samples() if sample.kind == "github-token"][:1]
    assert lasting_orders(f"remember: {secret.text}") == []
    assert lasting_orders(f"remember: token {secret.text}") == []


# -- what is never looked at


def test_a_sentence_longer_than_a_rule_is_none() -> None:
    assert lasting_orders("never push to main " + "and to the other branches " * (MAX_RULE // 20)) == []


def test_a_long_prompt_gives_only_what_is_unmistakable() -> None:
    task = "The order page shows the wrong total when a voucher is used twice. " * 8
    assert lasting_orders(task + "Always write the total with two digits in the code.") == []
    assert lasting_orders(task + "From now on run the tests after every change.") == [
        "From now on run the tests after every change"
    ]
    assert lasting_orders(task * 4 + "From now on run the tests after every change.") == []


@pytest.mark.parametrize(
    "text", ["", "   ", "\n", "?", "…", "never", "always!", "今後", "- ", "```\nnever push to main\n```"]
)
def test_next_to_nothing_is_no_rule(text: str) -> None:
    assert lasting_orders(text) == []


@pytest.mark.parametrize(
    "piece",
    ["never ", "a, ", "please always ", "必ず", "以后", "항상 ", "if you ", "- never push\n", "x", ".", "\n", "ask "],
)
def test_no_text_takes_long(piece: str) -> None:
    lasting_orders("never push to main")  # compile what is compiled once
    started = time.process_time()
    lasting_orders((piece * 1_500)[:1_500])
    lasting_orders((piece * 400)[:380])
    assert time.process_time() - started < 1
