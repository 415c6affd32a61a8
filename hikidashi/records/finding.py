"""What the linter finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding", "Severity"]

#: An error sends a turn back and fails `hikidashi lint`; a warning feeds clean-up.
Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Finding:
    """One broken rule at one place."""

    #: Relative to `.hikidashi/`, with `/`.
    path: str
    #: 1-based line of the file; 0 when the finding is about the file as a whole.
    line: int
    #: `H101` …; every code has a row in the documentation.
    code: str
    severity: Severity
    #: One line that ends with the mend.
    message: str

    def to_dict(self) -> dict[str, object]:
        """The JSON form; keys are stable."""
        return {
            "path": self.path,
            "line": self.line,
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
        }
