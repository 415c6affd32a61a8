"""Prompts: whose file is used, and what is said about one that cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hikidashi.errors import BadSettings
from hikidashi.prompts.template import (
    BUILT_IN,
    MAX_PROMPT_BYTES,
    PROMPTS,
    PromptSources,
    find_prompt,
    prompt_digest,
    prompt_notices,
    prompt_text,
    read_prompt,
    workspace_prompts,
)

#: A value for each placeholder that is no prompt itself.
VALUES = {
    "extraction": {"schema": '{"type": "object"}'},
    "integration": {"summary_characters": "20,000", "body_characters": "8,000", "description_characters": "1,024"},
    "knowledge": {"description_characters": "1,024"},
    "clean-up": {"materials": "nothing"},
}


@pytest.fixture
def user(tmp_path: Path) -> Path:
    folder = tmp_path / "user" / "prompts"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace" / "prompts"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize("name", PROMPTS)
def test_every_prompt_of_ours_can_be_used_and_leaves_nothing_to_fill(name: str) -> None:
    text = prompt_text(name, BUILT_IN, **VALUES.get(name, {}))
    assert "{{" not in text
    for value in VALUES.get(name, {}).values():
        assert value in text


def test_the_principles_stand_in_what_is_sent() -> None:
    principles = find_prompt("principles").text.strip()
    assert principles in prompt_text("extraction", schema="{}")
    assert principles in prompt_text("integration", BUILT_IN, **VALUES["integration"])
    for words in ("never an instruction", "word for word", "Update before you create", "Nothing is a right answer"):
        assert words in principles


def test_the_users_file_goes_before_ours_and_a_pinned_one_of_the_workspace_before_both(
    user: Path, shared: Path
) -> None:
    sources = PromptSources(user_folder=user, workspace_folder=shared)
    assert find_prompt("principles", sources).origin == "built-in"
    (user / "principles.md").write_text("Be brief.")
    assert prompt_text("extraction", sources, schema="{}").count("Be brief.") == 1
    theirs = shared / "principles.md"
    theirs.write_text("Store all you see.")
    assert find_prompt("principles", sources).text == "Be brief."
    pinned = PromptSources(
        user_folder=user,
        workspace_folder=shared,
        pinned={"principles": prompt_digest(theirs.read_bytes())},
    )
    assert find_prompt("principles", pinned).text == "Store all you see."
    assert prompt_notices(pinned) == []


def test_a_workspaces_file_that_changed_is_not_used_and_it_is_said(user: Path, shared: Path) -> None:
    theirs = shared / "principles.md"
    theirs.write_text("First.")
    pinned = {"principles": prompt_digest(theirs.read_bytes())}
    sources = PromptSources(user_folder=user, workspace_folder=shared, pinned=pinned)
    theirs.write_text("Second.")
    assert find_prompt("principles", sources).origin == "built-in"
    (notice,) = prompt_notices(sources)
    assert "changed since you trusted it" in notice
    assert notice.endswith("`hikidashi trust --prompts`")


def test_a_workspaces_file_that_nobody_looked_at_is_not_used_and_it_is_said(shared: Path) -> None:
    (shared / "extraction.md").write_text("{{principles}} {{schema}}")
    sources = PromptSources(workspace_folder=shared)
    assert find_prompt("extraction", sources).origin == "built-in"
    (notice,) = prompt_notices(sources)
    assert "not used, you have not trusted it" in notice
    (found,) = workspace_prompts(sources)
    assert (found.name, found.is_pinned, found.trouble) == ("extraction", False, "")


def test_what_is_filled_in_is_never_a_template_itself(user: Path) -> None:
    (user / "extraction.md").write_text("{{principles}}|{{schema}}")
    (user / "principles.md").write_text("P")
    sources = PromptSources(user_folder=user)
    assert prompt_text("extraction", sources, schema="{{principles}} {{nonsense}}") == "P|{{principles}} {{nonsense}}"


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("extraction", b"{{principles}}", "lacks {{schema}}"),
        ("extraction", b"{{schema}} only", "lacks {{principles}}"),
        ("clean-up", b"Tidy.\n\n{{material}} {{materials}}", "line 3: {{material}} is no placeholder of it"),
        ("principles", b"Do {{this}}", "line 1: {{this}} is no placeholder of it: use none"),
        ("principles", b" \n\t\n", "is empty"),
        ("principles", b"one\ntwo \xff", "line 2: not UTF-8"),
        ("principles", b"x" * (MAX_PROMPT_BYTES + 1), "is larger than 64 KB"),
    ],
)
def test_a_bad_file_is_one_line_that_names_it_and_the_mend(user: Path, name: str, data: bytes, said: str) -> None:
    path = user / f"{name}.md"
    path.write_bytes(data)
    sources = PromptSources(user_folder=user)
    with pytest.raises(BadSettings) as raised:
        find_prompt(name, sources)
    assert said in str(raised.value)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)
    assert prompt_notices(sources) == [str(raised.value)]


def test_a_bad_file_of_the_workspace_is_an_error_only_once_it_was_agreed_to(shared: Path) -> None:
    path = shared / "extraction.md"
    path.write_text("{{principles}} and nothing else")
    assert find_prompt("extraction", PromptSources(workspace_folder=shared)).origin == "built-in"
    pinned = {"extraction": prompt_digest(path.read_bytes())}
    with pytest.raises(BadSettings, match=r"lacks \{\{schema\}\}"):
        find_prompt("extraction", PromptSources(workspace_folder=shared, pinned=pinned))


def test_a_link_in_a_workspace_is_not_followed_whatever_was_pinned(tmp_path: Path, shared: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("From elsewhere.")
    (shared / "principles.md").symlink_to(outside)
    pinned = {"principles": prompt_digest(outside.read_bytes())}
    sources = PromptSources(workspace_folder=shared, pinned=pinned)
    assert find_prompt("principles", sources).origin == "built-in"
    (notice,) = prompt_notices(sources)
    assert "is a link and is not followed" in notice
    outside.unlink()
    assert find_prompt("principles", sources).origin == "built-in"


def test_the_user_may_link_to_a_file_kept_elsewhere(tmp_path: Path, user: Path) -> None:
    outside = tmp_path / "dotfiles.md"
    outside.write_text("Mine.")
    (user / "principles.md").symlink_to(outside)
    sources = PromptSources(user_folder=user)
    assert find_prompt("principles", sources).text == "Mine."
    outside.unlink()
    with pytest.raises(BadSettings, match="link to a file that is missing"):
        find_prompt("principles", sources)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.timeout(20)
def test_what_is_no_file_keeps_nobody_waiting(user: Path) -> None:
    os.mkfifo(user / "principles.md")
    (user / "extraction.md").mkdir()
    for name in ("principles", "extraction"):
        with pytest.raises(BadSettings, match=r"no regular file|cannot be read"):
            find_prompt(name, PromptSources(user_folder=user))


def test_a_file_of_a_name_that_is_no_prompts_is_named(user: Path, shared: Path) -> None:
    (user / "extracton.md").write_text("{{principles}} {{schema}}")
    (shared / "principles.txt").write_text("x")
    (user / ".DS_Store").write_bytes(b"\0")
    notices = prompt_notices(PromptSources(user_folder=user, workspace_folder=shared))
    assert [notice.partition(" is no prompt")[0] for notice in notices] == [
        str(user / "extracton.md"),
        str(shared / "principles.txt"),
    ]


def test_a_value_that_the_program_forgets_or_makes_up_is_a_fault_of_the_program() -> None:
    with pytest.raises(ValueError, match="needs a value for schema"):
        prompt_text("extraction")
    with pytest.raises(ValueError, match="has no placeholder colour"):
        prompt_text("extraction", schema="{}", colour="red")


def test_line_ends_and_byte_order_marks_of_editors_are_no_fault(tmp_path: Path) -> None:
    prompt = read_prompt("principles", b"\xef\xbb\xbfone\r\ntwo\r\n", tmp_path / "principles.md")
    assert prompt.text == "one\ntwo\n"
