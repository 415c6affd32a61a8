"""Cases of tools' calls (`tests/unit/tool_cases/*.toml`), run through the whole engine.

[[case]]
command = "aws s3 sync dist s3://blyck-releases"
exit = 0                     absent: the host recorded none; `outcome = "ok" | "failed"` says what it knew
output = "upload: …"
gives = [{ verb, tool, target, outcome }]   `target` may be left out; [] for nothing
why = "…"
cwd = "/home/ann/shop"       the project's folder, unless given
then = [{ command, exit, output }]          calls after it in the session, for those that must be confirmed
before = [{ command, exit, output }]
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hikidashi.capture.classify import Promotion
from hikidashi.capture.evidence import Evidence
from hikidashi.capture.toolbox import Toolbox
from hikidashi.hosts.transcript import Event

__all__ = ["CASES", "all_cases", "given", "run_case", "shell_event"]

CASES = Path(__file__).parent / "unit" / "tool_cases"
CWD = "/home/ann/shop"


def all_cases(folder: Path = CASES) -> list[tuple[str, dict[str, Any]]]:
    """`file:number` and the case, of all files."""
    return [
        (f"{path.stem}:{number}", case)
        for path in sorted(folder.glob("*.toml"))
        for number, case in enumerate(tomllib.loads(path.read_text(encoding="utf-8"))["case"], 1)
    ]


def shell_event(case: dict[str, Any], *, line: int = 1) -> Event:
    """The tool result of a case's call."""
    code = case.get("exit")
    known = "unknown" if code is None else "ok" if code == 0 else "failed"
    return Event(
        kind="tool_result",
        line=line + 1,
        uuid=f"result-{line}",
        at="2026-03-01T09:00:00.000Z",
        session_id="one",
        role="tool",
        text=case.get("output", ""),
        cwd=case.get("cwd", CWD),
        tool="Bash",
        input={"command": case["command"]},
        call_line=line,
        call_uuid=f"call-{line}",
        outcome=case.get("outcome", known),
        exit_code=code,
        background=case.get("background", False),
        interrupted=case.get("interrupted", False),
        refused=case.get("refused", False),
        truncated=case.get("truncated", False),
    )


def run_case(case: dict[str, Any], box: Toolbox | None = None) -> tuple[list[Evidence], str]:
    """What a case's call shows, and the reason where that is nothing."""
    promotion = Promotion("claude-code", explain=True, box=box)
    steps = [*case.get("before", []), case, *case.get("then", [])]
    at = 10 * len(case.get("before", [])) + 1
    shown: list[Evidence] = []
    for number, step in enumerate(steps):
        event = shell_event({"cwd": case.get("cwd", CWD), **step}, line=10 * number + 1)
        shown += [evidence for evidence in promotion.feed(event) if evidence.line == at]
    return shown, next((nothing.why for nothing in promotion.nothings if nothing.line == at), "")


def given(shown: list[Evidence]) -> list[dict[str, str]]:
    """Evidence in the form of `gives`."""
    return [{"verb": e.verb, "tool": e.tool, "target": e.target, "outcome": e.outcome} for e in shown]
