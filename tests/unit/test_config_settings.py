"""Settings: what a person gets when all is well, and the one line they get when it is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hikidashi.config.defaults import SETTINGS
from hikidashi.config.settings import load_settings, refused_settings, user_file
from hikidashi.config.workspace import Workspace
from hikidashi.errors import BadSettings

SECRET = "sk-planted-0123456789abcdef"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "project" / ".hikidashi").mkdir(parents=True)
    return Workspace(root=tmp_path / "project", id="0" * 32)


def write(file: Path, text: str | bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())


def refusal(workspace: Workspace | None = None, environ: dict[str, str] | None = None) -> str:
    with pytest.raises(BadSettings) as caught:
        load_settings(workspace, environ=environ or {})
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_without_files_every_setting_has_its_default() -> None:
    settings = load_settings(None, environ={})
    for setting in SETTINGS:
        value = settings.get(setting.name)
        assert (value.get_secret_value() if setting.secret else value) == setting.default
        assert settings.origin(setting.name) == "default"


def test_later_layers_win_and_each_value_says_where_it_came_from(workspace: Workspace) -> None:
    write(user_file(), "# mine\n[staging]\nmax_files = 5\nmax_bytes = 5000\nmax_age_hours = 1\n")
    write(workspace.config_file, "[staging]\nmax_bytes = 6000\nmax_age_hours = 2.5\n")
    settings = load_settings(workspace, environ={"HIKIDASHI_STAGING_MAX_AGE_HOURS": "3"})
    assert (settings.staging.max_files, settings.staging.max_bytes, settings.staging.max_age_hours) == (5, 6000, 3.0)
    assert settings.origin("staging.max_files") == f"{user_file()}, line 3"
    assert settings.origin("staging.max_bytes") == f"{workspace.config_file}, line 2"
    assert settings.origin("staging.max_age_hours") == "$HIKIDASHI_STAGING_MAX_AGE_HOURS"
    assert settings.origin("worker.max_seconds") == "default"


@pytest.mark.parametrize("setting", [s for s in SETTINGS if not s.choices], ids=lambda s: s.name)
def test_every_setting_can_be_set_by_its_variable_unless_only_the_file_may(setting: object) -> None:
    from hikidashi.config.defaults import Setting

    assert isinstance(setting, Setting)
    text = "some text" if isinstance(setting.default, str) else str(setting.default)
    if setting.file_only:
        with pytest.raises(BadSettings, match=f"{setting.variable} is no variable: unset .* may set {setting.name}"):
            load_settings(None, environ={setting.variable: text})
        return
    settings = load_settings(None, environ={setting.variable: text})
    assert settings.origin(setting.name) == f"${setting.variable}"


# What a file says -> line, what is said about it, the mend.
USER_FILE_CASES: dict[str, tuple[str | bytes, int, str, str]] = {
    "unknown key": ("[staging]\nmax_file = 3\n", 2, 'unknown key "max_file" in [staging]', '"max_files"'),
    "unknown key, nothing near": ("[staging]\nzzz = 3\n", 2, 'unknown key "zzz"', "delete it; the keys are max_files"),
    "key of another group": ("[staging]\nbatch_entries = 3\n", 2, "unknown key", "belongs under [worker]"),
    "unknown group": ("\n[stagin]\nmax_files = 3\n", 3, 'unknown group "stagin"', "write [staging]"),
    "no group": ("max_files = 3\n", 1, "stands outside its group", "write it under [staging]"),
    "group as value": ("staging = 3\n", 1, "is a group, not a value", "[staging]"),
    "number in quotes": ('[staging]\nmax_files = "3"\n', 2, "must be a whole number", "correct"),
    "truth for a number": ("[staging]\nmax_files = true\n", 2, "must be a whole number", "correct"),
    "a fraction": ("[staging]\nmax_files = 3.5\n", 2, "must be a whole number", "correct"),
    "not a number": ("[staging]\nmax_age_hours = nan\n", 2, "must be a number", "correct"),
    "infinite": ("[staging]\nmax_age_hours = inf\n", 2, "must be a number", "correct"),
    "list": ("[staging]\nmax_files = [3]\n", 2, "must be a whole number", "correct"),
    "too small": ("[staging]\n# a comment\nmax_files = 0\n", 3, "from 1 to 1,000,000", "correct"),
    "too large": ("[cleanup]\nmax_drop_fraction = 1.5\n", 2, "from 0 to 1", "correct"),
    "no such choice": ('[memory]\nengine = "gpt"\n', 2, '"auto", "anthropic", "rules"', "correct"),
    "choice with a newline": ('[memory]\nengine = "rules\\n"\n', 2, '"auto", "anthropic", "rules"', "correct"),
    "dotted": ("staging.max_file = 3\n", 1, "unknown key", '"max_files"'),
    "inline table": ("\n\nstaging = { max_file = 3 }\n", 3, "unknown key", '"max_files"'),
    "spaced header": ("\n[ staging ] # here\n\n'max_file'=3\n", 4, "unknown key", '"max_files"'),
    "after a long string": (
        '[memory]\nbase_url = """\n[staging]\nmax_file = 3\n"""\n[staging]\nmax_file = 3\n',
        7,
        "",
        "",
    ),
    "newline in a key": ('[staging]\n"a\\nb" = 3\n', 0, "unknown key", "delete"),
    "not TOML": ("[staging]\nmax_files =\n", 2, "not valid TOML", "correct that line"),
    "no quotes": ("[memory]\nextraction_model = haiku\n", 2, "not valid TOML", 'text stands in "quotes"'),
    "a key for a name": ('[memory]\napi_key_variable = "sk-ab-c1"\n', 2, "in capitals", "goes into memory.api_key)"),
    "twice": ("[staging]\nmax_files = 3\nmax_files = 4\n", 3, "not valid TOML", "correct that line"),
    "cut off": ("[staging]\nmax_files = [", 2, "not valid TOML", "correct that line"),
    "too many digits": ("[staging]\nmax_files = " + "9" * 5000, 0, "not valid TOML", "correct"),
    "too deep": ("a = " + "[" * 20_000, 0, "nested too deeply", "use `[group]`"),
    "not UTF-8": (b'[memory]\n# caf\xe9\nengine = "rules"\n', 2, "not UTF-8", "save the file as UTF-8"),
    "huge": ("#" * 300_000, 0, "larger than 256 KB", "leave only settings"),
}


@pytest.mark.parametrize("case", USER_FILE_CASES)
def test_a_wrong_file_is_one_line_with_file_line_and_mend(case: str) -> None:
    text, line, said, mend = USER_FILE_CASES[case]
    write(user_file(), text)
    message = refusal()
    assert message.startswith(f"{user_file()}, line {line}:" if line else str(user_file()))
    assert said in message
    assert mend in message


def test_several_mistakes_are_counted() -> None:
    write(user_file(), "[staging]\nmax_file = 3\nmax_byte = 3\nmax_files = 0\n")
    assert refusal().endswith("(and 2 more)")


def test_a_byte_order_mark_and_windows_line_ends_are_read() -> None:
    write(user_file(), b"\xef\xbb\xbf[staging]\r\nmax_files = 3\r\n")
    assert load_settings(None, environ={}).staging.max_files == 3


def test_a_settings_file_that_cannot_be_read_is_said_not_skipped(home: Path) -> None:
    user_file().mkdir(parents=True)
    assert "not a regular file" in refusal()
    user_file().rmdir()
    user_file().symlink_to(home / "dotfiles" / "gone.toml")
    assert "is missing: mend or delete the link" in refusal()


def test_a_settings_file_that_the_system_refuses_to_open_is_said() -> None:
    user_file().parent.mkdir(parents=True)
    user_file().symlink_to(user_file())  # a circle: refused for root, too
    assert "cannot be read (Too many levels of symbolic links)" in refusal()


# A cloned repository must not choose who gets the memory, or spend more.
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[memory]\nbase_url = "http://evil.example"\n', "memory.base_url is yours alone to set"),
        (f'[memory]\napi_key = "{SECRET}"\n', "memory.api_key is yours alone to set"),
        ('[memory]\nengine = "anthropic"\n', "memory.engine is yours alone to set"),
        ("[capture]\nsettle_minutes = 1\n", "capture.settle_minutes is yours alone to set"),
        ("[worker]\nmax_seconds = 901\n", "a workspace may only lower it: write at most 900"),
        ("[worker]\nmax_coalesced_runs = 4\n", "a workspace may only lower it: write at most 3"),
        ("[cleanup]\nmax_drop_fraction = 1.0\n", "a workspace may only lower it: write at most 0.1"),
    ],
)
def test_a_workspace_may_not_set_what_is_the_users(workspace: Workspace, text: str, said: str) -> None:
    write(workspace.config_file, text)
    message = refusal(workspace)
    assert message.startswith(f"{workspace.config_file}, line 2: ")
    assert said in message
    assert str(user_file()) in message
    assert refused_settings(workspace.config_file) == [message]


def test_a_budget_is_measured_against_the_users_own(workspace: Workspace) -> None:
    write(workspace.config_file, "[worker]\nmax_seconds = 600\n")
    assert load_settings(workspace, environ={}).worker.max_seconds == 600
    write(user_file(), "[worker]\nmax_seconds = 300\n")
    assert "write at most 300" in refusal(workspace)
    write(user_file(), "[worker]\nmax_seconds = 3000\n")
    write(workspace.config_file, "[worker]\nmax_seconds = 1200\n")
    assert load_settings(workspace, environ={}).worker.max_seconds == 1200


def test_refused_settings_lists_all_of_them(workspace: Workspace) -> None:
    write(workspace.config_file, '[memory]\nengine = "rules"\n[staging]\nmax_files = 5\nmax_file = 1\n')
    assert [line.split(": ")[0] for line in refused_settings(workspace.config_file)] == [
        f"{workspace.config_file}, line 2",
        f"{workspace.config_file}, line 5",
    ]
    write(workspace.config_file, "[staging\n")
    assert len(refused_settings(workspace.config_file)) == 1
    assert refused_settings(workspace.root / "none.toml") == []


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("HIKIDASHI_STAGING_MAXFILES", "3", "use HIKIDASHI_STAGING_MAX_FILES"),
        ("HIKIDASHI_QQQ", "3", "unset it"),
        ("HIKIDASHI_DISABLED", "1", "use HIKIDASHI_DISABLE"),
        ("HIKIDASHI_STAGING_MAX_FILES", "many", "must be a whole number"),
        ("HIKIDASHI_STAGING_MAX_FILES", "0", "from 1 to"),
        ("HIKIDASHI_STAGING_MAX_AGE_HOURS", "nan", "must be a number"),
        ("HIKIDASHI_MEMORY_ENGINE", SECRET, 'must be one of "auto"'),
    ],
)
def test_a_wrong_variable_is_named_with_the_mend_and_without_its_value(variable: str, value: str, said: str) -> None:
    message = refusal(environ={variable: value})
    assert variable in message
    assert said in message
    assert SECRET not in message


def test_other_variables_are_left_alone() -> None:
    environ = {
        "HIKIDASHI_DISABLE": "1",
        "HIKIDASHI_WORKER": "1",
        "HIKIDASHI_TEST_REQUIRE": "1",
        "HIKIDASHI_STAGING_MAX_FILES": "",
        "PATH": "/bin",
    }
    assert load_settings(None, environ=environ).staging.max_files == 20


def test_a_secret_is_in_no_message_and_no_repr(workspace: Workspace) -> None:
    settings = load_settings(None, environ={"HIKIDASHI_MEMORY_API_KEY": SECRET})
    assert settings.memory.api_key.get_secret_value() == SECRET
    assert SECRET not in repr(settings) + str(settings.memory) + repr(settings.memory.api_key)
    write(user_file(), f'[memory]\napi_key = ["{SECRET}"]\nengine = "{SECRET}"\n[staging]\nmax_files = "{SECRET}"\n')
    with pytest.raises(BadSettings) as caught:
        load_settings(None, environ={})
    seen: BaseException | None = caught.value
    while seen is not None:  # a traceback prints the whole chain
        assert SECRET not in str(seen)
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)


def test_settings_cannot_be_changed_by_accident() -> None:
    settings = load_settings(None, environ={})
    with pytest.raises(Exception, match="frozen"):
        settings.staging.max_files = 1
    with pytest.raises(AttributeError):
        _ = settings.stagings


def test_only_the_settings_module_loads_pydantic() -> None:
    code = (
        "import sys, hikidashi.config.workspace, hikidashi.config.defaults\n"
        "print([m for m in ('pydantic', 'pydantic_settings', 'platformdirs', 'filelock') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
