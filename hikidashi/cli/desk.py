"""The person's side of the gate: what waits in both drawers, and who may decide it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hikidashi.cli.context import OpenedDrawers, only_person, opened_drawers
from hikidashi.cli.output import amount, warn
from hikidashi.drawer.candidates import Candidate, DamagedCandidate, ranked, waiting
from hikidashi.drawer.decisions import Edit, completed, edited
from hikidashi.drawer.fact import Draft, Fact, FactType, Sighting
from hikidashi.drawer.gate import sweep
from hikidashi.drawer.person import Left
from hikidashi.drawer.reading import sound_fact
from hikidashi.drawer.selection import decided_as, named, of_kind
from hikidashi.drawer.sightings import sightings_of
from hikidashi.drawer.store import Drawer
from hikidashi.errors import NoSuchFact, UsageError
from hikidashi.times import format_time, now

__all__ = ["Desk", "opened_desk"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The candidates of a place."""

    here: OpenedDrawers
    #: All that wait, what matters first, those that were put off at the end.
    candidates: tuple[Candidate, ...]
    #: How many of them were put off.
    put_off: int
    #: Those whose rows cannot be read.
    damaged: tuple[DamagedCandidate, ...] = ()

    def drawer(self, candidate: Candidate) -> Drawer:
        """The drawer of a candidate's scope."""
        return self.here.drawers.writable(candidate.scope)

    def standing(self, candidate: Candidate) -> Fact | None:
        """The fact that a yes would replace; None also where its row is damaged, for a yes mends that."""
        return sound_fact(self.drawer(candidate).connection, candidate.scope, candidate.key)

    def proposal(self, candidate: Candidate, edit: Edit | None = None) -> Draft:
        """What a yes would write, with what a person changed. Raises `UsageError` for what can be no key."""
        draft = candidate.draft() if edit is None else edited(candidate.draft(), edit)
        return completed(draft, self.drawer(candidate).replaced(draft.key), edited=edit is not None)

    def evidence(self, candidate: Candidate) -> list[Sighting]:
        """What was seen of a candidate's key, oldest first."""
        return sightings_of(self.drawer(candidate).connection, candidate.scope, candidate.key)

    def chosen(self, names: Sequence[str], verbs: Sequence[str], types: Sequence[FactType]) -> list[Candidate]:
        """The candidates that a command line means, each once, in its order: those named, and all of these kinds.

        Raises `NoSuchFact` for a name that none has or a kind of which none waits, `UsageError` when it means none
        in particular.
        """
        if not names and not verbs and not types:
            raise UsageError("say which: give IDs or keys (`hikidashi candidates` lists them), --verb or --type")
        found: dict[str, Candidate] = {}
        for name in names:
            candidate = named(name, self.candidates)
            if candidate is None:
                connections = [drawer.connection for drawer in self.here.drawers.existing()]
                raise decided_as(name, connections, self.candidates)
            found[candidate.id] = candidate
        if verbs or types:
            alike = of_kind(self.candidates, verbs=verbs, types=types)
            self._expect_each(verbs, types, alike)
            found |= {candidate.id: candidate for candidate in alike}
        return list(found.values())

    def _expect_each(self, verbs: Sequence[str], types: Sequence[FactType], alike: Sequence[Candidate]) -> None:
        """Whoever asked for two kinds counts on both."""
        no_verb = [verb for verb in verbs if all(candidate.verb != verb for candidate in alike)]
        no_type = [type for type in types if all(candidate.type != type for candidate in alike)]
        if no_verb or no_type:
            asked = (*no_verb, *types) if no_verb else (*verbs, *no_type)
            kinds = sorted({candidate.verb or candidate.type for candidate in self.candidates})
            mend = f"there are some of {', '.join(kinds)}" if kinds else "`hikidashi extract` proposes some"
            raise NoSuchFact(f"no candidate of {' and '.join(asked)} waits: {mend}")

    def only_person(self, *words: str, chosen: Sequence[Candidate] = ()) -> None:
        """Refuse a decision to an agent (`GateClosed`); the candidates go on waiting."""
        folder = self.here.workspace.root if self.here.workspace is not None else None
        only_person(self.here.settings, *words, folder=folder, leave=lambda: _still_waiting(chosen or self.candidates))


def _still_waiting(candidates: Sequence[Candidate]) -> Left:
    if len(candidates) > 3:
        return Left(f"{amount(len(candidates), 'candidate')} go on waiting")
    names = ", ".join(f"{candidate.id} ({candidate.key})" for candidate in candidates)
    return Left(f"{names} {'goes' if len(candidates) == 1 else 'go'} on waiting" if names else "")


@contextlib.contextmanager
def opened_desk() -> Iterator[Desk]:
    """The candidates of the current folder's workspace and of the user's own drawer. Raises as `opened` does."""
    with opened_drawers() as here:
        at = now()
        found: list[Candidate] = []
        damaged: list[DamagedCandidate] = []
        for drawer in here.drawers.existing():
            sweep(drawer.connection, at, days=here.settings.gate.expire_days)
            found += waiting(drawer.connection, damaged=damaged)
        text = format_time(at)
        order = ranked(found, at)
        shown = [candidate for candidate in order if not candidate.is_put_off(text)]
        hidden = [candidate for candidate in order if candidate.is_put_off(text)]
        for one in damaged:
            warn(str(one))
        yield Desk(here=here, candidates=(*shown, *hidden), put_off=len(hidden), damaged=tuple(damaged))
