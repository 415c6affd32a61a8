"""From shell calls to evidence, and from evidence to drafts."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from hikidashi.capture.classify import Promotion, command_line
from hikidashi.capture.promotion import MAX_BODY
from hikidashi.capture.tool_rows import read_tools
from hikidashi.capture.toolbox import Toolbox
from hikidashi.drawer.fact import Draft, Sighting
from hikidashi.hosts.transcript import Event
from tests.tool_cases import shell_event

ROWS: dict[str, Any] = {
    "skiff": {
        "takes_value": ["--to"],
        "aliases": ["dinghy"],
        "failed": ["^leak"],
        "denied": ["^no papers"],
        "nothing": ["^nobody aboard"],
        "calls": [
            {
                "verb": "deploy",
                "match": ["sail"],
                "success": ["^landed at (\\S+)"],
                "target": ["option:--to", "out:^landed at (\\S+)"],
                "probe": ["skiff", "look", "{target}"],
            },
            {"verb": "deploy", "match": ["moor"], "success": ["^moored"], "joins": True, "target": ["fixed:pier"]},
            {"verb": "build", "match": ["plank"], "quiet": True},
            {"verb": "auth", "match": ["login", "list"], "quiet": True, "target": ["fixed:harbour"]},
            {"verb": "test", "match": ["float"], "success": ["^[1-9]\\d* afloat"], "piecewise": True},
            {
                "verb": "container",
                "match": ["launch"],
                "success": ["^launched"],
                "target": ["word:0"],
                "confirm": ["^{target} +underway"],
                "confirm_by": ["skiff look"],
            },
        ],
    },
    "oar": {"calls": [{"verb": "deploy", "match": ["row"], "runs": True, "quiet": True, "target": ["fixed:oars"]}]},
}
BOX = Toolbox(read_tools(ROWS, "rows.toml"), {"deploy": ("deploy", "デプロイ")})


def promotion(**given: Any) -> Promotion:
    return Promotion("claude-code", path="/logs/one.jsonl", box=BOX, **given)


def calls(*steps: dict[str, Any]) -> list[Event]:
    return [shell_event(step, line=10 * number) for number, step in enumerate(steps)]


def ok(command: str, output: str = "", **more: Any) -> dict[str, Any]:
    return {"command": command, "exit": 0, "output": output, **more}


def drafts_of(*steps: dict[str, Any]) -> list[tuple[Draft, list[Sighting]]]:
    taker = promotion()
    for event in calls(*steps):
        taker.feed(event)
    return taker.drafts()


def shown(step: dict[str, Any]) -> list[tuple[str, str, str]]:
    """(verb, target, outcome) of what one call shows."""
    (event,) = calls(step)
    return [(one.verb, one.target, one.outcome) for one in promotion().feed(event)]


def why(step: dict[str, Any]) -> str:
    taker = promotion(explain=True)
    (event,) = calls(step)
    assert taker.feed(event) == []
    (nothing,) = taker.nothings
    return nothing.why


SAILED = ok("skiff sail --to north", "landed at north")


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (ok("echo skiff sail", "skiff sail"), "no call in it can show something"),
        (ok("ls -la"), "calls no tool"),
        (ok("skiff sail --help", "landed at north"), "only tells"),
        (ok("skiff sail --dry-run", "landed at north"), "only tells"),
        (ok("skiff sail -h", "landed at north"), "asks for help"),
        (ok("skiff help sail", "landed at north"), "no call in it"),
        (ok("cat > go.sh <<'EOF'\nskiff sail --to north\nEOF"), "no call in it"),
        (ok("skiff sail --to north", "under way"), "shows no success"),
        (ok("skiff sail --to north", "nobody aboard"), "did nothing"),
        (ok("skiff sail --to north", "Sail now? [y/N] "), "question"),
        (ok("skiff sail --to north > /dev/null", ""), "not shown"),
        (ok("skiff plank | tail -1", "…"), "not its own"),
        (ok("skiff plank || true"), "not its own"),
        (ok("skiff plank &"), "background"),
        (ok("! skiff plank"), "turned round"),
        (ok("skiff plank", "skiff: command not found"), "shell refused"),
        (ok("skiff plank", "bash: -c: line 1: syntax error near unexpected token `)'"), "shell refused"),
        (ok("skiff plank", "first line\n[… 4,000 characters …]"), "cut before its end"),
        (ok("skiff plank", "<persisted-output>\nOutput too large\n\nPreview:\nfirst line"), "cut before its end"),
        (ok("skiff plank", "first line", truncated=True), "cut before its end"),
        (ok("skiff plank", background=True), "background"),
        (ok("skiff plank", interrupted=True), "interrupted"),
        (ok("skiff plank", refused=True), "refused"),
        ({"command": "timeout 9 skiff plank", "exit": 124, "output": ""}, "stopped before its end"),
        ({"command": "skiff plank", "exit": 130, "output": ""}, "stopped before its end"),
        ({"command": "skiff plank", "outcome": "failed", "output": "Command timed out after 2m 0.0s"}, "timed out"),
        ({"command": "skiff plank", "outcome": "unknown", "output": ""}, "nothing tells how it ended"),
        (ok("skiff float | grep -v FAIL", "3 afloat"), "filter may hide"),
        (ok("skiff float | head -2", "1 afloat\n2 afloat"), "filter may hide"),
        (ok("oar row", "> echo rowing\nrowing"), "only checks or prints"),
        (ok("xargs -a list skiff plank"), "nothing tells whether it ran"),
        (ok("if test -d x; then skiff plank; fi"), "not its own"),
        (ok("skiff plank && ) (", "x"), "cannot be read"),
    ],
)
def test_a_call_that_proves_nothing_says_why(step: dict[str, Any], reason: str) -> None:
    assert reason in why(step)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (SAILED, ("deploy", "north", "ok")),
        (
            ok("cd boats && FLAG=red sudo skiff sail --to=north 2>&1 | tail -3", "landed at north"),
            ("deploy", "north", "ok"),
        ),
        (ok("skiff sail", "landed at https://Ann:pw@North.example/pier/"), ("deploy", "north.example/pier", "ok")),
        (ok('skiff sail --to "$PORT"', "landed at north"), ("deploy", "north", "ok")),
        (ok("skiff sail --to north || true", "landed at north"), ("deploy", "north", "ok")),
        (ok("skiff sail --to north > log; tail -1 log", "landed at north"), ("deploy", "north", "ok")),
        (ok("skiff plank"), ("build", "shop", "ok")),
        (ok("cd hull && skiff plank"), ("build", "shop/hull", "ok")),
        (ok("skiff float | head -50", "3 afloat"), ("test", "shop", "ok")),
        (ok("skiff float --key <secret> -v", "3 afloat"), ("test", "shop", "ok")),
        (ok("oar row | tail -9", "landed at north\nleak in a log"), ("deploy", "oars", "ok")),
        (ok("skiff plank", "first line\n[… 4,000 characters …]\nlast line"), ("build", "shop", "ok")),
        (ok("skiff plank && echo done", "done"), ("build", "shop", "ok")),
        (ok("make tidy && skiff plank"), ("build", "shop", "ok")),
        ({"command": "skiff plank", "outcome": "ok"}, ("build", "shop", "ok")),
        (
            {"command": "skiff sail --to north", "outcome": "unknown", "output": "landed at north"},
            ("deploy", "north", "ok"),
        ),
        (ok("skiff sail --to north", "leak in the bow\nlanded at north"), ("deploy", "north", "failed")),
        ({"command": "skiff sail --to north", "exit": 1, "output": "aground"}, ("deploy", "north", "failed")),
        ({"command": "skiff sail --to north", "exit": 1, "output": "no papers"}, ("deploy", "north", "denied")),
        (ok("skiff sail --to north; true", "no papers"), ("deploy", "north", "denied")),
        (ok("skiff sail --to north", '{"success": false, "at": "landed"}'), ("deploy", "north", "failed")),
        (ok("skiff float", "4 afloat\nFAILED hull::keel"), ("test", "shop", "failed")),
        (ok("skiff float", "✓ keeps 3 failed logins\n4 afloat"), ("test", "shop", "ok")),
    ],
)
def test_a_call_shows_what_its_end_and_output_prove(step: dict[str, Any], expected: tuple[str, str, str]) -> None:
    assert shown(step) == [expected]


@pytest.mark.parametrize("filling", ["." * 60_000, "\n" * 60_000, " \n" * 30_000, "a " * 30_000, '{"a":' * 12_000])
def test_endless_output_costs_no_endless_time(filling: str) -> None:
    began = time.process_time()
    for command in ("npm test", "npm run build", "pytest -q", "curl -H 'Authorization: Bearer x' https://till.example"):
        Promotion("claude-code").feed(shell_event(ok(command, filling)))
    assert time.process_time() - began < 5


def test_what_the_line_itself_printed_is_no_sign() -> None:
    assert "shows no success" in why(ok("skiff sail --to north; echo 'landed at north'", "landed at north"))


def test_each_program_of_a_line_is_judged_for_itself() -> None:
    assert shown(ok("skiff plank && skiff sail --to north", "landed at north")) == [
        ("build", "shop", "ok"),
        ("deploy", "north", "ok"),
    ]


def test_a_start_counts_when_a_later_look_confirms_it_at_the_line_of_the_start() -> None:
    taker = promotion()
    start, other, look = calls(
        ok("skiff launch gull", "launched"), ok("skiff look", "tern  underway"), ok("skiff look", "gull  underway")
    )
    assert taker.feed(start) == [] == taker.feed(other)
    (evidence,) = taker.feed(look)
    assert (evidence.line, evidence.target, evidence.outcome) == (start.call_line, "gull", "ok")
    assert taker.feed(look) == []


def test_a_line_may_look_at_what_it_started() -> None:
    assert shown(ok("skiff launch gull && skiff look", "launched\ngull  underway")) == [("container", "gull", "ok")]
    assert shown(ok("skiff launch gull && skiff look", "launched\ngull  ashore")) == []


def test_a_start_that_a_look_shows_to_have_failed_never_counts() -> None:
    taker = promotion()
    seen = [
        evidence
        for event in calls(
            ok("skiff launch gull", "launched"), ok("skiff look", "leak: gull"), ok("skiff look", "gull  underway")
        )
        for evidence in taker.feed(event)
    ]
    assert seen == []


def test_a_draft_tells_the_chain_that_worked() -> None:
    ((build, _), (deploy, sightings)) = drafts_of(
        ok("skiff plank --oak"), SAILED, ok("skiff moor", "moored"), ok("ls"), SAILED
    )
    assert build.key == "build:shop"
    assert deploy.key == "deploy:north"
    assert deploy.body == ("north is deployed from here with skiff: `skiff plank --oak`, then `skiff sail --to north`.")
    assert deploy.proof == "`skiff sail --to north` said `landed at north` on 2026-03-01, 2 times in that session"
    assert deploy.probe == ("skiff", "look", "north")
    assert {"deploy", "デプロイ", "dinghy", "skiff", "north"} <= set(deploy.aliases)
    assert (deploy.type, deploy.trust, deploy.origin, deploy.confidence) == ("capability", "tool", "promotion", 0.9)
    assert [(one.line, one.target) for one in sightings] == [(10, "north"), (20, "pier"), (40, "north")]


def test_a_look_that_needs_a_login_is_no_step_of_what_follows() -> None:
    looks = [
        ok("skiff login", "aboard as ann"),
        ok("skiff list", "north south"),
        ok("skiff sail --to north", "landed at north"),
    ]
    bodies = {draft.key: draft.body for draft, _ in drafts_of(*looks)}
    assert set(bodies) == {"auth:harbour", "deploy:north"}
    assert bodies["deploy:north"].endswith("with skiff: `skiff login`, then `skiff sail --to north`.")


def test_a_step_after_another_joins_its_candidate() -> None:
    ((deploy, _),) = drafts_of(SAILED, ok("skiff moor", "moored"))
    assert deploy.key == "deploy:north"
    assert deploy.body.endswith("`skiff sail --to north`, then `skiff moor`.")


def test_the_same_key_in_another_session_has_the_same_digest() -> None:
    ((one, _),) = drafts_of(SAILED)
    ((other, _),) = drafts_of(ok("skiff sail --to north --fast", "landed at north at noon"))
    assert one.digest == other.digest
    assert one.body != other.body


def test_the_parts_of_a_project_are_asked_about_once_with_the_best_way_of_each() -> None:
    ((draft, sightings),) = drafts_of(
        ok("cd hull && skiff float --all", "40 afloat, 40 passed"),
        ok("cd hull && skiff float one", "1 afloat, 1 passed"),
        ok("cd deck && skiff float", "9 afloat, 9 passed"),
    )
    assert draft.key == "test:shop"
    assert draft.body == (
        "The tests of shop run here with skiff: `cd hull && skiff float --all`; or `cd deck && skiff float`."
    )
    assert [one.target for one in sightings] == ["shop/hull", "shop/hull", "shop/deck"]


@pytest.mark.parametrize(
    ("cwd", "command", "target"),
    [
        ("/home/ann/shop/.worktrees/2", "skiff plank", "shop"),
        ("/home/ann/shop/.claude/worktrees/ann/retry", "skiff plank", "shop"),
        ("/home/ann/shop-worktrees/retry", "skiff plank", "shop"),
        ("/home/ann/shop", "cd .worktrees/2/hull && skiff plank", "shop"),
        ("/home/ann/shop/", "cd hull/../deck && skiff plank", "shop/deck"),
        ("/home/ann/shop", "cd /srv/till && skiff plank", "till"),
        ("/home/ann/shop", 'cd "$BOATS" && skiff plank', "shop"),
        ("C:\\work\\shop", "skiff plank", "shop"),
        ("/", "skiff plank", "skiff"),
    ],
)
def test_a_project_is_named_by_its_folder(cwd: str, command: str, target: str) -> None:
    assert shown(ok(command, cwd=cwd)) == [("build", target, "ok")]


def test_a_known_root_names_the_project() -> None:
    taker = promotion(project_of=lambda _: "/home/ann")
    (event,) = calls(ok("skiff plank"))
    assert [one.target for one in taker.feed(event)] == ["ann/shop"]


def test_what_changes_data_is_not_what_is_told_to_repeat() -> None:
    rows = {"quay": {"calls": [{"verb": "connect-db", "match": [""], "success": ["OK"], "target": ["fixed:quay"]}]}}
    taker = Promotion("claude-code", box=Toolbox(read_tools(rows, "rows.toml"), {}))
    for event in calls(ok("quay flushall", "OK"), ok("quay count boats in the harbour", "OK")):
        taker.feed(event)
    ((draft, _),) = taker.drafts()
    assert draft.body.endswith("quay: `quay count boats in the harbour`.")


def test_two_databases_of_one_machine_are_two_targets() -> None:
    row = {"calls": [{"verb": "connect-db", "match": [""], "success": ["OK"], "target": ["fixed:localhost"]}]}
    taker = Promotion("claude-code", box=Toolbox(read_tools({"quay": row, "dock": row}, "rows.toml"), {}))
    for event in calls(ok("quay ping", "OK"), ok("dock ping", "OK")):
        taker.feed(event)
    assert [draft.key for draft, _ in taker.drafts()] == ["connect-db:quay@localhost", "connect-db:dock@localhost"]


def test_many_keys_between_two_drains_lose_nothing() -> None:
    drafts = drafts_of(*(ok(f"skiff sail --to port{number}", f"landed at port{number}") for number in range(80)))
    assert len(drafts) == 80


def test_long_commands_make_no_long_bodies() -> None:
    steps = [ok(f"skiff plank {'x' * 300}{number}") for number in range(5)]
    drafts = drafts_of(*steps, ok(f"skiff sail --to north {'y' * 3_000}", "landed at north"))
    assert all(len(draft.body) <= MAX_BODY for draft, _ in drafts)


def test_secrets_are_in_nothing_that_is_kept_and_two_targets_never_share_a_key() -> None:
    one, other = "ghp_" + "Ab1" * 12, "ghp_" + "Cd2" * 12
    taker = promotion(explain=True)
    for event in calls(
        ok(f"skiff sail --to {one}", f"landed at {one}"),
        ok(f"skiff sail --to {other}", f"landed at {other}"),
        ok(f"skiff launch {one}", "launched"),
        ok(f"skiff look {one}", "far"),
    ):
        taker.feed(event)
    kept = json.dumps(taker.to_state()) + repr(taker.drafts()) + repr(taker.nothings)
    assert one not in kept
    assert other not in kept
    keys = list(taker.to_state()["grown"])
    assert len(set(keys)) == 2


def test_a_target_with_credentials_is_named_without_them() -> None:
    ((draft, _),) = drafts_of(ok("skiff sail", "landed at postgres://ann:hunter2hunter2@db-3:5432/tills"))
    assert draft.key == "deploy:db-3:5432/tills"
    assert "hunter2" not in repr(draft)


def test_failures_are_told_apart_from_what_works() -> None:
    taker = promotion()
    for event in calls({"command": "skiff sail --to north", "exit": 1, "output": "no papers"}, SAILED):
        taker.feed(event)
    assert [(one.key, one.outcome, one.line) for one, _said in taker.failures()] == [("deploy:north", "denied", 0)]
    assert [draft.key for draft, _ in taker.drafts()] == ["deploy:north"]
    assert not taker.failures()
    assert not taker.drafts()


def test_what_was_counted_elsewhere_is_context_only() -> None:
    taker = promotion()
    plank, sail = calls(ok("skiff plank"), SAILED)
    plank.repeat = True
    taker.feed(plank)
    taker.feed(sail)
    ((draft, _),) = taker.drafts()
    assert draft.key == "deploy:north"
    assert "skiff plank" in draft.body


SESSION = calls(
    ok("skiff plank"),
    ok("skiff float", "4 afloat"),
    ok("skiff launch gull", "launched"),
    {"command": "skiff sail --to south", "exit": 1, "output": "no papers"},
    SAILED,
    ok("skiff look", "gull  underway"),
    ok("skiff moor", "moored"),
    ok("skiff sail --to north", "landed at north"),
)


def _told(drained: list[list[tuple[Draft, list[Sighting]]]]) -> tuple[dict[str, Draft], list[Sighting]]:
    """The last draft of each key and all sightings, in order of their lines."""
    pairs = [pair for part in drained for pair in part]
    return {draft.key: draft for draft, _ in pairs}, sorted(
        (one for _, sightings in pairs for one in sightings), key=lambda one: (one.line, one.key)
    )


@pytest.mark.parametrize("cut", range(len(SESSION) + 1))
def test_a_session_read_in_two_pieces_is_the_session_read_at_once(cut: int) -> None:
    whole = promotion()
    evidence = [one for event in SESSION for one in whole.feed(event)]
    first = promotion()
    parts = [one for event in SESSION[:cut] for one in first.feed(event)]
    drained, failures = [first.drafts()], first.failures()
    second = promotion()
    second.restore(json.loads(json.dumps(first.to_state())))
    parts += [one for event in SESSION[cut:] for one in second.feed(event)]
    drained.append(second.drafts())
    assert parts == evidence
    assert failures + second.failures() == whole.failures()
    assert _told(drained) == _told([whole.drafts()])
    assert second.to_state() == whole.to_state()


def test_a_state_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="another version"):
        promotion().restore({"version": 0})


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("skiff plank", "skiff plank"),
        (["bash", "-lc", "skiff plank && ls"], "skiff plank && ls"),
        (["skiff", "plank", "two words"], "skiff plank 'two words'"),
        (7, ""),
    ],
)
def test_hosts_give_a_command_as_text_or_as_words(command: Any, line: str) -> None:
    event = replace(shell_event(ok("x")), input={"command": command})
    assert command_line(event) == line


def test_only_shell_calls_are_looked_at() -> None:
    event = replace(shell_event(SAILED), tool="Read")
    assert promotion().feed(event) == []


def test_a_proof_quotes_the_head_of_a_table_and_not_its_ruler() -> None:
    promotion = Promotion("claude-code")
    table = "   name   | owner\n----------+-------\n bookings | ann"
    promotion.feed(shell_event({"command": r"psql shop -c '\dt' | head -3", "exit": 0, "output": table}))
    [(draft, _)] = promotion.drafts()
    assert "said `name | owner`" in draft.proof


def test_the_lines_of_a_powershell_tool_are_read() -> None:
    promotion = Promotion("claude-code")
    event = shell_event(
        {"command": "npm run build; if ($?) { npm test }", "exit": 0, "output": "Tests: 3 passed, 3 total"}
    )
    shown = promotion.feed(replace(event, tool="PowerShell"))
    assert [(evidence.verb, evidence.tool) for evidence in shown] == [("test", "npm")]
