"""Facts and records as memories of Claude Code, for those who leave (docs/claude-memory.md has the table).

Pure: gives the files that would be written, and never one that is there already under its name. What the folder says
already, in whatever file, is not said twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from hikidashi.capture.from_auto_memory import FACT_TYPES, folded, plan_import
from hikidashi.drawer.fact import Fact
from hikidashi.hosts.claude_memory import INDEX, Memory, MemoryFolder
from hikidashi.records.record import Record, Tree, free_slug, make_slug, read_record, record_kind
from hikidashi.times import parse_time

__all__ = ["REST_INDEX", "Leaving", "memories_of", "plan_export"]

#: Claude Code loads no more of the index than this: 200 lines, 25 KB.
MAX_INDEX_LINES: Final = 200
MAX_INDEX_BYTES: Final = 25_000

#: Holds the lines that do not fit into the index; one line there leads to it.
REST_INDEX: Final = "hikidashi-index.md"

_DONE: Final = frozenset({"replaced", "done", "withdrawn"})
_WORKFLOW: Final = "memory/workflow/"
_LINE_CHARS: Final = 150
_DESCRIPTION_CHARS: Final = 300


@dataclass(slots=True, kw_only=True)
class Leaving:
    """What an export would write."""

    #: Name -> bytes of each new file; the index last.
    files: dict[str, bytes] = field(default_factory=dict)
    #: Memories that the folder has already.
    known: int = 0


def memories_of(facts: Iterable[Fact], tree: Tree, *, everything: bool) -> tuple[list[Memory], int]:
    """All that stands in the drawer and the records, as memories, and how many were left out.

    Left out is what is no longer in force (retired, replaced, done, withdrawn), unless `everything`, and what cannot
    be read.
    """
    found: list[Memory] = []
    left = 0
    for fact in facts:
        if fact.status == "retired" and not everything:
            left += 1
        else:
            found.append(_of_fact(fact))
    for path, data in sorted(tree.items()):
        if path.startswith(_WORKFLOW) and path.endswith(".md"):
            found.append(_of_page(path, data))
        elif record_kind(path) is not None:
            record = read_record(path, data).record
            if record is None or (record.status in _DONE and not everything):
                left += 1
            elif record.body or record.description:
                found.append(_of_record(record))
    return found, left


def plan_export(folder: MemoryFolder, memories: Iterable[Memory]) -> Leaving:
    """The files that bring `memories` into `folder`, and its index with a line for each."""
    leaving = Leaving()
    known = _said(folder)
    taken = {name.lower().removesuffix(".md") for name in folder.names} | {"memory", REST_INDEX.removesuffix(".md")}
    lines = []
    for memory in memories:
        if _text(memory) in known:
            leaving.known += 1
            continue
        known.add(_text(memory))
        name = free_slug(make_slug(memory.name, "memory", memory.modified, memory.name), taken)
        taken.add(name)
        leaving.files[f"{name}.md"] = _render(memory, name)
        lines.append(_index_line(memory, f"{name}.md"))
    if lines:
        _add_index(leaving, folder, lines)
    return leaving


def _said(folder: MemoryFolder) -> set[str]:
    """What the folder says, in the form of a memory and in the form that an import gives it."""
    intake = plan_import(folder, at="2000-01-01T00:00:00.000Z")
    said = {_text(memory) for memory in folder.memories}
    said |= {folded(fact.draft.body) for fact in intake.facts}
    return said | {_text(_of_record(planned.record)) for planned in intake.records}


def _text(memory: Memory) -> str:
    description, body = folded(memory.description), folded(memory.body)
    return body if description.removesuffix("…") in body else f"{description} {body}".strip()


def _of_fact(fact: Fact) -> Memory:
    description, body = _halves(fact.body)
    kind, _, name = fact.key.partition(":")
    if kind not in FACT_TYPES:  # not one that came from there: the key is what the fact is about
        name = fact.key
        if folded(fact.key) not in folded(fact.body):
            description = f"{fact.key}: {description}"
    more = []
    if fact.proof and fact.origin != "import":
        where = f" on {fact.machine_name}" if fact.machine_name and fact.type == "capability" else ""
        more.append(f"Shown{where}: {fact.proof}")
    if fact.probe:
        more.append(f"To check it: {json.dumps(list(fact.probe), ensure_ascii=False)}")
    if fact.status != "active":
        more.append(f"It is {fact.status}: last seen {fact.last_seen[:10]}.")
    return Memory(
        file="",
        name=name,
        description=description,
        type="feedback" if fact.type == "rule" else "user" if kind == "user" else "project",
        modified=fact.updated_at,
        body="\n\n".join(part for part in (body, *more) if part),
        title=fact.aliases[0] if kind in FACT_TYPES and fact.aliases else "",
    )


def _halves(body: str) -> tuple[str, str]:
    """A text as description and the rest: its first paragraph where that is one short line."""
    first, _, rest = body.partition("\n\n")
    if rest and "\n" not in first and len(first) <= _DESCRIPTION_CHARS:
        return first, rest
    return _short(body, _LINE_CHARS), body


def _of_record(record: Record) -> Memory:
    kind = record.knowledge_kind or record.kind
    types = {"know-how": "reference", "policy": "feedback", "rule": "feedback"}
    name = "project-summary" if record.kind == "summary" else record.slug
    state = f"Status: {record.status}." if record.status in _DONE else ""
    return Memory(
        file="",
        name=name,
        description=record.description or _short(record.body, _LINE_CHARS),
        type=types.get(kind, "project"),
        modified=record.updated_at,
        body="\n\n".join(part for part in (state, record.body.strip()) if part),
    )


def _of_page(path: str, data: bytes) -> Memory:
    text = data.decode("utf-8", "replace").strip()
    name = path.removeprefix(_WORKFLOW).removesuffix(".md").replace("/", "-")
    return Memory(
        file="",
        name=f"workflow-{name}",
        description=_short(text, _LINE_CHARS),
        type="project",
        body=text,
        modified="2000-01-01T00:00:00.000Z",
    )


def _short(text: str, limit: int) -> str:
    line = next((stripped for line in text.splitlines() if (stripped := line.lstrip("# ").strip())), "")
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _render(memory: Memory, name: str) -> bytes:
    description = json.dumps(" ".join(memory.description.split()), ensure_ascii=False)
    head = ["---", f"name: {name}", f"description: {description}", "metadata:", f"  type: {memory.type}"]
    if parse_time(memory.modified).year > 2000:  # a page has no date
        head.append(f"  modified: {memory.modified}")
    return ("\n".join([*head, "---", "", memory.body]).rstrip() + "\n").encode("utf-8", "replace")


def _index_line(memory: Memory, file: str) -> str:
    title = re.sub(r"[\[\]\s]+", " ", memory.title or memory.name.replace("-", " ")).strip()
    return f"- [{title}]({file}) — {_short(memory.description, _LINE_CHARS)}".removesuffix(" — ")


def _add_index(leaving: Leaving, folder: MemoryFolder, lines: list[str]) -> None:
    """Put `lines` behind what the index has; those that would not be loaded stand in a file of their own."""
    start = folder.index.decode("utf-8")
    if start and not start.endswith("\n"):
        start += "\n"
    if not _fits(start, lines):
        pointer = f"- [More memories]({REST_INDEX}) — the index of what came from Hikidashi"
        name, number = REST_INDEX, 1
        while name in folder.names:
            number += 1
            name = REST_INDEX.replace(".md", f"-{number}.md")
        pointer = pointer.replace(REST_INDEX, name)
        leaving.files[name] = ("\n".join(["# More memories", "", *lines]) + "\n").encode("utf-8", "replace")
        lines = [pointer]
    leaving.files[INDEX] = (start + "\n".join(lines) + "\n").encode("utf-8", "replace")


def _fits(start: str, lines: list[str]) -> bool:
    text = start + "\n".join(lines) + "\n"
    return text.count("\n") <= MAX_INDEX_LINES and len(text.encode("utf-8", "replace")) <= MAX_INDEX_BYTES
