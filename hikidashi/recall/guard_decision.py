"""Which fact answers a claim of inability, whether to raise it, and what the agent is told. Standard library only."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache

from hikidashi.drawer.terms import Token, fold, is_everyday, plain_tokens
from hikidashi.recall.guard import MARKS, Claim, raised_as
from hikidashi.recall.guard_claims import tongue
from hikidashi.recall.inject import inline
from hikidashi.times import parse_time

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

    from hikidashi.drawer.fact import Fact
    from hikidashi.recall.lookup import Note

__all__ = ["decide", "told"]

#: Proof of more days is called old.
_OLD_DAYS: Final = 30
#: Others that are named beside the fact.
_OTHERS: Final = 3
#: Facts of one verb, none named, that failed calls and rules are compared with.
_LOOKED_AT: Final = 8

#: Characters read of a prompt and of a failed call, from the beginning and from the end; failed calls, the last ones.
_HEAD: Final = 2_000
_TAIL: Final = 1_000
_FAILURES: Final = 50

#: What makes a rule a bar to an act: it forbids, or asks for somebody's yes first. Folded.
_BARS: Final = (
    "never", "n't", "do not", "must not", "should not", "may not", "cannot", " no ", "only", "without", " ask ",
    "confirm", "approv", "permission", "forbid", " stop ",
    "avoid", "myself", "by hand", "manually", "hands off",
    "ない", "禁止", "するな", "勝手に", "確認", "承認", "許可", "だけ", "ずに", "手動",
    "不要", "不能", "不可", "禁止", "不得", "别", "別", "勿", "只", "确认", "確認", "批准", "同意", "手动",
    "하지 마", "하지마", "마세요", "말 것", "말고", "금지", "확인", "승인", "허락", "직접", "안 돼", "않",
    "nunca", "jamas", "prohib", " sin ", "solo", "confirma", "permiso", "pregunta", "aprob", " no ",
    " nie ", "niemals", "nicht", "kein", "verboten", " nur ", "ohne", "frag", "bestatig", "erlaub", "freigabe",
    "jamais", " ne ", "n'", " pas ", "interdi", "seulement", "sans", "demande", "confirm", "autoris", "uniquement",
    "nao", "jamais", "proib", " so ", "somente", " sem ", "pergunt", "confirm", "permiss", "apenas", "aprov",
)  # fmt: skip

#: Programs and words of the calls of a verb, for a failed call that has neither target nor steps in common.
_CALLS: Final[dict[str, tuple[str, ...]]] = {
    "deploy": (
        "deploy", "s3 cp", "s3 sync", "rsync", "scp ", "kubectl", "helm ", "wrangler", "vercel", "netlify", "firebase",
        "flyctl", "fly ", "heroku", "serverless", "cdk ", "railway", "gcloud", "sam ", "eb ", "release",
    ),
    "publish": ("publish", "twine", "upload", "gh release", "docker push", "release", "gem push", "cargo publish"),
    "push": ("git push", "gh pr", "glab mr", "push"),
    "auth": ("login", "auth", "whoami", "sts get", "get-caller-identity", "token"),
    "build": ("build", "make", "compile", "tsc", "cargo", "gradle", "mvn", "webpack", "vite", "go "),
    "package": ("package", "build", "sdist", "wheel", "bundle", "dpkg", "rpm", "pack"),
    "test": ("test", "jest", "spec", "vitest", "tox", "nox", "cypress", "playwright"),
    "connect-db": ("psql", "mysql", "sqlite", "mongo", "redis", "prisma", "migrat", "sql", "alembic", "pg_"),
    "connect-ssh": ("ssh", "scp ", "sftp", "rsync", "mosh"),
    "container": ("docker", "podman", "compose", "nerdctl"),
    "infra": ("terraform", "tofu", "pulumi", "ansible", "cloudformation", "cdk ", "kubectl", "helm "),
}  # fmt: skip

#: Small words between a verb and what it is done to.
_ARTICLES: Final = (
    "the", "our", "my", "this", "a", "an", "to", "on", "il", "el", "la", "los", "las", "le", "les", "l", "un", "una",
    "das", "den", "die", "der", "o", "os", "as", "do", "da", "de", "del", "du",
)  # fmt: skip

#: Where acts of a verb go in general.
_HOSTS: Final[dict[str, frozenset[str]]] = {
    "push": frozenset({"github", "gitlab", "bitbucket", "origin", "remote", "upstream"}),
    "publish": frozenset({"npm", "pypi", "registry", "registri"}),
}

#: Named in commands rather than as a target, for all other verbs.
_PROGRAMS: Final = frozenset({"npm", "git"})

#: Places that acts go to, each by one word.
_PLACES: Final[dict[str, str]] = {
    "prod": "prod", "product": "prod", "production": "prod", "produccion": "prod", "producao": "prod",
    "produktion": "prod", "live": "prod", "liv": "prod", "stag": "staging", "staging": "staging", "stage": "staging",
    "preview": "preview", "dev": "dev", "develop": "dev",
}  # fmt: skip

#: Acts whose words are said of much else (one publishes texts, logs in to the site that is built, reaches a server
#: on this machine): the prompt must ask for them, or the target be named.
_ASKED_FOR: Final = ("publish", "package", "auth", "connect-ssh")


def decide(
    claims: Sequence[Claim],
    *,
    prompt: str,
    capabilities: Sequence[Fact],
    rules: Sequence[Fact | Note],
    turn_failures: Sequence[str],
    raised_before: Collection[str],
) -> tuple[Fact, Claim, list[Fact]] | None:
    """The fact that answers the first claim that has one, and others of the same verb; None when nothing is to be
    raised."""
    prompt = _ends(prompt)
    failures = [fold(_ends(failure)) for failure in turn_failures[-_FAILURES:]]
    acts = [claim for claim in claims if claim.verb]
    for claim in acts or claims:
        about = [fact for fact in capabilities if _is_about(fact, claim, prompt)]
        asked = [] if claim.verb else [fact for fact in about if _says_verb(fact, prompt)]
        fitting = _of_target(asked, claim, prompt) or _of_target(about, claim, prompt)
        if not fitting or any(raised_as(fact) in raised_before for fact in fitting):
            continue
        fitting = sorted(fitting, key=_telling, reverse=True)[:_LOOKED_AT]
        if any(_failed(fact, failure) for fact in fitting for failure in failures):
            continue
        if any(_covers(rule, fact) for fact in fitting for rule in rules):
            continue
        return fitting[0], claim, fitting[1 : _OTHERS + 1]
    return None


def _ends(text: str) -> str:
    """The beginning and the end of a long text."""
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


def _telling(fact: Fact) -> tuple[bool, float, str]:
    return fact.scope == "workspace", fact.confidence, fact.last_verified or fact.updated_at


def _is_about(fact: Fact, claim: Claim, prompt: str) -> bool:
    """Whether a fact is of the claim's verb; of one that the prompt says where only means are claimed to be missing."""
    verb = fact.key.partition(":")[0]
    if claim.verb:
        return verb == claim.verb
    if (verb == "auth" and claim.words) or (verb == "connect-ssh" and "ssh" in claim.means):
        return True  # its target decides
    return _says_verb(fact, prompt)


def _says_verb(fact: Fact, text: str) -> bool:
    """Whether a text says what a fact is about: the first part of its key, or an alias."""
    return bool(_said(fact.key.partition(":")[0], fact.aliases, text))


@lru_cache(maxsize=256)
def _said(head: str, aliases: tuple[str, ...], text: str) -> list[tuple[int, int]]:
    """Where a text says the first part of a key or an alias: first token and the one behind the last.

    Facts of one verb have the same aliases, so this is done once for all of them.
    """
    folded, tokens = _written(text)
    starts: dict[str, list[int]] = {}
    for at, token in enumerate(tokens):
        starts.setdefault(token.written, []).append(at)
    found = []
    for name in (head.replace("-", " "), *aliases):
        said, words = _written(name)
        if any(token.chunk for token in words):
            if said in folded:
                found += [(at, at + 1) for at, token in enumerate(tokens) if words[-1].text in token.text]
            continue
        written = [word.written for word in words]
        for at in starts.get(written[0], ()) if written else ():
            if [token.written for token in tokens[at : at + len(written)]] == written:
                found.append((at, at + len(written)))
    return found


@lru_cache(maxsize=4096)
def _written(text: str) -> tuple[str, list[Token]]:
    """A text folded, and its tokens."""
    return fold(text), plain_tokens(text)


def _of_target(facts: list[Fact], claim: Claim, prompt: str) -> list[Fact]:
    """The facts whose target is the one named by the claim, or else by the prompt; all where neither names any."""
    if not facts:
        return []
    places = {_PLACES[word] for word in claim.words if word in _PLACES}
    facts = [fact for fact in facts if not places or not _places(fact) or places & _places(fact)]
    hosts = _HOSTS.get(claim.verb, _PROGRAMS)
    words = [word for word in claim.words if word not in hosts and word not in _PLACES]
    if words:
        return [fact for fact in facts if any(_knows(fact, word) for word in words)]
    said = {token.text for token in _written(prompt)[1]}
    named = [fact for fact in facts if _target_names(fact) & said]
    if named:
        return named
    if (claim.verb or _verb(facts)) in _ASKED_FOR and not (claim.verb in _HOSTS and hosts & set(claim.words)):
        facts = [fact for fact in facts if _verb([fact]) != "auth" and _says_verb(fact, prompt)]
    return [fact for fact in facts if not _asks_for_another(prompt, fact)]


def _verb(facts: list[Fact]) -> str:
    """The verb of facts that all have the same one, else ''."""
    verbs = {fact.key.partition(":")[0] for fact in facts}
    return verbs.pop() if len(verbs) == 1 else ""


def _places(fact: Fact) -> set[str]:
    return {_PLACES[name] for name in _target_names(fact) if name in _PLACES}


def _knows(fact: Fact, word: str) -> bool:
    """Whether a fact's target, steps, proof or check have a word."""
    told = f"{fact.body} {fact.proof} {' '.join(fact.probe)}"
    if word.isascii():
        return word in _target_names(fact) or word in {token.text for token in _written(told)[1]}
    return word in fold(f"{fact.key} {told}")


def _target_names(fact: Fact) -> set[str]:
    _, _, target = fact.key.partition(":")
    return {token.text for token in _written(target)[1]}


def _asks_for_another(prompt: str, fact: Fact) -> bool:
    """Whether a prompt asks for the act on something else: a name that the fact does not know stands right beside its
    verb, as in "deploy the warehouse" or "warehouse をデプロイ"."""
    return any(not _knows(fact, name) for name in _names_beside(fact.key.partition(":")[0], fact.aliases, prompt))


@lru_cache(maxsize=256)
def _names_beside(head: str, aliases: tuple[str, ...], prompt: str) -> frozenset[str]:
    """What stands right beside a verb in a prompt and may be a name."""
    tokens = _written(prompt)[1]
    found = set()
    for begin, end in _said(head, aliases, prompt):
        behind = next((token for token in tokens[end : end + 4] if token.written not in _ARTICLES), None)
        before = tokens[begin - 1] if begin and tokens[begin].chunk else None
        found |= {token for token in (behind, before) if token and not token.chunk}
    return frozenset(token.text for token in found if _may_be_name(token))


def _may_be_name(token: Token) -> bool:
    if is_everyday(token.written) or len(token.text) < 3 or not _has_word(token.text):
        return False
    return not any(token.written in tongue(language).GENERIC.split() for language in MARKS)


def _has_word(text: str) -> bool:
    """Whether a token is more than a number or a version: "1.4.1" and "v2" name no target."""
    return any(char.isalpha() for char in text.removeprefix("v"))


def _failed(fact: Fact, failure: str) -> bool:
    """Whether a failed call (folded) is one of the fact's verb: by its words, its target, or a step of the body."""
    verb = fact.key.partition(":")[0]
    if any(word in failure for word in _CALLS.get(verb, (verb,))):
        return True
    if any(len(name) > 2 and name in failure for name in _target_names(fact)):
        return True
    return any(step in failure for step in _steps(fact.body))


def _steps(body: str) -> list[str]:
    """The first two words of each command of a body."""
    steps = []
    for line in body.replace("&&", "\n").replace(";", "\n").replace("|", "\n").split("\n"):
        words = fold(line).split()
        if len(words) > 1:
            steps.append(" ".join(words[:2]))
    return steps


def _covers(rule: Fact | Note, fact: Fact) -> bool:
    """Whether a rule forbids the act or reserves it to somebody's yes."""
    folded = f" {fold(rule.body)} "
    if not any(bar in folded for bar in _BARS):
        return False
    if _says_verb(fact, rule.body):
        return True
    return bool(_target_names(fact) & {token.text for token in _written(rule.body)[1]})


def told(fact: Fact, others: Sequence[Fact], *, now: datetime) -> str:
    """What the agent is told: what is on record, its proof and age, its check; then to correct the answer."""
    at = fact.last_verified or _seen_at(fact)
    days = max((now - parse_time(at)).days, 0)
    lines = [
        "<hikidashi-guard>",
        "Your last message says that this cannot be done here, but this machine's record, approved by its person, "
        "says that it was done:",
        f"- `{inline(fact.key)}`: {inline(fact.body)}",
    ]
    if fact.proof:
        lines.append(f"  proof: {inline(fact.proof)}")
    age = "today" if not days else "yesterday" if days == 1 else f"{days} days ago"
    old = "; that is long ago, so it may have changed" if days > _OLD_DAYS else ""
    known = "checked" if fact.last_verified else "seen to work" if fact.origin == "promotion" else "noted"
    lines.append(f"  {known} on {at[:10]} ({age}{old})")
    if fact.last_failed:
        lines.append(
            f"  but a call of it failed on {fact.last_failed[:10]}: {inline(fact.failure) or 'no reason kept'}"
        )
    if fact.probe:
        lines.append(f"  harmless check: `{inline(' '.join(fact.probe))}`")
    if others:
        lines.append(f"  also on record: {', '.join(f'`{inline(one.key)}`' for one in others)}")
    lines.append(
        "Check whether that still holds, then correct your answer. Do not run it unless the user asked for it. "
        "If the check fails, or something else stands in the way, say that instead."
    )
    lines.append("</hikidashi-guard>")
    return "\n".join(lines)


def _seen_at(fact: Fact) -> str:
    said = fact.source.get("at") if fact.origin in ("promotion", "reflection") else None
    return str(said or fact.updated_at)
