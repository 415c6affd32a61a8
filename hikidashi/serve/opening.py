"""SessionStart and SubagentStart: what a session knows from its start (design section 9). Standard library only.

Rules, the summary's first section, resident knowledge, facts and notices, each within its own size, so that the whole
stays below the 8,000 characters that every host takes. After a resume or a fork the transcript still holds what was
given: only what changed since is told.
"""

from __future__ import annotations

import os

from hikidashi.config.glance import digest
from hikidashi.recall.inject import START_HEAD, mark, wrapped
from hikidashi.recall.seen import note_uses
from hikidashi.recall.start import facts_section, quoted_section, rules_section
from hikidashi.serve.host_event import Reply
from hikidashi.serve.notices import notices
from hikidashi.serve.residents import first_section, residents
from hikidashi.serve.turn import VIA

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from hikidashi.drawer.fact import Fact
    from hikidashi.recall.lookup import Note
    from hikidashi.recall.start import Section
    from hikidashi.serve.place import Here

__all__ = ["at_start", "at_subagent_start"]

#: Characters of the parts that are made here; `recall.start` has those of rules and facts.
_SUMMARY: Final = 3_000
_RESIDENT: Final = 1_500
_NOTICES: Final = 400

#: Facts and rules that are looked at, many more than fit.
_RULES_READ: Final = 60
_FACTS_READ: Final = 16

#: A resumed transcript is searched for our text so far.
_SEARCHED: Final = 64 * 1024 * 1024
_BLOCK: Final = 1 << 20


def at_start(here: Here) -> Reply:
    """What a session is given at its start. Raises as the database does."""
    event, session = here.event, here.session
    goes_on = event.source in ("resume", "fork") and _was_given(here)
    if not goes_on:
        session.forget()
    told, to_person, keep_told = notices(here)
    if not here.settings.flag("recall.at_start"):
        return Reply(to_person=to_person, after=[keep_told, lambda: here.save(transcript=event.transcript)])
    rules, facts = here.notes("rules", limit=_RULES_READ), here.notes("facts", limit=_FACTS_READ)
    if goes_on:
        rules, facts = _changed(here, rules, new_too=session.is_known), _changed(here, facts, new_too=False)
    records = {"summary": _summary(here), "residents": _residents(here)}
    digests = {name: digest(text.encode("utf-8", "replace"))[:16] for name, text in records.items()}
    if goes_on:
        before = session.data.get("start")
        before = before if isinstance(before, dict) else digests  # a fork: what it was given is not known here
        records = {name: text for name, text in records.items() if before.get(name) != digests[name]}
    sections = _sections(here, rules, facts)
    texts = [*(section.text for section in sections), *records.values(), "" if goes_on else told[:_NOTICES]]
    given = [note for section in sections for note in section.facts]

    def keep() -> None:
        session.given.update(dict.fromkeys(map(mark, given)))
        here.save(transcript=event.transcript, start=digests)
        _note(here, given)

    context = wrapped([text for text in texts if text], head=START_HEAD)
    return Reply(context=context, to_person=to_person, after=[keep_told, keep])


def at_subagent_start(here: Here) -> Reply:
    """What a sub-agent is given: it sees nothing of what its session was told. Rules and facts only."""
    if not here.event.agent_type or not here.settings.flag("recall.at_start"):
        return Reply()
    sections = _sections(here, here.notes("rules", limit=_RULES_READ), here.notes("facts", limit=_FACTS_READ))
    given = [note for section in sections for note in section.facts]
    context = wrapped([section.text for section in sections if section.text], head=START_HEAD)
    return Reply(context=context, after=[lambda: _note(here, given)])


def _sections(here: Here, rules: list[Note], facts: list[Note]) -> tuple[Section, Section]:
    """Rules and facts as they are shown."""
    return (
        rules_section(rules, now=here.now, machine_id=here.machine_id),
        facts_section(facts, now=here.now, machine_id=here.machine_id),
    )


def _note(here: Here, given: Sequence[Fact | Note]) -> None:
    """Note what was shown."""
    if here.session.paused:
        return
    for scope, path in here.databases.items():
        ids = [note.id for note in given if note.scope == scope]
        note_uses(path, [], ids, session_id=here.event.session_id, via=VIA, at=here.now)


def _changed(here: Here, notes: list[Note], *, new_too: bool) -> list[Note]:
    """Those of which the session was given another version; `new_too`: or nothing."""
    given = here.session.given
    named = {name.partition("#")[0] for name in given}
    new = [note for note in notes if mark(note) not in given]
    return new if new_too else [note for note in new if mark(note).partition("#")[0] in named]


def _summary(here: Here) -> str:
    text = first_section(os.path.join(here.place.home, "memory", "summary.md"))
    return quoted_section("Summary of what was done here lately:", text, "memory/summary.md", limit=_SUMMARY)


def _residents(here: Here) -> str:
    lines = [f"{name}: {description}" for name, description in residents(os.path.join(here.place.home, "knowledge"))]
    return quoted_section(
        "Knowledge on record, each in .hikidashi/knowledge/<name>.md:", "\n".join(lines), "knowledge/", limit=_RESIDENT
    )


def _was_given(here: Here) -> bool:
    """Whether the conversation that goes on holds our text already."""
    if here.session.is_known:
        return True
    sign = b"hikidashi-memory>"
    try:
        with open(here.event.transcript, "rb") as file:
            before = b""
            for _ in range(_SEARCHED // _BLOCK):
                data = file.read(_BLOCK)
                if not data:
                    return False
                if sign in before + data:
                    return True
                before = data[-len(sign) :]
    except (OSError, ValueError):
        pass
    return False
