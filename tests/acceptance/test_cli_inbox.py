"""The inbox at a terminal: every key, undo, leaving in the middle, narrow screens, somebody else at the gate."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from hikidashi.cli.inbox import KEYS
from hikidashi.db.connection import connect
from tests.acceptance.terminal import Terminal
from tests.support.candidates import seen
from tests.support.command import hikidashi


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    assert hikidashi("init", cwd=folder).code == 0
    return folder


class Inbox(Terminal):
    """`hikidashi inbox` at a terminal."""

    def press(self, key: str, *answers: str) -> None:
        """Press a key and wait for what it brings to the screen, in this order.

        The last answer must be the question that follows: keys pressed before it are dropped.
        """
        start = len(self.raw)
        self.type(key)
        for answer in answers:
            before, self.raw = self.raw[:start], self.raw[start:]
            try:
                self.wait_for(answer)
                start = len(before) + self.raw.index(answer.encode()[-6:])
            finally:
                self.raw = before + self.raw


def opened(project: Path, of: str, *, columns: int = 100, **environment: str) -> Inbox:
    terminal = Inbox(["inbox"], project, columns, environment)
    terminal.wait_for(f"[1 of {of}]")
    return terminal


def keys(project: Path) -> set[str]:
    found = hikidashi("facts", "--json", cwd=project).json["facts"]
    return {fact["key"] for fact in found}


def waiting(project: Path, **expected: Any) -> set[str]:
    found = hikidashi("candidates", "--json", cwd=project).json["candidates"]
    return {candidate["key"] for candidate in found if all(candidate[name] == expected[name] for name in expected)}


def test_a_candidate_is_shown_with_all_that_a_yes_needs(project: Path) -> None:
    aliases = tuple(f"word{number}" for number in range(120))
    probe = ("aws", "sts", "get-caller-identity")
    name = seen(project, sessions=7, probe=probe, machine_name="desk", aliases=aliases)
    terminal = opened(project, "1")
    text = terminal.text
    for part in (
        f"{name}  deploy:harbour  (capability, confidence 0.9, 7 sessions)",
        "deploy:harbour works from here: `aws s3 sync dist s3://harbour`.",
        "proof    `aws s3 sync dist s3://harbour` said `upload: dist/a.js`",
        "check    aws sts get-caller-identity",
        "It only reads; `hikidashi verify` runs it, without a shell, in an empty folder.",
        "also     word0, word1, word2, word3, word4 and 115 more",
        "machine  desk",
        "/sessions/s6.jsonl:42",
        "… and 2 more",
        "v all deploy",
    ):
        assert part in text, text
    terminal.press("q", "1 left.")
    assert terminal.close() == 0
    assert waiting(project) == {"deploy:harbour"}


def test_approve_reject_later_and_the_end(project: Path) -> None:
    seen(project, "deploy:one", sessions=3)
    seen(project, "deploy:two", sessions=2)
    seen(project, "deploy:three")
    terminal = opened(project, "3")
    terminal.press("a", "[2 of 3]")
    assert "deploy:one is in the drawer, version 1." in terminal.text
    terminal.press("R", "[3 of 3]")
    assert "deploy:two was turned down." in terminal.text
    terminal.press("l", "1 approved, 1 rejected, 1 put off, none left.")
    assert terminal.close() == 0
    assert keys(project) == {"deploy:one"}
    assert waiting(project) == {"deploy:three"}
    assert waiting(project, later_until=None) == set()
    assert "1 put off" in hikidashi("inbox", cwd=project).out


def test_what_would_change_is_shown_as_old_and_new(project: Path) -> None:
    old = ["write", "deploy:harbour", "The old way.", "--type", "capability", "--probe", "fly status"]
    hikidashi(*old, "--alias", "ship it", cwd=project)
    seen(project, body="The new way.", origin="memory_write", digest="")
    terminal = opened(project, "1")
    assert "    - also: ship it\n    + also: harbour\n" in terminal.text
    assert "check  fly status\n       It stays as it is; `hikidashi verify` runs it" in terminal.text
    assert "deploy:harbour is in the drawer; a yes replaces it (now, version 1):" in terminal.text
    assert "    - The old way.\n    + The new way.\n" in terminal.text
    terminal.press("a", "version 2")
    assert terminal.close() == 0


def test_undo_takes_back_one_decision_after_the_other(project: Path) -> None:
    for number, name in enumerate(("one", "two", "three", "four")):
        seen(project, f"deploy:{name}", sessions=8 - 2 * number)
    terminal = opened(project, "4")
    terminal.press("u", "Nothing was decided yet.", "[1 of 4]")
    terminal.press("a", "[2 of 4]")
    terminal.press("r", "[3 of 4]")
    terminal.press("l", "[4 of 4]")
    terminal.press("u", "deploy:three waits again.", "[3 of 4]")
    terminal.press("u", "deploy:two waits again.", "[2 of 4]")
    terminal.press("u", "deploy:one waits again.", "[1 of 4]")
    terminal.press("u", "Nothing was decided yet.", "[1 of 4]")
    assert keys(project) == set()
    assert waiting(project, later_until=None) == {"deploy:one", "deploy:two", "deploy:three", "deploy:four"}
    terminal.press("r", "[2 of 4]")
    terminal.press("q", "1 rejected, 3 left.")
    assert terminal.close() == 0
    assert waiting(project) == {"deploy:two", "deploy:three", "deploy:four"}


def test_a_verb_at_once_and_back(project: Path) -> None:
    for name in ("deploy:one", "auth:two", "deploy:three"):
        seen(project, name)
    terminal = opened(project, "3")
    terminal.press("v", "Approve all 2? y/n")
    terminal.press("n", "[1 of 3]")
    assert keys(project) == set()
    terminal.press("v", "Approve all 2? y/n")
    terminal.press("y", "[3 of 3]")
    assert "2 facts are in the drawer." in terminal.text
    assert keys(project) == {"deploy:one", "deploy:three"}
    terminal.press("u", "[1 of 3]")
    assert keys(project) == set()
    terminal.press("v", "Approve all 2? y/n")
    terminal.press("y", "[3 of 3]")
    terminal.press("a", "3 approved, none left.")
    assert terminal.close() == 0
    assert keys(project) == {"deploy:one", "auth:two", "deploy:three"}


def test_edit_then_approve(project: Path, tmp_path: Path) -> None:
    seen(project)
    script = tmp_path / "editor.py"
    script.write_text(
        "import sys\npath = sys.argv[1]\ntext = open(path).read()\n"
        "assert sys.stdin.isatty()\nprint('IN THE EDITOR')\nline = input()\n"
        "open(path, 'w').write('' if line == 'no' else text.replace('works from here', line))\n"
    )
    terminal = opened(project, "1", EDITOR=shlex.join([sys.executable, str(script)]))
    terminal.press("e", "IN THE EDITOR")
    terminal.press("no\n", "Nothing was changed.", "[1 of 1]")
    terminal.press("e", "IN THE EDITOR")
    terminal.press("\x01\n", "is no TOML", "[Y/n]")  # a control character
    terminal.press("n\n", "[1 of 1]")
    assert waiting(project) == {"deploy:harbour"}
    terminal.press("e", "IN THE EDITOR")
    terminal.press("WORKS FINE\n", "1 approved, none left.")
    assert terminal.close() == 0
    (fact,) = hikidashi("facts", "--json", cwd=project).json["facts"]
    assert fact["body"] == "deploy:harbour WORKS FINE: `aws s3 sync dist s3://harbour`."


def test_help_and_keys_that_mean_nothing(project: Path) -> None:
    seen(project)
    terminal = opened(project, "1")
    for key in ("x", "\x1b[A", "\r", " ", "あ", "1"):
        terminal.press(key, "? shows the keys.", "[1 of 1]")
    terminal.press("?", "These keys.", "[1 of 1]")
    for key in KEYS:
        assert f"\n{key}  " in terminal.text
    assert waiting(project) == {"deploy:harbour"}
    terminal.press("q", "1 left.")
    assert terminal.close() == 0


@pytest.mark.parametrize(("key", "code"), [("\x03", 130), ("\x04", 0)], ids=["ctrl-c", "ctrl-d"])
def test_leaving_keeps_what_was_decided_and_nothing_else(project: Path, key: str, code: int) -> None:
    for number in range(3):
        seen(project, f"deploy:n{number}", sessions=5 - number)
    terminal = opened(project, "3")
    terminal.press("a", "[2 of 3]")
    terminal.press(key, "1 approved, 2 left.")
    assert terminal.close(pressing="\x03" if code else "") == code
    assert "Traceback" not in terminal.text
    assert keys(project) == {"deploy:n0"}
    assert waiting(project) == {"deploy:n1", "deploy:n2"}


@pytest.mark.parametrize("key", ["\x03", "a"])
def test_no_answer_to_a_question_is_no_yes(project: Path, key: str) -> None:
    seen(project, "deploy:one")
    seen(project, "deploy:two")
    terminal = opened(project, "2")
    terminal.press("v", "y/n")
    terminal.press(key, "2 left." if key == "\x03" else "[1 of 2]")
    if key != "\x03":
        terminal.press("q", "2 left.")
    terminal.close(pressing="\x03" if key == "\x03" else "")
    assert keys(project) == set()


def test_a_terminal_that_is_closed_loses_nothing(project: Path) -> None:
    seen(project, "deploy:one", sessions=2)
    seen(project, "deploy:two")
    terminal = opened(project, "2")
    terminal.press("a", "[2 of 2]")
    os.kill(terminal._pid, signal.SIGHUP)
    assert terminal.close() == 128 + signal.SIGHUP
    assert keys(project) == {"deploy:one"}
    assert waiting(project) == {"deploy:two"}


def test_keys_typed_before_the_candidate_is_shown_decide_nothing(project: Path) -> None:
    seen(project)
    terminal = Inbox(["inbox"], project, 100)
    terminal.type("aaaa")
    terminal.wait_for("[1 of 1]")
    terminal.press("q", "1 left.")
    assert terminal.close() == 0
    assert keys(project) == set()


@pytest.mark.parametrize("columns", [24, 80])
def test_it_fits_a_narrow_terminal_in_any_script(project: Path, columns: int) -> None:
    seen(
        project,
        "deploy:港の倉庫",
        body="港の倉庫は `wrangler deploy` で公開できます。この机の上の機械から、二回確かめました。",
        told="wrangler deploy --name 港の倉庫",
        probe=("wrangler", "whoami"),
    )
    terminal = opened(project, "1", columns=columns)
    terminal.press("?", "These keys.", "[1 of 1]")
    terminal.press("a", "none left.")
    assert terminal.close() == 0
    lines = [line.rpartition("\r")[2] for line in terminal.text.splitlines()]
    assert max(map(cell_len, lines)) <= columns, terminal.text
    assert keys(project) == {"deploy:港の倉庫"}


def test_what_a_transcript_says_does_not_drive_the_terminal(project: Path) -> None:
    seen(project, body="It works \x1b[31mred\x1b]0;title\x07 here.", told="aws \x1b[2J")
    terminal = opened(project, "1")
    assert b"\x1b[2J" not in terminal.raw
    assert b"\x1b[31mred" not in terminal.raw
    assert b"\x1b]0;" not in terminal.raw
    terminal.press("q", "1 left.")
    terminal.close()


def test_a_text_that_changed_while_it_was_read_is_shown_again(project: Path) -> None:
    seen(project, body="The first words.")
    terminal = opened(project, "1")
    seen(project, sessions=2, body="Quite other words.")
    terminal.press("a", "a session told deploy:harbour in other words meanwhile", "Quite other words.", "[1 of 1]")
    assert keys(project) == set()
    terminal.press("a", "1 approved, none left.")
    assert terminal.close() == 0
    (fact,) = hikidashi("facts", "--json", cwd=project).json["facts"]
    assert fact["body"] == "Quite other words."


def test_somebody_else_decides_meanwhile(project: Path) -> None:
    one = seen(project, "deploy:one", sessions=3)
    seen(project, "deploy:two")
    terminal = opened(project, "2")
    assert hikidashi("reject", one, cwd=project).code == 0
    terminal.press("a", "[2 of 2]")
    assert f"{one} did not wait any more: another process decided it" in terminal.text
    terminal.press("a", "1 approved, none left.")
    assert terminal.close() == 0
    assert keys(project) == {"deploy:two"}


def test_a_fact_that_was_written_again_is_not_undone(project: Path) -> None:
    seen(project, "deploy:one", sessions=3)
    seen(project, "deploy:two")
    terminal = opened(project, "2")
    terminal.press("a", "[2 of 2]")
    assert hikidashi("write", "deploy:one", "My own words.", "--type", "fact", cwd=project).code == 0
    terminal.press("u", "deploy:one was written again since", "of 2]")
    terminal.press("u", "Nothing was decided yet.", "of 2]")
    terminal.press("q", "1 left.")
    assert terminal.close() == 0
    with contextlib.closing(connect(project / ".hikidashi" / "workspace.sqlite")) as connection:
        assert connection.execute("SELECT body FROM facts").fetchall()[0][0] == "My own words."


def test_the_terminal_is_as_before_afterwards(project: Path) -> None:
    import termios

    seen(project)
    terminal = Inbox(["inbox"], project, 100)
    terminal.wait_for("[1 of 1]")
    during = termios.tcgetattr(terminal._fd)[3]
    assert not during & termios.ICANON
    assert not during & termios.ECHO
    terminal.press("q", "1 left.")
    terminal.wait_for("1 left.")
    for _ in range(50):
        after = termios.tcgetattr(terminal._fd)[3]
        if after & termios.ICANON:
            break
        terminal._read()
    assert after & termios.ICANON
    assert after & termios.ECHO
    terminal.close()


def test_an_agent_s_terminal_is_none_of_a_person_s(project: Path) -> None:
    name = seen(project)
    terminal = Terminal(["inbox"], project, 100, {"CLAUDECODE": "1"})
    assert terminal.close() == 14
    assert f"{name} (deploy:harbour) goes on waiting" in terminal.text.replace("\n", " ")


def test_approve_asks_at_a_terminal_before_it_replaces(project: Path) -> None:
    hikidashi("write", "deploy:harbour", "The old way.", "--type", "capability", cwd=project)
    name = seen(project, body="The new way.")
    for answer, body in (("n\n", "The old way."), ("y\n", "The new way.")):
        terminal = Terminal(["approve", name], project, 100)
        terminal.wait_for("Replace it? [Y/n]")
        terminal.type(answer)
        assert terminal.close() == 0
        (fact,) = hikidashi("facts", "--json", cwd=project).json["facts"]
        assert fact["body"] == body
