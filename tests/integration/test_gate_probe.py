"""Probes are confined, whatever their programs do: real little programs that hang, fork, flood, ask and tell."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from hikidashi.drawer.probe import MAX_OUTPUT, run_probe
from hikidashi.drawer.probe_environment import OF_PROGRAM, find_program, probe_environment, search_path
from tests.secrets_samples import tokens

SECRET = next(token for kind, token in tokens() if kind == "github-token")

PYTHON = f"#!{sys.executable}"


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def program(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)


def shell(folder: Path, name: str, text: str) -> None:
    program(folder, name, f"#!/bin/sh\n{text}\n")


def test_an_exit_code_of_zero_passes(bin_folder: Path) -> None:
    shell(bin_folder, "aws", 'echo "account 1234 of $1 $2"')
    result = run_probe(("aws", "sts", "get-caller-identity"), seconds=10)
    assert (result.outcome, result.exit_code) == ("passed", 0)
    assert result.said == "`aws sts get-caller-identity` ended with 0", "what it printed is not kept"
    assert 0 < result.seconds < 5


def test_another_one_fails_and_the_line_that_says_why_is_kept(bin_folder: Path) -> None:
    shell(bin_folder, "aws", "echo checking; echo 'Unable to locate credentials. You can' >&2; echo bye; exit 255")
    result = run_probe(("aws", "sts"), seconds=10)
    assert (result.outcome, result.exit_code) == ("failed", 255)
    assert result.said == "`aws sts` ended with 255: Unable to locate credentials. You can"


@pytest.mark.parametrize(
    ("code", "said", "outcome"),
    [
        (1, "Hi mika! You've successfully authenticated, but GitHub does not provide shell access.", "passed"),
        (255, "git@github.com: Permission denied (publickey).", "failed"),
        (1, "Permission denied", "failed"),
    ],
)
def test_a_git_host_s_greeting_passes_although_it_ends_with_one(
    bin_folder: Path, code: int, said: str, outcome: str
) -> None:
    shell(bin_folder, "ssh", f'echo "{said}" >&2; exit {code}')
    assert run_probe(("ssh", "-T", "git@github.com"), seconds=10).outcome == outcome


@pytest.mark.parametrize(
    "said",
    [
        "fatal: 'origin' does not appear to be a git repository",
        "Could not connect to the endpoint URL: https://sts.eu-central-1.amazonaws.com/",
        "ssh: Could not resolve hostname harbour: Name or service not known",
        "npm error code ENOTFOUND",
    ],
)
def test_what_lies_at_the_place_or_the_network_says_nothing_of_the_capability(bin_folder: Path, said: str) -> None:
    shell(bin_folder, "tool", f'echo "{said}" >&2; exit 1')
    result = run_probe(("tool",), seconds=10)
    assert result.outcome == "not-run"
    assert said in result.said


# -- what is missing or no program


def test_a_program_that_is_not_there_could_not_run() -> None:
    result = run_probe(("no-such-program-of-ours", "--version"), seconds=10)
    assert (result.outcome, result.exit_code) == ("not-run", None)
    assert result.said == "no-such-program-of-ours is not in your PATH"


def test_a_shim_without_its_program_could_not_run(bin_folder: Path) -> None:
    shell(bin_folder, "kubectl", "exec no-such-program-of-ours")
    assert run_probe(("kubectl", "version"), seconds=10).outcome == "not-run"


def test_a_file_of_another_machine_could_not_run(bin_folder: Path) -> None:
    program(bin_folder, "aws", "\x7fELF and nothing that this machine knows")
    result = run_probe(("aws",), seconds=10)
    assert result.outcome == "not-run"
    assert "no program of this machine" in result.said


def test_a_script_whose_interpreter_is_gone_could_not_run(bin_folder: Path) -> None:
    program(bin_folder, "aws", "#!/no/such/interpreter\n")
    assert run_probe(("aws",), seconds=10).outcome == "not-run"


@pytest.mark.parametrize("entry", [".", "", "bin", "../bin"])
def test_a_relative_entry_of_path_brings_no_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    project = tmp_path / "project"
    (project / "bin").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    for folder in (project, project / "bin", tmp_path / "bin"):
        shell(folder, "hijack", f'touch "{tmp_path}/hijacked"')
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", entry + os.pathsep + os.environ["PATH"])
    assert run_probe(("hijack",), seconds=10).outcome == "not-run"
    assert run_probe(("./hijack",), seconds=10).outcome == "not-run"
    assert run_probe(("bin/hijack",), seconds=10).outcome == "not-run"
    assert not (tmp_path / "hijacked").exists()
    assert run_probe((str(project / "hijack"),), seconds=10).outcome == "passed", "a full path is meant"
    assert (tmp_path / "hijacked").exists()


def test_the_path_it_is_given_has_no_relative_entries_either(bin_folder: Path) -> None:
    assert search_path({"PATH": os.pathsep.join((".", "/usr/bin", "", "here", "/bin"))}) == f"/usr/bin{os.pathsep}/bin"
    assert find_program("sh", {"PATH": "."}) == ""


# -- what it gets


def test_no_shell_reads_its_words(bin_folder: Path, tmp_path: Path) -> None:
    program(bin_folder, "show", f"{PYTHON}\nimport sys\nassert sys.argv[1:] == ['$(touch x)', '; rm -rf *', '*']\n")
    assert run_probe(("show", "$(touch x)", "; rm -rf *", "*"), seconds=10).outcome == "passed"


def test_it_runs_in_an_empty_folder_that_is_gone_afterwards(bin_folder: Path, tmp_path: Path) -> None:
    shell(
        bin_folder, "where", f'pwd > "{tmp_path}/place"; ls -a | wc -l > "{tmp_path}/files"; echo x > left; mktemp -d'
    )
    assert run_probe(("where",), seconds=10).outcome == "passed"
    place = Path((tmp_path / "place").read_text().strip())
    assert (tmp_path / "files").read_text().strip() == "2", "only . and .."
    assert place.name.startswith("hikidashi-probe-")
    assert not place.exists()


def test_it_reads_nothing_and_has_no_terminal(bin_folder: Path) -> None:
    program(
        bin_folder,
        "ask",
        f"{PYTHON}\nimport os, sys\nassert sys.stdin.read() == ''\n"
        "try:\n    os.open('/dev/tty', os.O_RDWR)\nexcept OSError:\n    sys.exit(0)\nsys.exit(3)\n",
    )
    assert run_probe(("ask",), seconds=10).outcome == "passed"


def test_it_gets_its_own_variables_and_no_others(bin_folder: Path) -> None:
    program(bin_folder, "aws", f"{PYTHON}\nimport os\nprint(sorted(os.environ), 'error')\nraise SystemExit(1)\n")
    given = {
        "HOME": "/home/mika",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PATH": os.environ["PATH"],
        "AWS_PROFILE": "shop",
        "SSH_AUTH_SOCK": "/run/agent",
        "GH_TOKEN": SECRET,
        "LD_PRELOAD": "/tmp/evil.so",
        "BASH_ENV": "/tmp/evil.sh",
        "PYTHONPATH": "/tmp/evil",
        "NODE_OPTIONS": "--require /tmp/evil.js",
        "GIT_SSH_COMMAND": "/tmp/evil",
        "CLAUDECODE": "1",
        "HIKIDASHI_MEMORY_API_KEY": SECRET,
    }
    said = run_probe(("aws",), seconds=10, environ=given).said
    for name in ("'HOME'", "'LANG'", "'LC_ALL'", "'PATH'", "'AWS_PROFILE'", "'SSH_AUTH_SOCK'"):
        assert name in said
    for name in ("GH_TOKEN", "LD_", "BASH_ENV", "PYTHONPATH", "NODE_", "GIT_", "CLAUDECODE", "HIKIDASHI"):
        assert name not in said


def test_no_program_gets_what_makes_it_run_something_else() -> None:
    bad = ["LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "PYTHONPATH", "NODE_OPTIONS", "GIT_SSH_COMMAND"]
    bad += ["BASH_ENV", "ENV", "PERL5OPT", "RUBYOPT", "SSH_ASKPASS", "PAGER", "EDITOR", "BROWSER", "CLAUDECODE"]
    for name in [*OF_PROGRAM, "ssh"]:
        assert not set(probe_environment(f"/usr/bin/{name}", dict.fromkeys(bad, "x"), Path("/tmp/x"))) & set(bad)


# -- what it may not do


def _running(tmp_path: Path, name: str) -> list[int]:
    """Those of the processes whose IDs the programs noted that still run."""
    pids = [int(line) for line in (tmp_path / name).read_text().split()]
    return [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]


def _gone(tmp_path: Path, name: str) -> bool:
    end = time.monotonic() + 5
    while _running(tmp_path, name):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_one_that_hangs_is_stopped_with_all_it_started(bin_folder: Path, tmp_path: Path) -> None:
    shell(
        bin_folder, "hang", f'echo $$ > "{tmp_path}/pids"; sleep 60 & echo $! >> "{tmp_path}/pids"; trap "" TERM; wait'
    )
    began = time.monotonic()
    result = run_probe(("hang",), seconds=0.5)
    assert time.monotonic() - began < 5
    assert (result.outcome, result.exit_code) == ("failed", None)
    assert result.said == "`hang` did not end within 0.5 s"
    assert _gone(tmp_path, "pids")


def test_grandchildren_that_hold_the_output_open_do_not_hold_us(bin_folder: Path, tmp_path: Path) -> None:
    shell(bin_folder, "fork", f'(sleep 60 & echo $! > "{tmp_path}/pids"); echo done')
    began = time.monotonic()
    assert run_probe(("fork",), seconds=10).outcome == "passed"
    assert time.monotonic() - began < 5
    assert _gone(tmp_path, "pids")


def test_one_that_leaves_its_group_is_known_by_its_parent(bin_folder: Path, tmp_path: Path) -> None:
    program(
        bin_folder,
        "leave",
        f"{PYTHON}\nimport subprocess, time\n"
        "child = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        f"open({str(tmp_path / 'pids')!r}, 'w').write(str(child.pid))\ntime.sleep(60)\n",
    )
    assert run_probe(("leave",), seconds=1.5).outcome == "failed"
    assert _gone(tmp_path, "pids")


def test_processes_that_it_did_not_start_go_on(bin_folder: Path, tmp_path: Path) -> None:
    import subprocess

    mine = subprocess.Popen(["sleep", "60"])
    try:
        shell(bin_folder, "hang", "sleep 60")
        run_probe(("hang",), seconds=0.2)
        assert mine.poll() is None
    finally:
        mine.kill()
        mine.wait()


def test_one_that_floods_is_stopped_before_its_time(bin_folder: Path) -> None:
    program(
        bin_folder,
        "flood",
        f"{PYTHON}\nimport os\nwhile True:\n    os.write(1, b'all is well and on it goes\\n' * 1000)\n",
    )
    began = time.monotonic()
    result = run_probe(("flood",), seconds=30)
    assert time.monotonic() - began < 10
    assert (result.outcome, result.exit_code) == ("failed", None)
    assert result.said == f"`flood` wrote more than {MAX_OUTPUT // 1024 // 1024} MB"


def test_bytes_that_are_no_text_do_no_harm(bin_folder: Path) -> None:
    program(bin_folder, "noise", f"{PYTHON}\nimport os\nos.write(1, bytes(range(256)) * 9)\nraise SystemExit(4)\n")
    result = run_probe(("noise",), seconds=10)
    assert (result.outcome, result.exit_code) == ("failed", 4)
    assert "\n" not in result.said
    assert "\0" not in result.said


def test_a_secret_that_it_prints_is_not_kept(bin_folder: Path) -> None:
    shell(bin_folder, "tell", f'echo "error: token {SECRET} has expired"; exit 1')
    result = run_probe(("tell",), seconds=10)
    assert SECRET not in result.said
    assert result.said == "`tell` ended with 1: error: token [redacted:github-token] has expired"


def test_control_c_stops_it_too(bin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell(bin_folder, "hang", f'echo $$ > "{tmp_path}/pids"; sleep 60')

    def interrupted(_: object) -> bool:
        if (tmp_path / "pids").exists() and (tmp_path / "pids").read_text():
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr("hikidashi.drawer.probe._Watch._has_ended", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_probe(("hang",), seconds=30)
    assert _gone(tmp_path, "pids")


@pytest.mark.skipif(sys.platform != "linux", reason="`setsid` is a program of Linux")
def test_what_leaves_its_group_at_once_is_stopped_too(bin_folder: Path, tmp_path: Path) -> None:
    told = tmp_path / "pid"
    leaves = f"setsid sh -c 'echo $$ > {told}; exec sleep 300' </dev/null >/dev/null 2>&1 &"
    shell(bin_folder, "leaver", f"({leaves})\nuntil [ -s {told} ]; do :; done")
    assert run_probe(("leaver",), seconds=10).outcome == "passed"
    deadline = time.monotonic() + 5
    while psutil.pid_exists(int(told.read_text())) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not psutil.pid_exists(int(told.read_text()))
