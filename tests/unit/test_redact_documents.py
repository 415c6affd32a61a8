"""Secrets that the kind of a document gives away, and what stands beside them and stays."""

from __future__ import annotations

import pytest

from hikidashi.redact import find_secrets, redact

PHRASE = "swift ocean velvet panda lunch orbit candle ribbon jungle tiger noble wheat"

MANIFEST = """apiVersion: v1
kind: Secret
metadata:
  name: shop
  labels:
    app: web-front
type: Opaque
data:
  who: c3dvcmRmaXNoZXM=
  cert.pem: "aHVudGVyMmh1bnRlcjI="
stringData:
  config.ini: |
    user = me
    hunter2 = swordfish
  plain: swordfishes
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: shop
data:
  mode: production2
"""


def test_every_value_of_a_secret_manifest_goes_and_nothing_else() -> None:
    shown = redact(MANIFEST)
    for gone in ("c3dvcmRmaXNoZXM", "aHVudGVyMmh1bnRlcjI", "swordfish", "hunter2"):
        assert gone not in shown
    for kept in ("name: shop", "app: web-front", "type: Opaque", "cert.pem:", "plain:", "mode: production2"):
        assert kept in shown


def test_data_above_the_kind_and_in_a_list() -> None:
    text = (
        "apiVersion: v1\nitems:\n- apiVersion: v1\n  data:\n    who: c3dvcmRmaXNo\n  kind: Secret\n"
        "- apiVersion: v1\n  data:\n    who: aHVudGVyMg\n  kind: Secret\nkind: List\n"
    )
    shown = redact(text)
    assert "c3dvcmRmaXNo" not in shown
    assert "aHVudGVyMg" not in shown
    assert shown.endswith("kind: List\n")


@pytest.mark.parametrize(
    "text",
    [
        "kind: SecretStore\ndata:\n  provider: vault\n",
        "kind: ConfigMap\ndata:\n  secret: none\n  mode: production2\n",
        "We made it a kind: secret things are kept apart. data: see below\n",
        "kind: Secret\nmetadata:\n  name: shop\ntype: Opaque\n",
        "kind: Secret\nstringData:\n  who: ${PASSWORD}\n",
        '{"kind": "SecretList", "data": {"a": "b1c2d3e4"}}',
        '{"scope": "secret", "data": {"a": "b1c2d3e4"}}',
        '{"kty":"EC","crv":"P-256","x":"' + "aB3" * 14 + '","y":"' + "cD4" * 14 + '"}',
        "the mnemonic for it is: every good boy does fine, and that is how people learn the lines of a staff",
        "a seed phrase has twelve words which you must write down on paper and keep in a safe place at home",
        "recovery phrase: ask the person who has it, the one in the office across the street on the left",
        "the phrase is: " + PHRASE,
        "mnemonic: mov add sub mul div and xor shl",
        'MNEMONIC="<your twelve words>"',
    ],
)
def test_what_only_looks_like_one_stays(text: str) -> None:
    assert find_secrets(text) == [], redact(text)


@pytest.mark.parametrize(
    "text",
    [
        f'MNEMONIC="{PHRASE}"',
        f"seed phrase: {PHRASE}\nthe next line",
        f"seedPhrase: '{PHRASE.replace(' ', ', ')}'",
        "recovery phrase:\n" + "\n".join(f"{n}. {word}" for n, word in enumerate(PHRASE.split(), 1)) + "\n\nkeep it",
        f"シードフレーズは「{PHRASE}」です",
        f"助记词：{PHRASE}",
        f'{{"mnemonic": "{PHRASE} {PHRASE}"}}',
    ],
)
def test_seed_phrases(text: str) -> None:
    shown = redact(text)
    assert not any(word in shown for word in PHRASE.split()), shown
    assert "[redacted:seed-phrase]" in shown


def test_the_private_members_of_a_web_key_go() -> None:
    text = (
        '{"keys":[{"kty":"RSA","n":"' + "nN4" * 30 + '","e":"AQAB","d":"' + "dD5" * 30 + '","p":"' + "pP6" * 20 + '"}]}'
    )
    shown = redact(text)
    assert "dD5" not in shown
    assert "pP6" not in shown
    assert "nN4" * 30 in shown
