"""An entry: one activity, and its file in staging (design section 5).

An entry's file is immutable; what becomes of it (attempts, run, disposition) stands in its database row.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from hikidashi.errors import CorruptData
from hikidashi.source import TRUSTS, Source, Trust
from hikidashi.times import parse_time
from hikidashi.ulid import computed_ulid, is_ulid

__all__ = [
    "MAX_ENTRY_BYTES",
    "Disposition",
    "DispositionKind",
    "Entry",
    "EntryKind",
    "EntryStatus",
    "entry_id",
]

EntryKind = Literal["decision", "discussion", "attempt", "request"]

#: `open`: work is left. `done`: finished work, one line under "Recent work". Requests only; else ''.
EntryStatus = Literal["open", "done", ""]

#: What became of an entry that a run consumed (design section 6, step 5).
DispositionKind = Literal["applied", "merged", "duplicate", "covered", "discarded"]

#: A larger file in staging is not an entry.
MAX_ENTRY_BYTES: Final = 256 * 1024


def entry_id(host: str, at: str, anchor: str, kind: str, ordinal: int) -> str:
    """The computed ULID of an entry.

    `anchor` is the anchor event's uuid, else its tool call's ID, else role, time and text joined. Path,
    session ID and offset stay out, because copies of a session repeat events under other ones.
    """
    return computed_ulid(parse_time(at), host, anchor, kind, str(ordinal))


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One activity. All text is redacted before it gets here."""

    id: str
    kind: EntryKind
    #: One line, at most 200 characters.
    title: str
    #: Markdown.
    body: str
    #: Why it was chosen or wanted; '' when nobody said.
    why: str
    #: Evidence, word for word from the transcript; '' when there is none (then trust is at most `assistant`).
    quote: str
    source: Source
    trust: Trust
    status: EntryStatus = ""
    #: What ties entries of several sessions together (ticket, branch, normalised command); '' for none.
    topic: str = ""

    def to_json(self) -> str:
        """The text of the entry's file: UTF-8 JSON, one key a line, newline at the end."""
        data: dict[str, object] = {
            "id": self.id,
            "kind": self.kind,
            "title": self.title,
            "body": self.body,
            "why": self.why,
            "quote": self.quote,
            "source": self.source.to_dict(),
            "trust": self.trust,
            "status": self.status,
            "topic": self.topic,
        }
        text = json.dumps(data, ensure_ascii=False, indent=1) + "\n"
        return text.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair has no UTF-8: it becomes "?"

    @classmethod
    def from_json(cls, text: str) -> Entry:
        """Read an entry's file. Raises `CorruptData` whose line says what is wrong."""
        try:
            data = json.loads(text)
            return cls._from_data(data)
        except (ValueError, RecursionError) as exc:
            raise CorruptData(f"not a staging entry: {exc}") from exc

    @classmethod
    def _from_data(cls, data: object) -> Entry:
        if not isinstance(data, dict):
            raise ValueError("not a JSON object")
        texts = {key: data.get(key, "") for key in ("id", "title", "body", "why", "quote", "topic")}
        for key, value in texts.items():
            if not isinstance(value, str):
                raise ValueError(f"{key} is not text")
            value.encode("utf-8")  # half a surrogate pair (a ValueError) could not be written to any record
        if not is_ulid(texts["id"]):
            raise ValueError("id is not a ULID")
        if not texts["title"].strip():
            raise ValueError("title is empty")
        kind: Any = data.get("kind")
        trust: Any = data.get("trust")
        status: Any = data.get("status", "")
        if kind not in get_args(EntryKind):
            raise ValueError(f"kind is none of {', '.join(get_args(EntryKind))}")
        if trust not in TRUSTS:
            raise ValueError(f"trust is none of {', '.join(TRUSTS)}")
        if status not in get_args(EntryStatus):
            raise ValueError("status is neither open nor done nor empty")
        source = Source.from_dict(data.get("source"))
        return cls(kind=kind, trust=trust, status=status, source=source, **texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disposition:
    """What became of one consumed entry."""

    entry_id: str
    kind: DispositionKind
    #: Path of the record that carries it, relative to `.hikidashi/`; '' when discarded.
    record: str = ""
    #: Why; required for `discarded`.
    reason: str = ""
