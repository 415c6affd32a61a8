"""The tool table: what tools can show, and by which signs (design section 8, "Promotion").

One TOML table a tool in `hikidashi/capture/tools/<group>.toml`; adding a tool is adding a table and its cases. A tool
may have a table in several files: its calls then stand under one name, each with the signs of its own file.

    [aws]                        the name people say; becomes the evidence's `tool`
    programs = ["aws"]           what is typed; `docker compose` and `python -m build` are names too. Default: the
                                 table's name. With `*` (`*deploy*.sh`) a program that no other row names, by whose
                                 name the evidence then goes
    takes_value = ["--region"]   options whose next word is their value, so that sub-commands are found; long ones
                                 that a `target` names need not be listed
    needs = ["pg", "mysql2"]     words one of which is in every line that can show something, where neither the
                                 program nor its sub-commands are rare
    dash_words = false           true: options are words after one dash (`-race`), never letters put together
    tasks = false                true: every positional is a task (`make clean build`); a match of one word is
                                 looked for in all of them
    passes_on = []               a package manager: words behind which (or at once) it takes another program with its
                                 words, where the call fits no row of its own (`pnpm --filter web exec vitest run`)
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
    carries = false              true: output and exit code are those of what it runs elsewhere (`ssh`): with one of
                                 `exits`, or with any output that is surely its own, it got there; `failed` and
                                 `denied` are heard where no code tells
    runs = false                 true: it runs other tools, whose signs of that verb show in its output and count too
    piecewise = false            true: a sign comes once a part, so a selection of the lines proves nothing, unless
                                 it is one for failures too
    failed, denied, nothing      added to the tool's
    joins = false                true: a step after another call of the verb (`invalidate` after an upload), whose
                                 candidate it joins where there is one
    target = ["option:--bucket"] tried in order: `out:REGEX` over the output, `arg:REGEX` over each word,
                                 `line:REGEX` over all of them in one line, `stdin:REGEX`, `option:NAME`
                                 (`a|b`), `env:NAME`, `word:N` (Nth positional after the match), `only:N` (the
                                 same, when there is no other), `fixed:TEXT`, `git-remote`, `host`, `folder`, `project`
    after_change = false         true: a restart alone brings nothing new, so it counts only after the session changed
                                 something (an edit, a pull, a copy, a build)
    probe = ["aws", "…"]         the cheapest harmless check; `{target}` is put in, and for a word `{-p}` the call's
                                 option with its value if it has one; [] for none
    no_probe = []                any of these (as in `unless`): the check would ask in another way, so there is none
    confirm = ['…']              the call only counts when a later call of the session shows this (regexes,
                                 `{target}` is put in) …
    confirm_by = ["pm2 list"]    … by one of these programs and sub-commands (`{target}` is put in)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from typing import Final

from hikidashi.capture.evidence import Verb

__all__ = ["WORDS", "Call", "Tool", "Toolbox", "found", "is_regex", "pattern", "sure_letters"]

#: Programs whose tools by looks are remembered.
_MAX_NAMED: Final = 1_000

#: Words of a command line that can be a program or a sub-command.
WORDS: Final = re.compile(r"[\w.+:-]+")

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
    carries: bool = False
    #: With the tool's own.
    failed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    nothing: tuple[str, ...] = ()
    joins: bool = False
    after_change: bool = False
    target: tuple[str, ...] = ()
    probe: tuple[str, ...] = ()
    no_probe: tuple[str, ...] = ()
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
    #: Each as its words.
    passes_on: tuple[tuple[str, ...], ...] = ()
    case_blind: bool = False
    aliases: tuple[str, ...] = ()
    source: str = ""
    calls: tuple[Call, ...] = ()
    #: First word of a program -> words one of which is in every line that can show something; None for no such.
    needs: Mapping[str, frozenset[str] | None] = field(default_factory=dict)


class Toolbox:
    """All tools, by the first word of their programs."""

    def __init__(self, tools: Iterable[Tool], words: Mapping[str, tuple[str, ...]]) -> None:
        self.tools: dict[str, Tool] = {tool.name: tool for tool in tools}
        #: Verb -> the words people use for it.
        self.words = words
        self._by_program: dict[str, list[Tool]] = {}
        self._by_glob: list[tuple[str, Tool]] = []
        self._named: dict[str, list[Tool]] = {}
        for tool in self.tools.values():
            for program in {program[0] for program in tool.programs}:
                if "*" in program:
                    self._by_glob.append((program, tool))
                else:
                    self._by_program.setdefault(program, []).append(tool)
        self._script = _one_pattern(glob for glob, _ in self._by_glob if glob != "*")
        #: Words one of which is in every call that any program can show something with.
        self._of_any: frozenset[str] = frozenset().union(
            *(tool.needs.get(glob) or () for glob, tool in self._by_glob if glob == "*")
        )
        self._confirming = frozenset(
            words[0] for tool in self.tools.values() for call in tool.calls for words in call.confirm_by
        )

    def of_program(self, program: str) -> list[Tool]:
        """The tools that a program can belong to."""
        return self._by_program.get(program, [])

    def of_any(self, program: str) -> list[Tool]:
        """The tools for programs by their looks, under the program's own name."""
        known = self._named.get(program)
        if known is None:
            known = [replace(tool, name=program) for glob, tool in self._by_glob if fnmatchcase(program, glob)]
            if len(self._named) < _MAX_NAMED:
                self._named[program] = known
        return known

    def may_show(self, line: str) -> bool:
        """Whether a command line can show anything. Cheap: it is asked before the line is taken apart."""
        words = set(WORDS.findall(line))
        if _PYTHONS.search(line):
            words.add("python")
        for program in words & self._by_program.keys():
            for tool in self._by_program[program]:
                needs = tool.needs.get(program)
                if needs is None or not needs.isdisjoint(words):
                    return True
        if not self._of_any.isdisjoint(words):
            return True
        script = self._script
        return script is not None and any("." in word and script.fullmatch(word) is not None for word in words)

    def may_confirm(self, line: str) -> bool:
        """Whether a command line can confirm what an earlier one started."""
        return not self._confirming.isdisjoint(WORDS.findall(line))

    def signs(self, verb: Verb) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The success and failure signs of all tools with that verb, for those that run other tools."""
        return _signs(self, verb)


def _one_pattern(globs: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern for all of them."""
    parts = [translate(glob) for glob in globs]
    return re.compile("|".join(parts)) if parts else None


@lru_cache(maxsize=64)
def _signs(box: Toolbox, verb: Verb) -> tuple[tuple[str, ...], tuple[str, ...]]:
    calls = [call for tool in box.tools.values() for call in tool.calls if call.verb == verb and not call.runs]
    success = dict.fromkeys(sign for call in calls for sign in call.success)
    failed = dict.fromkeys(sign for call in calls for sign in call.failed)
    return tuple(success), tuple(failed)


@lru_cache(maxsize=4_096)
def pattern(text: str) -> re.Pattern[str]:
    """A sign, compiled when it is first looked for.

    What a sign lets stand at the beginning of a line is kept to that line. It is found in the same texts, for the
    next line has a beginning too; but over the ends of lines, a screen of blanks or frames takes the square of its
    length, or its cube.
    """
    return re.compile(_AT_BEGIN.sub(_in_line, text), re.MULTILINE)


#: `^\s*`, `^\W*` and `^(?:\W*`, not in `[^…]`.
_AT_BEGIN: Final = re.compile(r"(?<![\[\\])\^((?:\(\?:)?)\\([sW])([*+])")


def _in_line(match: re.Match[str]) -> str:
    blanks = r"[^\S\n]" if match[2] == "s" else r"[^\w\n]"
    return f"^{match[1]}{blanks}{match[3]}"


def found(signs: Iterable[str], text: str, *, last: bool = False) -> re.Match[str] | None:
    """Where `text` has the first of the signs it has: the sign's first place in it, or its last one."""
    for sign in signs:
        # A search for letters is fifty times as fast as one for a pattern, and most signs are not there.
        letters, any_case = sure_letters(sign)
        if letters not in (_small(text) if any_case else text):
            continue
        match = pattern(sign).search(text)
        if match:
            return _last_of(sign, text, match) if last else match
    return None


_small: Final = lru_cache(maxsize=4)(str.lower)


def _last_of(sign: str, text: str, match: re.Match[str]) -> re.Match[str]:
    for later in pattern(sign).finditer(text, match.end()):
        match = later
    return match


@lru_cache(maxsize=4_096)
def sure_letters(sign: str) -> tuple[str, bool]:
    """The longest run of characters that every text with this sign holds, and whether in small letters only.

    '' when none is sure: what stands in a group or beside a `|` is not looked at.
    """
    any_case = sign.startswith("(?i)")
    if "(?i:" in sign or (any_case and not sign.isascii()):
        return "", False
    runs, run, at, depth = [""], "", 4 if any_case else 0, 0
    while at < len(sign):
        plain, step = _piece(sign, at)
        if sign[at] in "()":
            depth += 1 if sign[at] == "(" else -1
        elif sign[at] == "|" and not depth:
            return "", False
        elif sign[at] in "*?{":
            run = run[:-1]  # what stands before it may be missing
        if plain and not depth:
            run += plain
        else:
            runs.append(run)
            run = ""
        at += step
    letters = max([*runs, run], key=len)
    return (letters.lower(), True) if any_case else (letters, False)


def _piece(sign: str, at: int) -> tuple[str, int]:
    """The character that a piece of a pattern stands for, '' for any other piece, and the piece's length."""
    char = sign[at]
    if char == "\\":
        return ("" if sign[at + 1].isalnum() else sign[at + 1]), 2
    if char == "[":
        return "", _class_end(sign, at) - at
    if char == "{":
        return "", sign.index("}", at) - at + 1
    return ("" if char in "()*?.^$+|" else char), 1


def _class_end(sign: str, at: int) -> int:
    """The place after a `[…]`."""
    at += 1
    if sign[at : at + 1] == "^":
        at += 1
    if sign[at : at + 1] == "]":
        at += 1
    while at < len(sign) and sign[at] != "]":
        at += 2 if sign[at] == "\\" else 1
    return at + 1


def is_regex(condition: str) -> bool:
    """Whether a condition is `/…/`."""
    return len(condition) > 1 and condition[0] == condition[-1] == "/"
