"""Any field of any event may be missing, of another type or absurd: the fold goes on and its entries are valid."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hikidashi.capture.extract import SessionFold
from hikidashi.hosts.transcript import Event
from hikidashi.staging.entry import MAX_ENTRY_BYTES, Entry
from tests.support.examples import examples

WORDS = [
    "Add a retry to the upload client and cover it with tests",
    "Use Postgres instead of SQLite for the queue.",
    "let's go with B",
    "A) one long option here\nB) another long option here\n\nWhich one?",
    "Implement the following plan:\n\n# Move sessions to Redis\n\n" + "words " * 40,
    "Error: Cannot find module 'left-pad'\n1 failed",
    "12 passed",
    "[main 1a2b3c4] Add a retry to the client\n 1 file changed",
    "https://github.com/ann/shop/pull/7",
    "To example.org\n   1a2b3c4..5d6e7f8  main -> main",
    "\x1b[31m\r\n\u2028\ud7ff\x00",
    "",
    "日本語ではなく英語でお願いします",
]
COMMANDS = [
    "npm test",
    "git commit -am x",
    "git push",
    "gh pr create --title 'x y z'",
    "cat > a <<E\nx\nE",
    "'",
    "(",
    "a | | b &&",
    "$(",
    "sed -i s/a/b/ f",
]

KINDS = ["user", "assistant", "tool_call", "tool_result", "compaction", "interrupt", "context", "title", "link"]
TOOLS = ["Bash", "Edit", "TodoWrite", "TaskCreate", "TaskUpdate", "ExitPlanMode", "AskUserQuestion", "Read", ""]

texts = st.sampled_from(WORDS) | st.text(max_size=80)
junk = (
    st.none()
    | st.booleans()
    | st.integers()
    | texts
    | st.lists(texts, max_size=3)
    | st.dictionaries(texts, texts, max_size=3)
)
todos = st.lists(
    junk | st.fixed_dictionaries({"content": texts, "status": st.sampled_from(["pending", "completed", "x"])}),
    max_size=4,
)
inputs = st.fixed_dictionaries(
    {},
    optional={
        "command": st.sampled_from(COMMANDS) | junk,
        "file_path": texts | junk,
        "todos": todos | junk,
        "plan": texts | junk,
        "questions": junk | st.lists(st.fixed_dictionaries({"question": texts, "options": junk}), max_size=2),
        "answers": junk,
        "taskId": junk,
        "subject": junk,
        "status": junk,
        "owner": junk,
    },
)
events = st.builds(
    Event,
    kind=st.sampled_from(KINDS),
    line=st.integers(0, 10_000),
    uuid=st.sampled_from(["", "u1", "u2", "u3"]) | st.uuids().map(str),
    at=st.sampled_from(["", "yesterday", "2026-03-01T09:00:00.000Z", "2026-03-01T09:00:01+02:00"]),
    session_id=st.sampled_from(["", "s"]),
    role=st.sampled_from(["user", "assistant", "tool", "external"]),
    text=texts,
    branch=st.sampled_from(["", "main", "ann/shop-12", "x" * 300]),
    sidechain=st.booleans(),
    repeat=st.booleans(),
    call_id=st.sampled_from(["", "c1"]),
    tool=st.sampled_from(TOOLS),
    input=inputs,
    call_line=st.integers(-1, 10_000),
    outcome=st.sampled_from(["ok", "failed", "unknown"]),
    exit_code=st.none() | st.integers(-1, 255),
    background=st.booleans(),
    interrupted=st.booleans(),
    refused=st.booleans(),
    result=st.none() | st.dictionaries(st.sampled_from(["answers", "plan", "x"]), junk, max_size=2),
)  # fmt: skip


@settings(max_examples=examples(20, 1_000), deadline=None)
@given(session=st.lists(events, max_size=25))
def test_odd_events_never_stop_the_fold(session: list[Any]) -> None:
    fold = SessionFold("claude-code")
    entries = [entry for event in session for entry in fold.feed(event)]
    state = json.loads(json.dumps(fold.to_state()))
    entries += fold.settle()
    again = SessionFold("claude-code")
    again.restore(state)
    again.settle()
    for entry in entries:
        text = entry.to_json()
        assert Entry.from_json(text) == entry
        assert len(text.encode()) <= MAX_ENTRY_BYTES
        assert len(entry.title) <= 200
        assert "\n" not in entry.title
