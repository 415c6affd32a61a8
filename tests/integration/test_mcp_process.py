"""The MCP server as a host starts it: a process, two pipes, and what goes wrong with them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.command import hikidashi
from tests.support.mcp_clients import Process, requests

START = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "t", "version": "1"},
}
WRITE = {"key": "deploy:harbour", "type": "capability", "body": "`make deploy` puts the harbour onto the quay."}


def call(tool: str, **arguments: object) -> tuple[str, dict[str, object]]:
    return "tools/call", {"name": tool, "arguments": arguments}


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    assert hikidashi("init", cwd=folder).code == 0
    return folder


def test_what_was_asked_before_the_pipe_closed_is_answered(project: Path) -> None:
    with Process(project) as server:
        server.send(*requests([("initialize", START), ("tools/list", None), call("memory_read", key="deploy:quay")]))
        code, answers, err = server.end()
    assert (code, err) == (0, "")
    assert sorted(answer["id"] for answer in answers) == [1, 2, 3]
    assert len(next(answer for answer in answers if answer["id"] == 2)["result"]["tools"]) == 4


def test_the_folder_may_be_named(project: Path, tmp_path: Path) -> None:
    with Process(tmp_path, "-C", str(project)) as server:
        server.send(*requests([("tools/list", None)]))
        (answer,) = server.receive()
    assert answer["result"]["tools"]


def test_bad_lines_and_huge_ones_do_not_stop_it(project: Path) -> None:
    huge = b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"' + b"x" * 5_000_000 + b'"}}\n'
    with Process(project) as server:
        server.send(b"{\n", b"\xff\n", huge, b"\n", *requests([("ping", None)]))
        answers = server.receive(4)
        assert [answer.get("error", {}).get("code") for answer in answers] == [-32700, -32700, -32700, None]
        status = Path(f"/proc/{server.child.pid}/status")
        if status.exists():
            peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
            assert int(peak.split()[1]) < 60_000, "a line that is too long is not kept"
        assert server.end()[0] == 0


def test_a_slow_call_holds_up_no_other(project: Path) -> None:
    import sqlite3

    writer = sqlite3.connect(project / ".hikidashi" / "workspace.sqlite", isolation_level=None)
    with Process(project) as server:
        server.send(*requests([("initialize", START), call("memory_read", key="a")]))
        server.receive(2)
        writer.execute("BEGIN IMMEDIATE")
        slow, *quick = requests([call("memory_write", **WRITE), ("ping", None), call("memory_search", query="quay")])
        server.send(slow, *quick)
        assert {answer["id"] for answer in server.receive(2, seconds=8)} == {2, 3}
        writer.execute("ROLLBACK")
        (question,) = server.receive()
        assert question["method"] == "elicitation/create"
    writer.close()


def test_a_hundred_calls_at_once_get_a_hundred_answers(project: Path) -> None:
    methods = [call("memory_read", query=f"quay {number}") for number in range(100)]
    with Process(project) as server:
        server.send(*requests(methods))
        answers = server.receive(100)
    assert sorted(answer["id"] for answer in answers) == list(range(1, 101))
    assert not any(answer["result"].get("isError") for answer in answers)


def test_an_open_question_does_not_keep_it_alive(project: Path) -> None:
    with Process(project) as server:
        server.send(*requests([("initialize", START), call("memory_write", **WRITE)]))
        assert server.receive(2)[1]["method"] == "elicitation/create"
        code, answers, err = server.end(seconds=5)
    assert (code, answers, err) == (0, [], "")
    assert len(hikidashi("candidates", "--json", cwd=project).json["candidates"]) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_asked_to_end_it_ends_and_says_nothing(project: Path, number: signal.Signals) -> None:
    with Process(project) as server:
        server.send(*requests([("ping", None)]))
        server.receive()
        server.child.send_signal(number)
        out, err = server.child.communicate(timeout=10)
    assert (server.child.returncode, out, err) == (0, b"", b"")


def test_a_host_that_does_not_listen_any_more_does_no_harm(project: Path) -> None:
    with Process(project) as server:
        assert server.child.stdout is not None
        server.child.stdout.close()
        try:
            server.send(*requests([call("memory_write", **WRITE), ("ping", None), ("ping", None)]))
            time.sleep(0)
            server.send(*requests([("ping", None)]))
        except BrokenPipeError:
            pass
        assert server.child.stdin is not None
        server.child.stdin.close()
        assert server.child.wait(20) == 0
        server.child.stdin = server.child.stdout = open(os.devnull, "rb")  # noqa: SIM115


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_an_end_and_no_crash(project: Path, closed: str) -> None:
    ran = subprocess.run(
        ["sh", "-c", f'exec "$0" -m hikidashi mcp {closed}', sys.executable],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_nothing_but_messages_comes_out_and_nothing_else_is_read(project: Path) -> None:
    """What a library prints, or a program that we start would print, must not stand between the messages."""
    code = (
        "import os, sys, hikidashi.serve.mcp as mcp, hikidashi.serve.mcp_session as session\n"
        "from pathlib import Path\n"
        "before = session.valid_arguments\n"
        "def noisy(*given):\n"
        "    print('noise'); os.system('echo more noise; cat'); return before(*given)\n"
        "session.valid_arguments = noisy\n"
        "mcp.serve(Path.cwd())\n"
    )
    messages = requests([call("memory_read", key="a"), ("ping", None)])
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        input="\n".join(map(json.dumps, messages)).encode(),
        capture_output=True,
        timeout=30,
    )
    assert sorted(json.loads(line)["id"] for line in ran.stdout.splitlines()) == [1, 2]
    assert b"more noise" in ran.stderr


def test_the_first_answer_waits_for_no_large_library(project: Path) -> None:
    """Hosts wait for it before the first prompt; benchmarks/mcp.py measures it."""
    code = (
        "import sys, hikidashi.cli.main\n"
        "sys.argv = ['hikidashi', 'mcp']\n"
        "try:\n    hikidashi.cli.main.main()\n"
        "except SystemExit: pass\n"
        "heavy = {'pydantic', 'pydantic_settings', 'anthropic', 'httpx2', 'mcp', 'rich', 'yaml', 'dulwich', 'asyncio',"
        " 'rapidfuzz', 'psutil', 'hikidashi.redact.rules'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        input="\n".join(map(json.dumps, requests([("initialize", START), ("tools/list", None)]))).encode(),
        capture_output=True,
        timeout=30,
    )
    assert len(ran.stdout.splitlines()) == 2
    assert ran.stderr.decode().strip() == "[]"


def test_a_terminal_is_told_what_this_is(project: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("pseudo-terminals")
    import pty

    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "hikidashi", "mcp"],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        os.close(slave)
        time.sleep(0)
        os.write(master, b"\x04")
        out, err = child.communicate(timeout=30)
    os.close(master)
    assert (child.returncode, out) == (0, b"")
    assert b"for a host to start" in err
