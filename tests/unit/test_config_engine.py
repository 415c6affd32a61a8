"""Which engine reads sessions and which consolidates, and what is said about it."""

from __future__ import annotations

import sys

import pytest

from hikidashi.config.engine import EnginePhase, exposed_key, resolve_engine
from hikidashi.config.settings import load_settings, user_file
from hikidashi.errors import BadSettings, UsageError

SECRET = "sk-ant-planted-0123456789abcdef"
AMBIENT = {"ANTHROPIC_API_KEY": SECRET}
NAMED = 'api_key_variable = "ANTHROPIC_API_KEY"'


def write(text: str) -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text(f"[memory]\n{text}\n", encoding="utf-8")


# [memory] of the user's file, environment, --engine -> who reads, part of the reason; who consolidates, part of that.
CASES = [
    ("", {}, None, ("rules", "set memory.api_key or memory.base_url in"), ("rules", "by rules only")),
    ("", AMBIENT, None, ("rules", "alone is no consent, and no request is made"), ("rules", "by rules only")),
    (f'api_key = "{SECRET}"', {}, None, ("anthropic", "memory.api_key is set"), ("rules", "by rules only")),
    (NAMED, {}, None, ("anthropic", "memory.api_key_variable is set"), ("rules", "by rules only")),
    (NAMED, AMBIENT, None, ("anthropic", "memory.api_key_variable is set"), ("rules", "by rules only")),
    ('base_url = "http://localhost:11434"', {}, None, ("anthropic", "base_url is set"), ("rules", "by rules only")),
    ('engine = "rules"', AMBIENT, None, ("rules", "line 2) is rules"), ("rules", "line 2) is rules")),
    (f'engine = "rules"\n{NAMED}', AMBIENT, None, ("rules", "line 2) is rules"), ("rules", "line 2) is rules")),
    ('engine = "anthropic"', {}, None, ("anthropic", "is anthropic"), ("anthropic", "line 2) is anthropic")),
    (f'api_key = "{SECRET}"', {}, "rules", ("rules", "--engine is rules"), ("rules", "--engine is rules")),
    ('engine = "rules"', {}, "anthropic", ("anthropic", "--engine is"), ("anthropic", "--engine is anthropic")),
    ('engine = "anthropic"', {}, "auto", ("rules", "--engine is auto"), ("rules", "--engine is auto")),
]


@pytest.mark.parametrize(("text", "ambient", "override", "extraction", "consolidation"), CASES)
def test_which_engine_and_why(
    text: str,
    ambient: dict[str, str],
    override: str | None,
    extraction: tuple[str, str],
    consolidation: tuple[str, str],
) -> None:
    write(text)
    settings = load_settings(None, environ={})
    phases: list[tuple[EnginePhase, tuple[str, str]]] = [("extraction", extraction), ("consolidation", consolidation)]
    for phase, (name, reason) in phases:
        choice = resolve_engine(settings, phase, override, environ=ambient)
        assert choice.name == name
        assert reason in choice.reason
        assert SECRET not in choice.reason
        assert "\n" not in choice.reason


def test_an_ambient_key_alone_is_told_how_to_agree() -> None:
    settings = load_settings(None, environ={})
    assert "`hikidashi init --use-key`" in resolve_engine(settings, "extraction", environ=AMBIENT).reason
    assert "--use-key" not in resolve_engine(settings, "extraction", environ={}).reason
    assert str(user_file()) in resolve_engine(settings, "extraction", environ={}).reason


def test_a_server_from_the_environment_counts_and_is_named_as_such() -> None:
    settings = load_settings(None, environ={"HIKIDASHI_MEMORY_BASE_URL": "http://localhost:8080"})
    choice = resolve_engine(settings, "extraction", environ={})
    assert (choice.name, "$HIKIDASHI_MEMORY_BASE_URL" in choice.reason) == ("anthropic", True)


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
@pytest.mark.parametrize(
    ("text", "mode", "exposed"),
    [
        (f'api_key = "{SECRET}"', 0o644, True),
        (f'api_key = "{SECRET}"', 0o640, True),
        (f'api_key = "{SECRET}"', 0o600, False),
        (NAMED, 0o644, False),
        ("", 0o644, False),
    ],
)
def test_a_key_that_others_can_read_is_told_with_the_mend(text: str, mode: int, exposed: bool) -> None:
    write(text)
    user_file().chmod(mode)
    said = exposed_key(load_settings(None, environ={}))
    assert (f"`chmod 600 {user_file()}`" in said) == exposed
    assert SECRET not in said
    assert not exposed_key(load_settings(None, environ={"HIKIDASHI_MEMORY_API_KEY": SECRET}))


def test_an_unknown_engine_is_a_usage_error() -> None:
    settings = load_settings(None, environ={})
    with pytest.raises(UsageError, match='use one of "auto", "anthropic", "rules"'):
        resolve_engine(settings, "extraction", "gpt")


@pytest.mark.parametrize("pasted", [SECRET, "A KEY", "1KEY", "KEY\\n", "A" * 65, "anthropic_api_key"])
def test_a_key_pasted_in_place_of_its_variable_s_name_is_refused_unseen(pasted: str) -> None:
    write(f'api_key_variable = "{pasted}"')
    with pytest.raises(BadSettings) as caught:
        load_settings(None, environ={})
    message = str(caught.value)
    assert "line 2: memory.api_key_variable must be the name of a variable in capitals" in message
    assert pasted not in message
