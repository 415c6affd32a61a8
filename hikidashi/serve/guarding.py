"""Stop: an agent that says it cannot do what it did here before is sent back, once (design section 9, "Guard").

Standard library only. Nearly every message ends here with a search for a few words: the workspace is looked for only
when a message claims an inability. Where the transcript cannot be read nothing is raised, since nobody could tell
whether the call failed in this very turn.
"""

from __future__ import annotations

from hikidashi.recall.guard import challenge, inability
from hikidashi.recall.seen import note_uses
from hikidashi.rules_version import RULES_VERSION
from hikidashi.serve.host_event import Reply

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

    from hikidashi.drawer.fact import Fact
    from hikidashi.serve.host_event import HostEvent
    from hikidashi.serve.place import Here

__all__ = ["at_stop", "claims_inability"]

#: Capabilities and rules that are looked at.
_CAPABILITIES: Final = 1_000
_RULES: Final = 200

_VIA: Final = "guard"


def claims_inability(event: HostEvent) -> bool:
    """Whether the turn's end is worth a look at what is on record."""
    if event.sent_back or event.plan_mode or event.agent_id or not event.message:
        return False
    return bool(inability(event.message))


def at_stop(here: Here) -> Reply:
    """What the turn is sent back with, if anything. Raises as the database does."""
    event, session = here.event, here.session
    if not here.settings.flag("recall.guard") or not session.can_be_kept:  # else it is raised on every turn
        return Reply()
    from hikidashi.serve.tail import read_tail

    tail = read_tail(event.transcript, prompts=1) if event.transcript else None
    if tail is None or not tail.is_read:
        return Reply()
    found = challenge(
        event.message,
        prompt=tail.prompts[0] if tail.prompts else "",
        capabilities=_capabilities(here),
        rules=here.notes("rules", limit=_RULES),
        turn_failures=tail.failures,
        refused=tail.refused,
        plan_mode=event.plan_mode,
        raised_before=session.raised,
        stop_hook_active=event.sent_back,
        now=here.now,
        machine_id=here.machine_id,
    )
    if found is None:
        return Reply()

    def keep() -> None:
        session.raised[found.mark] = None
        here.save()
        if not session.paused:
            path = here.databases[found.fact.scope]
            note_uses(path, [], [found.fact.id], session_id=event.session_id, via=_VIA, at=here.now)

    return Reply(send_back=found.text, after=[keep])


def _capabilities(here: Here) -> list[Fact]:
    """The active capabilities of both scopes, the workspace's key before the user's own."""
    from hikidashi.drawer.reading import DamagedFact, fact_of

    found: dict[str, Fact] = {}
    for scope in here.drawers:
        for row in here.rows("capabilities", scope, rules_version=RULES_VERSION, limit=_CAPABILITIES):
            try:
                found.setdefault(row["key"], fact_of(row))
            except DamagedFact:  # the others are no worse for it
                continue
    return list(found.values())
