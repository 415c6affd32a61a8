"""A record: one Markdown file with YAML front matter under `memory/` or `knowledge/` (design section 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hikidashi.source import Source

__all__ = ["Record", "RecordKind", "Tree"]

#: All of `memory/` and `knowledge/`: path relative to `.hikidashi/` (with `/`) -> the file's bytes.
Tree = Mapping[str, bytes]

RecordKind = Literal["decision", "request", "summary", "knowledge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A parsed record. Fields that its kind does not have keep their defaults."""

    kind: RecordKind
    #: Relative to `.hikidashi/`: `memory/decisions/<slug>.md`.
    path: str
    #: The file name without `.md`; for the summary, `summary`.
    slug: str
    #: Markdown below the front matter.
    body: str
    created_at: str = ""
    updated_at: str = ""
    #: decision: open, resolved, replaced. request: open, done, withdrawn.
    status: str = ""
    #: Slug of the decision that replaced this one.
    replaced_by: str = ""
    trust: str = ""
    #: `sources`, for knowledge `last_sources`; the summary has those of the program's lines.
    sources: tuple[Source, ...] = ()
    #: A person pinned it: protected (design section 6, "Protection").
    pinned: bool = False
    #: Knowledge: term, policy, rule, fact, know-how.
    knowledge_kind: str = ""
    description: str = ""
    model_invocation: bool = False
    user_invocable: bool = True
    #: Front matter keys that we do not know; written back as they were.
    extra: dict[str, object] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The first heading of the body, else its first line that is not empty, else the slug."""
        for line in self.body.splitlines():
            text = line.lstrip("#").strip()
            if text:
                return text
        return self.slug
