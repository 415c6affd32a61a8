"""What the documentation says about settings and exit codes is what the program does."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hikidashi import errors
from hikidashi.config.defaults import SETTINGS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATE = _load()


@pytest.mark.parametrize("path", sorted(GENERATE.pages()), ids=lambda path: path.name)
def test_a_generated_page_is_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == GENERATE.pages()[path], "run `make docs`"


def test_every_setting_and_exit_code_is_on_its_page() -> None:
    settings = (DOCS / "settings.md").read_text(encoding="utf-8")
    for setting in SETTINGS:
        assert f"| `{setting.key}` |" in settings
        assert (f"| `{setting.variable}` |" in settings) != setting.file_only
    codes = (DOCS / "exit-codes.md").read_text(encoding="utf-8")
    for name in errors.__all__:
        assert f"| {getattr(errors, name).exit_code} | `{name}` |" in codes


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{path.name}" for path in sorted(DOCS.glob("*.md")))])
def test_links_between_the_pages_lead_somewhere(page: str) -> None:
    path = DOCS.parent / page
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8")):
        if not target.startswith(("http:", "https:")):
            assert (path.parent / target).exists(), target


def test_every_error_has_an_exit_code_of_its_own_and_stands_in_the_tree() -> None:
    codes = [getattr(errors, name).exit_code for name in errors.__all__]
    assert len(codes) == len(set(codes))
    assert sorted(codes) == list(range(1, len(codes) + 1))
    tree = errors.__doc__ or ""
    for name in errors.__all__:
        assert re.search(rf"\b{name} +{getattr(errors, name).exit_code}\b", tree), name


def test_checking_changes_nothing_and_says_what_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs").mkdir()
    text = "by hand\n<!-- generated: a -->\nold\n<!-- end: a -->\nby hand too\n"
    (tmp_path / "docs" / "page.md").write_text(text)
    write: Callable[[], str] = lambda: "| new |"  # noqa: E731
    monkeypatch.setattr(GENERATE, "ROOT", tmp_path)
    monkeypatch.setattr(GENERATE, "PARTS", [("page.md", "a", write)])
    assert GENERATE.main(["--check"]) == 1
    assert "docs/page.md is out of date: run `make docs`" in capsys.readouterr().err
    assert (tmp_path / "docs" / "page.md").read_text() == text
    assert GENERATE.main([]) == 0
    assert (tmp_path / "docs" / "page.md").read_text() == text.replace("old", "\n| new |\n")
    assert GENERATE.main(["--check"]) == 0


@pytest.mark.parametrize("page", ["", "<!-- generated: a -->\n", "<!-- generated: a -->\n<!-- end: a -->\n" * 2])
def test_a_page_without_its_part_is_an_error_not_a_loss(page: str) -> None:
    with pytest.raises(ValueError, match="needs one"):
        GENERATE.filled(page, "a", "body")
