"""The tool table: what tools can show, and by which signs (design section 8, "Promotion").

One TOML table a tool in `hikidashi/capture/tools/<group>.toml`; adding a tool is adding a table and its cases. A tool
may have a table in several files: its calls then stand under one name, each with the signs of its own file.

    [aws]                        the name people say; becomes the evidence's `tool`
    programs = ["aws"]           what is typed; `docker compose` and `python -m build` are names too.
                                 Default: the table's name
    takes_value = ["--region"]   options whose next word is their value, so that sub-commands are found
    dash_words = false           true: options are words after one dash (`-race`), never letters put together
    tasks = false                true: every positional is a task (`make clean build`); a match of one word is
                                 looked for in all of them
    case_blind = false           true: targets mean the same in capitals and small letters
    aliases = ["amazon"]         words that people prompt with, besides the verb's (`verbs.toml`)
    source = "https://…"         where the signs are documented
    failed = ['…']               regexes (MULTILINE) over the output: failed, whatever the exit code
    denied = ['…']               failed for want of a login or a permission
    nothing = ['…']              it did nothing, whatever the exit code: no tests found, nothing to push, a question
                                 nobody answered
    probe = ["aws", "…"]         for the calls that have none of their own

    [[aws.calls]]
    verb = "deploy"
    match = ["s3 sync"]          words after the program, without options: `*` stands for any letters of one word,
                                 `a|b` for either; "" for any call
    requires = []                each must be there: an option (`--push`, `-d|--detach`), a word, or `/regex/` over
                                 the words and what is fed to them by a heredoc
    unless = []                  any of these makes the call nothing (help, version and dry runs always do)
    success = ['…']              regexes over the output, one must be found …
    quiet = false                … or, if true, an exit code that is known to be the call's own is enough
    exits = [0]                  exit codes that may count as success
    runs = false                 true: it runs other tools, whose signs of that verb show in its output and count too
    piecewise = false            true: a sign comes once a part, so a selection of the lines proves nothing, unless
                                 it is one for failures too
    failed, denied, nothing      added to the tool's
    joins = false                true: a step after another call of the verb (`invalidate` after an upload), whose
                                 candidate it joins where there is one
    target = ["option:--bucket"] tried in order: `out:REGEX` over the output, `arg:REGEX` over each word,
                                 `stdin:REGEX`, `option:NAME` (`a|b`), `env:NAME`, `word:N` (Nth positional after
                                 the match), `fixed:TEXT`, `git-remote`, `host`, `folder`, `project`
    probe = ["aws", "…"]         the cheapest harmless check; `{target}` is put in; [] for none
    confirm = ['…']              the call only counts when a later call of the session shows this (regexes,
                                 `{target}` is put in) …
    confirm_by = ["pm2 list"]    … by one of these programs and sub-commands
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from hikidashi.capture.evidence import VERBS, Verb
from hikidashi.errors import CorruptData

__all__ = [
    "Call",
    "Tool",
    "Toolbox",
    "found",
    "is_regex",
    "load_toolbox",
    "pattern",
    "read_tools",
    "toolbox",
    "verb_words",
]

FOLDER: Final = Path(__file__).parent / "tools"

#: The file of the words that people use for verbs, beside the tools' own.
VERBS_FILE: Final = "verbs.toml"

LANGUAGES: Final = ("en", "ja", "zh", "ko", "es", "de", "fr", "pt")

_TARGETS: Final = ("out:", "arg:", "stdin:", "option:", "env:", "word:", "fixed:")
_PLAIN_TARGETS: Final = frozenset({"git-remote", "host", "folder", "project"})

_TOOL_KEYS: Final[Mapping[str, type]] = {
    "programs": list, "takes_value": list, "dash_words": bool, "tasks": bool, "case_blind": bool,
    "aliases": list, "source": str, "failed": list, "denied": list, "nothing": list,
    "probe": list, "calls": list,
}  # fmt: skip
_CALL_KEYS: Final[Mapping[str, type]] = {
    "verb": str, "match": list, "requires": list, "unless": list, "success": list, "quiet": bool, "exits": list,
    "runs": bool, "piecewise": bool, "failed": list, "denied": list, "nothing": list, "joins": bool, "target": list,
    "probe": list, "confirm": list, "confirm_by": list,
}  # fmt: skip

#: Words of a command line that can be a program or a sub-command.
_WORDS: Final = re.compile(r"[\w.+:-]+")

#: The other names under which Python is called.
_PYTHONS: Final = re.compile(r"\b(?:python[\d.]|pypy|py )")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What one kind of call shows. Regexes are kept as text and compiled when they are needed."""

    verb: Verb
    match: tuple[tuple[str, ...], ...]
    requires: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    success: tuple[str, ...] = ()
    quiet: bool = False
    exits: frozenset[int] = frozenset({0})
    runs: bool = False
    piecewise: bool = False
    #: With the tool's own.
    failed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    nothing: tuple[str, ...] = ()
    joins: bool = False
    target: tuple[str, ...] = ()
    probe: tuple[str, ...] = ()
    confirm: tuple[str, ...] = ()
    confirm_by: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One table."""

    name: str
    #: Each as its words.
    programs: tuple[tuple[str, ...], ...]
    takes_value: frozenset[str] = frozenset()
    dash_words: bool = False
    tasks: bool = False
    case_blind: bool = False
    aliases: tuple[str, ...] = ()
    source: str = ""
    calls: tuple[Call, ...] = ()
    #: Words one of which is in every call that can show something; None when there are no such words.
    needs: frozenset[str] | None = None


class Toolbox:
    """All tools, by the first word of their programs."""

    def __init__(self, tools: Iterable[Tool], words: Mapping[str, tuple[str, ...]]) -> None:
        self.tools: dict[str, Tool] = {tool.name: tool for tool in tools}
        #: Verb -> the words people use for it.
        self.words = words
        self._by_program: dict[str, list[Tool]] = {}
        for tool in self.tools.values():
            for program in {program[0] for program in tool.programs}:
                self._by_program.setdefault(program, []).append(tool)
        self._confirming = frozenset(
            words[0] for tool in self.tools.values() for call in tool.calls for words in call.confirm_by
        )

    def of_program(self, program: str) -> list[Tool]:
        """The tools that a program can belong to."""
        return self._by_program.get(program, [])

    def may_show(self, line: str) -> bool:
        """Whether a command line can show anything. Cheap: it is asked before the line is taken apart."""
        words = set(_WORDS.findall(line))
        if _PYTHONS.search(line):
            words.add("python")
        for program in words & self._by_program.keys():
            for tool in self._by_program[program]:
                if tool.needs is None or not tool.needs.isdisjoint(words):
                    return True
        return False

    def may_confirm(self, line: str) -> bool:
        """Whether a command line can confirm what an earlier one started."""
        return not self._confirming.isdisjoint(_WORDS.findall(line))

    def signs(self, verb: Verb) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The success and failure signs of all tools with that verb, for those that run other tools."""
        return _signs(self, verb)


@lru_cache(maxsize=64)
def _signs(box: Toolbox, verb: Verb) -> tuple[tuple[str, ...], tuple[str, ...]]:
    calls = [call for tool in box.tools.values() for call in tool.calls if call.verb == verb and not call.runs]
    success = dict.fromkeys(sign for call in calls for sign in call.success)
    failed = dict.fromkeys(sign for call in calls for sign in call.failed)
    return tuple(success), tuple(failed)


@lru_cache(maxsize=4_096)
def pattern(text: str) -> re.Pattern[str]:
    """A sign, compiled when it is first looked for."""
    return re.compile(text, re.MULTILINE)


def found(signs: Iterable[str], text: str) -> re.Match[str] | None:
    """The first sign's place in `text`."""
    for sign in signs:
        match = pattern(sign).search(text)
        if match:
            return match
    return None


# -- loading


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
        case_blind=one.case_blind or other.case_blind,
        aliases=tuple(dict.fromkeys(one.aliases + other.aliases)),
        source=one.source or other.source,
        calls=one.calls + other.calls,
        needs=one.needs | other.needs if one.needs is not None and other.needs is not None else None,
    )


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
    signs += [text[1:-1] for text in call.requires + call.unless if is_regex(text)]
    signs += [text.partition(":")[2] for text in call.target if text.startswith(("out:", "arg:", "stdin:"))]
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
        takes_value=frozenset(_texts(table, "takes_value", where)),
        dash_words=table.get("dash_words", False),
        tasks=table.get("tasks", False),
        case_blind=table.get("case_blind", False),
        aliases=_texts(table, "aliases", where),
        source=table.get("source", ""),
        calls=calls,
        needs=_needs(calls),
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
        failed=own["failed"] + _texts(row, "failed", where),
        denied=own["denied"] + _texts(row, "denied", where),
        nothing=own["nothing"] + _texts(row, "nothing", where),
        joins=row.get("joins", False),
        target=_targets(row, where),
        probe=_texts(row, "probe", where) if "probe" in row else own["probe"],
        confirm=confirm,
        confirm_by=tuple(tuple(words.split()) for words in confirm_by),
    )


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


def is_regex(condition: str) -> bool:
    """Whether a condition is `/…/`."""
    return len(condition) > 1 and condition[0] == condition[-1] == "/"


def _targets(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    targets = _texts(row, "target", where)
    for target in targets:
        kind, _, rest = target.partition(":")
        if target not in _PLAIN_TARGETS and (f"{kind}:" not in _TARGETS or not rest):
            raise CorruptData(f"{where}: {target!r} names no target: see the head of toolbox.py")
        if kind == "word" and not re.fullmatch(r"-?\d", rest):
            raise CorruptData(f"{where}: {target!r} has no number: write `word:0` for the first")
    return targets


def _needs(calls: tuple[Call, ...]) -> frozenset[str] | None:
    needs: set[str] = set()
    for call in calls:
        for words in call.match:
            plain = next((w for w in words if "*" not in w and "?" not in w and "[" not in w), None)
            if plain is None:
                return None
            needs.update(plain.split("|"))
    return frozenset(needs) if all(_WORDS.fullmatch(need) for need in needs) else None
