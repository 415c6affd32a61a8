"""One fact among five hundred others: the right one is given first and nothing irrelevant beside it."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import hikidashi
from hikidashi.drawer.fact import Draft
from tests.support.drawers import Filled, fact, filled

VERBS: Final = {
    verb: tuple(dict.fromkeys(alias for some in languages.values() for alias in some))
    for verb, languages in tomllib.loads(
        (Path(hikidashi.__file__).parent / "capture" / "tools" / "verbs.toml").read_text(encoding="utf-8")
    ).items()
}
TARGETS = [
    *("shop", "harbour", "admin-api", "lantern", "mailer", "invoices", "search", "gateway", "crawler", "billing"),
    *(
        "docs-site",
        "landing",
        "reports",
        "scheduler",
        "warehouse",
        "loyalty",
        "translator",
        "顧客管理",
        "在庫",
        "订单",
        "결제",
        "auth-proxy",
        "thumbnailer",
    ),
]
TOPICS = [
    ("port", "The dev server of {} listens on port {}"),
    ("retries", "{} is called at most {} times before it counts as down"),
    ("cache", "Answers of {} are cached for {} minutes"),
    ("schema", "Columns of {} are never dropped; migration {} renamed two"),
    ("timeout", "{} gives up after {} seconds"),
    ("logs", "Logs of {} are kept for {} days"),
    ("保存期間", "{}の記録は{}日間残す"),
    ("超时", "{}的超时是{}秒"),
]
CHORES = [
    "rotate the certificate of {}",
    "restore the backup of {}",
    "onboard a colleague to {}",
    "replay the queue of {}",
]


def others() -> list[Draft]:
    """Five hundred facts of the same projects: other verbs, other targets, decisions, procedures, rules."""
    rng = random.Random(20260510)
    drafts = [
        fact(f"{verb}:{target}", f"{verb} of {target} works with its script", *aliases[:200], type="capability",
             origin="promotion", proof="exit 0")
        for verb, aliases in VERBS.items()
        for target in (*TARGETS, "blyck")
        if verb != "deploy"
    ]  # fmt: skip
    for topic, body in TOPICS:
        for target in TARGETS:
            kind = rng.choice(("decision", "fact"))
            drafts.append(fact(f"{topic}:{target}", body.format(target, rng.randrange(2, 9000)), type=kind))
    for number, chore in enumerate(CHORES):
        for target in TARGETS:
            steps = f"1. open the console of {target}\n2. stop the worker\n3. start it again and watch step {number}"
            drafts.append(fact(chore.format(target).replace(" ", "-"), steps, type="procedure"))
    drafts += [
        fact("rule:prod", "Never touch the PROD database by hand", type="rule", origin="rule"),
        fact("rule:friday", "Never deploy on a Friday", type="rule", origin="rule"),
        fact("rule:pnpm", "Always use pnpm, never npm", type="rule", origin="rule"),
        fact("decision:releases", "We deploy on weekdays only, never on a Friday", type="decision"),
        fact("procedure:rollback", "After a bad deploy, put the last build back with the console", type="procedure"),
        fact("fact:bucket", "Old builds stay in the bucket for 30 days", type="fact"),
    ]
    return drafts


DEPLOY_BLYCK = fact(
    "deploy:blyck",
    "このPCで直接デプロイ可能: npm run dist → s3 cp → cloudfront invalidate",
    *VERBS["deploy"][:200],
    type="capability",
    origin="promotion",
    proof="upload: dist/app.zip to s3://blyck-releases/app.zip",
)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    drafts = others()
    assert len(drafts) >= 500
    place = len(drafts) // 2
    with filled(tmp_path_factory.mktemp("many"), *drafts[:place], DEPLOY_BLYCK, *drafts[place:]) as here:
        yield here


@pytest.mark.parametrize(
    "prompt",
    [
        "デプロイして",
        "deploy it",
        "Deploy it, please.",
        "本番にデプロイしておいて",
        "blyckをデプロイして",
        "deploy blyck",
        "ship it to production",
        "déploie-le",
        "despliégalo",
        "bitte deployen",
        "部署一下",
        "배포해줘",
        "pode implantar?",
        "I think we are ready. Can you deploy this now and tell me when it is done?",
        "直したので、もう一度デプロイしてもらえますか?",
    ],
)
def test_the_accident_does_not_happen_among_five_hundred_facts(many: Filled, prompt: str) -> None:
    assert many.keys(prompt) == ["deploy:blyck"]
    assert many.keys(prompt, project="blyck", branch="main", files=("README.md",)) == ["deploy:blyck"]


@pytest.mark.parametrize(
    ("prompt", "keys"),
    [
        ("test harbour", ["test:harbour"]),
        ("顧客管理のテストを流して", ["test:顧客管理"]),
        ("sign in to the gateway", ["auth:gateway"]),
        ("build the docs site", ["build:docs-site"]),
        ("which port does the crawler use", ["port:crawler"]),
        ("在庫の保存期間は?", ["保存期間:在庫"]),
        ("how long are logs of billing kept", ["logs:billing"]),
        ("订单的超时是多少", ["超时:订单"]),
        ("rotate the certificate of the mailer", ["rotate-the-certificate-of-mailer"]),
        ("port:lantern", ["port:lantern"]),
    ],
)
def test_other_facts_are_found_as_surely(many: Filled, prompt: str, keys: list[str]) -> None:
    assert many.keys(prompt) == keys


@pytest.mark.parametrize(
    "prompt",
    [
        "fix the colour of the header",
        "why is the test of the parser red? the fixture looks right to me",
        "write a haiku about rain",
        "見出しの色を青に変えて",
        "この関数の名前が分かりにくいので直して",
        "把标题改成蓝色",
        "제목 색을 파랗게 바꿔줘",
        "explain what a monad is",
        "add a docstring to each public function of this module",
        "thanks, that is all for today",
        "Rename `Row` to `Line` everywhere, then run the formatter.",
        "the modal does not close when I press escape",
    ],
)
def test_prompts_about_other_things_get_nothing(many: Filled, prompt: str) -> None:
    keys = many.keys(prompt)
    if "test" in prompt:  # the verb is said: how tests run is what a turn may be told, and nothing else
        assert keys and all(key.startswith("test:") for key in keys)
    else:
        assert keys == []


def test_rules_come_with_what_they_are_about(many: Filled) -> None:
    assert many.rules("connect to the prod database") == ["rule:prod"]
    assert many.rules("install it with npm") == ["rule:pnpm"]
    assert many.rules("deploy it") == many.rules("デプロイして") == ["rule:friday"]
    assert many.rules("lint the parser") == []
