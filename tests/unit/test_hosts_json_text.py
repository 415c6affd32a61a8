"""Changing one place of a JSON file keeps every other byte of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.hosts.hook_settings import with_hooks, without_hooks
from hikidashi.hosts.json_text import value_at, with_item, with_value, without

HANDLER = {
    "type": "command",
    "command": "/py",
    "args": ["-I", "-S", "/x/hikidashi/serve/hook.py", "Stop"],
    "timeout": 5,
}

CASES = {
    "empty object": "{}\n",
    "one line": '{"a": 1, "b": [2]}',
    "two blanks": '{\n  "model": "x",\n  "hooks": {\n    "Stop": [\n      {"hooks": []}\n    ]\n  }\n}\n',
    "tabs": '{\n\t"model": "x"\n}\n',
    "four blanks, no last newline": '{\n    "model": "x"\n}',
    "windows lines": '{\r\n  "model": "x",\r\n  "b": {}\r\n}\r\n',
    "mark at the front": '\ufeff{\n  "model": "x"\n}\n',
    "odd blanks": '\n\n {  "model" :\t"x" ,\n"b":[ 1 , 2 ]\n\n}  \n\n',
    "other hooks": '{"hooks": {"Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "say \\"}\\""}]}]}}',
    "escapes": '{"\\u0061\\"{": "\\\\", "日本": "語🎉", "n": -1.5e3, "t": true, "x": null}',
    "doubled key": '{"hooks": {}, "hooks": {"Stop": []}}',
}


def _kept(old: str, new: str) -> bool:
    """Whether `new` is `old` with one piece put in; blanks between two braces may go."""
    front = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    rest = len(old) - front
    return not old[front:].strip() or new.endswith(old[front:].lstrip()) or new[len(new) - rest :] == old[front:]


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_hooks_are_put_in_behind_what_is_there_and_taken_out_again(text: str) -> None:
    new = with_hooks(text, {"Stop": HANDLER, "SessionEnd": HANDLER})
    hooks = value_at(new, ("hooks",))
    assert hooks["Stop"][-1] == {"hooks": [HANDLER]}
    assert hooks["SessionEnd"] == [{"hooks": [HANDLER]}]
    before = value_at(text)
    assert {k: v for k, v in value_at(new).items() if k != "hooks"} == {k: v for k, v in before.items() if k != "hooks"}
    back = without_hooks(new)
    if text in (CASES["doubled key"], CASES["empty object"]):
        assert value_at(back).get("hooks") in (None, {}, {"Stop": []})
    elif text == CASES["windows lines"] or "\r\n" not in text:
        assert back == text
    assert ("\r\n" in new) == ("\r\n" in text)
    assert new.count("\n") == new.count("\r\n") or "\r\n" not in text


@pytest.mark.parametrize("text", ["", "  \n", "\ufeff"])
def test_an_empty_file_is_an_empty_object(text: str) -> None:
    assert value_at(with_value(text, ("a", "b"), 1)) == {"a": {"b": 1}}
    assert value_at(text) == {}


@pytest.mark.parametrize(
    "text", ["{", "[]", "1", '{"a": 1,}', "{} x", "// c\n{}", "[" * 100_000], ids=lambda text: str(text)[:10]
)
def test_what_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        with_value(text, ("a",), 1)


@pytest.mark.parametrize(
    "text", ['{"hooks": []}', '{"hooks": null}', '{"hooks": {"Stop": {}}}', '{"hooks": {"Stop": 1}}']
)
def test_something_else_in_the_place_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no object|no list"):
        with_item(text, ("hooks", "Stop"), 1)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(
    values=st.dictionaries(st.text(max_size=4), values, max_size=4),
    key=st.text(max_size=4),
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
    ascii_only=st.booleans(),
)
def test_any_object_gets_a_member_and_loses_it(
    values: dict[str, Any], key: str, indent: int | str | None, ascii_only: bool
) -> None:
    text = json.dumps(values, indent=indent, ensure_ascii=ascii_only)
    new = with_value(text, (key,), {"x": [1]})
    assert json.loads(new) == {**values, key: {"x": [1]}}
    if key not in values:
        assert _kept(text, new)
        assert without(new, (key,)) == text
    assert json.loads(without(text, (key,))) == {name: value for name, value in values.items() if name != key}
