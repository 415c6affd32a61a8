"""A digit between small letters makes a password of what would else read like a name."""

from __future__ import annotations

import pytest

from hikidashi.redact import redact


@pytest.mark.parametrize("name", ["PASSWORD=", "password: ", "--password "])
def test_words_around_a_digit_are_a_password(name: str) -> None:
    value = "hunter2" + "secret9"
    assert value not in redact(f"{name}{value}")


@pytest.mark.parametrize("text", ["secretName: my-secret", "token: oauth2_token", "token: tokenB64"])
def test_names_of_secrets_stay(text: str) -> None:
    assert redact(text) == text
