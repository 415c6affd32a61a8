"""The summary: what this engine writes between its own markers, and the person's text around it (design section 6).

    <!-- hikidashi:begin -->
    ## Decisions in force      from the records: at most 20 lines
    ## Open                    from the records: at most 10
    ## Recent work             dated lines, newest first: at most 15
    ## Known failures          dated lines, newest first: at most 10
    <!-- hikidashi:end -->

Text outside stays byte for byte (with LF line ends). A line inside that is none of ours was written by a person:
it moves below the end marker. The front matter's sources are those of the entries whose dated line stands there,
newest 50.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from hikidashi.model.tokens import estimate_tokens
from hikidashi.records.frontmatter import split_record
from hikidashi.records.library import references
from hikidashi.records.record import SUMMARY, Record, Tree, normal_body, read_record, record_text, render_record
from hikidashi.redact import find_secrets
from hikidashi.source import Source
from hikidashi.worker.entry_text import mute_references, one_line
from hikidashi.worker.rules_plan import SummaryLine
from hikidashi.worker.rules_requests import FAILURES, RECENT
from hikidashi.worker.rules_text import minute, speaker, statement
from hikidashi.worker.shelf import later, stamp, time_of

__all__ = ["BEGIN", "END", "MAX_SUMMARY_SOURCES", "Summary"]

BEGIN: Final = "<!-- hikidashi:begin -->"
END: Final = "<!-- hikidashi:end -->"

DECISIONS: Final = "Decisions in force"
OPEN: Final = "Open"

#: Lines a section has at most.
LIMITS: Final = {DECISIONS: 20, OPEN: 10, RECENT: 15, FAILURES: 10}
#: Sections whose lines come from the records alone.
_DERIVED: Final = (DECISIONS, OPEN)
_DATED: Final = (RECENT, FAILURES)

MAX_SUMMARY_SOURCES: Final = 50
#: Caps of the whole body: design section 3 (tokens) and 7 (characters), with room for the front matter's words.
_MAX_TOKENS: Final = 4_900
_MAX_CHARACTERS: Final = 19_500

_MARKERS: Final = re.compile(r"^<!-- hikidashi:(begin|end) -->[ \t]*$", re.MULTILINE)
_DATED_LINE: Final = re.compile(r"- (\d{4}-\d{2}-\d{2} \d{2}:\d{2}): \S")
_REFERENCE_LINE: Final = re.compile(r"- .*(?:^|\s)#[a-z0-9][a-z0-9-]*$")
_MORE: Final = re.compile(r"- … and \d+ more in memory/[a-z]+/$")
_OPEN_ITEM: Final = re.compile(r"^\s*[-*+] \[ \] (.+)$", re.MULTILINE)
_LEFT_OPEN: Final = re.compile(r"^Left open:\n+[-*+] (.+)$", re.MULTILINE)

#: Lines by section, sources by line, `updated_at`.
DraftState = tuple[dict[str, list[str]], dict[str, list[Source]], str]


@dataclass(slots=True)
class Summary:
    """The summary as a draft; `text` renders it."""

    #: The file's record; None when there is no summary yet.
    record: Record | None = None
    #: The person's text before and after our block.
    above: str = ""
    below: str = ""
    lines: dict[str, list[str]] = field(default_factory=lambda: {RECENT: [], FAILURES: []})
    #: Line -> sources of this run's entries that it stands for.
    fresh: dict[str, list[Source]] = field(default_factory=dict)
    updated_at: str = ""
    has_block: bool = False

    @classmethod
    def read(cls, tree: Tree) -> Summary:
        """The summary of a tree; a file that cannot be parsed must be read-only to the run."""
        data = tree.get(SUMMARY)
        record = None if data is None else read_record(SUMMARY, data).record
        if data is None or record is None:
            return cls()
        body = split_record(record_text(data))[1]
        draft = cls(record=record, updated_at=record.updated_at)
        block = _find_block(body)
        if block is None:
            draft.above = body
            return draft
        start, inner_start, inner_end, end = block
        draft.has_block = True
        draft.above, draft.below = body[:start], body[end:]
        strangers = draft._take_lines(body[inner_start:inner_end])
        if strangers:
            draft.below = "\n\n" + "\n".join(strangers) + "\n" + draft.below
        return draft

    def _take_lines(self, inner: str) -> list[str]:
        """Read our block; gives the lines that are none of ours."""
        section = ""
        strangers: list[str] = []
        for line in inner.split("\n"):
            heading = line.removeprefix("## ").rstrip() if line.startswith("## ") else ""
            if heading in LIMITS:
                section = heading
            elif section in _DATED and _DATED_LINE.match(line):
                if line not in self.lines[section]:
                    self.lines[section].append(line)
            elif line.strip() and not (section in _DERIVED and (_REFERENCE_LINE.match(line) or _MORE.match(line))):
                strangers.append(line)
        return strangers

    def has(self, line: SummaryLine) -> bool:
        """Whether the line stands there, with its source."""
        return self.carries(line.source) and line.text in self.lines[line.section]

    def carries(self, source: Source) -> bool:
        """Whether the source stands in the front matter, or will."""
        old = self.record.sources if self.record else ()
        return source in old or any(source in sources for sources in self.fresh.values())

    def add(self, line: SummaryLine) -> bool:
        """Add a dated line; False when newer lines fill its section, so that it would not stand there."""
        text, lines = line.text, self.lines[line.section]
        if text not in lines:
            kept = _newest([*lines, text], LIMITS[line.section])
            if text not in kept:
                return False
            self.lines[line.section] = kept
        self.fresh.setdefault(text, []).append(line.source)
        return True

    def stands(self, line: SummaryLine) -> bool:
        """Whether a line that was added is still there and its source is carried."""
        text = line.text
        return text in self.lines[line.section] and line.source in self.sources()

    def persons_references(self) -> set[str]:
        """The slugs that the person's own text names."""
        dated = "\n".join(line for lines in self.lines.values() for line in lines)
        return {slug for slug, _ in references(f"{self.above}\n{dated}\n{self.below}")}

    def state(self) -> DraftState:
        """What `restore` needs to take an entry back."""
        lines = {name: list(lines) for name, lines in self.lines.items()}
        return lines, {text: list(sources) for text, sources in self.fresh.items()}, self.updated_at

    def restore(self, state: DraftState) -> None:
        """Take back what came since `state`."""
        self.lines, self.fresh, self.updated_at = state

    def touch(self, at: str) -> None:
        """Something at `at` (an entry's time) changed what the summary says."""
        self.updated_at = later(self.updated_at, at) if self.updated_at else at

    def sources(self) -> tuple[Source, ...]:
        """Sources of entries whose line stands there: this run's by their line, older ones by its minute."""
        standing = {text for lines in self.lines.values() for text in lines}
        minutes = {match[1] for text in standing if (match := _DATED_LINE.match(text))}
        fresh = {source: None for text, sources in self.fresh.items() if text in standing for source in sources}
        old = [s for s in (self.record.sources if self.record else ()) if s not in fresh and minute(s.at) in minutes]
        newest = sorted([*old, *fresh], key=lambda s: (s in fresh, stamp(s.at), s.session_id, s.lines), reverse=True)
        kept = newest[:MAX_SUMMARY_SOURCES]
        return tuple(sorted(kept, key=lambda s: (stamp(s.at), s.host, s.session_id, s.lines, s.uuids)))

    def text(self, records: Collection[Record]) -> str | None:
        """The file's text with the records as they are now; None when there is nothing to write.

        None too when the person's text leaves no room for even an empty block.
        """
        sections = {
            DECISIONS: _decisions(records),
            OPEN: _open(records),
            **{name: list(self.lines[name]) for name in _DATED},
        }
        if not self.has_block and not any(sections.values()):
            return None
        fixed = self.above + self.below
        while True:
            block = _block(sections)
            body = _joined(self.above, block, self.below)
            if len(body) <= _MAX_CHARACTERS and estimate_tokens(body) <= _MAX_TOKENS:
                break
            if not any(sections.values()) or len(fixed) > _MAX_CHARACTERS:
                return None
            _shorten(sections)
        for name in _DATED:
            self.lines[name] = sections[name]
        updated_at = self.updated_at or max((r.updated_at for r in records), key=stamp)
        record = self.record or Record(kind="summary", path=SUMMARY, slug="summary", body="", updated_at=updated_at)
        sources = self.sources()
        if self.record is not None and self.record.sources == sources and self.record.body == normal_body(body):
            updated_at = record.updated_at  # nothing it says has changed
        front = render_record(replace(record, body="", updated_at=updated_at, sources=sources))
        return front.decode("utf-8") + body


def _find_block(body: str) -> tuple[int, int, int, int] | None:
    """(start of the begin marker, its end, start of the end marker, its end) of the first pair; None without one."""
    begin: re.Match[str] | None = None
    for match in _MARKERS.finditer(body):
        if match[1] == "begin":
            begin = match
        elif begin is not None:
            return begin.start(), begin.end(), match.start(), match.end()
    return None


def _joined(above: str, block: str, below: str) -> str:
    if not above.strip("\n") and not above:
        above = "\n"
    elif not above.endswith("\n"):
        above += "\n\n"
    return above + block + (below or "\n")


def _block(sections: dict[str, list[str]]) -> str:
    parts = [f"## {name}\n\n" + "\n".join(lines) for name, lines in sections.items() if lines]
    return "\n\n".join([BEGIN, *parts, END]) if parts else f"{BEGIN}\n{END}"


def _shorten(sections: dict[str, list[str]]) -> None:
    """Take the last line of the section that is longest for its limit."""
    name = max(sections, key=lambda n: (len(sections[n]) / LIMITS[n], n))
    sections[name].pop()


def _newest(lines: Iterable[str], limit: int) -> list[str]:
    """The newest dated lines, newest first; of one minute, in the order of their words."""
    rows = sorted(set(lines))
    rows.sort(key=lambda line: line[2:18], reverse=True)
    return rows[:limit]


def _top(records: Iterable[Record], limit: int) -> list[Record]:
    """The first `limit` of pinned records, then of the ones touched last."""
    rows = heapq.nsmallest(limit, records, key=lambda r: (not r.pinned, -time_of(r).timestamp(), r.slug))
    return list(rows)


@lru_cache(maxsize=1024)
def _harmless(line: str) -> bool:
    """Whether the redactor finds no secret: slug and title side by side may look like one, and cost that line alone."""
    return not find_secrets(line)


def _with_rest(lines: list[str], total: int, limit: int, folder: str) -> list[str]:
    """`lines`, the last one giving way to how many more there are."""
    lines = [line for line in lines if _harmless(line)]
    if total <= limit:
        return lines
    return [*lines[: limit - 1], f"- … and {total - limit + 1} more in memory/{folder}/"]


def _title(record: Record) -> str:
    return mute_references(one_line(record.title, 140)) or record.slug


def _decisions(records: Iterable[Record]) -> list[str]:
    rows = [r for r in records if r.kind == "decision" and r.status != "replaced"]
    limit = LIMITS[DECISIONS]
    lines = [f"- {_title(r)} ({speaker_of(r)}, {minute(r.updated_at)[:10]}) #{r.slug}" for r in _top(rows, limit)]
    return _with_rest(lines, len(rows), limit, "decisions")


def _open(records: Iterable[Record]) -> list[str]:
    rows = [r for r in records if r.kind == "request" and r.status == "open"]
    limit = LIMITS[OPEN]
    lines = [f"- {_title(r)}{_next_item(r)} (since {minute(r.created_at)[:10]}) #{r.slug}" for r in _top(rows, limit)]
    return _with_rest(lines, len(rows), limit, "requests")


def speaker_of(record: Record) -> str:
    """Whose word a record is, in words."""
    return speaker(record.trust)  # type: ignore[arg-type]  # the linter lets no other word stand there


def _next_item(record: Record) -> str:
    """`; next: …` with the first open item of a request; '' when it lists none."""
    text = statement(record.body)
    match = _OPEN_ITEM.search(text) or _LEFT_OPEN.search(text)
    item = mute_references(one_line(match[1], 100)) if match else ""
    return f"; next: {item}" if item else ""
