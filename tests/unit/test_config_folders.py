"""The user's folders are where platformdirs puts them, though hooks cannot ask it."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix
from platformdirs.windows import Windows, get_win_folder_from_env_vars

from hikidashi.config.folders import config_folder, data_folder, home_folder, shown, user_folder

ENVIRONMENTS: list[dict[str, str]] = [
    {},
    {"XDG_DATA_HOME": "/srv/data", "XDG_CONFIG_HOME": "/srv/config"},
    {"XDG_DATA_HOME": "relative", "XDG_CONFIG_HOME": ""},
    {"HOME": "/home/someone/"},
    {"HOME": "relative"},
    {"HOME": ""},
    {"LOCALAPPDATA": "C:\\Users\\some one\\AppData\\Local"},
]


@pytest.mark.parametrize("environ", ENVIRONMENTS, ids=str)
@pytest.mark.parametrize(("platform", "theirs"), [("linux", Unix), ("darwin", MacOS), ("win32", Windows)])
def test_folders_are_platformdirs_folders(
    monkeypatch: pytest.MonkeyPatch,
    environ: dict[str, str],
    platform: str,
    theirs: type[Unix] | type[MacOS] | type[Windows],
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    # on Windows they ask the system; on other systems only the variables can answer for it
    monkeypatch.setattr("platformdirs.windows._RESOLVE_WIN_FOLDER", get_win_folder_from_env_vars)
    if platform == "win32" and "LOCALAPPDATA" not in environ:
        assert user_folder("data", platform=platform) == home_folder() / "AppData" / "Local" / "hikidashi"
        return
    expected = theirs("hikidashi", appauthor=False)
    assert user_folder("data", platform=platform) == Path(expected.user_data_dir)
    assert user_folder("config", platform=platform) == Path(expected.user_config_dir)


def test_this_platforms_folders_are_platformdirs_folders() -> None:
    assert data_folder() == platformdirs.user_data_path("hikidashi", appauthor=False)
    assert config_folder() == platformdirs.user_config_path("hikidashi", appauthor=False)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/a b/'c'/引き出し", "/a b/'c'/引き出し"),
        ("/a\nb", "/a\\nb"),
        ("/a\u2028b", "/a\\u2028b"),
        ("/a\x1b[31mb", "/a\\x1b[31mb"),
        ("/a\udcffb", "/a\\udcffb"),
    ],
)
def test_a_path_is_shown_in_one_harmless_line(path: str, text: str) -> None:
    assert shown(Path(path)) == text
