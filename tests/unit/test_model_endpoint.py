"""Where requests go and with which key, and what is an error before anything is sent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hikidashi.config.settings import load_settings, user_file
from hikidashi.errors import BadSettings, HikidashiError, ModelFailure
from hikidashi.model.endpoint import ANTHROPIC_URL, Endpoint, is_loopback, make_endpoint

ANTHROPIC_KEY = "sk-ant-api03-" + "Wd7q" * 20
OTHER_KEY = "lan-" + "p3Xk" * 10


@pytest.fixture(autouse=True)
def remote_servers_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here sends anything; the suite's own `memory.local_only` would hide what is tested."""
    monkeypatch.delenv("HIKIDASHI_MEMORY_LOCAL_ONLY", raising=False)


def endpoint(file: str = "", **environ: str) -> Endpoint:
    """The endpoint of a user's `[memory]` and an environment."""
    path = user_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"[memory]\n{file}\n", encoding="utf-8")
    return make_endpoint(load_settings(None, environ=environ), environ=environ)


def key(made: Endpoint) -> str:
    return made.key.get_secret_value()


def test_a_key_in_the_users_file_goes_to_anthropic() -> None:
    made = endpoint(f'api_key = "{ANTHROPIC_KEY}"')
    assert (made.base_url, key(made)) == (ANTHROPIC_URL, ANTHROPIC_KEY)
    assert "config.toml" in made.key_origin


def test_the_named_variable_is_read_and_no_other() -> None:
    made = endpoint('api_key_variable = "MY_KEY"', MY_KEY=ANTHROPIC_KEY, ANTHROPIC_API_KEY="sk-ant-other")
    assert key(made) == ANTHROPIC_KEY
    assert "$MY_KEY" in made.key_origin


@pytest.mark.parametrize(
    "environ",
    [
        {"ANTHROPIC_API_KEY": ANTHROPIC_KEY},
        {"ANTHROPIC_AUTH_TOKEN": ANTHROPIC_KEY},
        {"ANTHROPIC_API_KEY": ANTHROPIC_KEY, "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"},
        {"ANTHROPIC_PROFILE": "work"},
    ],
)
def test_what_the_environment_has_for_other_programs_is_no_consent(environ: dict[str, str]) -> None:
    with pytest.raises(ModelFailure, match=r"memory\.api_key") as caught:
        endpoint(**environ)
    assert (caught.value.kind, caught.value.reason) == ("auth", "no-key")
    assert ANTHROPIC_KEY not in str(caught.value)
    offered = "`hikidashi init --use-key` to agree to the one in ANTHROPIC_API_KEY" in str(caught.value)
    assert offered is ("ANTHROPIC_API_KEY" in environ)


def test_another_server_needs_no_key_and_gets_none_of_ours() -> None:
    made = endpoint('base_url = "http://127.0.0.1:11434/"', ANTHROPIC_API_KEY=ANTHROPIC_KEY)
    assert (made.base_url, key(made), made.key_origin) == ("http://127.0.0.1:11434", "none", "")


def test_a_named_variable_that_is_not_set_is_said() -> None:
    with pytest.raises(ModelFailure, match="MY_KEY, which is not set here"):
        endpoint('api_key_variable = "MY_KEY"\nbase_url = "http://127.0.0.1:1"')


URL = "HIKIDASHI_MEMORY_BASE_URL"
KEY = "HIKIDASHI_MEMORY_API_KEY"


@pytest.mark.parametrize(
    ("file", "environ"),
    [
        (f'api_key = "{ANTHROPIC_KEY}"', {URL: "https://models.example.org"}),
        (f'api_key = "{OTHER_KEY}"', {URL: "http://127.0.0.1:8080"}),
        ('api_key_variable = "MY_KEY"', {URL: "https://models.example.org", "MY_KEY": ANTHROPIC_KEY}),
        # An empty one takes the file's key away, and with it must not take the rule away.
        ('api_key_variable = "MY_KEY"', {URL: "https://models.example.org", "MY_KEY": ANTHROPIC_KEY, KEY: ""}),
    ],
)
def test_the_environment_does_not_choose_who_sees_a_key_of_the_file(file: str, environ: dict[str, str]) -> None:
    with pytest.raises(BadSettings, match="not sent to a server that the environment names") as caught:
        endpoint(file, **environ)
    assert ANTHROPIC_KEY not in str(caught.value)
    assert OTHER_KEY not in str(caught.value)


def test_the_environment_may_bring_both() -> None:
    made = endpoint(f'api_key = "{ANTHROPIC_KEY}"', **{URL: "https://models.example.org", KEY: OTHER_KEY})
    assert (made.base_url, key(made)) == ("https://models.example.org", OTHER_KEY)


@pytest.mark.parametrize("host", ["192.0.2.7:8080", "[2001:db8::1]:80", "0.0.0.0:80"])
def test_anthropics_key_is_not_sent_where_others_read_along(host: str) -> None:
    with pytest.raises(BadSettings, match="unencrypted"):
        endpoint(f'base_url = "http://{host}"\napi_key = "{ANTHROPIC_KEY}"')
    assert endpoint(f'base_url = "http://{host}"\napi_key = "{OTHER_KEY}"').must_be_loopback is False
    assert endpoint(f'base_url = "https://{host}"\napi_key = "{ANTHROPIC_KEY}"').must_be_loopback is False


@pytest.mark.parametrize("host", ["127.0.0.1:80", "127.8.8.8", "[::1]:80", "[::ffff:127.0.0.1]:80"])
def test_loopback_may_have_it(host: str) -> None:
    assert endpoint(f'base_url = "http://{host}"\napi_key = "{ANTHROPIC_KEY}"').must_be_loopback


def test_a_name_is_decided_where_the_connection_is_made() -> None:
    assert endpoint(f'base_url = "http://gateway.lan"\napi_key = "{ANTHROPIC_KEY}"').must_be_loopback


@pytest.mark.parametrize("file", [f'api_key = "{OTHER_KEY}"', 'base_url = "https://192.0.2.7"'])
def test_local_only_is_an_error_for_servers_elsewhere(file: str) -> None:
    with pytest.raises(BadSettings, match=r"memory\.local_only is on"):
        endpoint(f"local_only = true\n{file}")


@pytest.mark.parametrize(
    ("url", "mend"),
    [
        ("127.0.0.1:8080", "must begin with https:// or http://"),
        ("ftp://127.0.0.1", "must begin with https:// or http://"),
        ("http://", "names no host"),
        ("http:///path", "names no host"),
        ("http://me:hunter2@127.0.0.1", "take it out"),
        ("http://hunter2@127.0.0.1", "take it out"),
        ("http://127.0.0.1:8080/v1", "take it away"),
        ("http://127.0.0.1:8080/v1/", "take it away"),
        ("http://127.0.0.1:8080/v1/messages", "take it away"),
        ("https://example.org/?key=hunter2", "take away what stands"),
        ("https://example.org/#here", "take away what stands"),
        ("http://127.0.0.1:99999", "is no URL"),
        ("http://127.0.0.1:0", "port that does not exist"),
        ("http://127.0.0.1:port", "is no URL"),
        ("http://exa mple.org", "holds a blank"),
        ("http://例え.jp", "holds a blank or a character"),
        ("http://[::1", "is no URL"),
    ],
)
def test_a_base_url_that_cannot_work_is_said_with_the_mend(url: str, mend: str) -> None:
    with pytest.raises(BadSettings) as caught:
        endpoint(f'base_url = "{url}"')
    text = str(caught.value)
    assert mend in text
    assert "config.toml, line 2" in text
    assert "hunter2" not in text


@pytest.mark.parametrize("value", ["sk-ant one two", "sk-ant-ключ", "sk-ant-a\\nHost: x"])
def test_a_key_that_no_header_takes_is_said_without_it(value: str) -> None:
    with pytest.raises(BadSettings, match="paste it again") as caught:
        endpoint(f'api_key = "{value}"')
    assert "sk-ant" not in str(caught.value)


def test_a_blank_around_a_key_is_no_part_of_it() -> None:
    assert key(endpoint(f'api_key = " {OTHER_KEY}\\n"\nbase_url = "http://127.0.0.1:1"')) == OTHER_KEY


def test_no_form_of_an_endpoint_shows_its_key() -> None:
    import dataclasses

    made = endpoint(f'api_key = "{OTHER_KEY}"')
    for form in (repr(made), str(made), f"{made}", str(dataclasses.asdict(made)), str(vars(type(made)))):
        assert OTHER_KEY not in form


@pytest.mark.parametrize(
    ("address", "is_here"),
    [
        ("127.0.0.1", True), ("127.255.1.2", True), ("::1", True), ("::ffff:127.0.0.1", True), ("::1%lo", True),
        ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("169.254.1.1", False), ("fe80::1%eth0", False),
        ("localhost", False), ("", False), ("127.1", False),
    ],
)  # fmt: skip
def test_loopback_addresses(address: str, is_here: bool) -> None:
    assert is_loopback(address) is is_here


def test_every_error_ends_the_command_with_its_own_code() -> None:
    codes = set()
    for file in ('base_url = "x"', 'api_key = ""'):
        with pytest.raises(HikidashiError) as caught:
            endpoint(file)
        codes.add(caught.value.exit_code)
    assert codes == {6, 11}


@pytest.mark.parametrize(
    "line",
    [
        "import hikidashi.cli.main, hikidashi.cli.status, hikidashi.cli.ping, hikidashi.cli.capture",
        "import hikidashi.model.endpoint, hikidashi.model.client, hikidashi.model.policy, hikidashi.model.ledger",
        "from hikidashi.cli.main import cli; cli(['--help'], standalone_mode=False)",
        "from hikidashi.cli.main import cli; [cli([name], standalone_mode=False) for name in ('init', 'status')]",
    ],
)
def test_only_a_request_loads_the_sdk(line: str, tmp_path: Path) -> None:
    code = f"import sys\n{line}\nprint(sorted({{'anthropic', 'httpx2', 'httpcore2', 'tenacity'}} & set(sys.modules)))"
    root = Path(__file__).parents[2]
    folder = tmp_path / "shop"
    folder.mkdir()
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={"PYTHONPATH": str(root), "HOME": str(tmp_path)},
    )
    assert ran.stdout.splitlines()[-1] == "[]"
