"""Our server in Codex' settings file: a table at the end, and nothing else changed."""

from __future__ import annotations

import tomllib

import pytest

from hikidashi.hosts.codex_settings import our_server, with_server, without_server

COMMAND = ["/opt/my python/bin/python", "-E", "-P", '/home/a "b"/hikidashi/__main__.py', "mcp"]

CASES = {
    "nothing": "",
    "comment": "# mine\n",
    "values": 'model = "x"\n\n[features]\nhooks = true\n',
    "no last newline": "[a]\nb = 1",
    "blank lines at the end": "[a]\nb = 1\n\n",
    "other server": '[mcp_servers.docs]\ncommand = "d" # keep\n[mcp_servers.docs.env]\nA = "1"\n',
    "windows lines": 'model = "x"\r\n\r\n[a]\r\nb = 1\r\n',
    "header in a text": 'a = """\n[mcp_servers.x]\n"""\n',
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_the_server_is_added_and_taken_out(text: str) -> None:
    new = with_server(text, COMMAND)
    assert new.startswith(text)
    assert our_server(new) == {"command": COMMAND[0], "args": COMMAND[1:]}
    back = without_server(new)
    assert tomllib.loads(back) == tomllib.loads(text)
    assert back.rstrip("\r\n") == text.rstrip("\r\n")
    assert without_server(back) == back


def test_a_table_in_the_middle_and_one_below_it_go_too() -> None:
    text = '[a]\nb = 1\n[mcp_servers.hikidashi]\ncommand = "old"\n[mcp_servers."hikidashi".env]\nA = "1"\n[c]\nd = 2\n'
    assert without_server(text) == "[a]\nb = 1\n[c]\nd = 2\n"


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = {docs = {command = "d"}}\n',
        "mcp_servers = 1\n",
        "[broken\n",
        'mcp_servers.hikidashi.command = "x"\n',
    ],
)
def test_what_cannot_be_changed_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        with_server(without_server(text), COMMAND)
