"""UserPromptSubmit: the few facts that the prompt is about. Standard library only."""

from __future__ import annotations

from hikidashi.recall.inject import block, mark
from hikidashi.recall.match import recall
from hikidashi.recall.question import PROMPT, Question, Voice, is_thin
from hikidashi.recall.seen import note_turn
from hikidashi.rules_version import RULES_VERSION
from hikidashi.serve.host_event import Reply

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

    from hikidashi.serve.place import Here

__all__ = ["VIA", "at_prompt", "branch_of"]

#: What uses are noted as.
VIA: Final = "hook"

#: Prompts that the host writes by itself.
_NOBODY: Final = ("system", "poll_event")
#: A prompt of fewer characters may lean on the one before.
_SHORT: Final = 120


def at_prompt(here: Here) -> Reply:
    """What the turn is given. Raises as `recall` does."""
    event, settings, session = here.event, here.settings, here.session
    if not settings.flag("recall.each_turn") or event.source in _NOBODY or not event.prompt.strip():
        return Reply()
    question = Question(
        event.prompt,
        branch=branch_of(here.place.git),
        before=_prompt_before(here),
        project=here.place.root.replace("\\", "/").rpartition("/")[2],
    )
    found = recall(
        question,
        here.drawers,
        top_k=settings.number("recall.top_k"),
        max_tokens=settings.number("recall.max_tokens"),
        now=here.now,
        machine_id=here.machine_id,
        given=session.given,
        rules_version=RULES_VERSION,
    )
    facts, rules = ([match.fact for match in some] for some in (found.facts, found.rules))
    text = block(facts, rules, now=here.now, machine_id=here.machine_id)

    def keep() -> None:
        session.given.update(dict.fromkeys(map(mark, (*facts, *rules))))
        if text or not session.is_known:
            here.save(transcript=event.transcript)
        if not session.paused:
            note_turn(found, here.databases, session_id=event.session_id, via=VIA, at=here.now)

    return Reply(context=text, after=[keep])


def _prompt_before(here: Here) -> str:
    """The prompt before, where this one is short; only then the transcript is opened."""
    event = here.event
    if not event.transcript or len(event.prompt) > _SHORT or not is_thin(_voice(event.prompt)):
        return ""
    from hikidashi.serve.tail import read_tail

    return read_tail(event.transcript).prompt_before(event.prompt)


def _voice(prompt: str) -> Voice:
    from hikidashi.drawer.terms import tokens

    return Voice(PROMPT, tokens(prompt, 0))


def branch_of(git: str) -> str:
    """The branch that is checked out, as `.git/HEAD` says; '' for none."""
    if not git:
        return ""
    try:
        with open(f"{git}/HEAD", encoding="utf-8", errors="replace") as file:
            head = file.read(1_000).strip()
    except OSError:
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""
