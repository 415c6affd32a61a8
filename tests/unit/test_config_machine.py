"""The machine's id is its own, stays the same, and does not give the system's away."""

from __future__ import annotations

import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

from hikidashi.config.machine import Machine, linux_id, machine, macos_id, this_machine, windows_id

OWN = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"


def test_the_id_is_a_hash_of_the_systems(tmp_path: Path) -> None:
    found = machine(system_id=lambda: OWN, folder=lambda: tmp_path / "unused", name=lambda: "desk")
    assert found.name == "desk"
    assert re.fullmatch(r"[0-9a-f]{32}", found.id)
    assert found.id != OWN
    assert found == machine(system_id=lambda: OWN.upper(), name=lambda: "desk")
    assert found.id != machine(system_id=lambda: OWN[:-1] + "1").id
    assert not (tmp_path / "unused").exists()


def test_without_one_a_random_id_is_kept_for_this_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    first = machine(system_id=lambda: "", folder=lambda: folder, name=lambda: "")
    assert first == machine(system_id=lambda: "", folder=lambda: folder, name=lambda: "")
    assert first.name == "this machine"
    assert first.id != machine(system_id=lambda: "", folder=lambda: tmp_path / "other").id
    assert [(file.name, file.stat().st_mode & 0o777) for file in folder.iterdir()] == [("machine-id", 0o600)]
    (folder / "machine-id").write_text("damaged")
    again = machine(system_id=lambda: "", folder=lambda: folder)
    assert again.id != first.id
    assert again.id == machine(system_id=lambda: "", folder=lambda: folder).id


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((OWN + "\n",), OWN),
        (("uninitialized\n", OWN), OWN),
        (("", ""), ""),
        (("0" * 32,), ""),
        (("ü" * 32,), ""),
        ((), ""),
    ],
)
def test_linux_reads_the_first_file_that_holds_one(tmp_path: Path, texts: tuple[str, ...], expected: str) -> None:
    files = tuple(tmp_path / str(number) for number in range(3))
    for file, text in zip(files, texts, strict=False):
        file.write_text(text, encoding="utf-8")
    assert linux_id(files) == expected


def test_macos_asks_ioreg(tmp_path: Path) -> None:
    ioreg = tmp_path / "ioreg"
    ioreg.write_text(
        "#!/bin/sh\n[ \"$*\" = '-rd1 -c IOPlatformExpertDevice' ] || exit 3\n"
        'echo \'    "IOPlatformSerialNumber" = "C02XYZ"\'\n'
        'echo \'    "IOPlatformUUID" = "7C1B7B35-96B6-5C9A-8E5F-0123456789AB"\'\n'
    )
    ioreg.chmod(0o700)
    assert macos_id(ioreg) == "7C1B7B35-96B6-5C9A-8E5F-0123456789AB"
    assert macos_id(tmp_path / "none") == ""


def test_windows_asks_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    assert windows_id() == ""
    asked: list[object] = []

    class Key:
        def __enter__(self) -> Key:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    def open_key(*arguments: object) -> Key:
        asked.append(arguments)
        return Key()

    registry = types.ModuleType("winreg")
    registry.__dict__.update(
        HKEY_LOCAL_MACHINE=2, KEY_READ=0x20019, KEY_WOW64_64KEY=0x100, OpenKey=open_key,
        QueryValueEx=lambda key, name: (f"value of {name}", 1),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "winreg", registry)
    assert windows_id() == "value of MachineGuid"
    assert asked == [(2, r"SOFTWARE\Microsoft\Cryptography", 0, 0x20119)]


def test_two_processes_that_make_it_at_once_agree(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from hikidashi.config.machine import machine\n"
        "folder = Path(sys.argv[1])\n"
        "while not (folder / 'go').exists(): time.sleep(0.001)\n"
        "print(machine(system_id=lambda: '', folder=lambda: folder).id)\n"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)],
            cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True,
        )
        for _ in range(4)
    ]  # fmt: skip
    (tmp_path / "go").touch()
    said = {process.communicate(timeout=60)[0] for process in started}
    assert len(said) == 1 and said != {""}


def test_this_machine_has_one() -> None:
    assert isinstance(this_machine(), Machine)
    assert this_machine() is this_machine()
