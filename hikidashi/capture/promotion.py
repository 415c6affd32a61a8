"""From evidence to drafts: one for each key and session, told as the chain of commands that worked."""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from hikidashi.capture.evidence import Evidence, Verb
from hikidashi.capture.passages import cut, one_line
from hikidashi.capture.toolbox import Toolbox
from hikidashi.drawer.fact import CONFIDENCE, MAX_KEY, Draft, Sighting, clean_key
from hikidashi.source import Source

__all__ = ["Grown", "Step", "draft_of", "key_of", "sighting_of"]

#: Characters of a body, of one command in it, and of a proof.
MAX_BODY: Final = 600
MAX_COMMAND: Final = 160
MAX_PROOF: Final = 300

#: Verbs whose success rests on steps before it, and the verbs of those steps.
CHAINED: Final[dict[Verb, frozenset[Verb]]] = {
    "deploy": frozenset({"build", "package", "auth", "publish", "push", "infra"}),
    "publish": frozenset({"build", "package", "auth"}),
    "container": frozenset({"build", "package"}),
    "infra": frozenset({"auth"}),
    "package": frozenset({"build"}),
}

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


#: Statements that change or destroy data: nothing to repeat when one only wants to know whether it works.
_HARMS: Final = re.compile(
    r"\b(?:drop|delete|truncate|flush(?:all|db)?|update|insert|alter|grant|revoke|create|reset)\b",
    re.IGNORECASE,
)
_COUNTED: Final = re.compile(r"\b(\d{1,3}(?:,\d{3})+|\d{1,7})(?: tests?)? (?:pass|ok)")


@dataclass(slots=True, kw_only=True)
class Step:
    """A success that later ones may rest on."""

    verb: Verb
    key: str
    command: str


@dataclass(slots=True, kw_only=True)
class Grown:
    """What a session showed of one key so far. Redacted."""

    verb: Verb
    target: str
    tools: list[str] = field(default_factory=list)
    #: The commands that worked, in order.
    chain: list[str] = field(default_factory=list)
    said: str = ""
    at: str = ""
    line: int = 0
    uuid: str = ""
    count: int = 0
    probe: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)

    def add(self, evidence: Evidence, before: list[Step], *, joins: bool) -> None:
        """Take one more success, and the steps it rests on."""
        if evidence.tool not in self.tools:
            self.tools.append(evidence.tool)
        if joins and self.chain:
            if evidence.command not in self.chain:
                self.chain.append(evidence.command)
        elif (
            not self.chain
            or evidence.verb in CHAINED
            or _rank(evidence) <= _ranked(self.verb, self.chain[-1], self.said)
        ):
            steps = [step.command for step in before if step.verb in CHAINED.get(evidence.verb, ())]
            self.chain = [*dict.fromkeys([*steps[-3:], evidence.command])]
            self.said, self.at, self.line, self.uuid = evidence.said, evidence.at, evidence.line, evidence.uuid
            self.probe = list(evidence.probe)
        self.aliases = list(dict.fromkeys([*self.aliases, *evidence.aliases]))
        self.count += 1

    def to_state(self) -> dict[str, Any]:
        """The form in JSON."""
        return asdict(self)


def _rank(evidence: Evidence) -> tuple[bool, int, int]:
    return _ranked(evidence.verb, evidence.command, evidence.said)


def _ranked(verb: Verb, command: str, said: str) -> tuple[bool, int, int]:
    """How well a call shows how something is done, best first: without harm, most tests, shortest."""
    passed = _COUNTED.search(said) if verb == "test" else None
    return _HARMS.search(command) is not None, -int(passed[1].replace(",", "")) if passed else 0, len(command)


def key_of(verb: Verb, target: str) -> str:
    """`deploy:blyck-releases`. A target that does not fit is cut and gets a hash of the whole."""
    key = f"{verb}:{target}"
    if len(key) > MAX_KEY:
        digest = hashlib.sha256(target.encode("utf-8", "replace")).hexdigest()[:8]
        key = f"{key[: MAX_KEY - 9]}-{digest}"
    return clean_key(key)


def draft_of(key: str, grown: Grown, box: Toolbox, *, host: str, session_id: str) -> Draft:
    """The draft of a key as it stands."""
    source = Source(
        host=host, session_id=session_id, lines=(grown.line, grown.line), uuids=(grown.uuid, grown.uuid), at=grown.at
    )
    return Draft(
        key=key,
        type="capability",
        body=_body(grown),
        confidence=CONFIDENCE["promotion"],
        proof=_proof(grown),
        probe=tuple(grown.probe),
        aliases=_aliases(grown, box),
        trust="tool",
        origin="promotion",
        digest=hashlib.sha256("\x1f".join([key, *sorted(grown.tools)]).encode("utf-8", "replace")).hexdigest()[:32],
        source=source.to_dict(),
    )


def _body(grown: Grown) -> str:
    begin = _TOLD[grown.verb].format(target=grown.target, tools=" and ".join(grown.tools))
    steps = [f"`{cut(command, MAX_COMMAND)}`" for command in grown.chain]
    return cut(f"{begin}: {', then '.join(steps)}.", MAX_BODY)


def _proof(grown: Grown) -> str:
    said = f"said `{grown.said}`" if grown.said else "ended with exit code 0"
    times = f", {grown.count} times in that session" if grown.count > 1 else ""
    return cut(one_line(f"`{cut(grown.chain[-1], 80)}` {said} on {grown.at[:10]}{times}"), MAX_PROOF)


def _aliases(grown: Grown, box: Toolbox) -> tuple[str, ...]:
    """Words that people prompt with: the verb's, the tools', the target and its parts."""
    parts = [part for part in grown.target.replace("/", " ").replace(":", " ").split() if len(part) > 2]
    words = [*box.words.get(grown.verb, ()), *grown.aliases, *grown.tools, grown.target, *parts]
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
