"""The fold over a session's events that finds activities without a model (design section 5, "Without a model").

`SessionFold` takes the events of one transcript in order. Decisions and attempts are emitted where they happen;
the session's request is emitted by `settle`, once the session is at rest. The state between two readings is
small, redacted JSON; reading a file in pieces gives the same entries as reading it at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from hikidashi.capture import decisions
from hikidashi.capture.asks import PLAN_PREFIX, ask_kind
from hikidashi.capture.attempts import Attempts
from hikidashi.capture.choices import contrastive_choice
from hikidashi.capture.entries import attempt_entry, decision_entry, request_entry
from hikidashi.capture.finished import Proofs
from hikidashi.capture.passages import Passage, Place, redacted
from hikidashi.capture.requests import Ending, Hard, Turn, outcome_of
from hikidashi.capture.tasks import TASK_TOOLS, Tasks
from hikidashi.capture.topics import branch_topic, tickets_in
from hikidashi.capture.work import EDIT_TOOLS, SHELL_TOOLS, Work
from hikidashi.hosts.transcript import Event
from hikidashi.redact import redact
from hikidashi.staging.entry import Entry

__all__ = ["STATE_VERSION", "Met", "SessionFold", "Signal"]

#: A state of another version is not continued; its file is read from the start.
STATE_VERSION: Final = 1

#: Tools by which the agent asks the person, who answers in the result.
_ASKING_TOOLS: Final = frozenset({"ExitPlanMode", "AskUserQuestion", "exit_plan_mode"})

#: Tickets and branches kept of one session.
MAX_TOPICS: Final = 6

#: Whether another session left the signal (kind, key).
Met = Callable[[str, str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """What this session leaves for another one to meet (table `signals`)."""

    kind: str
    key: str
    at: str


class SessionFold:
    """Events in, entries out. One a transcript file."""

    def __init__(self, host: str, *, sidechain: bool = False, met: Met = lambda _kind, _key: False) -> None:
        self.host = host
        self.sidechain = sidechain
        self._met = met
        self.session_id = ""
        #: Time of the last event, ISO 8601; '' before the first.
        self.last_at = ""
        self._ending = Ending()
        self._attempts = Attempts()
        self._work = Work(self._attempts, self._ending)
        #: The assistant's last words and the last event, each with the last time before it; not read yet.
        self._spoken: tuple[Event, str] | None = None
        self._latest: tuple[Event, str] | None = None
        #: What the assistant said last.
        self._said: Passage | None = None
        #: What it said last, if that asked something.
        self._asked: Passage | None = None
        self._topics: dict[str, None] = {}
        self._told: set[str] = set()
        #: The topic of the branch that was edited on last.
        self._branch = ""
        self._branch_name = ""
        #: Something happened here that no other file told before.
        self._fresh = False
        self._digest = ""
        self._entries: list[Entry] = []
        #: Signals since they were taken last.
        self.signals: list[Signal] = []

    # -- taking events

    def feed(self, event: Event) -> list[Entry]:
        """Take one event; gives the entries that it completes."""
        if event.session_id:
            self.session_id = event.session_id
        if event.at > self.last_at and event.at[:2] == "20" and event.at[10:11] == "T":  # else it is no time
            self.last_at = event.at
        kind = event.kind
        if self._entries:
            self._entries = []
        if kind == "tool_result":
            self._result(event)
        elif kind == "assistant":
            self._assistant(event)
        elif kind == "tool_call":
            if not event.sidechain:
                self._ending.turn.calls += 1
                self._ending.turn.ended = False
        elif kind == "user":
            self._user(event)
        else:
            self._rare(event)
        if not event.repeat and kind not in ("context", "title", "compaction"):
            self._fresh = True
        return self._entries

    def _rare(self, event: Event) -> None:
        if event.kind == "interrupt":
            self._latest = (event, self.last_at)
            self._ending.turn.stopped = self._place(event)
        elif event.kind == "link":
            self._link(event)
        elif event.kind == "context" and event.role == "assistant" and event.text.startswith(PLAN_PREFIX):
            self._user(event)

    def settle(self) -> list[Entry]:
        """The session is at rest: its request, unless it was emitted before and nothing changed since."""
        if self.sidechain or not self._fresh:
            return []
        self._catch_up()
        topic = self._topic()
        outcome = outcome_of(self._ending, met_topic=bool(topic) and self._met("topic", topic))
        if outcome is None or outcome.digest == self._digest:
            return []
        self._digest = outcome.digest
        return [request_entry(self.host, self.session_id, outcome, topic)]

    # -- one kind of event each

    def _place(self, event: Event) -> Place:
        return Place.of(event, self.last_at)

    def _assistant(self, event: Event) -> None:
        if event.sidechain and not self.sidechain:
            return
        self._spoken = self._latest = (event, self.last_at)
        self._ending.turn.ended = True

    def _catch_up(self) -> None:
        """Read what was only noted: the assistant's last words and the place of the last event.

        Most are followed by others before anybody asks, so nothing is made of them when they come.
        """
        if self._spoken is not None:
            event, last_at = self._spoken
            text, place = event.text, Place.of(event, last_at)
            self._said = Passage(text, place, 260)
            asks = "?" in text[-2_400:] or "？" in text[-2_400:] or "ption" in text[-2_400:]
            self._asked = Passage(text, place, 2_400, tail=True) if asks else None
            self._spoken = None
        if self._latest is not None:
            self._ending.last = Place.of(*self._latest)
            self._latest = None

    def _user(self, event: Event) -> None:
        if event.sidechain:
            return
        self._catch_up()
        end, text, place = self._ending, event.text, self._place(event)
        kind = ask_kind(text)
        end.prompts += 1
        end.answers = end.answers + 1 if kind == "answer" else 0
        choice = "" if kind == "plan" else contrastive_choice(text, kind)
        if choice:  # as the redacted whole has it: the sentence alone may have lost what gives a secret away
            choice = redact(choice)
            choice = choice if choice in redact(text) else ""
        ask = Passage(text, place, 600) if kind in ("ask", "plan") and not choice else None
        end.turn = Turn(ask=ask, ended=False)
        self._latest = (event, self.last_at)
        if ask is not None:
            end.asked(ask)
        if kind not in ("paste", "command"):
            for ticket in tickets_in(text[:1_000]):
                if len(self._topics) < MAX_TOPICS:
                    self._topics.setdefault(f"ticket:{ticket}")
        if not event.repeat:
            self._decide(event, place, choice, kind == "plan")

    def _decide(self, event: Event, place: Place, choice: str, plan: bool) -> None:
        """Decisions that a prompt holds. The prompt is redacted while it is whole."""
        found, first = None, place
        if plan:
            found = decisions.approved_plan(redact(event.text).strip().removeprefix(PLAN_PREFIX))
        elif self._asked is not None and decisions.may_pick(event.text):
            found = decisions.picked_option(event.text, self._asked.text)
            first = self._asked.place if found else place
        if found is None and choice:
            found = decisions.stated_choice(choice)
        if found is not None:
            self._emit_decision(found, first, place)

    def _emit_decision(self, found: decisions.Finding, first: Place, place: Place) -> None:
        self._entries.append(decision_entry(self.host, self.session_id, found, first, place, self._topic()))

    def _link(self, event: Event) -> None:
        if "/pull/" in event.text or "/merge_requests/" in event.text:
            url = event.text.strip()
            if not any(proof.kind == "pr" and url in proof.line.text for proof in self._ending.proofs.items):
                self._ending.proofs.add(
                    "pr", "", f"pull request opened: {url}", self._place(event), self._ending.prompts
                )

    def _result(self, event: Event) -> None:
        tool, end = event.tool, self._ending
        if not event.sidechain:
            end.turn.ended = False
        if tool in SHELL_TOOLS:
            self._ran(event)
        elif tool in EDIT_TOOLS:
            if self._work.diagnoses:
                self._catch_up()
            self._work.edited(event, self._said)
            if not event.sidechain:
                self._note_branch(event)
        elif tool in TASK_TOOLS and not event.sidechain:
            self._tasks(event)
        elif tool in _ASKING_TOOLS and not (event.sidechain or event.repeat):
            self._answered(event)
        if not event.sidechain:
            self._latest = (event, self.last_at)

    def _answered(self, event: Event) -> None:
        """The person approved a plan or answered a question."""
        if event.outcome != "ok" or event.refused:
            return
        if event.tool == "AskUserQuestion":
            result = redacted(event.result) if event.result else None
            found = decisions.answered_questions(result, redacted(event.input), redact(event.text))
        elif (event.result or {}).get("awaitingLeaderApproval"):
            return  # handed to another agent
        else:
            told = (event.result or {}).get("plan") or event.text.partition("Approved Plan:")[2]
            plan = event.input.get("plan") or told
            found = decisions.approved_plan(redact(plan)) if isinstance(plan, str) else None
        if found is not None:
            self._emit_decision(found, self._call_place(event), self._place(event))

    def _call_place(self, event: Event) -> Place:
        place = self._place(event)
        return (
            Place(event.call_line, event.call_uuid, place.at, place.anchor)
            if 0 <= event.call_line <= event.line
            else place
        )

    def _ran(self, event: Event) -> None:
        run = self._work.read(event)
        if run is None:
            return
        if self._work.diagnoses:
            self._catch_up()
        place = self._place(event)
        solved, failure = self._work.ran(event, run, place, self._said)
        if event.repeat:
            return
        if failure:
            self.signals.append(Signal(kind="failure", key=failure, at=place.at))
        if solved is not None and (not solved.needs_signal or self._met("failure", solved.failure.sign)):
            self._entries.append(attempt_entry(self.host, self.session_id, solved))

    def _tasks(self, event: Event) -> None:
        end, place = self._ending, self._place(event)
        if event.outcome == "failed":
            return
        fresh = False
        if event.tool == "TodoWrite":
            fresh = end.tasks.write(event.input.get("todos"), place, end.prompts)
        elif event.tool == "TaskCreate":
            fresh = end.tasks.create(event.input, event.text, place, end.prompts)
        else:
            end.tasks.update(event.input, place, end.prompts)
        if fresh:
            end.tasks_ask, end.tasks_since = end.ask_at(end.prompts, end.answers), end.prompts

    def _note_branch(self, event: Event) -> None:
        """An edit on a branch: the branch, and the tickets named so far, are what this session works on."""
        if event.branch != self._branch_name:
            self._branch_name = event.branch
            topic = branch_topic(event.branch)
            if topic:
                self._branch = topic
                if len(self._topics) < MAX_TOPICS:
                    self._topics.setdefault(topic)
        if event.repeat:
            return
        for key in self._topics:
            if key not in self._told:
                self._told.add(key)
                self.signals.append(Signal(kind="topic", key=key, at=event.at or self.last_at))

    def _topic(self) -> str:
        """What ties this session to others: a branch's ticket, else one that a person named, else a branch."""
        tickets = [topic for topic in self._topics if topic.startswith("ticket:")]
        return self._branch if self._branch in tickets else next(iter(tickets or self._topics), "")

    # -- state between two readings

    def to_state(self) -> dict[str, Any]:
        """The state as JSON: small, redacted."""
        self._catch_up()
        end = self._ending
        passages = (end.tasks_ask, self._said, self._asked)
        return {
            "version": STATE_VERSION,
            "session_id": self.session_id,
            "last_at": self.last_at,
            "counts": [end.prompts, end.answers, end.tasks_since, end.uncommitted, end.edits],
            "passages": [passage.to_state() if passage else None for passage in passages],
            "asks": [[number, ask.to_state()] for number, ask in end.asks],
            "last": end.last.to_state() if end.last else None,
            "tasks": end.tasks.to_state(),
            "proofs": end.proofs.to_state(),
            "hard": end.hard.to_state() if end.hard else None,
            "turn": end.turn.to_state(),
            "attempts": self._attempts.to_state(),
            "topics": list(self._topics),
            "told": sorted(self._told),
            "branch": self._branch,
            "fresh": self._fresh,
            "digest": self._digest,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `to_state`'s form. Raises `ValueError` for a state of another version."""
        if state.get("version") != STATE_VERSION:
            raise ValueError("state of another version")
        self.session_id, self.last_at = state["session_id"], state["last_at"]
        passages = [Passage.from_state(passage) if passage else None for passage in state["passages"]]
        tasks_ask, self._said, self._asked = passages
        prompts, answers, tasks_since, uncommitted, edits = state["counts"]
        self._ending = Ending(
            tasks=Tasks.from_state(state["tasks"]),
            tasks_ask=tasks_ask,
            proofs=Proofs.from_state(state["proofs"]),
            hard=Hard.from_state(state["hard"]) if state["hard"] else None,
            turn=Turn.from_state(state["turn"]),
            prompts=prompts,
            answers=answers,
            tasks_since=tasks_since,
            asks=[(number, Passage.from_state(ask)) for number, ask in state["asks"]],
            uncommitted=uncommitted,
            edits=edits,
            last=Place.from_state(state["last"]) if state["last"] else None,
        )
        self._attempts = Attempts.from_state(state["attempts"])
        self._work = Work(self._attempts, self._ending)
        self._topics = dict.fromkeys(state["topics"])
        self._told = set(state["told"])
        self._branch = state["branch"]
        self._fresh, self._digest = state["fresh"], state["digest"]
