"""`inbox`: going through the candidates at a terminal, one key a decision."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

import click

from hikidashi.cli.candidate_edit import edit_candidate
from hikidashi.cli.candidate_view import desk_form, show_candidate, show_change, show_list
from hikidashi.cli.desk import Desk, opened_desk
from hikidashi.cli.keys import Keys
from hikidashi.cli.output import amount, emit_json, json_option, note, say
from hikidashi.drawer.candidates import Candidate
from hikidashi.drawer.decisions import LATER_DAYS, Decided, Edit, approve, later, reject, undo
from hikidashi.drawer.selection import of_kind
from hikidashi.errors import Conflict, HikidashiError, UsageError

__all__ = ["KEYS", "inbox_command"]

#: Key -> what it does; the page of the documentation has the same table.
KEYS: Final = {
    "a": "Approve it: it goes into the drawer as it is shown.",
    "e": "Edit it in your editor first, then approve it. An emptied file changes nothing.",
    "r": "Reject it: it does not come back unless its content changes.",
    "l": f"Later: it is not shown for {LATER_DAYS} days.",
    "u": "Undo the last decision, and look at that candidate again.",
    "v": "Approve all of this verb (of this type, where there is no verb), after a list and a question.",
    "q": "Quit. What was decided stays decided; the rest waits.",
    "?": "These keys.",
}

#: Keys that leave, too: Ctrl+D, Escape, and none at all, when the terminal was closed.
_LEAVE: Final = ("q", "\x04", "\x1b", "")


@click.command("inbox")
@json_option
def inbox_command(as_json: bool) -> None:
    """Go through the candidates that wait for your yes, what matters first.

    Each is shown with what bears it out, the lines of your sessions where it was seen, and what a yes would change.
    Keys: a approve, e edit, r reject, l later, u undo, v approve all of this verb, q quit, ? help. It needs a
    terminal; with --json it lists the candidates and asks nothing.
    """
    with opened_desk() as desk:
        if as_json:
            emit_json(desk_form(desk))
            return
        desk.only_person("inbox")
        waiting = desk.candidates[: len(desk.candidates) - desk.put_off]
        if not waiting:
            if desk.put_off:
                say(f"Nothing waits. {desk.put_off} put off: `hikidashi candidates --all` lists them.")
            else:
                say("Nothing waits: `hikidashi extract` proposes what your sessions show.")
            return
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError(
                f"the inbox needs a terminal, and {amount(len(waiting), 'candidate waits', 'candidates wait')}: "
                "list them with `hikidashi candidates`, decide with `hikidashi approve ID` and `hikidashi reject ID`"
            )
        with Keys() as keys:
            _Dialog(desk, waiting, keys).run()


class _Dialog:
    """The candidates in their order, and what was decided so far."""

    def __init__(self, desk: Desk, waiting: tuple[Candidate, ...], keyboard: Keys) -> None:
        self._desk = desk
        self._keyboard = keyboard
        self._waiting = list(waiting)
        self._place = 0
        #: One entry a key that decided something; `v` decides several at once.
        self._decided: list[list[Decided]] = []
        self._keys: dict[str, Callable[[Candidate], None]] = {
            "a": self._approve,
            "e": self._edit,
            "r": self._reject,
            "l": self._later,
            "u": self._undo,
            "v": self._approve_kind,
            "?": self._help,
        }

    def run(self) -> None:
        """Show, ask, decide, until the end or until the person leaves. Every decision is kept at once."""
        try:
            while self._place < len(self._waiting):
                candidate = self._waiting[self._place]
                say()
                show_candidate(self._desk, candidate)
                if not self._ask(candidate):
                    return
        finally:
            self._say_end()

    def _ask(self, candidate: Candidate) -> bool:
        """Do what the keys say until another candidate is to be shown; False to leave."""
        place = self._place
        while self._place == place < len(self._waiting) and candidate is self._waiting[place]:
            key = self._read_key(candidate)
            if key in _LEAVE:
                return False
            act = self._keys.get(key)
            if act is None:
                say("? shows the keys.", "dim")
                continue
            try:
                act(candidate)
            except Conflict as exc:
                note(str(exc))
                self._look_again()
            except HikidashiError as exc:  # nothing was decided: the same candidate is asked for again
                note(str(exc))
        return True

    def _read_key(self, candidate: Candidate) -> str:
        kind = candidate.verb or candidate.type
        self._keyboard.forget()
        say()
        say(f"a approve  e edit  r reject  l later  u undo  v all {kind}  q quit  ? help", "bold cyan")
        say(f"[{self._place + 1} of {len(self._waiting)}]", "dim")
        return self._keyboard.read().lower()

    # -- keys

    def _approve(self, candidate: Candidate, edit: Edit | None = None) -> None:
        edits = {} if edit is None else {candidate.id: edit}
        done = approve(self._desk.drawer(candidate), [candidate.id], edits=edits, shown={candidate.id: candidate})
        self._next(done, candidate)
        for decided in done:
            if decided.fact is not None:
                say(f"{decided.fact.key} is in the drawer, version {decided.fact.version}.", "green")

    def _edit(self, candidate: Candidate) -> None:
        with self._keyboard.lent():
            edit = edit_candidate(self._desk.proposal(candidate))
        if edit is None:
            say("Nothing was changed.")
            return
        draft = self._desk.proposal(candidate, edit)
        fact = self._desk.drawer(candidate).find(draft.key)
        if fact is not None and draft.key != candidate.key:
            show_change(fact, draft)
            if not self._yes("Replace it?"):
                return
        self._approve(candidate, edit)

    def _reject(self, candidate: Candidate) -> None:
        self._next(reject(self._desk.drawer(candidate).connection, [candidate.id]), candidate)
        say(f"{candidate.key} was turned down.", "red")

    def _later(self, candidate: Candidate) -> None:
        done = later(self._desk.drawer(candidate).connection, candidate)
        self._next([] if done is None else [done], candidate)
        say(f"{candidate.key} is not shown for {LATER_DAYS} days.")

    def _undo(self, _: Candidate) -> None:
        if not self._decided:
            say("Nothing was decided yet.")
            return
        group = self._decided[-1]
        while group:
            decided = group.pop()
            if not group:
                self._decided.pop()
            undo(self._desk.drawer(decided.candidate), decided)
            self._put_back(decided.candidate)
            say(f"{decided.candidate.key} waits again.", "yellow")

    def _put_back(self, candidate: Candidate) -> None:
        ids = [one.id for one in self._waiting]
        if candidate.id in ids[: self._place]:
            del self._waiting[ids.index(candidate.id)]
            self._place -= 1
        self._waiting.insert(self._place, candidate)

    def _approve_kind(self, candidate: Candidate) -> None:
        """All that wait from here on and are of the same verb or type."""
        rest = self._waiting[self._place :]
        alike = [
            one for one in of_kind(rest, verbs=[candidate.verb], types=[candidate.type]) if one.scope == candidate.scope
        ]
        say()
        show_list(self._desk, alike)
        if not self._yes(f"Approve {'it' if len(alike) == 1 else f'all {len(alike)}'}?"):
            return
        shown = {one.id: one for one in alike}
        done = approve(self._desk.drawer(candidate), list(shown), shown=shown)
        self._decided.append(list(done))
        # Those already decided stand before the place, as if they had been gone through one by one.
        self._waiting[self._place :] = [*alike, *(one for one in rest if one.id not in shown)]
        self._place += len(alike)
        say(f"{amount(len(done), 'fact is', 'facts are')} in the drawer.", "green")

    def _help(self, _: Candidate) -> None:
        for key, does in KEYS.items():
            say(f"{key}  {does}", hang="   ")

    # -- what the keys share

    def _next(self, done: list[Decided], candidate: Candidate) -> None:
        if not done:
            note(f"{candidate.id} did not wait any more: another process decided it")
        else:
            self._decided.append(done)
        self._place += 1

    def _look_again(self) -> None:
        """Somebody changed something: what waits now is what is shown, the decided ones apart."""
        with opened_desk() as fresh:
            now_there = {one.id: one for one in fresh.candidates[: len(fresh.candidates) - fresh.put_off]}
        known = {one.id for one in self._waiting[: self._place]}
        rest = [now_there[one.id] for one in self._waiting[self._place :] if one.id in now_there]
        new = [one for one in now_there.values() if one.id not in known | {one.id for one in rest}]
        self._waiting[self._place :] = [*new, *rest]

    def _yes(self, question: str) -> bool:
        self._keyboard.forget()
        say(f"{question} y/n", "bold")
        return self._keyboard.read().lower() == "y"

    def _say_end(self) -> None:
        counted = {"approved": 0, "rejected": 0, "later": 0}
        for decided in (one for group in self._decided for one in group):
            counted[decided.kind] += 1
        words = {"approved": "approved", "rejected": "rejected", "later": "put off"}
        parts = [f"{number} {words[kind]}" for kind, number in counted.items() if number]
        left = len(self._waiting) - self._place
        parts.append(f"{left} left" if left else "none left")
        say()
        say(", ".join(parts).capitalize() + ".", "bold")
