"""What `memory_write` does: a candidate, and the question to the person whether to keep it (design section 8).

Whoever calls this tool is an agent. What it writes waits as a candidate; a yes in the host's own dialog is the
person's yes, and nothing else here puts anything into the drawer unless `gate.allow_agent` says so.

The dialog has a field that must be filled in. A host that says yes to every question without one (Codex does where
nothing is to be confirmed) has then said nothing, and a host that turns every question down (it does so where
nobody sits in front of it) has not rejected anything either: the candidate goes on waiting.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from hikidashi.config.machine import this_machine
from hikidashi.db.connection import transaction
from hikidashi.drawer.candidates import Candidate, waiting
from hikidashi.drawer.decisions import approve, completed, reject
from hikidashi.drawer.draft import checked
from hikidashi.drawer.fact import CONFIDENCE, Draft, Fact, Scope
from hikidashi.drawer.gate import Proposal, propose, sweep
from hikidashi.drawer.store import Drawer
from hikidashi.errors import Conflict, UsageError
from hikidashi.redact import RULES_VERSION
from hikidashi.serve.mcp_place import Here, is_paused, opened_here
from hikidashi.times import format_time, now

__all__ = ["Question", "answered", "memory_write"]

#: Somebody decided in the inbox while the dialog stood open.
_ELSEWHERE: Final = "It was decided elsewhere meanwhile; memory_read tells what stands under the key."

Outcome = Literal["written", "waiting", "known", "outweighed", "rejected"]

#: Where a fact is to hold, for people.
_WHERE: Final[dict[Scope, str]] = {"workspace": "this project", "global": "all your projects"}

#: The field of the dialog, and what may be chosen. The first letters differ, since terminals choose by them.
FIELD: Final = "decision"
KEEP, REJECT, LATER = "keep", "reject", "later"
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        FIELD: {
            "type": "string",
            "title": "Keep it?",
            "description": "keep: into the drawer; reject: it is not proposed again; later: it waits in the inbox",
            "enum": [KEEP, REJECT, LATER],
        }
    },
    "required": [FIELD],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the person is to be asked, and what a yes is a yes to."""

    candidate: Candidate
    #: The fact that a yes replaces, as it was shown; None for none.
    before: Fact | None
    #: Parameters of `elicitation/create`.
    form: dict[str, Any]
    #: What the tool answers when nobody says yes.
    result: dict[str, Any]


def memory_write(
    folder: Path, arguments: dict[str, Any], *, may_ask: bool, session_id: str = ""
) -> dict[str, Any] | Question:
    """Propose a fact; gives what became of it, or what to ask the person first.

    Raises `SecretRefused`, `UsageError` for what may not be kept, and as `opened_here` does.
    """
    draft = _draft(arguments)
    with opened_here(folder) as here:
        if is_paused(here.workspace, session_id):
            raise UsageError("the person asked that this session is not remembered: do not propose anything in it")
        drawer = here.drawers.writable(draft.scope)
        if here.settings.gate.allow_agent:
            drawer.write(completed(draft, drawer.replaced(draft.key)))
            return _result("written", draft.key, draft.scope, "", "It is in the drawer: the settings let agents write.")
        at = now()
        sweep(drawer.connection, at, days=here.settings.gate.expire_days)
        with transaction(drawer.connection):
            done = propose(drawer.connection, draft, [], at=format_time(at), rules_version=RULES_VERSION)
        if done.outcome not in ("new", "seen"):
            return _not_taken(draft, done)
        candidate = _waiting(drawer, done.id)
        result = _result("waiting", draft.key, draft.scope, done.id, _how_to_approve(here, done.id))
        if not may_ask or candidate is None or candidate.is_put_off(format_time(at)):
            return result
        return _question(drawer, candidate, result)


def _draft(arguments: dict[str, Any]) -> Draft:
    """An agent's word: no probe, less sure."""
    here = this_machine() if arguments["type"] == "capability" else None
    return checked(
        Draft(
            key=arguments["key"],
            type=arguments["type"],
            body=arguments["body"],
            scope=arguments.get("scope", "workspace"),
            confidence=CONFIDENCE["memory_write"],
            trust="assistant",
            origin="memory_write",
            machine_id=here.id if here else "",
            machine_name=here.name if here else "",
        )
    )


def _waiting(drawer: Drawer, candidate_id: str) -> Candidate | None:
    return next((one for one in waiting(drawer.connection, damaged=[]) if one.id == candidate_id), None)


def _not_taken(draft: Draft, done: Proposal) -> dict[str, Any]:
    outcome: Outcome
    if done.outcome == "kept":
        outcome, said = "outweighed", f"Candidate {done.id}, which is better founded, waits under that key; it stays."
    elif done.outcome == "refused":
        outcome, said = "rejected", "The person turned that down before. Do not propose it again."
    else:
        outcome, said = "known", "The memory says so already."
    return _result(outcome, draft.key, draft.scope, done.id, said)


def _how_to_approve(here: Here, candidate_id: str) -> str:
    line = shlex.join(["hikidashi", "-C", str(here.workspace.root), "approve", candidate_id])
    return (
        f"Not kept yet: it waits for the person's yes as candidate {candidate_id}. They say it in a terminal of their "
        f"own, with `{line}` or `hikidashi inbox`; an agent cannot."
    )


def _question(drawer: Drawer, candidate: Candidate, result: dict[str, Any]) -> Question:
    before = drawer.replaced(candidate.key)
    lines = [
        "Keep this in the memory of later sessions? An agent proposes it:",
        "",
        f"{candidate.key} ({candidate.type}, for {_WHERE[candidate.scope]})",
        candidate.body,
    ]
    if before is not None and before.status != "retired":
        lines += ["", f"It would replace what is kept under that key ({before.type}):", before.body]
    form = {"message": _plain("\n".join(lines)), "requestedSchema": _SCHEMA}
    return Question(candidate=candidate, before=before, form=form, result=result)


def answered(folder: Path, question: Question, answer: object) -> dict[str, Any]:
    """What became of a proposal after the dialog; `answer` is the result of `elicitation/create`.

    Raises as `opened_here` does.
    """
    decision = _decision(answer)
    candidate = question.candidate
    if decision not in (KEEP, REJECT):
        said = "The person has not decided. " + question.result["message"]
        return question.result | {"message": said}
    with opened_here(folder) as here:
        drawer = here.drawers.writable(candidate.scope)
        if decision == REJECT:
            done = reject(drawer.connection, [candidate.id])
            said = "The person said no. Do not propose it again." if done else _ELSEWHERE
            return _of(candidate, "rejected" if done else "known", said)
        if _stands(drawer.replaced(candidate.key)) != _stands(question.before):
            return question.result | {"message": f"The fact changed meanwhile. {question.result['message']}"}
        try:
            kept = approve(drawer, [candidate.id], shown={candidate.id: candidate})
        except Conflict:
            said = f"Its text changed meanwhile. {_how_to_approve(here, candidate.id)}"
            return question.result | {"message": said}
    if not kept:
        return _of(candidate, "known", _ELSEWHERE)
    return _of(candidate, "written", "The person said yes: it is in the drawer.")


def _decision(answer: object) -> object:
    """What was chosen; None where nothing was."""
    if not isinstance(answer, dict) or answer.get("action") != "accept":
        return None
    content = answer.get("content")
    return content.get(FIELD) if isinstance(content, dict) else None


def _stands(fact: Fact | None) -> tuple[int, int] | None:
    return None if fact is None else (fact.id, fact.version)


def _of(candidate: Candidate, outcome: Outcome, message: str) -> dict[str, Any]:
    return _result(outcome, candidate.key, candidate.scope, "", message)


def _result(outcome: Outcome, key: str, scope: Scope, waits: str, message: str) -> dict[str, Any]:
    return {"outcome": outcome, "key": key, "scope": scope, "candidate": waits, "message": message}


def _plain(text: str) -> str:
    """`text` without control characters, and without the empty lines by which the end could be pushed out of sight."""
    shown = "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)
    lines = shown.split("\n")
    return "\n".join(line for at, line in enumerate(lines) if line.strip() or (at and lines[at - 1].strip()))
