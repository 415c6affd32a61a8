"""What is kept of a call that worked: keys that stay the same, checks that ask the same, nothing that was secret."""

from __future__ import annotations

import json

import pytest

from hikidashi.capture.classify import Promotion
from hikidashi.capture.topics import branch_topic
from hikidashi.drawer.fact import Draft
from tests.tool_cases import shell_event

UP = "up 3 days"
ROWS = " ?column? \n----------\n        1\n(1 row)\n"
COPIED = "sent 1,234 bytes  received 35 bytes  2,538.00 bytes/sec\ntotal size is 1,000  speedup is 0.8"
BUILT = "> till@1.0.0 build\n> vite build\n\n✓ built in 1.2s"


def after(*steps: tuple[str, str], code: int | None = 0, cwd: str = "/home/ann/shop") -> Promotion:
    taker = Promotion("claude-code", path="/logs/one.jsonl", explain=True)
    for number, (command, output) in enumerate(steps):
        known = {} if code is None else {"exit": code}
        taker.feed(shell_event({"command": command, "output": output, "cwd": cwd, **known}, line=10 * number))
    return taker


def drafts(*steps: tuple[str, str], cwd: str = "/home/ann/shop") -> dict[str, Draft]:
    return {draft.key: draft for draft, _ in after(*steps, cwd=cwd).drafts()}


def draft(command: str, output: str) -> Draft:
    (one,) = drafts((command, output)).values()
    return one


SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5")


@pytest.mark.parametrize(
    ("command", "probe"),
    [
        ("ssh ann@till.example.com uptime", (*SSH, "ann@till.example.com", "true")),
        ("ssh -o StrictHostKeyChecking=no till uptime", (*SSH, "till", "true")),
        ("ssh -p 2222 -l ann till uptime", (*SSH, "-p", "2222", "-l", "ann", "till", "true")),
        ("ssh -i ~/.ssh/till.pem till uptime", (*SSH, "-i", "~/.ssh/till.pem", "till", "true")),
        ("ssh -J ann@gate:22 till uptime", (*SSH, "-J", "ann@gate:22", "till", "true")),
        ("ssh -i till.pem till uptime", ()),  # there is no such file where the check runs
        ("ssh -F ./config till uptime", ()),
        ("ssh -o ProxyCommand='nc %h 22' till uptime", ()),
        ("ssh -oPort=2222 till uptime", ()),
        ("ssh -p '$PORT' till uptime", ()),
        ("sshpass -p hunter22 ssh ann@till uptime", ()),
        ("ssh ssh://ann@till.example.com:2222 uptime", ()),
        ("ssh ann@-oProxyCommand=id uptime", ()),
        ("ssh 'till;id' uptime", ()),
    ],
)
def test_a_check_asks_in_the_way_that_worked_or_not_at_all(command: str, probe: tuple[str, ...]) -> None:
    assert draft(command, UP).probe == probe


def test_what_works_on_another_machine_is_not_checked_here() -> None:
    told = drafts(
        ("ssh till 'aws s3 sync dist s3://harbour'", "upload: dist/a.js to s3://harbour/a.js"),
        ("ssh gate 'ssh inner uptime'", UP),
    )
    assert told["deploy:harbour"].probe == ()
    assert told["connect-ssh:inner"].probe == ()
    assert told["connect-ssh:gate"].probe[-2:] == ("gate", "true")


KEY = "\n".join(
    [
        "-----BEGIN PRIVATE KEY-----",
        *("MIIEvQ0BADANBgkqhkiG9w0Bx" + "Qz7" * 13 for _ in range(3)),
        "-----END PRIVATE KEY-----",
    ]
)


@pytest.mark.parametrize(
    "output", [KEY, KEY.rpartition("\n")[0], KEY.split("\n")[2], "harbour wall 4711", "a\ncustomer: Ann Lee, Pier 4"]
)
@pytest.mark.parametrize("code", [0, 1, None])
def test_nothing_is_quoted_of_what_another_machine_said(output: str, code: int | None) -> None:
    taker = after(("ssh till 'cat notes'", output), code=code)
    ((one, _),) = taker.drafts()
    assert output.split("\n")[-1] not in repr(one) + json.dumps(taker.to_state())
    assert one.proof.startswith("`ssh till 'cat notes'` ended with ")


def test_the_proof_names_the_exit_code_that_was() -> None:
    ((one, _),) = after(("ssh till 'grep -c boat log'", "0"), code=1).drafts()
    assert "ended with exit code 1 on" in one.proof


@pytest.mark.parametrize("length", range(150, 320, 7))
def test_a_secret_is_seen_whole_before_a_line_is_cut(length: int) -> None:
    secret = "ghp_" + "Ab1" * 12
    wide = "fatal error: " + "x " * ((length - 13) // 2)
    taker = after(("aws s3 sync dist s3://harbour", f"{wide}{secret} y"), code=1)
    kept = repr(taker.failures()) + repr(taker.nothings)
    assert "ghp_" not in kept
    assert "aws failed" in kept


def test_a_reason_holds_no_secret() -> None:
    taker = after(("npm run build", f"zsh: parse error near {'x ' * 15}ghp_{'Ab1' * 12}"))
    (nothing,) = taker.nothings
    assert "refused" in nothing.why
    assert "ghp_" not in nothing.why


def test_a_half_secret_where_an_endless_output_was_cut_is_not_told() -> None:
    secret = "ghp_" + "Ab1" * 12
    for shift in range(0, 44, 3):
        end = f"{secret} and so\nfatal error: sunk"
        output = "x" * 20_000 + "y" * (24_000 + shift) + end
        output = output[: len(output) - 24_000 - shift] + end + " z" * 11_900
        taker = after(("aws s3 sync dist s3://harbour", output), code=1)
        assert "Ab1Ab1" not in repr(taker.failures()) + repr(taker.nothings)


@pytest.mark.parametrize(
    ("one", "other", "output", "key"),
    [
        (
            "rsync -az dist/ ann@till.example.com:/srv/releases/20260301120000/",
            "rsync -az dist/ ann@till.example.com:/srv/releases/2026-03-02T09-30-00/",
            COPIED,
            "deploy:till.example.com/srv/releases",
        ),
        (
            "scp app.tgz till.example.com:/srv/app-77b0e12.tgz",
            "scp app.tgz till.example.com:/srv/app-4f2a91c.tgz",
            "",
            "deploy:till.example.com/srv",
        ),
        (
            "helm upgrade --install shop-pr-42 ./chart",
            "helm upgrade --install shop-pr-43 ./chart",
            'Release "shop-pr" has been upgraded. Happy Helming!\nSTATUS: deployed',
            "deploy:shop-pr",
        ),
        (
            "docker push r.example.com/shop@sha256:" + "ab" * 32,
            "docker push r.example.com/shop:77b0e12",
            f"latest: digest: sha256:{'cd' * 32} size: 1234",
            "publish:r.example.com/shop",
        ),
    ],
)
def test_the_same_done_twice_is_one_key(one: str, other: str, output: str, key: str) -> None:
    assert list(drafts((one, output), (other, output))) == [key]


@pytest.mark.parametrize(
    ("pushed", "key"),
    [
        ("git@gitlab.com:ann/2026-03-01-notes.git", "push:gitlab.com/ann/2026-03-01-notes"),
        ("git@gitlab.com:ann/4f2a91c.git", "push:gitlab.com/ann/4f2a91c"),
        ("git@gitlab.com:ann/spr-3.git", "push:gitlab.com/ann/spr-3"),
    ],
)
def test_a_repository_keeps_its_name(pushed: str, key: str) -> None:
    assert list(drafts(("git push", f"To {pushed}\n   4f2a91c..77b0e12  main -> main"))) == [key]


def test_what_the_shell_fills_in_is_told_so_that_it_can_be_typed_again() -> None:
    copied = "upload: dist/a.js to s3://harbour/a.js"
    (one,) = drafts(("echo go; aws s3 sync $(ls -d dist) s3://harbour --profile $PROFILE", copied)).values()
    assert '`aws s3 sync "$(ls -d dist)" s3://harbour --profile $PROFILE`' in one.body


@pytest.mark.parametrize(
    "folder", ["/srv/till", "/srv/2026", "/srv/facade", "/srv/v2/api", "/home/ann/feedbac", "/srv/port-8080"]
)
def test_names_that_stay_are_kept_whole(folder: str) -> None:
    assert list(drafts((f"rsync -az dist/ till:{folder}/", COPIED))) == [f"deploy:till:{folder}"]


def test_long_targets_that_differ_at_their_end_are_two_keys() -> None:
    pushed = "To ssh://git@till.example.com/{}\n   4f2a91c..77b0e12  main -> main"
    told = drafts(*(("git push", pushed.format("harbour-" * 18 + end)) for end in ("east", "west")))
    assert len(told) == 2


def test_a_scratch_folder_is_no_project() -> None:
    scratch = ("cd /tmp/tmp.Xy12ab && npm run build", BUILT)
    for command in (scratch[0], "cd $(mktemp -d) && npm run build", 'cd "$TMPDIR/x" && npm run build'):
        taker = after((command, BUILT))
        assert taker.drafts() == []
        assert "temporary folder" in taker.nothings[0].why
    assert list(drafts(scratch, ("npm run build", BUILT))) == ["build:shop"]
    assert list(drafts(("npm run build", BUILT), cwd="/tmp/till")) == ["build:till"]


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("psql -h localhost shop -c 'select 1'", "connect-db:shop"),
        ("psql postgres://ann:hunter2hunter2@127.0.0.1:5433/shop -c 'select 1'", "connect-db:shop"),
        ("psql -h db shop -c 'select 1'", "connect-db:shop"),
        ("psql -h db.example.com shop -c 'select 1'", "connect-db:db.example.com/shop"),
        ("PGHOST=db.example.com psql -d shop -c 'select 1'", "connect-db:db.example.com/shop"),
        ("psql postgres://ann:hunter2hunter2@db.example.com:5432/shop -c 'select 1'", "connect-db:db.example.com/shop"),
        ("psql 'host=db.example.com dbname=shop' -c 'select 1'", "connect-db:db.example.com/shop"),
        ("psql shop -c \"select 'https://example.com/x', host='a.b'\"", "connect-db:shop"),
        ("psql -h db.example.com -c 'select 1'", "connect-db:db.example.com"),
    ],
)
def test_a_database_far_away_is_another_one_than_that_of_its_name_here(command: str, key: str) -> None:
    assert list(drafts((command, ROWS))) == [key]


def test_a_body_names_the_tools_of_the_way_that_it_tells() -> None:
    (one,) = drafts(("make deploy", "deployed"), ("./deploy.sh", "Deployed")).values()
    assert one.body == "shop is deployed from here with deploy.sh: `./deploy.sh`."


def test_what_asks_is_told_before_what_changes() -> None:
    (one,) = drafts(
        ("gh pr merge 42", "✓ Merged pull request #42"), ("gh api repos/ann/till/branches --paginate", '[{"name":"x"}]')
    ).values()
    assert "gh api" in one.body


@pytest.mark.parametrize(
    ("command", "output", "tool", "prompted"),
    [
        ("make deploy", "deployed", "make", "deploy"),
        ("render deploys create srv-1 --wait", "Deploy dep-1 succeeded", "render", "deploy"),
        (
            "terraform apply -auto-approve",
            "Apply complete! Resources: 1 added, 0 changed, 0 destroyed.",
            "make",
            "terraform",
        ),
    ],
)
def test_a_tool_named_by_an_everyday_word_is_not_prompted_with_it(
    command: str, output: str, tool: str, prompted: str
) -> None:
    (one,) = drafts((command, output)).values()
    assert tool not in one.aliases
    assert prompted in one.aliases


def test_a_project_of_many_parts_is_remembered_in_little() -> None:
    few, many = (
        after(*((f"cd packages/part-{n:03} && npm test", "Tests: 3 passed, 3 total") for n in range(parts)))
        for parts in (10, 300)
    )
    assert len(json.dumps(many.to_state())) < 1.1 * len(json.dumps(few.to_state()))
    ((one, sightings),) = many.drafts()
    assert one.key == "test:shop"
    assert len(sightings) == 300


def test_a_branch_with_a_token_that_holds_a_slash_ties_nothing() -> None:
    token = "eyJhIjoi" + "Gk3x/Zp9Qw7R" * 16
    assert branch_topic(f"fix/{token}") == ""
    assert branch_topic(f"fix/{token}/again") == ""
    assert branch_topic("fix/uploads/again") == "branch:fix/uploads/again"
