"""Which facts a turn is given: a table of prompts over one small drawer, then the promises one by one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hikidashi.recall.inject import mark
from hikidashi.recall.match import MAX_RULES, RULE_TOKENS, search
from hikidashi.times import format_time
from tests.support.drawers import DEPLOY, NOW, Filled, fact, filled, in_global

#: A small drawer of a person who works on three things.
FACTS = (
    fact("deploy:lantern", "npm run dist, then s3 cp to lantern-releases", *DEPLOY, type="capability"),
    fact("test:lantern", "make test in the root", "tests", "テスト", "测试", "테스트", "probar", type="capability"),
    fact("connect-db:orders", "psql through the tunnel", "database", "データベース", type="capability"),
    fact("port:dev", "The dev server listens on port 3000"),
    fact("pre-edit", "Run the formatter before an edit"),
    fact("pdf_export", "The invoice PDF is rendered with WeasyPrint"),
    fact("顧客管理", "顧客の一覧は毎晩の集計から作る"),
    fact("認証:方式", "ログインはセッションで、JWTは使わない", type="decision"),
    fact("密钥:位置", "密钥保存在保险库里，不在仓库里"),
    fact("배포:일정", "금요일에는 배포하지 않는다", type="decision"),
    fact("bucket:assets", "Pictures live in s3://lantern-assets, behind the CDN", type="decision"),
    fact("uploads:queue", "Uploads go through a slow queue, filled by fill.py", type="decision"),
    fact("rule:no-prod", "Never touch the PROD database by hand", type="rule"),
    fact("rule:pnpm", "Always use pnpm, never npm", type="rule"),
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    with filled(tmp_path_factory.mktemp("drawers"), *FACTS) as here:
        yield here


CASES = [
    # an everyday word alone asks for nothing, though a body holds it
    ("go on", []),
    ("keep going", []),
    ("how many lines are in main.py", []),
    ("why is this loop slow?", []),
    # the whole key, anywhere
    ("deploy:lantern", ["deploy:lantern"]),
    ("what was deploy:lantern again?", ["deploy:lantern"]),
    ("is pre-edit still needed", ["pre-edit"]),
    ("look at pdf_export, it is slow", ["pdf_export"]),
    ("顧客管理の画面を速くして", ["顧客管理"]),
    # a part of a key
    ("is lantern reachable?", ["deploy:lantern", "test:lantern"]),
    ("which port does it use?", ["port:dev"]),
    ("what do we do about orders", ["connect-db:orders"]),
    ("認証はどうする?", ["認証:方式"]),
    ("密钥在哪里", ["密钥:位置"]),
    ("fix the PDF export", ["pdf_export"]),
    # forms of a word
    ("deploys fail", ["deploy:lantern"]),
    ("we are deploying", ["deploy:lantern"]),
    ("it was deployed yesterday", ["deploy:lantern"]),
    ("the deployment is slow", ["deploy:lantern"]),
    ("ports?", ["port:dev"]),
    # aliases in eight languages
    ("deploy it", ["deploy:lantern"]),
    ("ship it!", ["deploy:lantern"]),
    ("roll it out", ["deploy:lantern"]),
    ("デプロイして", ["deploy:lantern"]),
    ("本番にデプロイしておいて", ["deploy:lantern"]),
    ("ﾃﾞﾌﾟﾛｲ", ["deploy:lantern"]),
    ("部署一下", ["deploy:lantern"]),
    ("请帮我上线", ["deploy:lantern"]),
    ("desplegar ahora", ["deploy:lantern"]),
    ("despliégalo", ["deploy:lantern"]),
    ("el despliegue, por favor", ["deploy:lantern"]),
    ("déploie-le", ["deploy:lantern"]),
    ("vous déployez ?", ["deploy:lantern"]),
    ("on le met en ligne, mettre en ligne", ["deploy:lantern"]),
    ("bitte deployen", ["deploy:lantern"]),
    ("deployt das mal", ["deploy:lantern"]),
    ("pode implantar?", ["deploy:lantern"]),
    ("vamos colocar no ar", ["deploy:lantern"]),
    ("prueba esto", ["test:lantern"]),
    # words of two characters
    ("テストして", ["test:lantern"]),
    ("ユニットテストを直す", ["test:lantern"]),
    ("跑测试", ["test:lantern"]),
    ("顧客の一覧", ["顧客管理"]),
    ("集計はいつ?", ["顧客管理"]),
    ("保险库", ["密钥:位置"]),
    # another word that holds the letters of a name
    ("コンテストに応募する", []),
    ("the report is late", []),
    ("the contest starts", []),
    # words of a body
    ("how does weasyprint work", ["pdf_export"]),
    ("which CDN?", ["bucket:assets"]),
    ("where are the pictures", ["bucket:assets"]),
    # nothing relevant
    ("fix the colour of the header", []),
    ("please write a poem about autumn leaves", []),
    ("ありがとう", []),
    ("それを直してください", []),
    ("谢谢", []),
    ("", []),
    ("   \n", []),
    ("go on", []),
    ("yes", []),
]


@pytest.mark.parametrize(("prompt", "keys"), CASES, ids=[prompt or "empty" for prompt, _ in CASES])
def test_a_prompt_gets_its_facts_and_nothing_beside_them(small: Filled, prompt: str, keys: list[str]) -> None:
    assert sorted(small.keys(prompt)) == sorted(keys)


def test_korean_words_of_two_syllables_are_found_inside_a_sentence(small: Filled) -> None:
    for prompt in ("배포해줘", "지금 배포 해도 되나요", "재배포"):
        assert set(small.keys(prompt)) == {"deploy:lantern", "배포:일정"}, prompt
    assert small.keys("테스트를 돌려줘") == ["test:lantern"]
    assert small.keys("콘테스트") == []


SIGNS = [
    "pre-edit",
    "foo AND bar",
    "foo OR port",
    "NOT port",
    "(python",
    "python)",
    "don't",
    '"',
    "'",
    "port*",
    "NEAR(port, 3000)",
    "words:port",
    "^port",
    "port + 3000",
    "-port",
    "{port}",
    "port\x003000",
    "\x00",
    "\ud800 port",
    "🔌 port",
    ";DROP TABLE facts;--",
    "%port%_",
    "recall_text MATCH 'port'",
    "port " * 10_000,
    "word" * 10_000,
    " ".join(f"w{number}" for number in range(10_000)),
]


@pytest.mark.parametrize("prompt", SIGNS, ids=[ascii(prompt[:24]) for prompt in SIGNS])
def test_signs_have_no_meaning_and_never_fail(small: Filled, prompt: str) -> None:
    expected = ["port:dev"] if "port" in prompt else ["pre-edit"] if prompt == "pre-edit" else []
    assert small.keys(prompt) == expected


@pytest.mark.parametrize(
    "sign", ["{}", "({})", '"{}"', "-{}", "{}*", "{}:", "NEAR({})", "{} AND", "AND {}", "'{}'", "{};"]
)
def test_a_sign_beside_a_word_changes_nothing(small: Filled, sign: str) -> None:
    assert small.keys(sign.format("weasyprint")) == ["pdf_export"]
    assert small.keys(sign.format("デプロイ")) == ["deploy:lantern"]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet=st.characters(), max_size=300), other=st.text(max_size=60))
@example(text="deploy" * 50, other="\ud800")
@example(text="デ" * 300, other="（）「」")
def test_any_text_is_answered_within_the_budgets(small: Filled, text: str, other: str) -> None:
    found = small.recall(text, branch=other, files=(other, text), before=other, project=other)
    assert len(found.facts) <= 5
    assert sum(match.tokens for match in found.facts) <= 600
    assert search(text, small.connections, limit=10, now=NOW) is not None


def test_a_prompt_of_a_megabyte_is_cut_and_answered_at_once(small: Filled) -> None:
    paste = "2026-05-01 INFO worker listens, retries and ends\n" * 20_000
    for prompt in (f"why does deploy:lantern fail?\n{paste}", f"{paste}\ndeploy it"):
        start = time.process_time()
        assert "deploy:lantern" in small.keys(prompt)
        assert time.process_time() - start < 0.5


PASTE = "2026-05-01 INFO deploy of lantern: container push, orders database, port open, cdn ok, weasyprint idle\n" * 9


def test_what_is_pasted_into_a_prompt_names_nothing_but_start_and_end_do(small: Filled) -> None:
    around = (
        "Look at this please, the colours on the second page come out wrong since yesterday and I do not see why. " * 3
    )
    assert small.keys(f"{around}\n{PASTE}\n{around}") == []
    assert small.keys(f"deploy it\n{around}\n{PASTE}\n{around}") == ["deploy:lantern"]
    assert small.keys(f"{around}\n{PASTE}\n{around}\nデプロイして") == ["deploy:lantern"]
    assert small.keys(f"{around}\n{PASTE} deploy:lantern {PASTE}\n{around}") == ["deploy:lantern"]


# -- two facts that contradict


def test_a_fact_and_its_denial_are_both_given_each_with_its_own_text_the_newer_first(tmp_path: Path) -> None:
    with filled(tmp_path) as here:
        here.write(fact("server:old-port", "use port 3000"), days=9)
        here.write(fact("server:new-port", "do not use port 3000", confidence=0.7), days=2)
        for prompt in ("use port 3000", "do not use port 3000", "can I use port 3000?", "which port?"):
            found = here.recall(prompt)
            texts = [match.fact.body for match in found.facts]
            assert texts == ["do not use port 3000", "use port 3000"], prompt
        here.write(fact("server:old-port", "use port 3000"), days=1)
        assert here.keys("use port 3000") == ["server:old-port", "server:new-port"]


def test_the_denial_stays_beside_a_fact_that_meets_more_of_the_prompt(tmp_path: Path) -> None:
    with filled(tmp_path) as here:
        here.write(fact("port:dev", "the dev server uses port 3000"), days=9)
        here.write(fact("port:warning", "the dev server must not use port 3000"), days=2)
        here.write(fact("port:mail", "mailhog listens on port 8025"), days=1)
        assert here.keys("start dev on its port") == ["port:warning", "port:dev"]


# -- several of one verb


def test_of_one_verb_the_named_target_is_given_alone(tmp_path: Path) -> None:
    targets = ("shop", "harbour", "admin-api")
    drafts = [fact(f"deploy:{target}", f"fly deploy {target}", *DEPLOY, type="capability") for target in targets]
    drafts += [fact(f"test:{target}", "make test", "test", "テスト", type="capability") for target in targets]
    with filled(tmp_path, *drafts) as here:
        assert here.keys("deploy harbour") == ["deploy:harbour"]
        assert here.keys("harbourをデプロイして") == ["deploy:harbour"]
        assert here.keys("please deploy the admin API, then say so") == ["deploy:admin-api"]
        assert here.keys("test and deploy the shop") == ["deploy:shop", "test:shop"]
        assert set(here.keys("deploy shop and harbour")) == {"deploy:shop", "deploy:harbour"}
        assert set(here.keys("deploy it")) == {f"deploy:{target}" for target in targets}
        assert set(here.keys("deploy nonsuch")) == {f"deploy:{target}" for target in targets}


def test_what_is_called_like_the_project_comes_first_where_no_target_is_said(tmp_path: Path) -> None:
    drafts = [
        fact(f"deploy:{target}", "fly deploy", *DEPLOY, type="capability") for target in ("alpha", "blyck", "zeta")
    ]
    with filled(tmp_path, *drafts) as here:
        assert here.keys("デプロイして", project="blyck")[0] == "deploy:blyck"
        assert here.keys("デプロイして", project="zeta")[0] == "deploy:zeta"
        assert here.keys("rename a column of the blyck table, and its index, and say which views use it",
                         project="blyck") == []  # fmt: skip


# -- aliases that are everywhere


def test_an_alias_that_is_an_everyday_word_brings_nothing_by_itself(tmp_path: Path) -> None:
    with filled(
        tmp_path,
        fact("release:notes", "Notes are made from the log", "it", "the", "して", "確認"),
        fact("image:resize", "Pictures are scaled by vips", "run", "make", "check"),
    ) as here:
        for prompt in ("fix it", "the header is wrong", "直して", "このページの見出しと色と余白を確認して",
                       "make the header of the settings page blue and check it on a phone"):  # fmt: skip
            assert here.keys(prompt) == [], prompt


# -- scopes


def test_the_workspace_shadows_the_users_own_fact_but_rules_of_both_apply(tmp_path: Path) -> None:
    with filled(
        tmp_path,
        fact("editor:tabs", "two blanks here", "indent"),
        in_global(fact("editor:tabs", "four blanks everywhere", "indent", "einrücken")),
        fact("tests:first", "Write the test first in this project", type="rule"),
        in_global(fact("tests:first", "Always run the tests before you answer", type="rule")),
        in_global(fact("mail:signature", "Sign mails with Mika")),
    ) as here:
        assert [match.fact.body for match in here.recall("which indent?").facts] == ["two blanks here"]
        by_other_alias = here.recall("einrücken?").facts
        assert [match.fact.body for match in by_other_alias] == ["two blanks here"], "the key is what shadows"
        assert here.keys("what signature for mails") == ["mail:signature"]
        bodies = {match.fact.body for match in here.recall("run the tests").rules}
        assert bodies == {"Write the test first in this project", "Always run the tests before you answer"}


def test_a_retired_fact_of_the_workspace_shadows_nothing(tmp_path: Path) -> None:
    with filled(
        tmp_path, fact("editor:tabs", "two", "indent"), in_global(fact("editor:tabs", "four", "indent"))
    ) as here:
        here.change("editor:tabs", status="retired")
        here.connections["global"].execute("UPDATE facts SET status = 'active'")
        assert [match.fact.body for match in here.recall("indent?").facts] == ["four"]


# -- states


def test_retired_is_never_given_and_stale_comes_behind(tmp_path: Path) -> None:
    with filled(
        tmp_path, fact("cache:redis", "Redis 7"), fact("cache:disk", "on disk"), fact("cache:none", "none")
    ) as here:
        here.change("cache:redis", status="stale")
        here.change("cache:none", status="retired")  # in the index still, as if a writer had died
        assert here.keys("which cache?") == ["cache:disk", "cache:redis"]
        assert here.recall("which cache?").facts[1].fact.status == "stale"


@pytest.mark.parametrize(
    ("values", "first"),
    [
        ({"confidence": 0.5}, "cache:disk"),
        ({"uses": 12}, "cache:redis"),
        (
            {"updated_at": format_time(NOW.replace(year=2025)), "last_seen": format_time(NOW.replace(year=2025))},
            "cache:disk",
        ),
        ({"status": "stale"}, "cache:disk"),
        ({"machine_id": "elsewhere", "type": "capability"}, "cache:redis"),
        ({"type": "capability"}, "cache:redis"),
    ],
)
def test_type_confidence_use_age_and_place_decide_between_equal_matches(
    tmp_path: Path, values: dict[str, object], first: str
) -> None:
    with filled(tmp_path, fact("cache:disk", "on disk"), fact("cache:redis", "in redis")) as here:
        here.change("cache:redis", **values)
        assert here.keys("cache?")[0] == first


def test_facts_that_other_redaction_rules_read_are_passed_over(tmp_path: Path) -> None:
    with filled(tmp_path, fact("cache:redis", "Redis 7"), fact("cache:disk", "on disk")) as here:
        (version,) = {row[0] for row in here.connections["workspace"].execute("SELECT rules_version FROM facts")}
        here.change("cache:redis", rules_version=version - 1)
        here.values["rules_version"] = version
        found = here.recall("which cache?")
        assert [match.fact.key for match in found.facts] == ["cache:disk"]
        assert [(left.fact.key, left.why) for left in found.left_out] == [
            ("cache:redis", "newer redaction rules have not read it yet")
        ]


# -- what stands around the prompt


def test_branch_files_and_the_prompt_before_speak_where_the_prompt_says_little(small: Filled) -> None:
    assert small.keys("fix it") == []
    assert small.keys("fix it", branch="feature/pdf_export") == ["pdf_export"]
    assert small.keys("fix it", files=("src/port/dev.ts",)) == ["port:dev"]
    assert small.keys("now?", before="which port does the dev server use?") == ["port:dev"]
    assert small.keys("draw a red border around the table", before="which port?") == []


def test_what_stands_around_brings_nothing_beside_what_the_prompt_names(small: Filled) -> None:
    around = {"branch": "fix/port", "files": ("src/pdf_export.py",), "before": "run the tests of the bucket"}
    assert small.keys("デプロイして", **around) == ["deploy:lantern"]


def test_the_prompt_before_decides_between_targets(tmp_path: Path) -> None:
    drafts = [
        fact(f"deploy:{target}", "fly deploy", *DEPLOY, type="capability") for target in ("shop", "harbour", "mail")
    ]
    with filled(tmp_path, *drafts) as here:
        assert here.keys("デプロイして", before="harbour のヘッダーを直して")[0] == "deploy:harbour"
        assert here.keys("deploy it", branch="fix/mail-footer")[0] == "deploy:mail"


# -- rules


def test_rules_have_a_budget_of_their_own(tmp_path: Path) -> None:
    rules = [
        fact(f"rule:db-{number}", f"Never drop database table number {number}", type="rule") for number in range(20)
    ]
    facts = [fact(f"database:{number}", f"shard {number}", type="fact") for number in range(20)]
    with filled(tmp_path, *rules, *facts) as here:
        found = here.recall("clean the database")
        assert len(found.facts) == 5
        assert 5 < len(found.rules) <= MAX_RULES
        assert sum(match.tokens for match in found.rules) <= RULE_TOKENS
        assert any(left.why.startswith("over the") for left in found.left_out)


def test_a_rule_needs_one_word_of_a_long_prompt_and_gets_none_of_everyday_words(small: Filled) -> None:
    assert small.rules("npm install fails on my machine with a network error, what can be done") == ["rule:pnpm"]
    assert small.rules("open the prod console and look at the slow queries of yesterday") == ["rule:no-prod"]
    assert small.rules("always look at the file before you change it") == []
    assert small.keys("npm install fails") == []


def test_a_rule_on_a_verb_comes_with_its_capability_in_any_language(tmp_path: Path) -> None:
    with filled(
        tmp_path,
        fact("deploy:lantern", "npm run dist", *DEPLOY, type="capability"),
        fact("rule:friday", "Never deploy on a Friday", type="rule"),
        fact("rule:names", "Never abbreviate a name", type="rule"),
    ) as here:
        for prompt in ("デプロイして", "deploy it", "déploie-le", "배포해줘"):
            assert here.rules(prompt) == ["rule:friday"], prompt
        assert [str(reason) for reason in here.recall("デプロイして").rules[0].reasons] == ["verb `deploy`"]
        assert here.rules("テストして") == []


# -- budgets, what was given, what was named


def test_budgets_hold_and_what_is_left_out_is_told(tmp_path: Path) -> None:
    drafts = [fact(f"cache:{number}", "word " * 90) for number in range(9)]
    with filled(tmp_path, *drafts) as here:
        here.values = {"top_k": 4, "max_tokens": 10_000}
        found = here.recall("which cache?")
        assert [len(found.facts), len(found.left_out)] == [4, 5]
        assert {left.why for left in found.left_out} == {"over the 4 of a turn"}
        here.values = {"top_k": 9, "max_tokens": 300}
        found = here.recall("which cache?")
        assert 0 < sum(match.tokens for match in found.facts) <= 300
        assert {left.why for left in found.left_out} == {"over the 300 tokens of a turn"}


def test_nothing_is_given_twice_until_it_changes(small: Filled) -> None:
    first = small.recall("deploy it and tell me the port").facts
    marks = [mark(match.fact) for match in first]
    assert {match.fact.key for match in first} == {"deploy:lantern", "port:dev"}
    again = small.recall("deploy it", given=marks)
    assert again.facts == []
    assert [left.why for left in again.left_out if left.fact.key == "deploy:lantern"] == [
        "given before in this session"
    ]
    assert [one.key for one in again.named] == ["deploy:lantern"], "it was asked for all the same"


def test_a_fact_that_changed_is_given_again(tmp_path: Path) -> None:
    with filled(tmp_path, fact("cache:redis", "Redis 6")) as here:
        marks = [mark(match.fact) for match in here.recall("which cache?").facts]
        assert here.keys("which cache?", given=marks) == []
        here.write(fact("cache:redis", "Redis 7"))
        assert [match.fact.body for match in here.recall("which cache?", given=marks).facts] == ["Redis 7"]


@pytest.mark.parametrize(
    ("prompt", "around", "named"),
    [
        ("deploy it", {}, ["deploy:lantern"]),
        ("デプロイして", {}, ["deploy:lantern"]),
        ("deploy:lantern", {}, ["deploy:lantern"]),
        ("how does weasyprint work", {}, []),
        ("fix it", {"branch": "fix/pdf_export"}, []),
        ("now?", {"before": "which port?"}, []),
        ("is rule:no-prod still right", {}, ["rule:no-prod"]),
    ],
)
def test_only_what_the_prompt_names_counts_as_asked_for(
    small: Filled, prompt: str, around: dict[str, str], named: list[str]
) -> None:
    assert [one.key for one in small.recall(prompt, **around).named] == named


@pytest.mark.parametrize(
    ("prompt", "around", "reasons"),
    [
        ("deploy it", {}, ["key part `deploy`"]),
        ("本番にデプロイして", {}, ["alias `デプロイ`"]),
        ("is deploy:lantern ok", {}, ["key `deploy:lantern`"]),
        ("we despliega", {}, ["alias `despliega`"]),
        ("which CDN is before the pictures?", {}, ["words: cdn, pictures"]),
        ("fix it", {"branch": "fix/pdf_export"}, ["key part `pdf export` (branch or file)"]),
        ("now?", {"before": "which port?"}, ["key part `port` (prompt before)"]),
    ],
)
def test_every_fact_comes_with_its_reason(
    small: Filled, prompt: str, around: dict[str, str], reasons: list[str]
) -> None:
    (match, *_) = small.recall(prompt, **around).facts
    assert [str(reason) for reason in match.reasons] == reasons


def test_the_same_question_has_the_same_answer_whatever_was_written_first(tmp_path: Path) -> None:
    answers = set()
    for number, drafts in enumerate((FACTS, tuple(reversed(FACTS)))):
        folder = tmp_path / str(number)
        folder.mkdir()
        with filled(folder, *drafts) as here:
            for _ in range(2):
                answers.add(tuple(tuple(here.keys(prompt)) for prompt, _ in CASES))
    assert len(answers) == 1


def test_three_facts_are_enough_to_find_one_by_a_word(tmp_path: Path) -> None:
    with filled(
        tmp_path,
        fact("a1", "Releases go to the bucket lantern-releases"),
        fact("a2", "The mail server is called pigeon"),
        fact("a3", "Invoices are kept for ten years"),
    ) as here:
        assert here.keys("which bucket?") == ["a1"]
        assert here.keys("what is our mail server called") == ["a2"]
        assert here.keys("how long do we keep an invoice") == ["a3"]


def test_a_search_gives_all_that_meets_anything_rules_too(small: Filled) -> None:
    def keys(query: str) -> list[str]:
        return [match.fact.key for match in search(query, small.connections, limit=20, now=NOW)]

    assert keys("lantern") == ["deploy:lantern", "test:lantern", "bucket:assets"]
    assert "rule:no-prod" in keys("database")
    assert keys("nonsuch") == []
    assert len(search("lantern database port", small.connections, limit=2, now=NOW)) == 2


def test_an_empty_drawer_gives_nothing(tmp_path: Path) -> None:
    with filled(tmp_path) as here:
        found = here.recall("deploy it")
        assert (found.facts, found.rules, found.left_out, found.named) == ([], [], [], [])
