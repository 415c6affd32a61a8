"""The house of design section 4: who may import whom, and how large a room's modules may be."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import hikidashi

PACKAGE = Path(hikidashi.__file__).parent

#: Room -> floor. A module imports from lower floors or from its own room.
FLOORS = {
    "cli": 6,
    "serve": 5,
    "testing": 5,
    "worker": 4,
    "recall": 4,
    "capture": 3,
    "usage": 3,
    "hosts": 2,
    "drawer": 2,
    "staging": 2,
    "records": 2,
    "model": 2,
    "config": 1,
    "db": 1,
    "redact": 1,
    "prompts": 1,
    "errors": 0,
    "file_uri": 0,
    "rules_version": 0,
    "processes": 0,
    "atomic": 0,
    "source": 0,
    "times": 0,
    "ulid": 0,
}

#: Rooms and modules on the hook path: standard library only (design section 9).
STANDARD_LIBRARY_ONLY = (
    "db/",
    "errors.py",
    "file_uri.py",
    "atomic.py",
    "source.py",
    "times.py",
    "ulid.py",
    "config/folders.py",
    "config/glance.py",
    "config/user_paths.py",
    "rules_version.py",
    "serve/",
    "config/machine.py",
    "config/registry.py",
    "config/territory.py",
    "config/workspace.py",
    "config/defaults.py",
    "config/setting.py",
    "drawer/everyday.py",
    "drawer/fact.py",
    "drawer/index.py",
    "drawer/inflection.py",
    "drawer/names.py",
    "drawer/reading.py",
    "drawer/seen.py",
    "drawer/terms.py",
    "recall/",
    "usage/events.py",
)

MODULES = sorted(PACKAGE.rglob("*.py"))


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def _imports(tree: ast.Module) -> list[tuple[int, str]]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import on line {node.lineno}"
            found.append((node.lineno, node.module or ""))
            if node.module == "hikidashi":
                found += [(node.lineno, f"hikidashi.{alias.name}") for alias in node.names]
    return found


def _room(dotted: str) -> str:
    return dotted.split(".")[1]


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_a_module_imports_only_from_lower_floors_or_its_own_room(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if room in ("__init__", "__main__"):
        return
    for line, name in _imports(ast.parse(path.read_text(encoding="utf-8"))):
        if not name.startswith("hikidashi.") or name == "hikidashi.__version__":
            continue
        other = _room(name)
        if other == room:
            continue
        if FLOORS[room] == 0:  # the leaves may lean on each other; a circle would fail at import
            assert FLOORS[other] == 0, f"{_name(path)}:{line} imports {name}"
        else:
            assert FLOORS[other] < FLOORS[room], f"{_name(path)}:{line} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_modules_stay_under_400_lines_and_functions_under_50(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") < 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < 50, f"{_name(path)}:{node.lineno} {node.name}"


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_nothing_catches_everything_and_goes_on(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ExceptHandler):
            broad = node.type is None or (
                isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")
            )
            if broad:
                assert any(isinstance(inner, ast.Raise) for inner in ast.walk(node)), f"{_name(path)}:{node.lineno}"


def test_the_hook_path_needs_the_standard_library_only() -> None:
    import sys

    for path in MODULES:
        if _name(path).startswith(STANDARD_LIBRARY_ONLY):
            for line, name in _imports(ast.parse(path.read_text(encoding="utf-8"))):
                top = name.split(".")[0]
                assert top == "hikidashi" or top in sys.stdlib_module_names, f"{_name(path)}:{line} imports {name}"


def test_rooms_on_the_hook_path_import_nothing_when_opened() -> None:
    for room in ("db", "config", "serve", "recall", "drawer"):
        init = PACKAGE / room / "__init__.py"
        if init.exists():
            assert _imports(ast.parse(init.read_text(encoding="utf-8"))) == []


def test_names_are_domain_words() -> None:
    for path in MODULES:
        assert path.stem not in ("utils", "helpers", "manager", "misc", "common"), _name(path)
