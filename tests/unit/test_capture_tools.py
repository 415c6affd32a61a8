"""The tool table: each row loads, and each tool does in its cases what its real outputs say."""

from __future__ import annotations

import re
import time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from hikidashi.capture.evidence import VERBS
from hikidashi.capture.tool_rows import FOLDER, LANGUAGES, load_toolbox, read_tools, toolbox
from hikidashi.capture.toolbox import pattern, sure_letters
from hikidashi.errors import CorruptData
from tests.tool_cases import all_cases, given, run_case

ALL = all_cases()


@pytest.mark.parametrize("case", [case for _, case in ALL], ids=[name for name, _ in ALL])
def test_a_call_gives_what_its_output_proves(case: dict[str, Any]) -> None:
    shown, why = run_case(case)
    expected = case["gives"]
    told = given(shown)
    for row, wanted in zip(told, expected, strict=False):
        if "target" not in wanted:
            row.pop("target")
    assert sorted(told, key=str) == sorted(expected, key=str), f"{case.get('why', '')} (engine: {why})"


def test_every_tool_has_cases_of_success_and_of_nothing() -> None:
    ok = [{row["tool"] for row in case["gives"] if row["outcome"] == "ok"} for _, case in ALL]
    words = [set(re.findall(r"[\w.*+-]+", case["command"])) for _, case in ALL]
    succeeds: set[str] = set()
    fails: set[str] = set()
    for tool in toolbox().tools.values():
        names = {program[0] for program in tool.programs}
        globs = [name for name in names if "*" in name]
        for tools, typed in zip(ok, words, strict=True):
            if tool.name in tools or any(fnmatchcase(name, glob) for glob in globs for name in tools):
                succeeds.add(tool.name)
            elif names & typed or any(fnmatchcase(word, glob) for glob in globs for word in typed):
                fails.add(tool.name)
    assert sorted(toolbox().tools.keys() - succeeds) == []
    assert sorted(toolbox().tools.keys() - fails) == []


def test_there_are_eighty_tools_over_the_eleven_verbs() -> None:
    tools = toolbox().tools.values()
    assert len(tools) >= 80
    assert {call.verb for tool in tools for call in tool.calls} == set(VERBS)


def test_every_verb_has_words_in_eight_languages() -> None:
    import tomllib

    rows = tomllib.loads((FOLDER / "verbs.toml").read_text(encoding="utf-8"))
    assert set(rows) == set(VERBS)
    for verb, row in rows.items():
        assert all(row.get(language) for language in LANGUAGES), verb


def test_looking_for_letters_first_loses_no_sign() -> None:
    signs = {
        sign
        for tool in toolbox().tools.values()
        for call in tool.calls
        for sign in (*call.success, *call.failed, *call.denied, *call.nothing)
    }
    outputs = "\n\n".join(case.get("output", "") for _, case in ALL)
    hits = 0
    for sign in signs:
        letters, any_case = sure_letters(sign)
        match = pattern(sign).search(outputs)
        if match:
            hits += 1
            assert letters in (match.group().lower() if any_case else match.group()), sign
    assert hits > 100


@pytest.mark.parametrize(
    ("sign", "letters"),
    [
        ("^To github", ("To github", False)),
        (r"^ok\b.*\(cached\)$", ("(cached)", False)),
        ("one|another", ("", False)),
        ("colou?r", ("colo", False)),
        ("ab{2}c", ("a", False)),
        ("(?:maybe) this[xy]z", (" this", False)),
        ("(?i)Done at LAST", ("done at last", True)),
        ("a (?i:b) long one", ("", False)),
    ],
)
def test_the_letters_that_a_sign_is_sure_to_have(sign: str, letters: tuple[str, bool]) -> None:
    assert sure_letters(sign) == letters


_GOOD: dict[str, Any] = {"verb": "deploy", "match": ["up"], "success": ["^done"]}


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({}, "has no calls"),
        ({"calls": [_GOOD], "colour": "red"}, "unknown key colour"),
        ({"calls": [{**_GOOD, "verb": "fly"}]}, "the verb 'fly'"),
        ({"calls": [{**_GOOD, "match": []}]}, "matches nothing"),
        ({"calls": [{"verb": "deploy", "match": [""]}]}, "can never succeed"),
        ({"calls": [{**_GOOD, "success": ["("]}]}, "no regular expression"),
        ({"calls": [{**_GOOD, "target": ["moon"]}]}, "names no target"),
        ({"calls": [{**_GOOD, "target": ["word:x"]}]}, "has no number"),
        ({"calls": [{**_GOOD, "confirm": ["up"]}]}, "one of `confirm` and `confirm_by`"),
        ({"calls": [{**_GOOD, "requires": [""]}]}, "an empty text"),
        ({"calls": [{**_GOOD, "requires": ["/(/"]}]}, "no regular expression"),
        ({"calls": [{**_GOOD, "quiet": "yes"}]}, "quiet is no bool"),
        ({"calls": [{**_GOOD, "exits": ["0"]}]}, "no list of exit codes"),
        ({"calls": [{**_GOOD, "success": [1]}]}, "no list of texts"),
    ],
)
def test_a_wrong_row_is_named_with_its_file(table: dict[str, Any], told: str) -> None:
    with pytest.raises(CorruptData, match=r"mine\.toml: \[skiff\]") as caught:
        read_tools({"skiff": table}, "mine.toml")
    assert told in str(caught.value)


def test_all_rows_are_right() -> None:
    assert load_toolbox(FOLDER, check=True).tools


def test_a_long_option_that_names_the_target_takes_a_value() -> None:
    call = {**_GOOD, "target": ["option:--app|-a"]}
    (tool,) = read_tools({"skiff": {"calls": [call], "takes_value": ["-x"]}}, "mine.toml")
    assert tool.takes_value == {"-x", "--app"}


def test_a_tool_may_stand_in_two_files_with_the_signs_of_each(tmp_path: Path) -> None:
    row = '[skiff]\nfailed = ["^{}"]\n[[skiff.calls]]\nverb = "deploy"\nmatch = ["{}"]\nquiet = true\n'
    (tmp_path / "a.toml").write_text(row.format("leak", "up"))
    (tmp_path / "b.toml").write_text(row.format("sank", "out"))
    (skiff,) = load_toolbox(tmp_path).tools.values()
    assert [(call.match, call.failed) for call in skiff.calls] == [((("up",),), ("^leak",)), ((("out",),), ("^sank",))]


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("[skiff")
    with pytest.raises(CorruptData, match=r"a\.toml is no TOML file"):
        load_toolbox(tmp_path)


@pytest.mark.parametrize("sign", [r"^\s*Done$", r"(?i)^\W*done$", r"^(?:\W*state )?Done$", r"^\W+Done$"])
@pytest.mark.parametrize("text", ["Done", "  Done", "\n\n  > Done\n", "all\n│ Done\n", "x Done", "- \n\n"])
def test_what_stands_before_a_sign_is_kept_to_its_line(sign: str, text: str) -> None:
    as_written = re.compile(sign, re.MULTILINE).search(text) is not None
    assert (pattern(sign).search(text) is not None) == as_written


@pytest.mark.parametrize("screen", ["│ │ █▄▀ ──  \n" * 2_000, "  - \n" * 6_000, f"{' ' * 60}\n" * 400])
def test_a_screen_of_frames_and_blanks_is_read_at_once(screen: str) -> None:
    began = time.process_time()
    for sign in (r"^\W*Done (?:in|at) ", r"^\s*Done$", r"^(?:\W*state)?[:= ]+40[13]\s*$"):
        assert pattern(sign).search(screen) is None
    assert time.process_time() - began < 1
