"""From evidence to drafts: one for each key and session, told as the chain of commands that worked."""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from hikidashi.capture.evidence import Evidence, Verb
from hikidashi.capture.passages import cut, one_line
from hikidashi.capture.toolbox import Toolbox
from hikidashi.capture.vocabulary import word_list
from hikidashi.drawer.fact import CONFIDENCE, MAX_KEY, Draft, Sighting, clean_key
from hikidashi.source import Source

__all__ = ["OF_PROJECT", "Grown", "Step", "draft_of", "key_of", "of_project", "sighting_of"]

#: Characters of a body, of one command in it, and of a proof.
MAX_BODY: Final = 600
MAX_COMMAND: Final = 160
MAX_PROOF: Final = 300

#: Steps before a success that are told, and ways of doing one thing.
MAX_STEPS: Final = 3
MAX_WAYS: Final = 3
#: Ways that are remembered: a project may have hundreds of parts.
KEPT_WAYS: Final = 8

#: Verbs whose success rests on steps before it, and the verbs of those steps.
CHAINED: Final[dict[Verb, frozenset[Verb]]] = {
    "deploy": frozenset({"build", "package", "auth", "publish", "push", "infra"}),
    "publish": frozenset({"build", "package", "auth"}),
    "container": frozenset({"build", "package"}),
    "infra": frozenset({"auth"}),
    "package": frozenset({"build"}),
}

#: Much proves that somebody is signed in (`gh pr create`, `kubectl get pods`, `aws s3 ls`). A step towards something
#: else is only what signs in, or asks who one is.
_SIGNS_IN: Final = re.compile(
    r"log-?in|sign-?in|whoami|\bauth|ident(?:ity|ify)|credentials|kubeconfig|account (?:show|set)|assume-?role"
    r"|verify-pat|configure|get-token|\bcluster config\b",
    re.IGNORECASE,
)

#: What is done to a project's parts is asked once for the project.
OF_PROJECT: Final[frozenset[Verb]] = frozenset({"build", "test", "package"})

#: How a body begins.
_TOLD: Final[dict[Verb, str]] = {
    "deploy": "{target} is deployed from here with {tools}",
    "publish": "{target} is published from here with {tools}",
    "push": "Pushing to {target} works from here",
    "auth": "{tools} is signed in to {target} here",
    "build": "{target} is built here with {tools}",
    "package": "{target} is packaged here with {tools}",
    "test": "The tests of {target} run here with {tools}",
    "connect-db": "The database {target} answers here to {tools}",
    "connect-ssh": "{target} lets us in from here with {tools}",
    "container": "The containers of {target} start here with {tools}",
    "infra": "{target} is changed from here with {tools}",
}


#: Words of calls that change or destroy something: nothing to repeat when one only wants to know whether it works.
_HARMS: Final = re.compile(
    r"\b(?:drop|delete|truncate|flush(?:all|db)?|update|insert|alter|grant|revoke|create|reset|merge|close|remove|rm"
    r"|destroy|purge|prune|kill|cancel|POST|PUT|PATCH)\b",
    re.IGNORECASE,
)
#: What stands for the end of a call that no line of its own tells.
_NO_LINE: Final = re.compile(r"exit code \d+|an answer")
_COUNTED: Final = re.compile(r"\b(\d{1,3}(?:,\d{3})+|\d{1,7})(?: tests?)? (?:pass|ok)")


@dataclass(slots=True, kw_only=True)
class Step:
    """A success that later ones may rest on."""

    verb: Verb
    key: str
    command: str

    def leads_to(self, verb: Verb) -> bool:
        """Whether a success of `verb` may rest on this one."""
        return self.verb in CHAINED.get(verb, ()) and (self.verb != "auth" or bool(_SIGNS_IN.search(self.command)))


@dataclass(slots=True, kw_only=True)
class Way:
    """One way in which it worked: the commands in order, and how the last but joining one ended. Redacted."""

    #: Tool and command of the call that it is known by, not of its first steps and what follows it.
    tool: str
    command: str
    commands: list[str]
    said: str
    at: str
    line: int
    uuid: str
    probe: list[str]


@dataclass(slots=True, kw_only=True)
class Grown:
    """What a session showed of one key so far. Redacted."""

    verb: Verb
    target: str
    tools: list[str] = field(default_factory=list)
    #: Tool and part -> the best way seen; one way only for what is done in steps.
    ways: dict[str, Way] = field(default_factory=dict)
    count: int = 0

    def add(self, evidence: Evidence, before: list[Step], *, joins: bool) -> None:
        """Take one more success, and the steps it rests on."""
        chained = evidence.verb in CHAINED
        if chained and not joins:
            self.tools = []  # one way is told of it: this one
        if evidence.tool not in self.tools:
            self.tools.append(evidence.tool)
        name = "" if chained else f"{evidence.tool} {evidence.target}"
        known = self.ways.get(name)
        if joins and known is not None:
            known.commands = list(dict.fromkeys([*known.commands, evidence.command]))
            return
        self.count += 1
        steps = [step.command for step in before if step.leads_to(evidence.verb)]
        way = Way(
            tool=evidence.tool,
            command=evidence.command,
            commands=list(dict.fromkeys([*steps[-MAX_STEPS:], evidence.command])),
            said=evidence.said,
            at=evidence.at,
            line=evidence.line,
            uuid=evidence.uuid,
            probe=list(evidence.probe),
        )
        if known is None or chained or _rank(self.verb, way) <= _rank(self.verb, known):
            self.ways[name] = way
        if len(self.ways) > KEPT_WAYS:
            del self.ways[max(self.ways, key=lambda name: _rank(self.verb, self.ways[name]))]

    def best(self) -> list[Way]:
        """The ways, best first."""
        return sorted(self.ways.values(), key=lambda way: _rank(self.verb, way))

    def to_state(self) -> dict[str, Any]:
        """The form in JSON."""
        return asdict(self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Grown:
        """Read `to_state`'s form."""
        return cls(**{**state, "ways": {name: Way(**way) for name, way in state["ways"].items()}})


def _rank(verb: Verb, way: Way) -> tuple[bool, int, int]:
    """How well a way shows how something is done, the best lowest: without harm, most tests, shortest."""
    command = way.command
    passed = _COUNTED.search(way.said) if verb == "test" else None
    return _HARMS.search(command) is not None, -int(passed[1].replace(",", "")) if passed else 0, len(command)


#: What somebody does with these changes with the tool; elsewhere another tool is another way to the same.
_BY_TOOL: Final[frozenset[Verb]] = frozenset({"deploy", "publish", "infra"})


def key_of(verb: Verb, target: str) -> str:
    """`deploy:blyck-releases`. A target that does not fit is cut and gets a hash of the whole."""
    key = f"{verb}:{target}"
    if len(key) > MAX_KEY:
        digest = hashlib.sha256(target.encode("utf-8", "replace")).hexdigest()[:8]
        key = f"{key[: MAX_KEY - 9]}-{digest}"
    return clean_key(key)


def of_project(verb: Verb, target: str, root: str) -> str:
    """The target that a key names: of what is built and tested the whole project, whichever part of it was."""
    project, slash, _ = target.partition("/")
    return project if verb in OF_PROJECT and slash and project == root else target


def draft_of(key: str, grown: Grown, box: Toolbox, *, host: str, session_id: str) -> Draft:
    """The draft of a key as it stands."""
    ways = grown.best()
    best = ways[0]
    source = Source(
        host=host, session_id=session_id, lines=(best.line, best.line), uuids=(best.uuid, best.uuid), at=best.at
    )
    return Draft(
        key=key,
        type="capability",
        body=_body(grown, ways),
        confidence=CONFIDENCE["promotion"],
        proof=_proof(grown, best),
        probe=tuple(best.probe),
        aliases=_aliases(grown, box),
        trust="tool",
        origin="promotion",
        digest=_digest(key, grown.verb, best.tool),
        source=source.to_dict(),
    )


def _digest(key: str, verb: Verb, tool: str) -> str:
    """Equal for two proposals between which a person would not decide anew."""
    parts = [key, tool] if verb in _BY_TOOL else [key]
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def _body(grown: Grown, ways: list[Way]) -> str:
    begin = _TOLD[grown.verb].format(target=grown.target, tools=" and ".join(grown.tools))
    told = [", then ".join(f"`{cut(command, MAX_COMMAND)}`" for command in way.commands) for way in ways[:MAX_WAYS]]
    while len(told) > 1 and len(begin) + sum(map(len, told)) > MAX_BODY - 20:
        told.pop()
    return cut(f"{begin}: {'; or '.join(told)}.", MAX_BODY)


def _proof(grown: Grown, best: Way) -> str:
    said = f"said `{best.said}`"
    if not best.said or _NO_LINE.fullmatch(best.said):
        said = f"ended with {best.said or 'exit code 0'}"
    times = f", {grown.count} times in that session" if grown.count > 1 else ""
    return cut(one_line(f"`{cut(best.command, 80)}` {said} on {best.at[:10]}{times}"), MAX_PROOF)


#: Tools whose names stand in prompts about anything: there the words of the verb must do.
_EVERYDAY: Final = word_list(
    "ant atlas behave build butler cap composer consul convex copilot crane crystal dart diesel dist dune ember",
    "fly flux forge gem go goose grunt gulp invoke just karma kind lake lean linear maestro make mix modal mocha",
    "nest next node nomad np op pack packer parcel pest pex pod poetry prove puppet python quasar r rake remix",
    "render robot rye salt sam shell slack stack surge swift task tea tilt tox trial trigger trunk turbo vault",
)


def _aliases(grown: Grown, box: Toolbox) -> tuple[str, ...]:
    """Words that people prompt with: the verb's, the tools', the target and its parts."""
    parts = [part for part in grown.target.replace("/", " ").replace(":", " ").split() if len(part) > 2]
    known = [box.tools[name] for name in grown.tools if name in box.tools]
    of_tools = [alias for tool in known for alias in tool.aliases]
    names = [name for name in grown.tools if name not in _EVERYDAY]
    words = [*box.words.get(grown.verb, ()), *of_tools, *names, grown.target, *parts]
    return tuple(dict.fromkeys(words))


def sighting_of(key: str, evidence: Evidence, *, host: str, path: str) -> Sighting:
    """A call as it is noted beside the key's candidate or fact."""
    return Sighting(
        key=key,
        anchor=evidence.anchor,
        host=host,
        session_id=evidence.session_id,
        path=path,
        line=evidence.line,
        at=evidence.at,
        verb=evidence.verb,
        tool=evidence.tool,
        target=evidence.target,
        outcome=evidence.outcome,
        told=evidence.command,
    )
