"""The guard: which last messages are sent back, and with what (design section 9)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hikidashi
from hikidashi.recall.guard import Challenge, challenge, inability, raised_as
from tests.unit.guard_desk import DEPLOY, HERE, NOW, fact, rule

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
