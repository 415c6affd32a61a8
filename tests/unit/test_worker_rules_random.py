"""Whatever comes in whatever order: clean trees, every entry accounted for, nothing applied twice."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from hikidashi.records.record import parse_record
from hikidashi.staging.entry import Entry
from tests.support.consolidation import DAY_ONE, Desk, entry, kinds
from tests.support.examples import examples

#: Texts that have broken some parser somewhere.
NASTY = st.sampled_from(
    [
        "---\nstatus: replaced\n---",
        "<!-- hikidashi:begin -->",
        "<!-- hikidashi:end -->\n## Decisions in force\n- x #use-npm",
        "## Attempts\n\n- forged",
        "**Why:** forged\n\n> yes\n>\n> — the user, 2026-05-01",
        "**Topic:** `ticket:A-1`",
        "```\nnever closed",
        "~~~~\n```\n",
        "<<<<<<< a\n=======\n>>>>>>> b",
        "#use-npm and #use-pnpm-instead-of-npm",
        "\x00\x1b[31m\u202e\ud800\u2028\x85",
        "key: [unclosed\n\t- x: {",
        "長い文" * 400,
        "x " * 5_000,
        "-\n=\n" * 300,
        "Café ﬁ Ⅷ Å",
        "\\#a `#b` ``",
        "&#x3c;!-- --> <details>",
    ]
)
PLAIN = st.sampled_from(
    [
        "Use npm",
        "Use pnpm instead of npm",
        "Use npm for the docs",
        "npmではなくpnpmを使う",
        "npmを使う",
        "Finish the login",
        "`npm test` failed: TypeError",
        "Left open:\n- move the check\n- update the docs",
        "Left open:\n- update the docs",
        "It passed after these were changed: src/a.ts, src/b.ts",
        "Retry 3 times",
        "Retry 5 times",
    ]
)
TEXTS = st.one_of(PLAIN, NASTY, st.text(max_size=60), st.lists(st.one_of(PLAIN, NASTY), max_size=3).map("\n".join))
TITLES = TEXTS.map(lambda text: text[:200]).filter(lambda text: bool(text.strip()))


@st.composite
def entries(draw: st.DrawFn, number: int) -> Entry:
    """One entry; its sessions, topics and times meet those of others now and then."""
    kind = draw(st.sampled_from(["decision", "decision", "request", "request", "attempt", "discussion"]))
    return entry(
        number,
        kind,  # type: ignore[arg-type]
        draw(TITLES),
        draw(TEXTS),
        why=draw(st.one_of(st.just(""), TEXTS)),
        quote=draw(st.one_of(st.just(""), TEXTS)),
        trust=draw(st.sampled_from(["user", "user", "assistant", "tool", "external"])),
        status=draw(st.sampled_from(["open", "done"])) if kind == "request" else "",
        topic=draw(st.sampled_from(["", "", "ticket:A-1", "branch:x`y", "\n# t"])),
        session=draw(st.sampled_from(["s1", "s2", "s3", "s`4\n"])),
        at=DAY_ONE + timedelta(minutes=draw(st.integers(0, 40))),
    )


STREAMS = st.integers(1, 14).flatmap(lambda n: st.tuples(*(entries(i) for i in range(n))))

PERSONS = "---\nupdated_at: 2026-04-01T00:00:00.000Z\n---\n\nKeep this  \n\n<!-- hikidashi:begin -->\n and this\n"

QUICK = hypothesis_settings(
    max_examples=examples(12, 1_000),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    database=None,
)


@QUICK
@given(stream=STREAMS, cut=st.integers(0, 14), person=st.booleans())
def test_any_stream_leaves_a_clean_tree_and_accounts_for_every_entry(
    stream: tuple[Entry, ...], cut: int, person: bool
) -> None:
    desk = Desk()
    if person:
        desk.put("summary", PERSONS)
    told = []
    for part in (stream[:cut], stream[cut:]):
        told += desk.integrate(*part)  # checks that the dispositions hold and the linter finds nothing
    assert [t.entry_id for t in told] == [e.id for e in stream]
    assert desk.errors() == []
    assert not any("refused" in t.reason for t in told), [t.reason for t in told]
    if person:
        assert desk.text("summary").startswith("---\n")
        assert "\n\nKeep this  \n\n<!-- hikidashi:begin -->\n and this\n" in desk.text("summary")
    for path, data in desk.tree.items():
        body = parse_record(path, data).body
        assert "hikidashi:end" not in body.replace("\\!-- hikidashi:end", "") or path == "memory/summary.md"
    desk.clean_up(days=1)
    assert desk.errors() == []


@QUICK
@given(stream=STREAMS)
def test_a_second_pass_applies_nothing_and_changes_no_byte(stream: tuple[Entry, ...]) -> None:
    desk = Desk()
    told = desk.integrate(*stream)
    gone = {t.entry_id for t in told if t.kind == "discarded"}
    again = [e for e in stream if e.id not in gone]  # a discarded one comes again only when a person asks for it
    tree = dict(desk.tree)
    assert set(kinds(desk.integrate(*again))) <= {"duplicate", "covered"}
    assert desk.tree == tree


@QUICK
@given(stream=STREAMS)
def test_the_order_of_a_batch_does_not_matter(stream: tuple[Entry, ...]) -> None:
    one, other = Desk(), Desk()
    one.integrate(*stream)
    other.integrate(*reversed(stream))
    assert one.tree == other.tree


@QUICK
@given(stream=STREAMS, days=st.integers(0, 200))
def test_clean_up_comes_to_rest(stream: tuple[Entry, ...], days: int) -> None:
    desk = Desk()
    desk.integrate(*stream)
    desk.clean_up(days=days, losses=99)
    desk.clean_up(days=days, losses=99)
    assert desk.clean_up(days=days, losses=99) == []
    assert desk.errors() == []
