"""The summary: a person's text is theirs, ours stays within its lines, and nothing changes without a cause."""

from __future__ import annotations

import pytest

from hikidashi.model.tokens import estimate_tokens
from hikidashi.records.record import parse_record
from hikidashi.worker import rules_summary
from hikidashi.worker.rules_summary import BEGIN, END
from tests.support.consolidation import Desk, entry, kinds

FRONT = "---\nupdated_at: 2026-04-01T00:00:00.000Z\n---\n"
OLD_BLOCK = f"{BEGIN}\n\n## Recent work\n\n- 2026-04-30 08:00: Shipped the beta\n\n{END}"

PERSONS = [
    "\nDeploys happen on Tuesdays.  \n\n\n* kept *\t\n",
    f"\n# Ours\n\n{OLD_BLOCK}\n\nBelow the block.\n",
    f"\nAbove\n{OLD_BLOCK}\nBetween\n{OLD_BLOCK}\nBelow\n",
    f"\nA begin alone:\n{BEGIN}\nand text after it\n",
    f"\nAn end alone:\n{END}\nand text after it\n",
    f"\n{END}\nturned round\n{BEGIN}\n",
    f"\nIn a line: {BEGIN} and {END} too\n",
    "\n一行目\n\n> 引用\n",
    "",
]


@pytest.mark.parametrize("text", PERSONS)
def test_a_persons_text_stays_byte_for_byte(text: str) -> None:
    desk = Desk()
    desk.put("summary", FRONT + text)
    for number in range(1, 4):
        desk.integrate(entry(number, "decision", f"Rule number {number}"))
        outside = text.replace(OLD_BLOCK, "", 1)
        rest = desk.text("summary")
        for line in outside.splitlines(keepends=True):
            assert line in rest
            rest = rest.split(line, 1)[1] if line.strip() else rest
        assert desk.text("summary").count("#rule-number-1\n") == 1, "one block only is ours"


def test_what_a_person_wrote_between_the_markers_moves_below_and_is_kept() -> None:
    desk = Desk()
    inside = f"{BEGIN}\n\nremember the milk\n\n## Recent work\n\n- 2026-04-30 08:00: Beta\n- no date\n\n{END}"
    desk.put("summary", f"{FRONT}\n{inside}\ntail\n")
    desk.integrate(entry(1, "decision", "Use tabs"))
    text = desk.text("summary")
    assert text.endswith(f"{END}\n\nremember the milk\n- no date\n\ntail\n")
    tree = dict(desk.tree)
    desk.integrate(entry(1, "decision", "Use tabs"))
    assert desk.tree == tree


def test_sections_keep_their_limits_and_say_how_many_more_there_are() -> None:
    desk = Desk()
    batch = [entry(n, "decision", f"Rule {n} about {'abcdefghijklmnopqrstuvwxyz'[n % 26]}") for n in range(40)]
    batch += [entry(100 + n, "request", f"Work {n}", "- a", session=f"r{n}", topic=f"t{n}") for n in range(14)]
    batch += [entry(200 + n, "request", f"Shipped {n}", "- b", status="done", session=f"d{n}") for n in range(22)]
    batch += [entry(300 + n, "attempt", f"`make {n}` failed", trust="tool", session=f"a{n}") for n in range(13)]
    told = desk.integrate(*batch)
    text = desk.text("summary")
    sections = {part.split("\n", 1)[0]: part.split("\n- ")[1:] for part in text.split("\n## ")[1:]}
    assert {name: len(lines) for name, lines in sections.items()} == {
        "Decisions in force": 20,
        "Open": 10,
        "Recent work": 15,
        "Known failures": 10,
    }
    assert "- … and 21 more in memory/decisions/" in text
    assert "- 2026-05-01 12:41: Shipped 21. b\n" in text and "Shipped 6." not in text, "the newest stay"
    assert kinds(told).count("discarded") == (22 - 15) + (13 - 10)
    sources = parse_record("memory/summary.md", desk.tree["memory/summary.md"]).sources
    assert len(sources) == 25, "the sources of the lines that stand there, no others"


def test_long_lines_and_a_long_text_of_a_person_stay_under_the_caps() -> None:
    desk = Desk()
    desk.put("summary", f"{FRONT}\n{'word ' * 2_600}\n")
    batch = [entry(n, "decision", f"規則{n}：" + "長い題名の決定事項" * 18) for n in range(25)]
    batch += [
        entry(50 + n, "request", "Shipped " * 30, "proof " * 60, status="done", session=f"d{n}") for n in range(20)
    ]
    desk.integrate(*batch)
    body = parse_record("memory/summary.md", desk.tree["memory/summary.md"]).body
    assert len(body) <= 20_000
    assert estimate_tokens(body) <= 5_000
    assert "## Decisions in force" in body


def test_a_summary_that_is_full_of_a_persons_text_is_left_alone() -> None:
    desk = Desk()
    full = f"{FRONT}\n{'word ' * 3_950}\n"
    desk.put("summary", full)
    told = desk.integrate(entry(1, "request", "Shipped", status="done"), entry(2, "decision", "Use tabs"))
    assert kinds(told) == ["discarded", "applied"]
    assert desk.text("summary") == full


@pytest.mark.parametrize("bad", ["no front matter\n", FRONT + "<<<<<<< ours\n", "---\nupdated_at: soon\n---\n"])
def test_a_broken_summary_is_left_to_the_person(bad: str) -> None:
    desk = Desk()
    desk.put("summary", bad)
    told = desk.integrate(entry(1, "request", "Shipped", status="done"), entry(2, "decision", "Use tabs"))
    assert kinds(told) == ["discarded", "applied"]
    assert "read-only" in told[0].reason
    assert desk.text("summary") == bad


def test_nothing_new_changes_no_byte() -> None:
    desk = Desk()
    batch = [
        entry(1, "decision", "Use tabs"),
        entry(2, "request", "Shipped", status="done", session="s2"),
        entry(3, "attempt", "`make` failed", trust="tool", session="s3"),
        entry(4, "request", "Go on", "- a", session="s4"),
    ]
    desk.integrate(*batch)
    tree = dict(desk.tree)
    assert kinds(desk.integrate(*batch)) == ["duplicate"] * 4
    assert desk.tree == tree
    assert desk.integrate() == []
    assert desk.tree == tree


def test_a_record_that_a_person_took_away_leaves_the_summary() -> None:
    desk = Desk()
    desk.integrate(entry(1, "decision", "Use tabs"), entry(2, "decision", "Use spaces in YAML"))
    del desk.tree["memory/decisions/use-tabs.md"]
    desk.integrate(entry(3, "decision", "Sort imports"))
    assert "#use-tabs" not in desk.text("summary")


def test_a_line_that_looks_like_a_secret_is_left_out_and_costs_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Title and slug may look like a key only side by side; each record's own file is clean."""

    def suspicious(line: str) -> list[str]:
        return [line] if "#sort-imports" in line else []

    monkeypatch.setattr(rules_summary, "find_secrets", suspicious)
    rules_summary._harmless.cache_clear()
    desk = Desk()
    told = desk.integrate(*(entry(n, "decision", title) for n, title in enumerate(("Use tabs", "Sort imports"))))
    rules_summary._harmless.cache_clear()
    assert kinds(told) == ["applied", "applied"]
    assert "#use-tabs" in desk.text("summary") and "#sort-imports" not in desk.text("summary")
