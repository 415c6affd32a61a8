"""Reading the tool table: TOML rows, checked, into `Tool`s. What a row may hold is told in `toolbox.py`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from hikidashi.capture.evidence import VERBS
from hikidashi.capture.toolbox import WORDS, Call, Tool, Toolbox, is_regex, pattern
from hikidashi.errors import CorruptData

__all__ = ["FOLDER", "LANGUAGES", "load_toolbox", "read_tools", "toolbox", "verb_words"]

FOLDER: Final = Path(__file__).parent / "tools"

#: The file of the words that people use for verbs, beside the tools' own.
VERBS_FILE: Final = "verbs.toml"

LANGUAGES: Final = ("en", "ja", "zh", "ko", "es", "de", "fr", "pt")

_TARGETS: Final = ("out:", "arg:", "line:", "stdin:", "option:", "env:", "word:", "only:", "fixed:")
_PLAIN_TARGETS: Final = frozenset({"git-remote", "host", "folder", "project"})

_TOOL_KEYS: Final[Mapping[str, type]] = {
    "programs": list, "takes_value": list, "needs": list, "dash_words": bool, "tasks": bool,
    "passes_on": list, "case_blind": bool, "aliases": list, "source": str, "failed": list, "denied": list,
    "nothing": list, "probe": list, "calls": list,
}  # fmt: skip
_CALL_KEYS: Final[Mapping[str, type]] = {
    "verb": str, "match": list, "requires": list, "unless": list, "success": list, "quiet": bool, "exits": list,
    "runs": bool, "piecewise": bool, "carries": bool, "failed": list, "denied": list, "nothing": list, "joins": bool,
    "after_change": bool, "target": list,
    "probe": list, "no_probe": list, "confirm": list, "confirm_by": list,
}  # fmt: skip


@lru_cache(maxsize=1)
def toolbox() -> Toolbox:
    """The tools that come with the package."""
    return load_toolbox(FOLDER)


def load_toolbox(folder: Path, *, check: bool = False) -> Toolbox:
    """All tools of a folder. Raises `CorruptData` with file and row for a wrong one.

    Regular expressions are compiled when they are needed; with `check` each is tried at once.
    """
    tools: dict[str, Tool] = {}
    for path in sorted(folder.glob("*.toml")):
        if path.name == VERBS_FILE:
            continue
        for tool in read_tools(_parsed(path), path.name, check=check):
            known = tools.get(tool.name)
            tools[tool.name] = _together(known, tool) if known else tool
    return Toolbox(tools.values(), verb_words(folder / VERBS_FILE))


def _together(one: Tool, other: Tool) -> Tool:
    """Two tables of one tool."""
    return replace(
        one,
        programs=tuple(dict.fromkeys(one.programs + other.programs)),
        takes_value=one.takes_value | other.takes_value,
        dash_words=one.dash_words or other.dash_words,
        tasks=one.tasks or other.tasks,
        passes_on=tuple(dict.fromkeys(one.passes_on + other.passes_on)),
        case_blind=one.case_blind or other.case_blind,
        aliases=tuple(dict.fromkeys(one.aliases + other.aliases)),
        source=one.source or other.source,
        calls=one.calls + other.calls,
        needs={**other.needs, **one.needs, **_both_need(one, other)},
    )


def _both_need(one: Tool, other: Tool) -> dict[str, frozenset[str] | None]:
    shared = one.needs.keys() & other.needs.keys()
    pairs = {program: (one.needs[program], other.needs[program]) for program in shared}
    return {program: a | b if a is not None and b is not None else None for program, (a, b) in pairs.items()}


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise CorruptData(f"{path.name} is no TOML file ({exc}): mend it or install Hikidashi anew") from exc


def verb_words(path: Path) -> dict[str, tuple[str, ...]]:
    """Verb -> the words people use for it in all languages; {} when the file is not there."""
    if not path.exists():
        return {}
    words: dict[str, tuple[str, ...]] = {}
    for verb, row in _parsed(path).items():
        where = f"{path.name}: [{verb}]"
        if verb not in VERBS:
            raise CorruptData(f"{where} is no verb: choose of {', '.join(VERBS)}")
        strange = [name for name in row if name not in LANGUAGES]
        if strange:
            raise CorruptData(f"{where} has the language {strange[0]}: choose of {', '.join(LANGUAGES)}")
        listed = [word for language in LANGUAGES for word in _texts(row, language, where)]
        words[verb] = tuple(dict.fromkeys(listed))
    return words


def read_tools(tables: Mapping[str, Any], file: str, *, check: bool = True) -> list[Tool]:
    """The tools of one file's tables. Raises `CorruptData` with file and row for a wrong one (see `load_toolbox`)."""
    tools = []
    for name, table in tables.items():
        tool = _tool(name, table, f"{file}: [{name}]")
        if check:
            for number, call in enumerate(tool.calls, 1):
                _check_regexes(call, f"{file}: [{name}] call {number}")
        tools.append(tool)
    return tools


def _check_regexes(call: Call, where: str) -> None:
    """Compile every regular expression of a row."""
    signs = [*call.success, *call.failed, *call.denied, *call.nothing]
    signs += [sign.replace("{target}", "x") for sign in call.confirm]
    signs += [text[1:-1] for text in call.requires + call.unless + call.no_probe if is_regex(text)]
    signs += [text.partition(":")[2] for text in call.target if text.startswith(("out:", "arg:", "line:", "stdin:"))]
    for sign in signs:
        try:
            pattern(sign)
        except re.error as exc:
            raise CorruptData(f"{where}: {sign!r} is no regular expression ({exc}): mend it") from exc


def _tool(name: str, table: Any, where: str) -> Tool:
    _check_keys(table, _TOOL_KEYS, where)
    rows = table.get("calls", [])
    if not rows:
        raise CorruptData(f"{where} has no calls: add a [[{name}.calls]]")
    own = {key: _texts(table, key, where) for key in ("failed", "denied", "nothing", "probe")}
    calls = tuple(_call(row, own, f"{where} call {number}") for number, row in enumerate(rows, 1))
    programs = tuple(tuple(program.split()) for program in _texts(table, "programs", where)) or (tuple(name.split()),)
    return Tool(
        name=name,
        programs=programs,
        takes_value=frozenset(_texts(table, "takes_value", where)).union(*(_named_values(call) for call in calls)),
        dash_words=table.get("dash_words", False),
        tasks=table.get("tasks", False),
        passes_on=tuple(tuple(phrase.split()) for phrase in _texts(table, "passes_on", where)),
        case_blind=table.get("case_blind", False),
        aliases=_texts(table, "aliases", where),
        source=table.get("source", ""),
        calls=calls,
        needs=_needs(programs, calls, _texts(table, "needs", where)),
    )


def _call(row: Any, own: Mapping[str, tuple[str, ...]], where: str) -> Call:
    _check_keys(row, _CALL_KEYS, where)
    verb = row.get("verb")
    if verb not in VERBS:
        raise CorruptData(f"{where} has the verb {verb!r}: choose of {', '.join(VERBS)}")
    match = _texts(row, "match", where)
    success, quiet = _texts(row, "success", where), row.get("quiet", False)
    if not match:
        raise CorruptData(f'{where} matches nothing: give `match`, [""] for any call')
    if not success and not quiet:
        raise CorruptData(f"{where} can never succeed: give `success` signs, or `quiet = true`")
    confirm, confirm_by = _texts(row, "confirm", where), _texts(row, "confirm_by", where)
    if bool(confirm) != bool(confirm_by):
        raise CorruptData(f"{where} has one of `confirm` and `confirm_by`: give both or neither")
    return Call(
        verb=verb,
        match=tuple(tuple(words.split()) for words in match),
        requires=_conditions(row, "requires", where),
        unless=_conditions(row, "unless", where),
        success=success,
        quiet=quiet,
        exits=_exits(row, where),
        runs=row.get("runs", False),
        piecewise=row.get("piecewise", False),
        carries=row.get("carries", False),
        failed=own["failed"] + _texts(row, "failed", where),
        denied=own["denied"] + _texts(row, "denied", where),
        nothing=own["nothing"] + _texts(row, "nothing", where),
        joins=row.get("joins", False),
        after_change=row.get("after_change", False),
        target=_targets(row, where),
        probe=_texts(row, "probe", where) if "probe" in row else own["probe"],
        no_probe=_conditions(row, "no_probe", where),
        confirm=confirm,
        confirm_by=tuple(tuple(words.split()) for words in confirm_by),
    )


def _named_values(call: Call) -> set[str]:
    """The long options whose value names the target: their next word is that value, whatever the sub-command."""
    names = (name for finder in call.target if finder.startswith("option:") for name in finder[7:].split("|"))
    return {name for name in names if name.startswith("--")}


def _check_keys(row: Any, known: Mapping[str, type], where: str) -> None:
    if not isinstance(row, dict):
        raise CorruptData(f"{where} is no table: write its keys below it")
    for key, value in row.items():
        if key not in known:
            raise CorruptData(f"{where} has the unknown key {key}: choose of {', '.join(known)}")
        if not isinstance(value, known[key]):
            raise CorruptData(f"{where}: {key} is no {known[key].__name__}: see the head of toolbox.py")


def _texts(row: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = row.get(key, [])
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise CorruptData(f"{where}: {key} is no list of texts: see the head of toolbox.py")
    return tuple(value)


def _exits(row: Mapping[str, Any], where: str) -> frozenset[int]:
    exits = row.get("exits", [0])
    if not exits or not all(type(code) is int for code in exits):
        raise CorruptData(f"{where}: exits is no list of exit codes: write [0], or leave it out")
    return frozenset(exits)


def _conditions(row: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    conditions = _texts(row, key, where)
    if "" in conditions:
        raise CorruptData(f"{where}: {key} holds an empty text: leave it out")
    return conditions


def _targets(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    targets = _texts(row, "target", where)
    for target in targets:
        kind, _, rest = target.partition(":")
        if target not in _PLAIN_TARGETS and (f"{kind}:" not in _TARGETS or not rest):
            raise CorruptData(f"{where}: {target!r} names no target: see the head of toolbox.py")
        if kind in ("word", "only") and not re.fullmatch(r"-?\d", rest):
            raise CorruptData(f"{where}: {target!r} has no number: write `word:0` for the first")
    return targets


def _needs(
    programs: tuple[tuple[str, ...], ...], calls: tuple[Call, ...], given: tuple[str, ...]
) -> dict[str, frozenset[str] | None]:
    """First word of a program -> words one of which is in every line that can show something; None for no such."""
    needs: dict[str, frozenset[str] | None] = {}
    for program in programs:
        if given:
            words: set[str] | None = set(given)
        elif len(program) > 1:  # `docker compose`, `python manage.py`
            words = {program[-1]}
        else:
            words = _calls_need(calls)
        known = needs.get(program[0], frozenset())
        sure = words is not None and known is not None and all(WORDS.fullmatch(word) for word in words)
        needs[program[0]] = known | words if sure and known is not None and words is not None else None
    return needs


def _calls_need(calls: tuple[Call, ...]) -> set[str] | None:
    needs: set[str] = set()
    for call in calls:
        for words in call.match:
            plain = next((w for w in words if "*" not in w and "?" not in w and "[" not in w), None)
            if plain is None:
                return None
            needs.update(plain.split("|"))
    return needs
