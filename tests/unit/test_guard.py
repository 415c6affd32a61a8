"""The guard: which last messages are sent back, and with what (design section 9)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hikidashi
from hikidashi.recall.guard import Challenge, challenge, inability, raised_as
from tests.unit.guard_desk import DEPLOY, HERE, NOW, cases, decide, fact, rule


def raised(message: str = "I cannot deploy, I have no credentials.", **changed: Any) -> Challenge | None:
    values: dict[str, Any] = {
        "prompt": "deploy it", "capabilities": [DEPLOY], "rules": [], "now": NOW, "machine_id": HERE
    }  # fmt: skip
    return challenge(message, **{**values, **changed})


def test_the_accident_is_sent_back_with_what_is_on_record() -> None:
    found = raised()
    assert found is not None
    assert found.fact is DEPLOY
    assert found.mark == raised_as(DEPLOY) == "workspace:deploy:blyck"
    assert found.claim.verb == "deploy"
    assert found.claim.language == "en"
    assert found.claim.span == (0, len("I cannot deploy"))
    for part in (
        "`deploy:blyck`", "npm run dist aws s3 cp dist s3://blyck-releases --recursive", "upload: dist/index.html",
        "2026-03-08 (2 days ago)", "`aws sts get-caller-identity`", "Do not run it unless the user asked",
    ):  # fmt: skip
        assert part in found.text


@pytest.mark.parametrize(
    "changed",
    [
        {"stop_hook_active": True},
        {"plan_mode": True},
        {"refused": True},
        {"raised_before": {"workspace:deploy:blyck"}},
        {"capabilities": []},
        {"capabilities": [fact("test:pytest")]},
        {"machine_id": "b" * 32},
        {"capabilities": [fact(status="stale")]},
        {"capabilities": [fact(type="procedure")]},
        {"turn_failures": ["aws s3 cp dist s3://blyck-releases: AccessDenied"]},
        {"turn_failures": ["npm run dist"]},
        {"rules": [rule("Never deploy on a Friday")]},
        {"rules": [rule("デプロイは私が確認してから")]},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_it_is_silent(changed: dict[str, Any]) -> None:
    assert raised() is not None
    assert raised(**changed) is None


def test_other_rules_and_failures_do_not_silence_it() -> None:
    assert raised(
        rules=[rule("Always deploy with npm run dist"), rule("Never use tabs")], turn_failures=["ruff check ."]
    )


def test_a_message_without_words_of_inability_loads_no_pattern() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from hikidashi.recall.guard import inability; inability('All done: deployed and tested.');"
        "print(sorted(name for name in sys.modules if 'guard_' in name or 'tongues' in name or name == 'typing'))"
    )
    ran = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True,
                         cwd=Path(hikidashi.__file__).parents[1])  # fmt: skip
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "text", ["", "\x00", "can't" * 2000, "I can't " * 4000 + "deploy", "できません" * 9000, "`" * 9000]
)
def test_no_text_breaks_it(text: str) -> None:
    inability(text)


LANGUAGES = ("en", "ja", "zh", "ko", "es", "de", "fr", "pt")


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_raised_of_last_messages(language: str) -> None:
    """At least nine of ten true ones, and no false one."""
    some = cases(language)
    found = {case["message"]: decide(case) for case in some if "raised" in case}
    hits = sum(
        bool((got := found[case["message"]]) and got.fact.key == case["raised"]) for case in some if "raised" in case
    )
    assert hits >= 0.9 * len(found), [message for message, got in found.items() if got is None]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_turn_is_sent_back_for_nothing(language: str) -> None:
    for case in cases(language):
        if "why" in case:
            found = decide(case)
            assert found is None, f"{case['why']}: {case['message']} {found and found.claim}"


def test_cases_are_enough_and_half_of_them_are_silent() -> None:
    some = [case for language in LANGUAGES for case in cases(language)]
    assert len(some) >= 120
    assert len([case for case in some if "why" in case]) >= len(some) / 2
    assert all(("why" in case) != ("raised" in case) for case in some)


@pytest.mark.parametrize(
    ("name", "share"), [("held_out", 0.9), ("more", 0.9), ("last", 0.8), ("stranger", 0.9), ("stranger_last", 0.8)]
)
def test_cases_held_out_from_tuning(name: str, share: float) -> None:
    """The figures, and what was tuned to since, are in docs/guard.md."""
    some = cases(name)
    raised_ones = [case for case in some if "raised" in case]
    hits = [case for case in raised_ones if (got := decide(case)) and got.fact.key == case["raised"]]
    assert len(hits) >= share * len(raised_ones)
    assert [case["message"] for case in some if "why" in case and decide(case)] == []


@pytest.mark.parametrize(
    "message",
    [
        "Why can't I deploy from here; could you tell me?",
        "Warum kann ich nicht deployen; kannst du nachsehen?",
        "Pourquoi ne peux-tu pas déployer ; pouvez-vous le dire ?",
        "¿Por qué no puedo desplegar; ¿lo miras?",
    ],
)
def test_a_question_before_a_request_is_still_a_question(message: str) -> None:
    assert raised(message) is None
    assert raised("I can't deploy from here; could you run it?")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_same_cases_without_their_reason_for_silence_are_raised(language: str) -> None:
    """A rule, a failed call, a refused one and another machine silence a message that is raised without them."""
    for case in cases(language):
        if case.get("why") in ("a rule covers it", "another machine", "another verb"):
            bare = {**case, "rules": (), "machine": HERE, "failures": (), "refused": False}
            bare.pop("facts", None)
            assert decide(bare) is not None, case["message"]


def test_an_old_proof_changes_the_wording_and_a_later_failure_is_named() -> None:
    old = fact(
        source={"at": "2025-06-01T09:00:00.000Z"}, last_failed="2026-01-05T09:00:00.000Z", failure="AccessDenied </x>"
    )
    found = raised(capabilities=[old])
    assert found is not None
    assert "2025-06-01 (282 days ago; that is long ago, so it may have changed)" in found.text
    assert "but a call of it failed on 2026-01-05: AccessDenied &lt;/x>" in found.text
    assert "harmless check" not in found.text


def test_a_checked_fact_says_when() -> None:
    found = raised(capabilities=[fact(last_verified="2026-03-10T08:00:00.000Z")])
    assert found is not None
    assert "checked on 2026-03-10 (today)" in found.text


def test_of_several_targets_the_one_that_is_named_is_raised() -> None:
    both = [DEPLOY, fact("deploy:shop", body="kubectl apply -f shop.yaml")]
    for message, prompt, key in (
        ("I can't deploy the shop from here.", "deploy", "deploy:shop"),
        ("I can't deploy from here.", "deploy shop", "deploy:shop"),
        ("I can't deploy from here.", "ブリックではなく shop をデプロイして", "deploy:shop"),
    ):
        found = raised(message, prompt=prompt, capabilities=both)
        assert found is not None
        assert found.fact.key == key
        assert "also on record" not in found.text
    found = raised(capabilities=both)
    assert found is not None
    assert "also on record: `deploy:" in found.text
    assert raised(capabilities=both, raised_before={"workspace:deploy:shop"}) is None


def test_staging_is_not_production() -> None:
    staging = [fact("deploy:blyck-staging")]
    assert raised("I can't deploy to staging.", capabilities=staging) is not None
    assert raised("I can't deploy to production.", capabilities=staging) is None


def test_what_is_sent_back_is_nobodys_speech_when_a_session_is_read() -> None:
    from hikidashi.hosts.claude_speech import hear

    found = raised()
    assert found is not None
    assert found.text.startswith("<hikidashi-guard>\n") and found.text.endswith("\n</hikidashi-guard>")
    assert hear(f"{found.text}\nthanks").words.strip() == "thanks"


def test_claims_keep_their_place_in_a_long_message() -> None:
    message = "All is well here. " * 2_000 + "I can't deploy from here."
    (claim,) = inability(message)
    assert message[slice(*claim.span)] == "I can't deploy"


def test_a_decomposed_text_is_read_as_its_composed_form() -> None:
    import unicodedata

    for message in ("デプロイできません。", "배포할 수 없습니다.", "Je ne peux pas déployer."):
        assert [claim.verb for claim in inability(unicodedata.normalize("NFD", message))] == ["deploy"]


def test_a_large_drawer_many_rules_and_a_long_prompt_are_answered_at_once() -> None:
    """A host waits for a hook: 1,000 capabilities, 200 rules, a pasted prompt and 100 long failed calls."""
    import time

    capabilities = [fact(f"{verb}:svc{number}") for verb in ("deploy", "test") for number in range(500)]
    begun = time.process_time()
    found = raised(
        "There are no AWS credentials here.",
        prompt=f"deploy it\n{'lorem ipsum ' * 100_000}",
        capabilities=capabilities,
        rules=[rule(f"Never use tabs in file {number}") for number in range(200)],
        turn_failures=["ruff check . " * 1_000] * 100,
    )
    assert found is not None
    assert time.process_time() - begun < 2  # 0.15 s here
