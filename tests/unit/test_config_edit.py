"""Writing one value into a person's settings file: theirs stays, byte for byte, or nothing is written."""

from __future__ import annotations

import os
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.config.edit import set_in_user_file
from hikidashi.config.settings import load_settings, user_file
from hikidashi.errors import BadSettings, StorageFailure

NAME, VALUE = "memory.api_key_variable", "ANTHROPIC_API_KEY"
LINE = f'api_key_variable = "{VALUE}"'


def put(data: bytes) -> Path:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_bytes(data)
    return user_file()


# The file before -> after.
CASES = {
    "empty": ("", f"[memory]\n{LINE}\n"),
    "a group alone": ("[memory]\n", f"[memory]\n{LINE}\n"),
    "a group without a line end": (
        "[staging]\nmax_files = 3\n[memory]",
        f"[staging]\nmax_files = 3\n[memory]\n{LINE}\n",
    ),
    "no line end": ('[memory]\nengine = "auto"', f'[memory]\n{LINE}\nengine = "auto"'),
    "comments about the next group": (
        '# mine\n[memory] # x\nengine   =  "auto"   # y\n\n# about staging\n[staging]\nmax_files = 3\n',
        f'# mine\n[memory] # x\n{LINE}\nengine   =  "auto"   # y\n\n# about staging\n[staging]\nmax_files = 3\n',
    ),
    "another group": ("[staging]\nmax_files=3\n", f"[staging]\nmax_files=3\n\n[memory]\n{LINE}\n"),
    "another group, no line end": ("[staging]\nmax_files=3", f"[staging]\nmax_files=3\n\n[memory]\n{LINE}\n"),
    "a comment": ("# nothing yet", f"# nothing yet\n\n[memory]\n{LINE}\n"),
    "dotted": ('memory.engine = "auto"\n', f'memory.engine = "auto"\nmemory.{LINE}\n'),
    "dotted, in two places": (
        "memory.attempts=3\nstaging.max_files=3\nmemory.idle_seconds=3.0\n",
        f"memory.attempts=3\nmemory.{LINE}\nstaging.max_files=3\nmemory.idle_seconds=3.0\n",
    ),
    "inline": ('memory = { engine = "auto" }\n', f'memory = {{ engine = "auto", {LINE}}}\n'),
    "there and empty": (
        '[memory]\napi_key_variable = ""  # none\nattempts = 3\n',
        f"[memory]\n{LINE}  # none\nattempts = 3\n",
    ),
    "there and another": ('[memory]\napi_key_variable = "OLD"\n', f"[memory]\n{LINE}\n"),
    "Windows": ("[memory]\r\nattempts = 3\r\n", f"[memory]\r\n{LINE}\r\nattempts = 3\r\n"),
    "Windows, another group": (
        "[worker]\r\nmax_seconds=60\r\n",
        f"[worker]\r\nmax_seconds=60\r\n\r\n[memory]\r\n{LINE}\r\n",
    ),
    "a byte order mark": ("\ufeff[memory]\nattempts = 3\n", f"\ufeff[memory]\n{LINE}\nattempts = 3\n"),
    "a header inside a text": (
        '[staging]\n# """\n[memory]\nbase_url = """\n[memory]\n"""\n',
        f'[staging]\n# """\n[memory]\nbase_url = """\n[memory]\n"""\n{LINE}\n',
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_value_is_added_and_the_rest_stays(case: str) -> None:
    before, after = CASES[case]
    path = put(before.encode())
    assert set_in_user_file(NAME, VALUE) == path
    assert path.read_bytes().decode() == after
    assert load_settings(None, environ={}).get(NAME) == VALUE
    set_in_user_file(NAME, VALUE)
    assert path.read_bytes().decode() == after


def test_without_a_file_it_is_made_for_its_user_alone() -> None:
    path = set_in_user_file(NAME, VALUE)
    assert path.read_text() == f"[memory]\n{LINE}\n"
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.skipif(sys.platform == "win32", reason="links and modes of POSIX")
def test_a_link_to_the_file_stays_a_link_and_the_target_becomes_private(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.toml"
    target.write_text("[staging]\nmax_files = 3\n")
    target.chmod(0o644)
    user_file().parent.mkdir(parents=True)
    user_file().symlink_to(target)
    assert set_in_user_file(NAME, VALUE) == target.resolve()
    assert user_file().is_symlink()
    assert LINE in target.read_text()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[memory\n", "line 1: not valid TOML"),
        (b"[memory]\n# \xff\n", "line 2: not UTF-8"),
        ("memory = 3\n", "cannot be set in a file of this form: write `api_key_variable = "),
        ("[[memory]]\nattempts = 3\n", "under [memory] yourself"),
    ],
)
def test_a_file_that_cannot_be_changed_safely_is_refused_and_stays(text: str | bytes, said: str) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    path = put(data)
    with pytest.raises(BadSettings) as caught:
        set_in_user_file(NAME, VALUE)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == data


def test_a_file_that_cannot_be_written_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(b"[memory]\n")

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StorageFailure, match="the disk is full"):
        set_in_user_file(NAME, VALUE)
    assert path.read_bytes() == b"[memory]\n"
    assert [found.name for found in path.parent.iterdir()] == ["config.toml"]


LINES = st.sampled_from(
    ["", "# a comment", "#", "   ", "[staging]", "[memory]", "[worker]", "max_files = 3", "attempts=3",
     "  attempts = 4 # c", 'engine = "auto"', "memory.attempts = 3",
     "memory = {}", "[memory.x]", "[[memory]]", "x = '''", "'''", "\ufeff"]
)  # fmt: skip


@given(lines=st.lists(LINES, max_size=8), end=st.sampled_from(["\n", "\r\n"]), last=st.booleans())
def test_whatever_the_file_holds_it_is_kept_or_refused(lines: list[str], end: str, last: bool) -> None:
    text = end.join(lines) + (end if last else "")
    path = put(text.encode())
    try:
        before = tomllib.loads(text.removeprefix("\ufeff"))
        set_in_user_file(NAME, VALUE)
    except (BadSettings, tomllib.TOMLDecodeError):
        assert path.read_bytes() == text.encode()
        return
    after = path.read_bytes().decode()
    found = tomllib.loads(after.removeprefix("\ufeff"))
    assert found["memory"].pop("api_key_variable") == VALUE
    assert found["memory"] == before.get("memory", {})
    assert {**found, "memory": {}} == {**before, "memory": {}}
    rest = iter(after)
    assert all(letter in rest for letter in text), "every character of the old text is there, in its order"
