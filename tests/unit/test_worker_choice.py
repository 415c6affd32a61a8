"""A decision is replaced only when the new text names its value as given up."""

from __future__ import annotations

import pytest

from hikidashi.worker.choice import content, negated, read_choice, supersedes

#: Each gives up npm for pnpm.
GIVES_UP_NPM = [
    "Use pnpm instead of npm",
    "Use pnpm rather than npm because it is faster",
    "Use pnpm, not npm",
    "Prefer pnpm over npm",
    "Switch from npm to pnpm",
    "Replace npm with pnpm",
    "Not npm but pnpm",
    "Nutze pnpm statt npm",
    "Von npm auf pnpm umsteigen",
    "npm durch pnpm ersetzen",
    "Utilise pnpm au lieu de npm",
    "Remplacer npm par pnpm",
    "Usar pnpm en lugar de npm",
    "Reemplazar npm por pnpm",
    "Usar pnpm em vez de npm",
    "Migrar de npm para pnpm",
    "Usare pnpm invece di npm",
    "Использовать pnpm вместо npm",
    "Перейти с npm на pnpm",
    "npmではなくpnpmを使う",
    "npmの代わりにpnpmを使う",
    "npmをやめてpnpmにする",
    "npmからpnpmに移行する",
    "用pnpm代替npm",
    "不用npm，改用pnpm",
    "使用 pnpm 而不是 npm",
    "把npm换成pnpm",
    "npm 대신 pnpm을 사용",
    "npm에서 pnpm으로 변경",
]

GIVES_UP_NOTHING = [
    "Use pnpm",
    "Should we use pnpm instead of npm?",
    "Don't use pnpm instead of npm",
    "Wir nutzen pnpm nicht statt npm",
    "Install pnpm from the lock file",
    "pnpmを使う",
    "Move the tests to a folder of their own",
]


@pytest.mark.parametrize("text", GIVES_UP_NPM)
def test_the_value_given_up_is_read_in_many_languages(text: str) -> None:
    choice = read_choice(text)
    assert choice.given_up == {"npm"}
    assert choice.chosen == {"pnpm"}
    assert choice.scope == frozenset()


@pytest.mark.parametrize("text", GIVES_UP_NOTHING)
def test_a_text_that_gives_up_nothing_replaces_nothing(text: str) -> None:
    assert read_choice(text).given_up == frozenset()


def test_a_decision_may_say_only_that_something_ends() -> None:
    assert read_choice("No longer use npm").given_up == {"npm"}


def test_the_body_is_read_when_the_title_names_nothing() -> None:
    assert read_choice("Package manager", "We talked. Use pnpm instead of npm.").given_up == {"npm"}


@pytest.mark.parametrize(
    ("new", "old", "replaced"),
    [
        ("Use pnpm instead of npm", "Use npm", True),
        ("Use pnpm instead of npm", "Use npm instead of yarn", True),
        (
            "Use yarn instead of pnpm, the server only has yarn",
            "Use pnpm instead of npm, npm keeps breaking locks",
            True,
        ),
        ("Use yarn instead of pnpm in the app, the server only has yarn", "Use pnpm instead of npm in the app", True),
        ("Use yarn instead of pnpm, but only in the mobile app", "Use pnpm instead of npm", False),
        ("Use yarn instead of pnpm, in the mobile app that is", "Use pnpm instead of npm", False),
        ("Use yarn instead of pnpm in the app, the server only has yarn", "Use pnpm instead of npm", False),
        ("Use pnpm instead of yarn", "Use yarn instead of npm", True),
        ("npmではなくpnpmを使う", "npmを使う", True),
        # narrower, wider, rejected there too, about something else
        ("Use pnpm instead of npm in CI", "Use npm", False),
        ("Use pnpm instead of npm in CI", "Use npm in CI", True),
        ("Use pnpm instead of npm", "Use npm workspaces in the monorepo", False),
        ("Use pnpm instead of npm", "Use yarn instead of npm", False),
        ("Use pnpm instead of npm", "Use cargo", False),
        ("Use pnpm", "Use npm", False),
    ],
)
def test_what_is_replaced(new: str, old: str, replaced: bool) -> None:
    got = supersedes(read_choice(new), frozenset(content(new)), read_choice(old), frozenset(content(old)))
    assert got is replaced


@pytest.mark.parametrize(
    "text", ["Do not use npm", "npmを使わない", "不要使用npm", "npm 사용 금지 말고", "Kein npm", "Не npm"]
)
def test_a_decision_against_something_is_known(text: str) -> None:
    assert negated(text)
