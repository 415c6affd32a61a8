"""A record's file: what is read, what is refused and where, and that writing and reading are each other's inverse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hikidashi.records import frontmatter
from hikidashi.records.frontmatter import MAX_FRONT_MATTER
from hikidashi.records.record import (
    Record,
    RecordError,
    RecordKind,
    normal_body,
    parse_record,
    read_record,
    record_kind,
    record_path,
    render_record,
)
from hikidashi.source import TRUSTS, Source
from tests.support.examples import examples

SOURCE = Source(
    host="claude-code",
    session_id="5e0c1a52-1111-4222-8333-444455556666",
    lines=(3, 9),
    uuids=("u-3", ""),
    at="2026-05-03T09:30:00.000Z",
)
DECISION = Record(
    kind="decision",
    path="memory/decisions/use-postgres.md",
    slug="use-postgres",
    body="# Use Postgres\n\nSQLite locks under load.\n",
    created_at="2026-05-03T09:30:00.000Z",
    updated_at="2026-05-04T09:30:00.000Z",
    status="replaced",
    replaced_by="use-postgres-17",
    trust="user",
    sources=(SOURCE,),
)
DECISION_FILE = """\
---
created_at: 2026-05-03T09:30:00.000Z
updated_at: 2026-05-04T09:30:00.000Z
status: replaced
replaced_by: use-postgres-17
trust: user
sources:
  - host: claude-code
    session_id: "5e0c1a52-1111-4222-8333-444455556666"
    lines: [3, 9]
    uuids: ["u-3", ""]
    at: 2026-05-03T09:30:00.000Z
---

# Use Postgres

SQLite locks under load.
"""
KNOWLEDGE_FILE = """\
---
kind: rule
description: リリース前に必ず確認すること
model_invocation: true
user_invocable: false
last_sources: []
created_at: 2026-05-03
updated_at: 2026-05-03
trust: assistant
pinned: true
---

本文
"""
KINDS: tuple[RecordKind, ...] = ("decision", "request", "summary", "knowledge")


def test_a_record_is_written_in_the_order_of_the_design() -> None:
    assert render_record(DECISION).decode() == DECISION_FILE


def test_a_knowledge_record_is_read_and_written_back_byte_for_byte() -> None:
    record = parse_record("knowledge/release-check.md", KNOWLEDGE_FILE.encode())
    assert (record.knowledge_kind, record.model_invocation, record.user_invocable, record.pinned) == (
        "rule",
        True,
        False,
        True,
    )
    assert record.created_at == "2026-05-03"
    assert render_record(record).decode() == KNOWLEDGE_FILE


@pytest.mark.parametrize("word", ["ON", "on", "true", "yes", "True"])
def test_the_specifications_spelling_of_model_invocation_is_read_and_written_as_ours(word: str) -> None:
    text = KNOWLEDGE_FILE.replace("model_invocation: true", f"model_invokation: {word}")
    record = parse_record("knowledge/release-check.md", text.encode())
    assert record.model_invocation is True
    assert not record.extra
    assert b"model_invocation: true" in render_record(record)


def test_unknown_keys_are_kept_and_warned_about_with_their_line() -> None:
    text = DECISION_FILE.replace("trust: user\n", "trust: user\nowner: 平\nversion: 1.10\nat: 12:30\ncode: 010\n")
    parsed = read_record(DECISION.path, text.encode())
    assert parsed.record is not None
    assert parsed.record.extra == {"owner": "平", "version": "1.10", "at": "12:30", "code": "010"}
    assert [(f.code, f.line, f.severity) for f in parsed.findings] == [
        ("H206", line, "warning") for line in (7, 8, 9, 10)
    ]
    again = parse_record(DECISION.path, render_record(parsed.record))
    assert again.extra == parsed.record.extra


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_what_editors_of_other_systems_add_is_read_and_not_written_again(ending: str, mark: bytes) -> None:
    data = mark + DECISION_FILE.replace("\n", ending).encode()
    parsed = read_record(DECISION.path, data)
    assert parsed.record == DECISION
    wanted = (["H208"] if mark else []) + (["H209"] if ending != "\n" else [])
    assert [(f.code, f.severity, f.line) for f in parsed.findings] == [(code, "warning", 1) for code in wanted]
    assert b"\r" not in render_record(DECISION)


FRONT = "created_at: 2026-05-03\nupdated_at: 2026-05-03\nstatus: open\ntrust: user\n"
BROKEN = {
    "not utf-8": (b"---\nstatus: \xff\n---\n", "H101", 2),
    "utf-16": ("---\n".encode("utf-16"), "H101", 1),
    "empty file": (b"", "H104", 1),
    "no front matter": (b"# Title\n\n---\n", "H104", 1),
    "an empty line first": (f"\n---\n{FRONT}---\n".encode(), "H104", 1),
    "not closed": (f"---\n{FRONT}\n# Title\n".encode(), "H105", 1),
    "a list": (b"---\n- a\n---\n", "H106", 2),
    "a scalar": (b"---\nhello\n---\n", "H106", 2),
    "bad syntax": (f"---\n{FRONT}a: [1\n---\n".encode(), "H106", 7),
    "a python tag": (f"---\n{FRONT}x: !!python/object/apply:os.system [id]\n---\n".encode(), "H106", 6),
    "an alias": (f"---\n{FRONT}a: &x [1]\nb: *x\n---\n".encode(), "H106", 6),
    "a merge key with alias": (f"---\n{FRONT}b: *x\n---\n".encode(), "H106", 6),
    "a directive": (f"---\n%YAML 1.1\n{FRONT}---\n".encode(), "H106", 3),
    "a second document": (f"---\n{FRONT}...\nb: 1\n---\n".encode(), "H106", 7),
    "a control character": (b"---\na: \x01\n---\n", "H106", 2),
    "too deep": (f"---\na: {'[' * 40}{']' * 40}\n---\n".encode(), "H106", 2),
    "far too deep": (f"---\na: {'[' * 20_000}\n---\n".encode(), "H106", 2),
    "a long key": (f"---\n{'k' * 200}: 1\n---\n".encode(), "H106", 2),
    "a key that is a list": (b"---\n? [a]\n: 1\n---\n", "H106", 2),
    "too large": (b"---\na: " + b"x" * MAX_FRONT_MATTER + b"\n---\n", "H106", 2),
    "a key twice": (f"---\n{FRONT}status: open\n---\n".encode(), "H107", 6),
    "a key twice further in": (f"---\n{FRONT}x:\n  a: 1\n  a: 2\n---\n".encode(), "H107", 8),
    "a key missing": (f"---\n{FRONT.replace('trust: user', '')}---\n".encode(), "H108", 1),
    "a key without a value": (f"---\n{FRONT.replace('user', '')}---\n".encode(), "H108", 1),
    "a status of another kind": (f"---\n{FRONT.replace('open', 'done')}---\n".encode(), "H109", 4),
    "a trust that is none": (f"---\n{FRONT.replace('user', 'root')}---\n".encode(), "H109", 5),
    "a status that is a list": (f"---\n{FRONT.replace('open', '[open]')}---\n".encode(), "H109", 4),
    "pinned by a word": (f"---\n{FRONT}pinned: maybe\n---\n".encode(), "H109", 6),
    "sources that are no list": (f"---\n{FRONT}sources: here\n---\n".encode(), "H109", 6),
    "not a time": (f"---\n{FRONT.replace('2026-05-03', 'yesterday', 1)}---\n".encode(), "H110", 2),
    "a time outside the calendar": (
        f"---\n{FRONT.replace('2026-05-03', '0001-01-01T00:00:00+14:00', 1)}---\n".encode(),
        "H110",
        2,
    ),
    "a source without lines": (f"---\n{FRONT}sources:\n  - host: x\n---\n".encode(), "H111", 6),
    "replaced by nothing": (f"---\n{FRONT.replace('open', 'replaced')}---\n".encode(), "H112", 4),
    "open but replaced": (f"---\n{FRONT}replaced_by: other\n---\n".encode(), "H113", 6),
}


@pytest.mark.parametrize(("data", "code", "line"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_refused_with_code_line_and_one_line_of_text(data: bytes, code: str, line: int) -> None:
    with pytest.raises(RecordError) as caught:
        parse_record("memory/decisions/x.md", data)
    assert [(f.code, f.line) for f in caught.value.findings] == [(code, line)]
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"memory/decisions/x.md:{line}: {code} ")


def test_all_that_is_wrong_is_said_at_once() -> None:
    data = b"---\ncreated_at: x\nstatus: y\ntrust: z\n---\n"
    with pytest.raises(RecordError) as caught:
        parse_record("memory/requests/x.md", data)
    assert sorted(f.code for f in caught.value.findings) == ["H108", "H109", "H109", "H110"]


def test_a_bomb_of_aliases_is_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(RecordError, match="anchor or alias"):
        parse_record("memory/summary.md", ("---\n" + "\n".join(lines) + "\n---\n").encode())


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("memory/summary.md", "summary"),
        ("memory/decisions/a.md", "decision"),
        ("memory/requests/a.md", "request"),
        ("knowledge/a.md", "knowledge"),
        ("memory/decisions/sub/a.md", None),
        ("memory/decisions/a.txt", None),
        ("memory/a.md", None),
        ("memory/workflow/a.md", None),
        ("memory/cleanup-log.md", None),
        ("a.md", None),
    ],
)
def test_a_records_kind_is_its_place(path: str, kind: RecordKind | None) -> None:
    assert record_kind(path) == kind
    if kind is None:
        with pytest.raises(RecordError, match="H117"):
            parse_record(path, DECISION_FILE.encode())
    else:
        assert record_path(kind, path.rpartition("/")[2].removesuffix(".md")) == path


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("", ""),
        (" \n\t\n", ""),
        ("a", "a\n"),
        ("\n\n  a\n\n", "  a\n"),
        ("a\r\nb\rc", "a\nb\nc\n"),
        ("a\n\n\nb  \n", "a\n\n\nb\n"),
        ("half \ud800 pair", "half ? pair\n"),
    ],
)
def test_a_body_has_one_form(text: str, normal: str) -> None:
    assert normal_body(text) == normal == normal_body(normal)


# Surrogates cannot stand in a UTF-8 file; all other characters must come back.
NO_SURROGATE = st.characters(codec="utf-8")
TEXT = st.text(NO_SURROGATE, max_size=60)
TRICKY = st.sampled_from(
    [
        "on",
        "No",
        "null",
        "~",
        "2026-05-03",
        "1e3",
        "0x10",
        "#a",
        "'",
        '"',
        "\\",
        "a:",
        "@x",
        "y",
        "12:30",
        "[a]",
        "{a}",
        "---",
        "...",
        "!tag",
        "&a",
        "*a",
        "%",
        "",
        "a: b",
        "a #b",
        "- a",
        " a",
        "あ: い",
        "a\tb",
        "a\n b",
        "\u2028",
        "\x85",
        "\ufeff",
        "\x00",
    ]
)
TIMES = st.datetimes().map(lambda at: at.isoformat() + "Z")
SOURCES = st.builds(
    Source,
    host=TEXT | TRICKY,
    session_id=TEXT | TRICKY,
    lines=st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)).map(lambda pair: (min(pair), max(pair))),
    uuids=st.tuples(TEXT | TRICKY, TEXT | TRICKY),
    at=TIMES,
)
KEYS = TEXT.filter(bool).map(lambda key: f"x{key}"[:100]) | TRICKY.filter(bool).map(lambda key: f"x-{key}")
VALUES = st.recursive(
    TEXT | TRICKY | st.none() | st.booleans() | st.integers(-(10**17), 10**17),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def records(draw: st.DrawFn) -> Record:
    kind = draw(st.sampled_from(KINDS))
    status = draw(st.sampled_from({"decision": ("open", "replaced"), "request": ("open", "done")}.get(kind, ("",))))
    values: dict[str, Any] = {"updated_at": draw(TIMES), "pinned": draw(st.booleans())}
    if kind != "summary":
        values |= {"created_at": draw(TIMES), "trust": draw(st.sampled_from(TRUSTS)), "status": status}
    if status == "replaced":
        values["replaced_by"] = draw(TEXT.filter(bool) | TRICKY.filter(bool))
    if kind == "knowledge":
        values |= {
            "knowledge_kind": draw(st.sampled_from(["term", "know-how"])),
            "description": draw(TEXT | TRICKY),
            "model_invocation": draw(st.booleans()),
            "user_invocable": draw(st.booleans()),
        }
    return Record(
        kind=kind,
        path=record_path(kind, "some-slug"),
        slug="summary" if kind == "summary" else "some-slug",
        body=draw(st.text(NO_SURROGATE, max_size=200) | TRICKY),
        sources=tuple(draw(st.lists(SOURCES, max_size=3))),
        extra=draw(st.dictionaries(KEYS, VALUES, max_size=3)),
        **values,
    )


@settings(deadline=None, max_examples=examples(50, 2_000))
@given(records())
def test_what_is_written_is_read_as_it_was(record: Record) -> None:
    data = render_record(record)
    assert parse_record(record.path, data) == record
    assert render_record(parse_record(record.path, data)) == data
    assert data.endswith(b"\n")
    assert b"\r" not in data


@settings(deadline=None, max_examples=examples(40, 1_000))
@given(records())
def test_other_yaml_readers_see_the_same_texts(record: Record) -> None:
    front = render_record(record).decode().split("\n---\n")[0].removeprefix("---\n")
    data = yaml.load(front, Loader=yaml.BaseLoader)  # a reader that takes every scalar for text
    assert data["updated_at"] == record.updated_at
    rows = data.get("last_sources" if record.kind == "knowledge" else "sources", [])
    assert [row["session_id"] for row in rows] == [source.session_id for source in record.sources]


@settings(deadline=None, max_examples=examples(50, 2_000))
@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: b"---\n" + text.encode("utf-8", "replace")))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    parsed = read_record("memory/decisions/x.md", data)
    assert (parsed.record is None) == any(f.severity == "error" for f in parsed.findings)
    assert all("\n" not in f.message and f.line >= 1 for f in parsed.findings)


def test_the_same_bytes_are_parsed_once() -> None:
    data = render_record(replace(DECISION, body="once"))
    assert read_record(DECISION.path, data) is read_record(DECISION.path, bytes(bytearray(data)))


#: Lines of front matter, most of them nearly as we write them.
LINES = st.tuples(
    st.sampled_from(["", "", "", "", "", "  - ", "    ", "  "]),
    st.sampled_from(["a", "b", "c", "d", "key_c", "yes", "x1"]),
    st.sampled_from([": ", ": ", ": ", ": ", ": ", ":", ":  "]),
    TRICKY
    | TEXT
    | st.sampled_from(['"a b"', '"a" b', "[1, 2]", '["a", ""]', "[]", "[01, 2]", "{}", "w, [x] 'y'", "x\xa0", "\xa0x"])
    | st.sampled_from(["2026-05-03T09:30:00Z", "ª", "١", "a:b", "a#b", "1 #", "a: ", '"\\"', "''"]),
).map("".join)


@settings(deadline=None, max_examples=examples(60, 3_000))
@given(st.lists(LINES, min_size=1, max_size=3).map(lambda lines: "\n".join(lines) + "\n"))
def test_the_fast_reader_says_what_yaml_says(front: str) -> None:
    fast = frontmatter._read_own_form(front)
    if fast is not None:
        assert list(fast.items()) == list(frontmatter._read_yaml(front).items())


def test_what_we_write_takes_the_fast_reader() -> None:
    for text in (DECISION_FILE, KNOWLEDGE_FILE):
        assert frontmatter._read_own_form(text.split("---\n")[1]) is not None
