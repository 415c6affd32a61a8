"""Hooks see the settings that commands see; at a wrong one they go on with the default and say so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hikidashi.config.quick_settings import NEEDED, quick_settings
from hikidashi.config.settings import load_settings, user_file
from hikidashi.config.workspace import Workspace
from hikidashi.errors import BadSettings

GOOD = (
    "",
    "[recall]\ntop_k = 3\nmax_tokens = 200\n",
    "[recall]\nat_start = false\neach_turn = false\nguard = false\n",
    "[recall]\n# nothing\n[worker]\nmax_seconds = 20\n",
)
FOR_THE_USER = ("[capture]\nautomatic = false\nsettle_minutes = 0\n", '[memory]\napi_key_variable = "A_KEY"\n')
WRONG = (
    "[recall]\ntop_k = 0\n",
    "[recall]\ntop_k = true\n",
    "[recall]\ntop_k = 2.5\n",
    "[recall]\nguard = 1\n",
    '[recall]\neach_turn = "no"\n',
    "[recall\n",
    "recall = 3\ntop_k = 7\n",
    "\xff",
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(root=tmp_path, id="0" * 32)
    workspace.home.mkdir()
    user_file().parent.mkdir(parents=True)
    return workspace


def same(workspace: Workspace, environ: dict[str, str]) -> None:
    full, quick = load_settings(workspace, environ=environ), quick_settings(str(workspace.home), environ=environ)
    assert quick.wrong == ""
    for name in NEEDED:
        group, _, key = name.partition(".")
        value = getattr(getattr(full, group), key)
        read = quick.flag if isinstance(value, bool) else quick.text if isinstance(value, str) else quick.number
        assert read(name) == value, name


@pytest.mark.parametrize("user", (*GOOD, *FOR_THE_USER))
@pytest.mark.parametrize("carried", GOOD)
def test_layers_are_those_of_the_commands(workspace: Workspace, user: str, carried: str) -> None:
    user_file().write_text(user)
    workspace.config_file.write_text(carried)
    for environ in (
        {},
        {"HIKIDASHI_RECALL_TOP_K": "9", "HIKIDASHI_RECALL_GUARD": "off", "HIKIDASHI_CAPTURE_AUTOMATIC": "0"},
        {"HIKIDASHI_RECALL_TOP_K": "", "HIKIDASHI_RECALL_AT_START": "FALSE", "HIKIDASHI_RECALL_EACH_TURN": "yes"},
    ):
        same(workspace, environ)


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_one_leaves_the_default_and_is_said(workspace: Workspace, text: str) -> None:
    workspace.config_file.write_text(text, encoding="latin-1")
    with pytest.raises(BadSettings):
        load_settings(workspace, environ={})
    quick = quick_settings(str(workspace.home), environ={})
    default = quick_settings(str(workspace.home / "none"), environ={})
    assert [quick.number("recall.top_k"), quick.flag("recall.guard")] == [default.number("recall.top_k"), True]
    if text != WRONG[-2]:  # a group that is none of ours is for the commands to name
        assert quick.wrong.endswith("`hikidashi status` says why")


def test_what_is_the_users_alone_no_workspace_sets(workspace: Workspace) -> None:
    workspace.config_file.write_text("[capture]\nautomatic = false\n")
    quick = quick_settings(str(workspace.home), environ={"HIKIDASHI_MEMORY_API_KEY_VARIABLE": "A_KEY"})
    assert quick.flag("capture.automatic")
    assert quick.text("memory.api_key_variable") == ""
    assert "capture.automatic" in quick.wrong


def test_files_that_did_not_change_are_not_read_again(workspace: Workspace) -> None:
    workspace.config_file.write_text("[recall]\ntop_k = 3\n")
    first = quick_settings(str(workspace.home), environ={"HIKIDASHI_RECALL_TOP_K": "9"})
    assert first.number("recall.top_k") == 9
    status = workspace.config_file.stat()
    workspace.config_file.write_text("[recall]\ntop_k = 4\n")
    os.utime(workspace.config_file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert quick_settings(str(workspace.home), first.kept, environ={}).number("recall.top_k") == 3
    os.utime(workspace.config_file)
    assert quick_settings(str(workspace.home), first.kept, environ={}).number("recall.top_k") == 4
    stamp = first.kept["stamp"]
    damaged: list[object] = [None, [], {"stamp": 1}, {"stamp": stamp, "values": {"recall.top_k": "x"}}]
    for kept in damaged:
        assert quick_settings(str(workspace.home), kept, environ={}).number("recall.top_k") in (4, 5)
