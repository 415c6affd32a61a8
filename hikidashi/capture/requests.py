"""How a session ended: with work left, with finished work, or with neither. At most one request a session.

Work is left when the agent's last list has open items, when the last hard outcome (test, build, deployment …)
failed, when the person or a limit cut the work off, or when a ticket or branch is met in a second session.
Finished work needs a proof. Talk leaves nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from hikidashi.capture.asks import PLAN_PREFIX, ask_title, own_words
from hikidashi.capture.decisions import enough_quote
from hikidashi.capture.finished import Proof, Proofs, is_housekeeping, telling
from hikidashi.capture.passages import Passage, Place, cut
from hikidashi.capture.tasks import Tasks
from hikidashi.source import Trust

__all__ = ["Ending", "Hard", "Outcome", "Turn", "outcome_of"]

#: A list that was not touched for this many prompts belongs to work that is over.
STALE_PROMPTS: Final = 6

#: A failure this many prompts ago is no longer what the session ended with.
FAILURE_PROMPTS: Final = 1

#: Asks that are remembered.
MAX_ASKS: Final = 4


@dataclass(slots=True)
class Hard:
    """The last hard outcome, when it was a failure."""

    family: str
    command: Passage
    error: Passage
    #: Number of the prompt during which it failed.
    prompt: int

    def to_state(self) -> list[Any]:
        """The JSON form."""
        return [self.family, self.command.to_state(), self.error.to_state(), self.prompt]

    @classmethod
    def from_state(cls, data: Any) -> Hard:
        """Read `to_state`'s form."""
        return cls(data[0], Passage.from_state(data[1]), Passage.from_state(data[2]), data[3])


@dataclass(slots=True)
class Turn:
    """The person's last prompt and what came of it so far."""

    #: What was asked; None when it was nothing that stands on its own.
    ask: Passage | None = None
    #: Calls and changes since.
    calls: int = 0
    changes: int = 0
    #: The assistant spoke last: the turn came to its end.
    ended: bool = True
    #: Where the person or a limit stopped it.
    stopped: Place | None = None

    def to_state(self) -> list[Any]:
        """The JSON form."""
        stopped = self.stopped.to_state() if self.stopped else None
        return [self.ask.to_state() if self.ask else None, self.calls, self.changes, self.ended, stopped]

    @classmethod
    def from_state(cls, data: Any) -> Turn:
        """Read `to_state`'s form."""
        ask, stopped = Passage.from_state(data[0]) if data[0] else None, Place.from_state(data[4]) if data[4] else None
        return cls(ask, data[1], data[2], data[3], stopped)


@dataclass(slots=True)
class Ending:
    """What the end of a session is judged by."""

    tasks: Tasks = field(default_factory=Tasks)
    #: The ask during which the list was begun.
    tasks_ask: Passage | None = None
    #: Number of the prompt during which it was begun.
    tasks_since: int = 0
    proofs: Proofs = field(default_factory=Proofs)
    hard: Hard | None = None
    turn: Turn = field(default_factory=Turn)
    #: How many of the last prompts only said yes or go on.
    answers: int = 0
    #: Prompts so far, and the last asks that stand on their own with the number of their prompt.
    prompts: int = 0
    asks: list[tuple[int, Passage]] = field(default_factory=list)
    #: Files edited since the last commit and in all.
    uncommitted: int = 0
    edits: int = 0
    #: The last event.
    last: Place | None = None

    def asked(self, ask: Passage) -> None:
        """A prompt that stands on its own."""
        self.asks = [*self.asks[-(MAX_ASKS - 1) :], (self.prompts, ask)]

    def telling_ask(self, prompt: int) -> Passage | None:
        """Of the asks shortly before a prompt, the one that says most; the newest of equals."""
        near = [ask for number, ask in self.asks if prompt - 3 <= number <= prompt]
        return max(reversed(near), key=lambda ask: min(len(own_words(ask_title(ask.text))), 8), default=None)

    def ask_at(self, prompt: int, reach: int = 3) -> Passage | None:
        """What the work of a prompt was asked with: at most `reach` prompts before it."""
        return next((ask for number, ask in reversed(self.asks) if prompt - reach <= number <= prompt), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a session leaves as its request."""

    status: Literal["open", "done"]
    title: str
    body: str
    why: str
    quote: str
    trust: Trust
    anchor: Place
    first: Place
    #: Says the same about the same things: nothing is emitted twice in a row for one.
    digest: str


def outcome_of(end: Ending, *, met_topic: bool) -> Outcome | None:
    """The outcome of a settled session; `met_topic`: its ticket or branch was met in another session too."""
    items = _open_items(end)
    if items:
        assert end.tasks.place is not None  # a list has a place
        ask = end.tasks_ask if end.tasks.prompt - end.tasks_since <= 1 else None
        return _open(end, ask, end.tasks.place, items)
    if end.hard is not None and end.prompts - end.hard.prompt <= FAILURE_PROMPTS:
        return _open(end, end.ask_at(end.hard.prompt, end.answers), end.hard.command.place, [])
    stopped = _stopped(end)
    if stopped is not None:
        return _open(end, end.ask_at(end.prompts, end.answers), stopped, [])
    done = _done(end)
    if done is None and met_topic and end.uncommitted and end.last is not None:
        return _open(end, end.ask_at(end.prompts, end.prompts), end.last, [])
    return done


def _open_items(end: Ending) -> list[Passage]:
    """Open items of a list that is still what the session was about."""
    tasks = end.tasks
    items = tasks.open
    if not items or tasks.place is None or end.prompts - tasks.prompt >= STALE_PROMPTS:
        return []
    shipped = any(
        proof.kind in ("pr", "merge", "push", "deploy", "publish", "commit") and proof.place.line > tasks.place.line
        for proof in end.proofs.items
    )
    if shipped and not end.uncommitted and (tasks.pending == 0 or len(tasks.done) >= 3 * len(items)):
        return []  # the list was forgotten: the work was shipped after it
    return items


def _stopped(end: Ending) -> Place | None:
    """Where the last turn was cut off, when it had begun to change something and was not finished already."""
    turn = end.turn
    if _all_done(end):
        return None
    if turn.stopped is not None:
        return turn.stopped
    if turn.ended or not turn.changes:
        return None
    shipped = any(proof.prompt == end.prompts and proof.kind in ("commit", "push", "pr") for proof in end.proofs.items)
    return None if shipped and not end.uncommitted else end.last


def _all_done(end: Ending) -> bool:
    """Whether the last prompt's list is done to its last item, and something was changed for it."""
    tasks = end.tasks
    return bool(tasks.done) and not tasks.unticked and end.turn.changes > 0 and tasks.prompt == end.prompts


def _wanted(ask: Passage | None) -> tuple[str, str, str, Trust]:
    """Title, why, quote and trust that a person's words give; empty and `assistant` for none."""
    if ask is None:
        return "", "", "", "assistant"
    words = ask.line.removesuffix("…").rstrip()
    if words.startswith(PLAN_PREFIX):  # the person approved it, the words are the model's
        return ask_title(ask.text), "A person approved this plan.", words, "assistant"
    trust: Trust = "user" if enough_quote(words) else "assistant"
    return ask_title(ask.text), f"The person asked: “{cut(ask.line, 400)}”", words, trust


def _open(end: Ending, ask: Passage | None, anchor: Place, items: list[Passage]) -> Outcome | None:
    title, why, quote, trust = _wanted(ask)
    parts = []
    if items:
        parts.append("Left open:\n" + "\n".join(f"- {item.line}" for item in items[:10]))
        if len(items) > 10:
            parts.append(f"… and {len(items) - 10} more")
        if not title:
            title, trust, quote = cut(items[0].line, 160), "assistant", items[0].line
    hard = end.hard
    if hard is not None and end.prompts - hard.prompt <= FAILURE_PROMPTS:
        tried = f"`{cut(hard.command.line, 160)}` failed: {cut(hard.error.line, 240)}"
        parts.append(f"Tried last: {tried}")
        if not title:
            title, trust, quote = cut(tried, 180), "assistant", ""
    elif not items:
        parts.append(
            "The work was cut off before it was finished." if _stopped(end) else "Edits were left uncommitted."
        )
    done = _proof_lines(end, end.proofs.ranked(), False)[:4]
    if done:
        parts.append("Done so far:\n" + "\n".join(f"- {line}" for line in done))
    if not title:
        return None
    digest = f"open:{anchor.anchor}:{len(items)}"
    first = ask.place if ask is not None and ask.place.line <= anchor.line else anchor
    body = "\n\n".join(parts)
    return Outcome(
        status="open",
        title=title,
        body=body,
        why=why,
        quote=quote,
        trust=trust,
        anchor=anchor,
        first=first,
        digest=digest,
    )


def _named(end: Ending) -> tuple[str, Proof | None]:
    """What a line about finished work says was done, and the proof that says so."""
    ranked = end.proofs.ranked()
    for kind in ("pr", "commit"):
        named = [proof for proof in ranked if proof.kind == kind and proof.what is not None]
        best = min(named, key=lambda proof: telling(proof.what.text) if proof.what else 3, default=None)
        if best is not None and best.what is not None and telling(best.what.text) < 3:
            return best.what.line, best
    return "", None


def _done(end: Ending) -> Outcome | None:
    """Finished work, when there is a proof of it."""
    ranked = end.proofs.ranked()
    all_done = _all_done(end)
    shipped = any(proof.kind not in ("test", "build") for proof in ranked)
    if not shipped and not all_done and not (ranked and end.edits and end.turn.ended):
        return None
    title, why, quote, trust, ask = _done_as(end, all_done)
    if not title:
        return None
    anchor = max((proof.place for proof in ranked), key=lambda place: place.line, default=end.tasks.place)
    assert anchor is not None  # a proof or the list
    first = ask.place if ask is not None and ask.place.line <= anchor.line else anchor
    return Outcome(
        status="done",
        title=title,
        body="\n".join(f"- {line}" for line in _proof_lines(end, ranked, all_done)),
        why=why,
        quote=quote,
        trust=trust,
        anchor=anchor,
        first=first,
        digest=f"done:{anchor.anchor}",
    )


def _done_as(end: Ending, all_done: bool) -> tuple[str, str, str, Trust, Passage | None]:
    """What finished work is called: as a pull request or commit names it, as it was asked for, or as it was listed."""
    title, named = _named(end)
    if named is not None and named.what is not None:
        ask = end.ask_at(named.prompt, 4)
        if ask is not None and _about(ask.text, named.what.text):
            return title, _wanted(ask)[1], named.what.line, "assistant", ask
        return title, "", named.what.line, "assistant", None
    ranked = end.proofs.ranked()
    ask = end.tasks_ask if all_done and end.tasks_since >= end.prompts - 2 else None
    if ask is None and ranked:
        ask = end.telling_ask(max(proof.prompt for proof in ranked))
    if ask is not None:
        return *_wanted(ask), ask
    if all_done:
        return _listed(end), "", end.tasks.done[0].line, "assistant", None
    out = next((proof for proof in ranked if proof.kind in ("deploy", "publish")), None)
    if out is not None:
        word = "Deployed" if out.kind == "deploy" else "Published"
        return f"{word}: {out.line.line.removesuffix(' succeeded')}", "", "", "assistant", None
    return "", "", "", "assistant", None


#: Steps that only prepare or check.
_STEP: Final = re.compile(
    r"(?:navigate|read|check|verify|review|analy[sz]e|examine|explore|look|find|search|investigate|understand|test|run|backup"
    r"|create (?:a )?backup|verificar|revisar|analisar|analizar|confirm|confirmar|testar|probar|vérifier|prüfen|確認)",
    re.IGNORECASE,
)


def _listed(end: Ending) -> str:
    """The done items as a title: what was made before what was looked at."""
    items = [item.line for item in end.tasks.done]
    items = [item for item in items if not _STEP.match(item)] or items
    return cut("; ".join(cut(item, 60) for item in items[:3]), 160)


def _about(asked: str, done: str) -> bool:
    """Whether an ask and what was done share a word of their own."""
    return bool(own_words(asked) & own_words(done))


def _proof_lines(end: Ending, ranked: list[Proof], all_done: bool) -> list[str]:
    told = [p for p in ranked if p.kind != "commit" or (p.what is not None and not is_housekeeping(p.what.text))]
    lines = list(dict.fromkeys(proof.line.line for proof in told))[:6]
    if end.proofs.commits > max(sum(1 for proof in told[:6] if proof.kind == "commit"), 1):
        lines.append(f"{end.proofs.commits} commits in all")
    if all_done:
        lines.append(f"all {len(end.tasks.done)} items of the list are done")
    return lines
