"""Which rows of the tool table a program's call belongs to: sub-commands, options, conditions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from hikidashi.capture.grammar import Invocation
from hikidashi.capture.toolbox import Call, Tool, Toolbox, is_regex, pattern

__all__ = ["Arguments", "Called", "arguments", "called", "is_any_there", "is_call_of", "matches"]

#: `python`, `python3`, `python3.12`: one program.
_PYTHON: Final = re.compile(r"(?:python|pypy)[\d.]*(?:\.exe)?|py")

_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish"})

#: A few letters put together behind one dash.
_LETTERS: Final = re.compile(r"-[A-Za-z]{2,5}")

#: Options that only ask or pretend, with any tool.
_ONLY_TELLS: Final = frozenset(
    {"--help", "--version", "--dry-run", "--dryrun", "--just-print", "--whatif", "-help", "-WhatIf", "--help-all"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The words after a program."""

    #: Words that are no options, nor values of some.
    positionals: tuple[str, ...]
    #: Options as written, with their values where they have one.
    options: tuple[tuple[str, str | None], ...]
    #: All words, and what a heredoc feeds to the program.
    text: str

    def value(self, name: str) -> str | None:
        """The value of an option; None when it is not there or has none."""
        names = name.split("|")
        return next((value for option, value in self.options if option in names and value is not None), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A call of a known tool that fits one of its rows."""

    tool: Tool
    call: Call
    arguments: Arguments
    #: Positionals after the sub-command that matched.
    rest: tuple[str, ...]
    #: Why the call shows nothing although it fits; '' when it may show something.
    why_nothing: str = ""


def called(invocation: Invocation, box: Toolbox) -> list[Called]:
    """The rows an invocation fits, in the table's order."""
    words = _spoken(invocation, box)
    if not words:
        return []
    stdin = invocation.stdin or ""
    known = box.of_program(words[0])
    return (
        _of_tools(known, words, stdin)
        or _passed_on(known, words, stdin, box)
        or _of_tools(box.of_any(words[0]), words, stdin)
    )


def _passed_on(tools: list[Tool], words: tuple[str, ...], stdin: str, box: Toolbox) -> list[Called]:
    """The rows of the program that a package manager passes its words to (`pnpm vitest run`)."""
    for tool in tools:
        if tool.passes_on:
            inner = _inner_words(tool, words)
            if inner and box.of_program(inner[0]):
                return _of_tools(box.of_program(inner[0]), inner, stdin)
    return []


def _inner_words(tool: Tool, words: tuple[str, ...]) -> tuple[str, ...]:
    """What is left of the words without the tool, its options, and the words that say "run this"."""
    rest = words[1:]
    while rest:
        if rest[0].startswith("-"):
            rest = rest[2:] if rest[0] in tool.takes_value else rest[1:]
            continue
        left = next((after for phrase in tool.passes_on if (after := _after(rest, phrase)) is not None), None)
        if left is None:
            return rest if rest[0] != words[0] else ()
        rest = left
    return ()


def _of_tools(tools: list[Tool], words: tuple[str, ...], stdin: str) -> list[Called]:
    fits: list[Called] = []
    for tool in tools:
        parsed = arguments(words[1:], tool, stdin)
        taken = _program_words(tool, words[0], parsed)
        if taken is None:
            continue
        if taken:
            parsed = Arguments(positionals=parsed.positionals[taken:], options=parsed.options, text=parsed.text)
        fits += _fitting(tool, parsed)
    return fits


def is_call_of(invocation: Invocation, wanted: tuple[str, ...], target: str) -> bool:
    """Whether an invocation is one of a program with these sub-commands (a row's `confirm_by`)."""
    words, wanted = invocation.words, tuple(word.replace("{target}", target) for word in wanted)
    if not words or words[0] != wanted[0]:
        return False
    return _after(tuple(word for word in words[1:] if word[:1] != "-"), wanted[1:]) is not None


def _spoken(invocation: Invocation, box: Toolbox) -> tuple[str, ...]:
    """The words as the table names them: `python3.12` as `python`, `bash scripts/deploy.sh` as `deploy.sh`."""
    words = invocation.words
    if not words:
        return ()
    if invocation.wrappers[-1:] in (("python -m",), ("uv run",)):  # `uv run -m build` too
        module = ("python", "-m", words[0])
        if any(program == module for tool in box.of_program("python") for program in tool.programs):
            return (*module, *words[1:])
        return words
    if _PYTHON.fullmatch(words[0]):
        return ("python", *words[1:])
    runner = (invocation.wrappers[-1:] or ("",))[0].split()
    if runner[1:] == ["run"] and not box.of_program(words[0]) and box.of_program(runner[0]):  # a task: `hatch run test`
        return (*runner, *words)
    if words[0] in _SHELLS and len(words) > 1 and words[1][:1] != "-":
        return (words[1].rpartition("/")[2], *words[2:])
    return words


def _program_words(tool: Tool, first: str, parsed: Arguments) -> int | None:
    """How many positionals belong to the program's name; None when it is another program."""
    for program in tool.programs:
        if program[0] != first and "*" not in program[0]:
            continue
        rest = program[1:]
        if rest[:1] == ("-m",):  # `python -m build`
            if ("-m", None) in parsed.options and parsed.positionals[:1] == rest[1:]:
                return 1
            continue
        if _after(parsed.positionals, rest) is not None:  # `python backend/manage.py` too
            return len(rest)
    return None


def arguments(words: tuple[str, ...], tool: Tool, stdin: str = "") -> Arguments:
    """Take the words after a program apart as `tool` reads them."""
    positionals: list[str] = []
    options: list[tuple[str, str | None]] = []
    at, plain = 0, False
    while at < len(words):
        word = words[at]
        at += 1
        if plain or len(word) < 2 or word[0] != "-":
            positionals.append(word)
        elif word == "--":
            plain = True
        elif word in tool.takes_value:
            options.append((word, words[at] if at < len(words) else None))
            at += 1
        else:
            options.append(_option(word, tool))
    text = " ".join(words)
    return Arguments(positionals=tuple(positionals), options=tuple(options), text=f"{text}\n{stdin}" if stdin else text)


def _option(word: str, tool: Tool) -> tuple[str, str | None]:
    name, equals, value = word.partition("=")
    if equals:
        return name, value
    if len(word) > 2 and word[1] != "-" and word[:2] in tool.takes_value:  # `-p8080`
        return word[:2], word[2:]
    return word, None


def _fitting(tool: Tool, parsed: Arguments) -> list[Called]:
    fits: list[Called] = []
    for call in tool.calls:
        rest = _rest(tool, call, parsed.positionals)
        if rest is None or any(not _holds(need, tool, parsed) for need in call.requires):
            continue
        why = _only_tells(parsed) or next(
            (f"`{refused}` makes it something else" for refused in call.unless if _holds(refused, tool, parsed)), ""
        )
        fits.append(Called(tool=tool, call=call, arguments=parsed, rest=rest, why_nothing=why))
    return fits


def _rest(tool: Tool, call: Call, positionals: tuple[str, ...]) -> tuple[str, ...] | None:
    """What follows the sub-command; None when the call has another one."""
    for words in call.match:
        if tool.tasks and len(words) == 1:
            for at, positional in enumerate(positionals):
                if matches(positional, words[0]):
                    return positionals[at + 1 :]
            continue
        rest = _after(positionals, words)
        if rest is not None:
            return rest
    return None


def _after(positionals: tuple[str, ...], words: tuple[str, ...]) -> tuple[str, ...] | None:
    if len(positionals) < len(words):
        return None
    for positional, word in zip(positionals, words, strict=False):
        if positional != word and not matches(positional, word):
            return None
    return positionals[len(words) :]


@lru_cache(maxsize=16_384)  # a few thousand pairs are most of a day's work
def matches(positional: str, word: str) -> bool:
    """Whether a typed word is one of a row's alternatives; a file counts by its name too."""
    name = positional.rpartition("/")[2]
    return any(
        choice in (positional, name)
        or ("*" in choice and (fnmatchcase(positional, choice) or fnmatchcase(name, choice)))
        for choice in word.split("|")
    )


def _only_tells(parsed: Arguments) -> str:
    for option, value in parsed.options:
        names_one = option == "--version" and value is not None  # `helm upgrade --version 1.2.3`
        if option in _ONLY_TELLS and value not in ("false", "none") and not names_one:
            return f"`{option}` only tells or pretends"
    if parsed.positionals[:1] == ("help",) or parsed.positionals[-1:] == ("help",):
        return "it asks for help"
    # `-h` is a host to some tools, but never as the last word.
    if parsed.options[-1:] == (("-h", None),) and parsed.text.endswith("-h"):
        return "it asks for help"
    return ""


def is_any_there(conditions: tuple[str, ...], tool: Tool, parsed: Arguments) -> bool:
    """Whether a call holds one of these options, words or `/regexes/`."""
    return any(_holds(condition, tool, parsed) for condition in conditions)


def _holds(condition: str, tool: Tool, parsed: Arguments) -> bool:
    if is_regex(condition):
        return pattern(condition[1:-1]).search(parsed.text) is not None
    return any(_is_there(choice, tool, parsed) for choice in condition.split("|"))


def _is_there(word: str, tool: Tool, parsed: Arguments) -> bool:
    if word[:1] != "-":
        return word in parsed.positionals
    name, equals, value = word.partition("=")
    for option, given in parsed.options:
        if option == name and (not equals or given == value):
            return True
        together = len(name) == 2 and not tool.dash_words and given is None and _LETTERS.fullmatch(option)
        if together and name[1] in option:
            return True
    return False
