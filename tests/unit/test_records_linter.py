"""Each rule of the linter: one case at least in which it speaks, one in which it is silent."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from hikidashi.records.finding import Finding
from hikidashi.records.linter import (
    RULES,
    Transition,
    lint_transition,
    lint_tree,
    read_only_paths,
    rules_table,
)
from hikidashi.records.record import Record, RecordKind, record_path, render_record
from hikidashi.source import Source, Trust

NOW = datetime(2026, 6, 1, tzinfo=UTC)
DAY = "2026-05-20T00:00:00.000Z"
WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon"
BODY = f"# Title\n\n{WORDS}\n"

Tree = dict[str, bytes]


@dataclass(frozen=True)
class Secret:
    kind: str
    start: int


def find_secrets(text: str) -> list[Secret]:
    """Stands in for the redactor: `SECRET-` and digits."""
    return [Secret("test-key", match.start()) for match in re.finditer(r"SECRET-\d+", text)]


def source(number: int) -> Source:
    return Source(host="claude-code", session_id=f"s{number}", lines=(number, number), uuids=("", ""), at=DAY)


def record(kind: RecordKind, slug: str, **values: Any) -> Record:
    given: dict[str, Any] = {"body": BODY, "updated_at": DAY}
    if kind != "summary":
        given |= {"created_at": DAY, "trust": "user", "sources": (source(0),)}
    if kind in ("decision", "request"):
        given["status"] = "open"
    if kind == "knowledge":
        given["knowledge_kind"] = "fact"
    return Record(kind=kind, path=record_path(kind, slug), slug=slug, **(given | values))


def tree(*records: Record, **files: bytes) -> Tree:
    return {r.path: render_record(r) for r in records} | {name.replace("__", "/"): data for name, data in files.items()}


def lint(files: Tree) -> list[Finding]:
    return lint_tree(files, now=NOW, find_secrets=find_secrets)


def codes(findings: list[Finding]) -> set[str]:
    return {finding.code for finding in findings}


def decision(slug: str = "use-x", **values: Any) -> Record:
    return record("decision", slug, **values)


def text(r: Record, old: str, new: str) -> Tree:
    data = render_record(r).decode()
    assert old in data
    return {r.path: data.replace(old, new, 1).encode()}


FENCED = "```\n#gone-slug\n```\n`#gone-slug` https://x.y/#gone-slug &#gone-slug; a/#gone-slug #12\n"
LONG = " ".join(f"word{n}" for n in range(600))
OTHER_LONG = " ".join(f"thing{n}" for n in range(600))

#: Code -> (trees in which it speaks, trees in which it is silent).
STATE: dict[str, tuple[list[Tree], list[Tree]]] = {
    "H101": (
        [{"memory/summary.md": b"\xff"}, {"memory/cleanup-log.md": b"\xff"}],
        [{"memory/workflow/x.png": b"\xff\x00"}],
    ),
    "H104": (
        [{"memory/summary.md": b"# Hi\n"}],
        [{"memory/workflow/x.md": b"# Hi\n"}, {"memory/cleanup-log.md": b"- x\n"}],
    ),
    "H105": ([{"memory/summary.md": b"---\nupdated_at: 2026-05-03\n"}], [tree(decision(body="---\n\na"))]),
    "H106": ([text(decision(), "status: open", "status: !!str open")], [tree(decision(body="!!str *x &y"))]),
    "H107": ([text(decision(), "status: open", "status: open\nstatus: open")], [tree(decision())]),
    "H108": ([text(decision(), "trust: user\n", "")], [text(decision(), "sources:", "x:")]),
    "H109": ([text(decision(), "trust: user", "trust: me")], [tree(decision(trust="external"))]),
    "H110": ([text(decision(), DAY, "soon")], [text(decision(), DAY, "2026-05-20T00:00:00+09:00")]),
    "H111": ([text(decision(), "host: claude-code", "hast: x")], [tree(decision())]),
    "H112": (
        [text(decision(), "open", "replaced")],
        [tree(decision(), decision("b", status="replaced", replaced_by="use-x"))],
    ),
    "H113": (
        [tree(decision(replaced_by="b"), decision("b"))],
        [tree(decision("b", status="replaced", replaced_by="use-x"), decision())],
    ),
    "H114": (
        [
            tree(decision(status="replaced", replaced_by="no")),
            tree(decision(status="replaced", replaced_by="r"), record("request", "r")),
        ],
        [tree(decision(status="replaced", replaced_by="b"), decision("b"))],
    ),
    "H115": (
        [
            tree(decision("a", status="replaced", replaced_by="a")),
            tree(decision("a", status="replaced", replaced_by="b"), decision("b", status="replaced", replaced_by="a")),
        ],
        [
            tree(
                decision("a", status="replaced", replaced_by="b"),
                decision("b", status="replaced", replaced_by="c"),
                decision("c"),
            )
        ],
    ),
    "H116": ([tree(decision("Use_X")), tree(decision("nul")), tree(decision("a" * 65))], [tree(decision("a" * 64))]),
    "H117": (
        [
            {"memory/decisions/x.txt": b""},
            {"memory/x.md": b""},
            {"knowledge/sub/x.md": b""},
            {"knowledge/SUMMARY": b""},
            {"memory/decisions/summary.MD": b""},
        ],
        [{"memory/workflow/deep/er/x.txt": b""}, tree(record("summary", "summary"))],
    ),
    "H118": (
        [{"memory/workflow/A.md": b"", "memory/workflow/a.md": b""}],
        [{"memory/workflow/a.md": b"", "memory/a.md": b""}],
    ),
    "H119": (
        [
            tree(decision(body="<<<<<<< HEAD\nx")),
            tree(decision(body="a\n>>>>>>> theirs")),
            {"memory/workflow/x.md": b"||||||| base\n"},
        ],
        [
            tree(decision(body="Title\n=======\n")),
            tree(decision(body="a <<<<<<< b")),
            tree(decision(body="<<<<<<<< x")),
        ],
    ),
    "H120": (
        [
            tree(decision(body="key SECRET-1")),
            {"memory/workflow/x.md": b"SECRET-2"},
            {"memory/cleanup-log.md": b"SECRET-3"},
        ],
        [tree(decision(body="key [redacted:test-key]"))],
    ),
    "H121": (
        [tree(decision(body="a\x00b")), tree(decision(body="a\x1b[31mb"))],
        [tree(decision(body="a\tb")), {"memory/workflow/x": b"\0"}],
    ),
    "H122": (
        [tree(decision(body="あ" * 8_001)), tree(record("summary", "summary", body="x" * 20_001))],
        [
            tree(decision(body="あ" * 7_999)),
            tree(record("summary", "summary", body="x" * 19_999)),
            {"memory/cleanup-log.md": b"x" * 90_000},
        ],
    ),
    "H123": (
        [tree(record("knowledge", "k", description="x" * 1_025, model_invocation=True))],
        [
            tree(record("knowledge", "k", description="x" * 1_024, model_invocation=True)),
            tree(record("knowledge", "k", description="x" * 1_025)),
        ],
    ),
    "H124": (
        [tree(record("knowledge", "k", model_invocation=True))],
        [tree(record("knowledge", "k", model_invocation=True, description="d")), tree(record("knowledge", "k"))],
    ),
    "H201": (
        [tree(decision(sources=tuple(source(n) for n in range(11))))],
        [
            tree(decision(sources=tuple(source(n) for n in range(10)))),
            tree(record("summary", "summary", sources=tuple(source(n) for n in range(30)))),
        ],
    ),
    "H202": (
        [
            tree(decision("use-postgres"), decision("use-postgres-2", body="z")),
            tree(decision("deploy-staging-first"), decision("first-deploy-staging", body="z")),
            tree(decision("configure-webhooks"), decision("configure-webhook", body="z")),
        ],
        [
            tree(decision("use-postgres"), record("request", "use-postgres-2", body="z")),
            tree(decision("fix-issue-1234"), decision("fix-issue-1235", body="z")),
            tree(decision("step-1"), decision("step-2", body="z")),
            tree(decision("decision-20260503-aaaaaa"), decision("decision-20260503-aaaaab", body="z")),
            tree(decision("use-postgres"), decision("use-sqlite", body="z")),
        ],
    ),
    "H203": (
        [tree(decision(), decision("b", status="replaced", replaced_by="use-x", updated_at="2026-05-01T00:00:00Z"))],
        [tree(decision(), decision("b", status="replaced", replaced_by="use-x", updated_at="2026-05-02T00:00:00Z"))],
    ),
    "H204": (
        [tree(decision(body=LONG))],
        [
            tree(decision(body=LONG, sources=(source(1), source(2)))),
            tree(decision(body=LONG, sources=())),
            tree(decision()),
        ],
    ),
    "H205": (
        [
            tree(decision(), decision("other", body=BODY.replace("gamma", "gama"))),
            tree(decision(), record("request", "r")),
        ],
        [
            tree(decision(body=LONG), decision("other", body=OTHER_LONG)),
            tree(decision(), decision("b", status="replaced", replaced_by="use-x")),
        ],
    ),
    "H206": (
        [text(decision(), "trust: user", "trust: user\nowner: me")],
        [text(record("knowledge", "k"), "user_invocable: true", "user_invocable: false")],
    ),
    "H208": (
        [{p: b"\xef\xbb\xbf" + d for p, d in tree(decision()).items()}],
        [tree(decision(body="a \ufeff b")), {"memory/workflow/x.md": b"\xef\xbb\xbf# Hi\n"}],
    ),
    "H209": (
        [text(decision(), "status: open\n", "status: open\r\n")],
        [tree(decision()), {"memory/workflow/x.md": b"# Hi\r\n"}],
    ),
    "H207": (
        [tree(decision(body="see #gone-slug"))],
        [tree(decision(body="see #use-x and #todo"), record("request", "r", body=FENCED))],
    ),
}


@pytest.mark.parametrize("code", STATE)
def test_a_state_rule_speaks_and_is_silent(code: str) -> None:
    speaks, silent = STATE[code]
    assert speaks
    assert silent
    for files in speaks:
        findings = [finding for finding in lint(files) if finding.code == code]
        assert findings, (code, lint(files))
        assert all(f.message.endswith(RULES[code].mend) and f.severity == RULES[code].severity for f in findings)
    for files in silent:
        assert code not in codes(lint(files)), lint(files)


def test_findings_name_the_line() -> None:
    files = text(decision(body="\n\n# Title\n\nsee #gone-slug\nSECRET-1\n<<<<<<< x\n"), "# Title", "\n\n# Title")
    lines = {finding.code: finding.line for finding in lint(files)}
    data = files["memory/decisions/use-x.md"].decode().split("\n")
    assert data[lines["H207"] - 1] == "see #gone-slug"
    assert data[lines["H120"] - 1] == "SECRET-1"
    assert data[lines["H119"] - 1] == "<<<<<<< x"


def test_a_finding_never_repeats_the_secret() -> None:
    findings = lint(tree(decision(body="key SECRET-12345")))
    assert codes(findings) == {"H120"}
    assert "12345" not in findings[0].message


# Transition rules: one step from BEFORE, with everything that the step may use.

E1, E2, LOW, TOOL = source(101), source(102), source(103), source(104)
ENTRIES: dict[str, tuple[Source, Trust, str]] = {
    "E1": (E1, "user", "decision"),
    "E2": (E2, "user", "request"),
    "LOW": (LOW, "assistant", "decision"),
    "TOOL": (TOOL, "tool", "attempt"),
}
OLD = decision("old", sources=(source(1), source(2)), body=f"# Old\n\n{WORDS} and #ask here\n")
TWIN = decision("twin", sources=(source(3),), body=f"# Twin\n\n{WORDS.upper()} one two three\n")
MEEK = decision("meek", sources=(source(4),), trust="assistant", body=f"# Meek\n\n{LONG}\n")
ASK = record("request", "ask", sources=(source(5),), body=f"# Ask\n\n{OTHER_LONG}\n")
PINNED = record(
    "request", "pinned", sources=(source(6),), pinned=True, body="# Pinned\n\none two three four five six seven eight\n"
)
KNOW = record("knowledge", "know", sources=(source(7),), body="# Know\n\nsome thing that is known by heart\n")
SUMMARY = record("summary", "summary", body="# Summary\n\nfirst second third fourth fifth\n")
BEFORE = tree(OLD, TWIN, MEEK, ASK, PINNED, KNOW, SUMMARY) | {
    "memory/workflow/w.md": b"go\n",
    "memory/cleanup-log.md": b"- x\n",
    "memory/requests/broken.md": b"no front matter\n",
}
CONTEXT = Transition(
    phase="integration",
    entries=ENTRIES,
    read_only=frozenset({"memory/requests/broken.md"}),
    report=frozenset({"old"}),
    losses_left=1,
    now=NOW,
)
CLEANUP = replace(CONTEXT, phase="cleanup")


@dataclass(frozen=True)
class Step:
    """What a worker did: records written, paths deleted, raw files, names."""

    write: tuple[Record, ...] = ()
    delete: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    named: tuple[str, ...] = ()
    context: Transition = CONTEXT

    def errors(self) -> list[Finding]:
        after = BEFORE | tree(*self.write) | dict(self.files)
        for path in self.delete:
            del after[path]
        written = [r.path for r in self.write] + list(self.files)
        named = {path: frozenset(self.named) for path in written}
        return lint_transition(replace(self.context), BEFORE, after, named, find_secrets=find_secrets)


def new(slug: str = "fresh", **values: Any) -> Record:
    return decision(slug, **({"sources": (E1,), "body": "# Fresh\n\nsomething quite different"} | values))


def grown(r: Record, **values: Any) -> Record:
    return replace(r, **({"body": r.body + "\nmore", "sources": (*r.sources, E1)} | values))


def cleanup(**values: Any) -> Transition:
    return replace(CLEANUP, **values)


def protects(r: Record, **values: Any) -> Transition:
    return replace(CLEANUP, protected={r.path: render_record(r)}, **values)


def replaced(r: Record, by: str) -> Record:
    return replace(r, status="replaced", replaced_by=by)


def halved(r: Record) -> Record:
    return replace(r, body=r.body[: len(r.body) // 2])


REGION = "<!-- hikidashi:begin -->\n{}\n<!-- hikidashi:end -->"
MARKED = replace(SUMMARY, body=f"# Mine\n\nmy own words stay\n\n{REGION.format('- one')}\n\nso do these\n")
UNMARKED = replace(MARKED, body=MARKED.body.replace("- one", "- something else"))

MERGED = replace(OLD, sources=(*OLD.sources, *TWIN.sources))

#: Code -> (steps that are refused with it, steps that it lets through).
TRANSITION: dict[str, tuple[list[Step], list[Step]]] = {
    "H301": (
        [Step(delete=(OLD.path,)), Step(delete=(KNOW.path,))],
        [Step(delete=(MEEK.path,), context=CLEANUP), Step(write=(replace(OLD, status="resolved"),))],
    ),
    "H302": (
        [
            Step(write=(new("ask"),), named=("E1",)),
            Step(write=(new("know"),), named=("E1",)),
            Step(write=(new("both"), record("request", "both", sources=(E1,))), named=("E1",)),
        ],
        [Step(write=(new(),), named=("E1",)), Step(write=(grown(OLD),), named=("E1",))],
    ),
    "H303": (
        [
            Step(write=(halved(OLD),)),
            Step(write=(replace(OLD, body="x" * len(OLD.body)),)),
            Step(write=(halved(KNOW),)),
        ],
        [
            Step(write=(replace(OLD, body=OLD.body.replace("alpha beta", "")),)),
            Step(write=(replace(SUMMARY, body="all new"),)),
            Step(write=(replace(OLD, body="\n".join(reversed(OLD.body.split("\n")))),)),
            Step(write=(halved(MEEK),), context=CLEANUP),
        ],
    ),
    "H304": (
        [
            Step(files={"memory/workflow/w.md": b"stop\n"}),
            Step(files={"memory/workflow/new.md": b"x\n"}, context=CLEANUP),
            Step(delete=("memory/workflow/w.md",), context=CLEANUP),
            Step(files={"memory/cleanup-log.md": b""}),
        ],
        [Step(write=(new(),), named=("E1",))],
    ),
    "H305": (
        [
            Step(write=(record("request", "broken", sources=(E1,)),), named=("E1",)),
            Step(delete=("memory/requests/broken.md",), context=CLEANUP),
        ],
        [Step(write=(grown(OLD),), named=("E1",))],
    ),
    "H306": (
        [
            Step(write=(new(sources=(E1, E2)),), named=("E1",)),
            Step(write=(grown(OLD),)),
            Step(write=(new(sources=(source(999),)),), named=("E1",)),
            Step(write=(new(sources=()),)),
            Step(write=(grown(KNOW, sources=(*KNOW.sources, source(1))),), named=("E1",)),
            Step(write=(replace(OLD, sources=(*OLD.sources, *TWIN.sources)),), context=CLEANUP),
            Step(write=(new(sources=()),), context=CLEANUP),
            Step(write=(replace(SUMMARY, sources=(E1,)),)),
        ],
        [
            Step(write=(new(sources=(E1, E2)),), named=("E1", "E2")),
            Step(write=(grown(KNOW, sources=(*KNOW.sources, source(1))),), named=("report:old",)),
            Step(write=(MERGED,), delete=(TWIN.path,), context=CLEANUP),
            Step(write=(replace(SUMMARY, sources=(E1,)),), named=("E1",)),
        ],
    ),
    "H307": (
        [
            Step(write=(replace(OLD, sources=OLD.sources[:1]),)),
            Step(write=(replace(OLD, sources=()),), context=CLEANUP),
        ],
        [
            Step(write=(replace(OLD, sources=OLD.sources[:1]),), context=CLEANUP),
            Step(write=(replace(OLD, sources=OLD.sources[::-1]),)),
        ],
    ),
    "H308": (
        [
            Step(write=(replace(MEEK, trust="user"),)),
            Step(write=(new(sources=(LOW,)),), named=("LOW",)),
            Step(write=(new(sources=(E1, LOW)),), named=("E1", "LOW")),
            Step(write=(new(sources=MEEK.sources),), delete=(MEEK.path,), context=CLEANUP),
        ],
        [
            Step(write=(new(sources=(LOW,), trust="assistant"),), named=("LOW",)),
            Step(write=(replace(OLD, trust="assistant"),)),
            Step(write=(new(sources=MEEK.sources, trust="assistant"),), delete=(MEEK.path,), context=CLEANUP),
        ],
    ),
    "H309": (
        [
            Step(write=(grown(OLD, sources=(*OLD.sources, LOW)),), named=("LOW",)),
            Step(write=(grown(OLD, sources=OLD.sources),), named=("TOOL",)),
            Step(write=(grown(ASK, sources=ASK.sources),), named=("LOW",)),
            Step(write=(replace(OLD, sources=(*OLD.sources, *MEEK.sources)),), delete=(MEEK.path,), context=CLEANUP),
        ],
        [
            Step(write=(grown(ASK, sources=ASK.sources),), named=("TOOL",)),  # an attempt is evidence, not a wish
            Step(write=(grown(MEEK, sources=(*MEEK.sources, LOW)),), named=("LOW",)),
            Step(write=(grown(MEEK),), named=("E1",)),
            Step(write=(MERGED,), delete=(TWIN.path,), context=CLEANUP),
        ],
    ),
    "H310": (
        [Step(write=(grown(OLD, created_at="2026-05-21T00:00:00.000Z"),), named=("E1",))],
        [Step(write=(new(created_at="2026-05-21T00:00:00.000Z"),), named=("E1",))],
    ),
    "H311": (
        [Step(write=(grown(OLD, updated_at="2026-05-19T23:00:00.000Z"),), named=("E1",))],
        [
            Step(write=(grown(OLD, updated_at="2026-05-21T00:00:00.000Z"),), named=("E1",)),
            Step(write=(grown(OLD),), named=("E1",)),
        ],
    ),
    "H312": (
        [
            Step(delete=(OLD.path,), context=protects(OLD)),
            Step(
                delete=(OLD.path,), write=(replace(TWIN, sources=(*TWIN.sources, *OLD.sources)),), context=protects(OLD)
            ),
            Step(delete=(PINNED.path,), context=CLEANUP),
        ],
        [
            Step(delete=(MEEK.path,), context=protects(OLD)),
            Step(write=(grown(OLD),), named=("E1",), context=protects(OLD)),
        ],
    ),
    "H313": (
        [
            Step(write=(halved(OLD),), context=protects(OLD)),
            Step(write=(halved(PINNED),), context=CLEANUP),
            # Measured against what the person wrote, not against what is left of it.
            Step(
                write=(replace(OLD, body=OLD.body.replace("alpha beta gamma delta", "")),),
                context=protects(grown(OLD, body=f"{OLD.body}\none two three four")),
            ),
            Step(write=(replace(SUMMARY, body="all new"),), context=protects(SUMMARY)),
        ],
        [
            Step(write=(replace(OLD, body=OLD.body.replace("alpha beta", "")),), context=protects(OLD)),
            Step(write=(grown(OLD, sources=OLD.sources),), context=protects(replace(OLD, body="wholly other words"))),
            Step(write=(replace(SUMMARY, body="# Mine\n\nmy own words stay, so do these"),), context=protects(MARKED)),
        ],
    ),
    "H314": (
        [Step(delete=(ASK.path,), context=CLEANUP)],
        [
            Step(delete=(ASK.path,), write=(replace(OLD, body=OLD.body.replace("#ask", "it")),), context=CLEANUP),
            Step(delete=(MEEK.path,), context=CLEANUP),
        ],
    ),
    "H315": (
        [
            Step(write=(record("knowledge", "k", sources=(E1,)),), named=("E1",)),
            Step(write=(record("knowledge", "k", sources=(E1,)),), named=("E1", "report:ask")),
        ],
        [
            Step(write=(record("knowledge", "k", sources=(source(1),)),), named=("report:old",)),
            Step(write=(grown(KNOW),), named=("E1",)),
        ],
    ),
    "H316": (
        [
            Step(delete=(MEEK.path, KNOW.path), context=CLEANUP),
            Step(delete=(MEEK.path,), context=cleanup(losses_left=0)),
            Step(write=(halved(OLD),), delete=(MEEK.path,), context=CLEANUP),
        ],
        [
            Step(delete=(MEEK.path,), context=CLEANUP),
            Step(delete=(MEEK.path, KNOW.path), context=cleanup(losses_left=2)),
        ],
    ),
    "H317": (
        [Step(write=(new(sources=(TOOL,), trust="tool"),), named=("TOOL",))],
        [Step(write=(record("request", "r", sources=(TOOL,), trust="tool"),), named=("TOOL",))],
    ),
    "H318": (
        [
            Step(write=(replace(PINNED, pinned=False),)),
            Step(write=(replace(OLD, pinned=True),)),
            Step(write=(new(pinned=True),), named=("E1",)),
        ],
        [Step(write=(grown(PINNED),), named=("E1",))],
    ),
    "H319": (
        [Step(write=(grown(OLD),), named=("E1", "E9")), Step(write=(grown(OLD),), named=("E1", "report:ask"))],
        [Step(write=(grown(OLD),), named=("E1", "report:old"))],
    ),
}


@pytest.mark.parametrize("code", TRANSITION)
def test_a_transition_rule_refuses_and_lets_through(code: str) -> None:
    refused, fine = TRANSITION[code]
    assert refused
    assert fine
    for step in refused:
        findings = [finding for finding in step.errors() if finding.code == code]
        assert findings, (code, step.errors())
        assert all(f.message.endswith(RULES[code].mend) for f in findings)
    for step in fine:
        assert step.errors() == []


def test_every_code_has_its_cases() -> None:
    # H125 and H126 are about files on disk; test_records_library.py has them.
    assert {*STATE, *TRANSITION, "H125", "H126"} == set(RULES)


def test_a_summary_of_a_person_is_protected_outside_the_markers_only() -> None:
    before = tree(MARKED)
    context = Transition(phase="integration", protected=before, now=NOW)
    assert lint_transition(context, before, tree(UNMARKED), {}, find_secrets=find_secrets) == []
    gone = tree(replace(UNMARKED, body=UNMARKED.body.replace("my own words stay", "")))
    assert codes(lint_transition(context, before, gone, {}, find_secrets=find_secrets)) == {"H313"}


def test_errors_that_stood_before_do_not_block_a_turn() -> None:
    dangling = decision("dangling", status="replaced", replaced_by="nowhere")
    before = BEFORE | tree(dangling, decision("secret", body="SECRET-1"), decision("Upper"), decision("UPPER"))
    after = before | tree(new())
    names = {new().path: frozenset({"E1"})}
    assert lint_transition(CONTEXT, before, after, names, find_secrets=find_secrets) == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda: tree(new(body="SECRET-1")), "H120"),
        (lambda: tree(new(status="replaced", replaced_by="nowhere")), "H114"),
        (lambda: tree(new("FRESH")), "H116"),
        (lambda: {"memory/decisions/fresh.md": b"# no front matter\n"}, "H104"),
        (lambda: {"memory/notes.md": b"# Notes\n"}, "H117"),
        (lambda: tree(new(body="x" * 8_001)), "H122"),
        (lambda: {"memory/decisions/OLD.md": b""}, "H118"),
        (lambda: tree(replaced(OLD, "twin"), replaced(TWIN, "old")), "H115"),
    ],
)
def test_a_turn_may_not_bring_in_state_errors(change: Callable[[], Tree], code: str) -> None:
    files = change()
    named = {path: frozenset({"E1"}) for path in files}
    errors = lint_transition(CONTEXT, BEFORE, BEFORE | files, named, find_secrets=find_secrets)
    assert code in codes(errors)
    assert all(error.severity == "error" for error in errors)


def test_a_target_that_is_dropped_leaves_a_dangling_decision() -> None:
    before = tree(decision("a", status="replaced", replaced_by="b"), decision("b", body="other words entirely"))
    after = {path: data for path, data in before.items() if not path.endswith("/b.md")}
    assert codes(lint_transition(CLEANUP, before, after, {}, find_secrets=find_secrets)) == {"H114"}


def test_a_second_phase_with_the_same_context_is_judged_anew() -> None:
    context = replace(CONTEXT)
    first = BEFORE | tree(new())
    assert lint_transition(context, BEFORE, first, {new().path: frozenset({"E1"})}, find_secrets=find_secrets) == []
    shrunk = first | tree(new(body="gone"))
    assert codes(lint_transition(context, first, shrunk, {}, find_secrets=find_secrets)) == {"H303"}


def test_the_names_of_a_file_count_anew_in_each_turn() -> None:
    context = replace(CONTEXT)
    after = BEFORE | tree(grown(OLD))

    def judge(names: frozenset[str]) -> list[Finding]:
        return lint_transition(context, BEFORE, after, {OLD.path: names}, find_secrets=find_secrets)

    assert codes(judge(frozenset())) == {"H306"}
    assert judge(frozenset({"E1"})) == []


def test_no_change_is_no_error() -> None:
    assert lint_transition(CONTEXT, BEFORE, dict(BEFORE), {}, find_secrets=find_secrets) == []


def test_broken_files_markers_and_secrets_are_read_only() -> None:
    files = BEFORE | tree(decision("secret", body="SECRET-1"), decision("marked", body="<<<<<<< a"))
    read_only = read_only_paths(files, find_secrets=find_secrets)
    assert {path: finding.code for path, finding in read_only.items()} == {
        "memory/decisions/secret.md": "H120",
        "memory/decisions/marked.md": "H119",
        "memory/requests/broken.md": "H104",
    }


def test_the_table_has_a_row_for_each_code() -> None:
    table = rules_table()
    assert [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()[2:]] == list(RULES)
    assert list(RULES) == sorted(RULES)
    assert all(
        code[1] == {"error": "1", "warning": "2"}[rule.severity] for code, rule in RULES.items() if code[1] != "3"
    )


def test_two_hundred_turns_over_a_thousand_records_are_judged_in_a_second() -> None:
    many = tree(*(decision(f"d-{n}", body=f"# D{n}\n\n{WORDS} w{n}", sources=(source(n),)) for n in range(1_000)))
    context = Transition(phase="integration", entries={"E1": (E1, "user", "decision")}, now=NOW)
    after, named = dict(many), {}
    turns = [new(f"fresh-{n}", body=f"# N{n}\n\nquite other words") for n in range(200)]
    written = [(r.path, render_record(r)) for r in turns]
    lint_transition(
        context, many, {**many, **dict(written[:1])}, {written[0][0]: frozenset({"E1"})}, find_secrets=find_secrets
    )
    start = time.process_time()
    for path, data in written:
        after[path] = data
        named[path] = frozenset({"E1"})
        assert lint_transition(context, many, after, named, find_secrets=find_secrets) == []
    assert time.process_time() - start < 2.0  # 0.3 s alone; the machine of a test may be three times slower


def test_warnings_over_many_records_of_one_template_stay_cheap() -> None:
    many = tree(*(decision(f"d-{n}", body=f"{LONG} {n}", sources=(source(n), source(n + 1))) for n in range(400)))
    start = time.process_time()
    findings = lint(many)
    assert time.process_time() - start < 2.0  # 0.3 s alone
    assert len([finding for finding in findings if finding.code == "H205"]) == 399
