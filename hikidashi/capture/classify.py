"""A session's shell calls, read into evidence of what can be done, and evidence into drafts (design section 8).

Events in, evidence out; the state between two readings is small JSON, redacted. Only calls of known tools are
taken apart, for most of a session only looks.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

from hikidashi.capture.calls import Called, called, is_call_of
from hikidashi.capture.checks import check_of
from hikidashi.capture.evidence import Evidence, Nothing
from hikidashi.capture.grammar import Invocation, Reading
from hikidashi.capture.judge import Judgement, LineEnd, judge, line_end
from hikidashi.capture.passages import Place, cut, one_line
from hikidashi.capture.promotion import CHAINED, OF_PROJECT, Grown, Step, draft_of, key_of, of_project, sighting_of
from hikidashi.capture.shell import MAX_COMMAND
from hikidashi.capture.targets import Where, folder_name, is_scratch, main_folder, target_of
from hikidashi.capture.told import parsed, told
from hikidashi.capture.tool_rows import toolbox
from hikidashi.capture.toolbox import Call, Tool, Toolbox, pattern
from hikidashi.capture.work import EDIT_TOOLS, SHELL_TOOLS
from hikidashi.drawer.fact import Draft, Sighting
from hikidashi.hosts.transcript import Event
from hikidashi.redact import redact

__all__ = ["STATE_VERSION", "Promotion", "command_line"]

#: Of the state's form: another one starts anew.
STATE_VERSION: Final = 1

#: Steps, keys and unconfirmed starts that are remembered at most.
MAX_STEPS: Final = 12
MAX_KEYS: Final = 60
MAX_WAITING: Final = 8

#: Characters of a command that is kept of a call that shows nothing, and of the output's line that tells the end.
MAX_TOLD: Final = 300
_SAID: Final = 200

#: Commands that bring new files, and the word of one that did not.
_CHANGES: Final = re.compile(
    r"\b(?:git (?:pull|merge|checkout|clone|reset|apply)|cp|mv|rsync|scp|unzip|tar -?\w*x|sed -i|tee|patch|run build"
    r"|(?:docker|podman) (?:pull|build|load)|(?:npm|pnpm|yarn|bun|pip|composer) (?:ci|i|install|add))\b"
)
_UNCHANGED: Final = re.compile(r"^Already up[ -]to[ -]date|^fatal: |^error: ", re.MULTILINE)

#: Tools whose lines are read; those of PowerShell that hold nothing of its own are read as any other.
_SHELLS: Final = SHELL_TOOLS | {"PowerShell"}


def command_line(event: Event) -> str:
    """The command line of a shell call; '' for any other event. Some hosts give it as a list of words."""
    if event.kind != "tool_result" or event.tool not in _SHELLS:
        return ""
    given = event.input.get("command") or event.input.get("cmd")
    if isinstance(given, list) and all(isinstance(word, str) for word in given):
        if len(given) == 3 and given[1] in ("-c", "-lc", "-ic"):
            return str(given[2])
        return shlex.join(given)
    return given if isinstance(given, str) else ""


class Promotion:
    """Takes the events of one transcript, in order."""

    def __init__(
        self,
        host: str,
        *,
        path: str = "",
        explain: bool = False,
        copies: bool = False,
        project_of: Callable[[str], str] | None = None,
        box: Toolbox | None = None,
    ) -> None:
        """What is remembered of a session starts empty.

        `project_of`: the project's folder of a working folder, '' where it is not known: then it is where the
        session began.
        `copies`: events that another file told count too; who takes the sightings knows them by their anchors.
        """
        self.host, self.path, self.explain, self._copies = host, path, explain, copies
        self._project_of = project_of
        self._box = box
        self._session = ""
        self._root = ""
        self._last_at = ""
        #: Something was changed since the last success of a call that only counts after a change.
        self._changed = False
        self._steps: list[Step] = []
        self._grown: dict[str, Grown] = {}
        #: Starts that count only when a later call shows that they did: evidence, tool, number of the call's row.
        self._waiting: list[tuple[Evidence, str, int, bool]] = []
        #: Keys with new sightings, and the sightings, since `drafts` was asked.
        self._fresh: dict[str, list[Sighting]] = {}
        #: Failed and denied calls, each with what it said.
        self._failures: list[tuple[Sighting, str]] = []
        #: With `explain`: the shell calls that gave no success, and why. The taker empties it.
        self.nothings: list[Nothing] = []

    @property
    def box(self) -> Toolbox:
        """The tool table; loaded when the first shell call asks for it."""
        if self._box is None:
            self._box = toolbox()
        return self._box

    # -- taking events

    def feed(self, event: Event) -> list[Evidence]:
        """Take one event; gives what it shows: successes, failures and denials of known tools."""
        if event.session_id:
            self._session = event.session_id
        if event.at:
            self._last_at = event.at
        if event.cwd and not self._root:
            self._root = main_folder(event.cwd)
        if event.kind != "tool_result" or event.tool not in _SHELLS:
            self._changed = self._changed or (event.tool in EDIT_TOOLS and event.outcome == "ok")
            return []
        line = command_line(event)[:MAX_COMMAND]
        self._changed = self._changed or _changes(line, event)  # `git pull && systemctl restart till` too
        shown, why = self._ran(event, line) if line else ([], "")
        if self.explain and line and not any(evidence.outcome == "ok" for evidence in shown):
            why = next((f"{e.tool} {e.outcome}: {e.said}" for e in shown), why)
            command, why = (cut(one_line(redact(text)), MAX_TOLD) for text in (line, why))
            self.nothings.append(Nothing(line=_call_line(event), command=command, why=why))
        return shown

    def _ran(self, event: Event, line: str) -> tuple[list[Evidence], str]:
        shows, confirms = self.box.may_show(line), bool(self._waiting) and self.box.may_confirm(line)
        if not shows and not confirms:
            return [], "it calls no tool that can show something"
        reading = parsed(line)
        end = line_end(event, reading)
        if isinstance(end, str):
            return [], end
        if reading.broken:
            return [], "the line cannot be read as a command"
        shown, why = (
            self._judge(event, line, reading, end) if shows else ([], "it calls no tool that can show something")
        )
        if self._waiting and self.box.may_confirm(line):  # `systemctl restart till && systemctl status till` too
            shown = self._confirm(reading, end, event) + shown
        return shown, why

    def _repeats(self, event: Event) -> bool:
        return event.repeat and not self._copies

    def _judge(self, event: Event, line: str, reading: Reading, end: LineEnd) -> tuple[list[Evidence], str]:
        shown: list[Evidence] = []
        whys: list[str] = []
        for number, invocation in enumerate(reading.invocations):
            for one, judgement in self._judged(invocation, end, reading):
                if not judgement.outcome:
                    whys.append(f"{one.tool.name}: {judgement.why}")
                    continue
                if one.call.verb in OF_PROJECT and is_scratch(invocation, self._where(event.cwd)):
                    whys.append(f"{one.tool.name}: it ran in a temporary folder")
                    continue
                if reading.dialect != "sh" and not (judgement.outcome == "ok" and judgement.said):
                    whys.append(f"{one.tool.name}: a {reading.dialect} line shows only what its output says")
                    continue
                command = told(line)[number]
                evidence = self._evidence(event, invocation, one, judgement, end, command)
                if judgement.outcome == "ok" and one.call.after_change and not self._take_change():
                    whys.append(f"{one.tool.name}: nothing was changed before it")
                elif judgement.outcome == "ok" and one.call.confirm:
                    self._wait(evidence, one.tool, one.call, repeat=self._repeats(event))
                    whys.append(f"{one.tool.name}: it waits for a look that confirms it")
                elif not any(_same(evidence, other) for other in shown):
                    shown.append(evidence)
                    self._note(evidence, repeat=self._repeats(event), joins=one.call.joins)
        return shown, "; ".join(dict.fromkeys(whys)) or "no call in it can show something"

    def _judged(self, invocation: Invocation, end: LineEnd, reading: Reading) -> list[tuple[Called, Judgement]]:
        """For each tool and verb of an invocation the row that says most: a success, else a failure, else nothing."""
        best: dict[tuple[str, str], tuple[Called, Judgement]] = {}
        for one in called(invocation, self.box):
            judgement = judge(one, invocation, end, reading, self.box)
            key = (one.tool.name, one.call.verb)
            if key not in best or _weight(judgement) > _weight(best[key][1]):
                best[key] = (one, judgement)
        return list(best.values())

    def _evidence(
        self,
        event: Event,
        invocation: Invocation,
        one: Called,
        judgement: Judgement,
        end: LineEnd,
        command: str,
    ) -> Evidence:
        place = Place.of(event, self._last_at)
        target = target_of(one, invocation, end.output, self._where(event.cwd))
        return Evidence(
            verb=one.call.verb,
            tool=one.tool.name,
            target=target,
            outcome=judgement.outcome or "failed",
            line=_call_line(event),
            uuid=event.call_uuid or event.uuid,
            anchor=place.anchor,
            at=place.at,
            session_id=self._session,
            command=command,
            said=cut(one_line(redact(judgement.said)), _SAID),
            probe=check_of(one, invocation, target),
            aliases=one.tool.aliases,
        )

    def _take_change(self) -> bool:
        """Whether something was changed since the last call that asked."""
        changed, self._changed = self._changed, False
        return changed

    def _where(self, cwd: str) -> Where:
        folder, project = main_folder(cwd), self._project_of(cwd) if self._project_of else ""
        if project:
            self._root = root = main_folder(project)
            inside = folder == root or folder.startswith(f"{root}/")
            return Where(cwd=folder if inside else root, root=root)  # a linked worktree stands beside its project
        return Where(cwd=folder, root=self._root)

    # -- starts that wait to be confirmed

    def _wait(self, evidence: Evidence, tool: Tool, call: Call, *, repeat: bool) -> None:
        same = [one for one in self._waiting if not _same(one[0], evidence)]
        self._waiting = [*same[-MAX_WAITING + 1 :], (evidence, tool.name, tool.calls.index(call), repeat)]

    def _confirm(self, reading: Reading, end: LineEnd, event: Event) -> list[Evidence]:
        """What waited and is shown by a later look at it; what that look shows to have failed is forgotten."""
        confirmed: list[Evidence] = []
        kept: list[tuple[Evidence, str, int, bool]] = []
        for waiting in self._waiting:
            evidence, name, number, repeat = waiting
            call = self._call(name, number)
            if call is None or not any(
                is_call_of(invocation, by, evidence.target)
                for invocation in reading.invocations
                for by in call.confirm_by
            ):
                kept.append(waiting)
            elif _search(call.failed + call.denied, evidence.target, end.output):
                continue
            elif end.code in (0, None) and _search(call.confirm, evidence.target, end.output):
                confirmed.append(evidence)
                self._note(evidence, repeat=repeat and self._repeats(event), joins=call.joins)
            else:
                kept.append(waiting)
        self._waiting = kept
        return confirmed

    def _call(self, name: str, number: int) -> Call | None:
        tool = self.box.tools.get(name)
        return tool.calls[number] if tool is not None and number < len(tool.calls) else None

    # -- keys

    def _note(self, evidence: Evidence, *, repeat: bool, joins: bool) -> None:
        """Remember what was shown, and what there is to tell of it."""
        target = of_project(evidence.verb, evidence.target, folder_name(self._root))
        key = key_of(evidence.verb, target)
        if evidence.outcome != "ok":
            if not repeat:
                sighting = sighting_of(key, evidence, host=self.host, path=self.path)
                self._failures.append((sighting, evidence.said))
            return
        if joins:
            earlier = next((step.key for step in reversed(self._steps) if step.verb == evidence.verb), "")
            key = earlier if earlier in self._grown else key
        grown = self._grown.pop(key, None) or Grown(verb=evidence.verb, target=target)
        grown.add(evidence, self._before(key), joins=joins)
        self._grown[key] = grown
        settled = [known for known in self._grown if known not in self._fresh and known != key]
        for known in settled[: len(self._grown) - MAX_KEYS] if len(self._grown) > MAX_KEYS else ():
            del self._grown[known]
        self._steps = [
            *(step for step in self._steps[-MAX_STEPS + 1 :] if step.command != evidence.command),
            Step(verb=evidence.verb, key=key, command=evidence.command),
        ]
        if not repeat:
            self._fresh.setdefault(key, []).append(sighting_of(key, evidence, host=self.host, path=self.path))

    def _before(self, key: str) -> list[Step]:
        """The steps since the last success of a key."""
        last = max((at for at, step in enumerate(self._steps) if step.key == key), default=-1)
        verb = key.partition(":")[0]
        wanted = next((verbs for chained, verbs in CHAINED.items() if chained == verb), frozenset())
        newer = self._steps[last + 1 :]
        return newer if any(step.verb in wanted for step in newer) else self._steps

    def drafts(self) -> list[tuple[Draft, list[Sighting]]]:
        """What is new since the last call: the draft of each key that was seen, with its new sightings."""
        fresh, self._fresh = self._fresh, {}
        return [
            (draft_of(key, self._grown[key], self.box, host=self.host, session_id=self._session), sightings)
            for key, sightings in fresh.items()
            if key in self._grown
        ]

    def failures(self) -> list[tuple[Sighting, str]]:
        """Failed and denied calls since the last call, each with what it said, for the keys that know them."""
        failures, self._failures = self._failures, []
        return failures

    # -- state between two readings

    def to_state(self) -> dict[str, Any]:
        """The state as JSON: small, redacted. What `drafts` and `failures` would give is not in it."""
        return {
            "version": STATE_VERSION,
            "session": self._session,
            "root": self._root,
            "last_at": self._last_at,
            "changed": self._changed,
            "steps": [[step.verb, step.key, step.command] for step in self._steps],
            "grown": {key: grown.to_state() for key, grown in self._grown.items()},
            "waiting": [[asdict(evidence), *rest] for evidence, *rest in self._waiting],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `to_state`'s form. Raises `ValueError` for a state of another version."""
        if state.get("version") != STATE_VERSION:
            raise ValueError("the state is of another version")
        self._session, self._root, self._last_at = state["session"], state["root"], state["last_at"]
        self._changed = state["changed"]
        self._steps = [Step(verb=verb, key=key, command=command) for verb, key, command in state["steps"]]
        self._grown = {key: Grown.from_state(grown) for key, grown in state["grown"].items()}
        self._waiting = [
            (
                Evidence(**{**told, "probe": tuple(told["probe"]), "aliases": tuple(told["aliases"])}),
                name,
                number,
                repeat,
            )
            for told, name, number, repeat in state["waiting"]
        ]


def _changes(line: str, event: Event) -> bool:
    """Whether a shell call may have brought new files."""
    return event.outcome == "ok" and _CHANGES.search(line) is not None and not _UNCHANGED.search(event.text)


def _weight(judgement: Judgement) -> int:
    return 2 if judgement.outcome == "ok" else 1 if judgement.outcome else 0


def _call_line(event: Event) -> int:
    return event.call_line if event.call_line >= 0 else event.line


def _same(one: Evidence, other: Evidence) -> bool:
    return (one.verb, one.tool, one.target, one.outcome) == (other.verb, other.tool, other.target, other.outcome)


def _search(signs: tuple[str, ...], target: str, output: str) -> bool:
    return any(pattern(sign.replace("{target}", re.escape(target))).search(output) for sign in signs)
