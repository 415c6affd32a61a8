"""The table of rules agrees with itself, with its documentation and with its quick first look."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hikidashi.redact import RULES_VERSION, find_secrets
from hikidashi.redact.identifiers import Strength, judge_name
from hikidashi.redact.prefilter import MINIMUM_RUN, Prefilter, long_runs
from hikidashi.redact.rules import CONTEXTS, describe, render_table
from hikidashi.redact.tokens import FAMILIES
from hikidashi.redact.values import is_placeholder, is_random, split_words
from tests.secrets_samples import planted, samples, tokens


def test_the_version_is_a_number_that_facts_can_carry() -> None:
    assert isinstance(RULES_VERSION, int)
    assert RULES_VERSION >= 2


def test_every_family_is_described_and_the_table_shows_it() -> None:
    table = render_table()
    assert len(describe()) == len(FAMILIES) + sum(len(context.shapes) for context in CONTEXTS)
    for shape in describe():
        assert re.fullmatch(r"[a-z0-9][a-z0-9\-]{1,40}", shape.kind)
        assert f"| `{shape.kind}` | {shape.provider} |" in table
    for family in FAMILIES:
        for prefix in family.prefixes:
            assert f"`{prefix}`" in table


def test_the_documented_shapes_are_no_secrets_themselves() -> None:
    assert find_secrets(render_table()) == []


def test_rows_of_one_prefix_and_different_kinds_take_different_tokens() -> None:
    rows: dict[str, set[str]] = {}
    for family in FAMILIES:
        for prefix in family.prefixes:
            rows.setdefault(prefix, set()).add(family.kind)
    shared = {prefix for prefix, kinds in rows.items() if len(kinds) > 1}
    assert shared == {"pk_", "live_"}
    for kind, token in tokens():
        if token.startswith(tuple(shared)):
            assert {family.kind for family in FAMILIES if any(family.find(f"{token} x"))} == {kind}, token


def test_the_first_look_never_leaves_out_a_family_that_has_a_token() -> None:
    prefilter = Prefilter(FAMILIES)
    for text in (text for _, text in planted()):
        for before in ("", "x ", "a_b-", "\\n", "日本"):
            whole = f"{before}{text} rest"
            chosen = prefilter.worth_looking(long_runs(whole.encode()))
            for family in FAMILIES:
                if any(family.find(whole)):
                    assert family in chosen, (family.kind, whole)


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("", set()),
        ("short words only", set()),
        ("a" * MINIMUM_RUN, {"a" * MINIMUM_RUN}),
        (f"x {'b' * 25}:{'c' * (MINIMUM_RUN - 1)} y", {"b" * 25}),
        # the last run counts when it is shorter: the end of the text may have cut it
        ("x abcdefghijklmn", {"abcdefghijklmn"}),
        ('x abcdefghijklmn"}', {"abcdefghijklmn"}),
        ("x abcdefghijklm", set()),
        # the pieces of a token that is broken in two are runs, too short as they are
        ("x ghp_0123456789\nabcdef y", {"ghp_0123456789", "abcdef"}),
        ('x "ghp_0123456789abcd" + "ef"', {"ghp_0123456789abcd"}),
        # the letter of an escape sticks to what follows, and does not count
        ("x \\n0123456789abcdefghijk y", {"n0123456789abcdefghijk", "0123456789abcdefghijk"}),
    ],
)
def test_long_runs(text: str, runs: set[str]) -> None:
    assert set(long_runs(text.encode()).decode().split()) == runs


@pytest.mark.parametrize(
    ("name", "strength"),
    [
        ("password", Strength.PASSWORD),
        ("DB_PASSWORD", Strength.PASSWORD),
        ("dbPassword", Strength.PASSWORD),
        ("spring.datasource.password", Strength.PASSWORD),
        ("PGPASSWORD", Strength.PASSWORD),
        ("DB_PASS", Strength.PASSWORD),
        ("MYSQL_PWD", Strength.PASSWORD),
        ("Pwd", Strength.PASSWORD),
        ("PASSWORD_PROD", Strength.PASSWORD),
        ("PWD", Strength.NONE),
        ("password_hash", Strength.NONE),
        ("passwordMinLength", Strength.NONE),
        ("showPassword", Strength.NONE),
        ("pass", Strength.WEAK),
        ("compass", Strength.NONE),
        ("clientSecret", Strength.STRONG),
        ("secretName", Strength.NONE),
        ("AWS_SECRET_ACCESS_KEY", Strength.STRONG),
        ("api-key", Strength.STRONG),
        ("apikey", Strength.STRONG),
        ("APIKey", Strength.STRONG),
        ("access_token", Strength.STRONG),
        ("TOKEN", Strength.STRONG),
        ("token", Strength.WEAK),
        ("tokens", Strength.NONE),
        ("max_tokens", Strength.NONE),
        ("token_count", Strength.NONE),
        ("nextPageToken", Strength.NONE),
        ("eos_token", Strength.NONE),
        ("_authToken", Strength.STRONG),
        ("auth", Strength.WEAK),
        ("author", Strength.NONE),
        ("OPENAI_KEY", Strength.WEAK),
        ("primaryKey", Strength.NONE),
        ("PUBLIC_KEY", Strength.NONE),
        ("client-key-data", Strength.STRONG),
        ("key_data", Strength.NONE),
        ("PresharedKey", Strength.STRONG),
        ("NOPASSWORD", Strength.NONE),
        ("restkey", Strength.NONE),
        ("IPV4_PAT", Strength.WEAK),
        ("key", Strength.NONE),
        ("monkey", Strength.NONE),
        ("", Strength.NONE),
        ("---", Strength.NONE),
    ],
)
def test_what_a_name_proves(name: str, strength: Strength) -> None:
    assert judge_name(name) is strength


@pytest.mark.parametrize(
    ("value", "random"),
    [
        ("0123456789abcdef0123456789abcdef", True),
        ("aB3dE5fG7hJ9kL1mN3pQ", True),
        ("qWeRtYuIoPaSdFgHjKlZ", True),
        ("my-service-account-2", False),
        ("documentation_page_12", False),
        ("aaaaaaaaaaaaaaaa1111", False),
        ("InternationalizationService", False),
        ("SharedMemoryManager", False),
        ("GetLatestVersion", False),
        ("gss_krb5_rfc1964_keydata", False),
        ("PKCS7_ISSUER_AND_SERIAL", False),
        ("win32api.RegEnumKey", False),
        ("short1A", False),
    ],
)
def test_what_looks_random(value: str, random: bool) -> None:
    assert is_random(value) is random


@pytest.mark.parametrize("value", ["<your-key>", "xxxx", "***", "$X", "${X:-y}", "changeme", "db_password", "your-key"])
def test_placeholders(value: str) -> None:
    assert is_placeholder(value)


def test_words_of_identifiers() -> None:
    assert split_words("APIKeyV2_dbPassword") == ["api", "key", "v", "2", "db", "password"]


def test_samples_hold_what_they_say() -> None:
    for sample in samples():
        assert sample.needles
        for needle in sample.needles:
            assert needle in sample.text
    assert [text for _, text in planted()] == [sample.text for sample in samples()]
    assert len(tokens()) >= 340


@pytest.mark.parametrize("name", ["secrets_samples", "secrets_shapes", "secrets_generator"])
def test_the_files_of_samples_hold_no_secret_themselves(name: str) -> None:
    text = (Path(__file__).parents[1] / f"{name}.py").read_text(encoding="utf-8")
    kept = {secret.kind for secret in find_secrets(text)} & {"private-key", "jwt", *(f.kind for f in FAMILIES)}
    assert kept == set()
