"""The linter's rules as a table: code, severity, title, mend. The documentation's table comes from it.

`H1xx` are errors of a tree, `H2xx` warnings that feed clean-up, `H3xx` errors of a change that a worker
wants to make (design section 7). A code is never used again for another rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from hikidashi.records.finding import Finding, Severity

__all__ = ["RULES", "Rule", "found"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule."""

    code: str
    severity: Severity
    #: Whether it judges a tree as it is, or a change that a worker wants to make.
    judges: Literal["state", "transition"]
    #: What the rule forbids, a few words.
    title: str
    #: What to do about it; messages end with it.
    mend: str


_STATE_ERRORS: Final = (
    ("H101", "not UTF-8", "save the file as UTF-8"),
    ("H104", "no front matter", "start the file with a line `---`, the keys of its kind, and a line `---`"),
    ("H105", "front matter not closed", "end the front matter with a line `---`"),
    ("H106", "front matter that is not plain YAML", "write one `key: value` per line; no tags, anchors or aliases"),
    ("H107", "a key twice", "keep one of the two lines"),
    ("H108", "a key is missing", "add the key"),
    ("H109", "a value that its key does not take", "use one of the values in docs/formats.md"),
    ("H110", "not a time", "write ISO 8601, like 2026-05-03T09:30:00.000Z"),
    ("H111", "not a source", "take the row out; sources are written by the program"),
    (
        "H112",
        "`replaced` without `replaced_by`",
        "add `replaced_by: <slug>`, or set the status back to open or resolved",
    ),
    ("H113", "`replaced_by` without `replaced`", "set `status: replaced`, or take `replaced_by` out"),
    ("H114", "`replaced_by` names no decision", "name the slug of a file in memory/decisions/"),
    ("H115", "decisions that replace each other in a circle", "let the one in force be open or resolved"),
    (
        "H116",
        "a file name that is not a slug",
        "rename it to 1 to 64 of a-z, 0-9 and -, with a letter or digit at both ends (and no device name of Windows)",
    ),
    (
        "H117",
        "a file in a place where no record is",
        "move it to memory/decisions/, memory/requests/, memory/workflow/ or knowledge/, as <slug>.md",
    ),
    ("H118", "two file names that differ only in case", "rename one; some file systems take them for one file"),
    ("H119", "merge markers", "resolve the conflict and take the marker lines out"),
    ("H120", "a secret", "take it out and replace it where it is used; the history may hold it too"),
    ("H121", "a control character", "take it out"),
    ("H122", "a body that is too long", "shorten it, or split it into several records"),
    ("H123", "a description that is too long", "shorten the description to 1,024 characters"),
    ("H124", "`model_invocation: true` without a description", "add a description, or set model_invocation to false"),
    ("H125", "not a regular file", "replace it by a plain file; links and devices are not followed"),
    ("H126", "a file that is too large", "keep it elsewhere; a record has at most 1 MiB"),
)

_STATE_WARNINGS: Final = (
    ("H201", "many sources", "trim them to the first and the newest ones"),
    ("H202", "similar slugs", "merge the two if they are about one thing"),
    ("H203", "replaced long ago", "drop it if nothing refers to it any more"),
    ("H204", "a long body on one source", "shorten it to what the source supports"),
    ("H205", "nearly the same body", "merge the two"),
    ("H206", "a key that is not known", "take it out, or correct its spelling"),
    ("H207", "a `#slug` that names no record", "correct the slug, or take the `#` out"),
    ("H208", "a byte order mark", "save the file as UTF-8 without it; the record is read all the same"),
    ("H209", "carriage returns", "save the file with LF line ends; the record is read all the same"),
)

_TRANSITION_ERRORS: Final = (
    (
        "H301",
        "a record deleted in integration",
        "leave it; set a decision to `replaced`, a request to done or withdrawn",
    ),
    ("H302", "a new file on an existing slug", "edit the existing record, or choose another slug"),
    ("H303", "a body that loses more than a quarter in integration", "keep the text that stood there and add to it"),
    ("H304", "a write where people write", "leave memory/workflow/ and memory/cleanup-log.md alone"),
    ("H305", "a change to a read-only record", "leave it; a person has to mend it first"),
    ("H306", "a source that no named entry or record has", "name the entries whose content the record takes in"),
    ("H307", "sources taken away", "keep the sources that stood there; clean-up may trim, but not to none"),
    ("H308", "a trust above the evidence", "leave the trust as it was; only a person raises it"),
    ("H309", "lower trust merged into a higher record", "make a record of its own, or dispose of the entry as covered"),
    ("H310", "`created_at` changed", "leave created_at as it was"),
    ("H311", "`updated_at` moved back", "let updated_at stay or move forward"),
    ("H312", "a protected record dropped", "leave it; a person wrote, restored or pinned it"),
    ("H313", "a protected record that loses more than a quarter", "keep the person's text"),
    ("H314", "a `#slug` that no longer resolves", "keep the record it names, or change the references first"),
    (
        "H315",
        "new knowledge that no report row asks for",
        "name `report:<slug>` of the candidate report, or write no new knowledge",
    ),
    ("H316", "more losing operations than allowed", "lose fewer records in this run"),
    ("H317", "a decision or knowledge from tool output", "keep it as evidence of an outcome only"),
    ("H318", "a pin set or taken away", "leave `pinned` as it was; it is a person's"),
    ("H319", "an entry that is not in this batch", "name only entries that this run holds"),
)


def _rules(
    rows: tuple[tuple[str, str, str], ...], severity: Severity, judges: Literal["state", "transition"]
) -> dict[str, Rule]:
    return {
        code: Rule(code=code, severity=severity, judges=judges, title=title, mend=mend) for code, title, mend in rows
    }


#: Code -> rule, in the order of the codes.
RULES: Final[dict[str, Rule]] = {
    **_rules(_STATE_ERRORS, "error", "state"),
    **_rules(_STATE_WARNINGS, "warning", "state"),
    **_rules(_TRANSITION_ERRORS, "error", "transition"),
}


def found(code: str, path: str, line: int, what: str) -> Finding:
    """A finding of rule `code`: what is wrong at this place, then the rule's mend, in one line."""
    rule = RULES[code]
    message = " ".join(f"{what}: {rule.mend}".split())
    return Finding(path=path, line=line, code=code, severity=rule.severity, message=message)
