"""Planted secrets, one or more per family, for tests that search for them afterwards.

They are put together when the tests run, from pieces and from random characters with a fixed seed, so that
this file holds nothing that a secret scanner would take for a live one. Shapes are written down here again,
from the providers' documentation, and not taken from the rules: a wrong rule must fail a test.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
from dataclasses import dataclass
from typing import Final

from tests.secrets_shapes import SHAPES, filled, render

__all__ = ["Sample", "planted", "prefixed", "samples", "tokens"]

_ALNUM: Final = string.ascii_letters + string.digits
_WORD: Final = _ALNUM + "_-"
_HEX: Final = "0123456789abcdef"
_UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_BASE64: Final = _ALNUM + "+/"
_LOWER: Final = string.ascii_lowercase + string.digits


@dataclass(frozen=True)
class Sample:
    """A secret and the words around it that make it one."""

    kind: str
    #: What to plant.
    text: str
    #: What must be gone afterwards; part of `text`. Lines of a key are searched for one by one.
    needles: tuple[str, ...]


def _body(seed: str, alphabet: str, length: int) -> str:
    return filled(alphabet, length, random.Random(seed))


#: A body of one alphabet behind a fixed prefix.
_SIMPLE: Final = re.compile(r"(?P<prefix>[^{}]+)\{(?P<code>[A-Za-z])\d+\}")


def _rendered() -> list[tuple[str, str, str]]:
    """(kind, shape, token) of every shape."""
    return [(kind, shape, render(shape, random.Random(kind + shape))) for kind, shape in SHAPES]


def _structured() -> list[tuple[str, str]]:
    """Tokens that are put together of decoded parts."""
    number = "1" + _body("discord", "0123456789a", 40).replace("a", "")[:17].ljust(17, "7")
    jwt = ".".join(
        (
            _encoded({"alg": "HS256", "typ": "JWT"}),
            _encoded({"sub": "1234567890", "role": "service_role"}),
            _body("jwt", _WORD, 43),
        )
    )
    return [
        ("jwt", jwt),
        ("github-token", "gh" + "s_" + "1234567_" + jwt),
        ("discord-token", _encoded(number) + "." + _body("d1", _WORD, 6) + "." + _body("d2", _WORD, 38)),
    ]


def prefixed() -> list[tuple[str, str, str]]:
    """(kind, prefix, body) of every family that is a prefix and a run of one alphabet."""
    return [
        (kind, match["prefix"], token.removeprefix(match["prefix"]))
        for kind, shape, token in _rendered()
        if (match := _SIMPLE.fullmatch(shape)) is not None
    ]


def tokens() -> list[tuple[str, str]]:
    """(kind, token) of every family that is known by itself."""
    return [(kind, token) for kind, _shape, token in _rendered()] + _structured()


def _encoded(data: object) -> str:
    text = data if isinstance(data, str) else json.dumps(data)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _key_lines(seed: str, count: int) -> list[str]:
    return [_body(f"{seed}{line}", _BASE64, 64) for line in range(count)]


def _block(label: str, lines: list[str], end: str = "\n", closed: bool = True) -> str:
    fence = "-----"
    parts = [f"{fence}BEGIN {label}{fence}", *lines]
    if closed:
        parts.append(f"{fence}END {label}{fence}")
    return end.join(parts)


def _keys() -> list[Sample]:
    found = []
    for label in ("RSA " + "PRIVATE KEY", "OPENSSH " + "PRIVATE KEY", "PRIVATE" + " KEY", "EC " + "PRIVATE KEY"):
        lines = _key_lines(label, 6)
        found.append(Sample("private-key", _block(label, lines), tuple(lines)))
        found.append(Sample("private-key", _block(label, lines, "\\n"), tuple(lines)))
        found.append(Sample("private-key", _block(label, lines, closed=False), tuple(lines)))
    headers = ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC," + _body("iv", _HEX, 32).upper(), ""]
    lines = _key_lines("encrypted", 5)
    found.append(Sample("private-key", _block("RSA " + "PRIVATE KEY", headers + lines), tuple(lines)))
    lines = _key_lines("pgp", 5)
    pgp = ["Version: GnuPG v2", "Comment: https://gnupg.org", "", *lines, "=aB3d"]
    found.append(Sample("private-key", _block("PGP " + "PRIVATE KEY BLOCK", pgp), tuple(lines)))
    lines = _key_lines("putty", 3)
    putty = "PuTTY-User-Key-File-3: ssh-ed25519\nPublic-Lines: 1\nAAAAC3\nPrivate-" + "Lines: 3\n" + "\n".join(lines)
    found.append(Sample("private-key", putty, tuple(lines)))
    return found


def _in_context() -> list[Sample]:
    """Secrets that only their surroundings give away."""
    word = "Tr0ub4dor" + "3x"
    plain = "sword" + "fishes"
    long = _body("long", _ALNUM, 40)
    aws = _body("aws-secret", _BASE64, 40)
    azure = _body("azure-key", _BASE64, 86) + "=="
    shared = _body("sas-key", _BASE64, 43) + "="
    signature = _body("sigv4", _HEX, 64)
    basic = base64.b64encode(f"admin:{word}".encode()).decode()
    identifier = "AK" + "IA" + _body("aws-id", _UPPER, 16)
    account = "A" + "C" + _body("twilio", _HEX, 32)
    auth = _body("twilio-auth", _HEX, 32)
    manifest = base64.b64encode(_body("manifest", _ALNUM, 24).encode()).decode()
    phrase = "swift ocean velvet panda lunch orbit candle ribbon jungle tiger noble wheat"
    hook = "T0" + _body("h1", _UPPER, 8) + "/B0" + _body("h2", _UPPER, 8) + "/" + _body("h3", _ALNUM, 24)
    discord = "109876543210987654/" + _body("dh", _WORD, 68)
    teams = _body("th", _HEX, 36) + "@" + _body("th2", _HEX, 36) + "/IncomingWebhook/" + _body("th3", _HEX, 32)
    chat = "AAAA1b2C3/messages?key=" + _body("ch", _WORD, 39) + "&token=" + _body("ch2", _WORD, 43)
    rows = [
        ("aws-secret-key", f"{identifier}\t{aws}", aws),
        ("aws-secret-key", f"aws_secret_access_key = {aws}", aws),
        (
            "azure-storage-key",
            f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={azure};Suffix=y",
            azure,
        ),
        ("azure-shared-key", f"Endpoint=sb://x.y/;SharedAccessKeyName=Root;SharedAccessKey={shared}", shared),
        ("url-signature", f"https://x.blob.core.windows.net/c?sv=2023-11-03&sp=r&sig={long}4%3D", long),
        ("url-signature", f"https://b.s3.amazonaws.com/k?X-Amz-Signature={signature}", signature),
        ("twilio-auth-token", f"{account}:{auth}", auth),
        ("slack-webhook", f"https://hooks.slack.com/services/{hook}", hook),
        ("discord-webhook", f"https://discord.com/api/webhooks/{discord}", discord),
        ("teams-webhook", f"https://acme.webhook.office.com/webhookb2/{teams}", teams),
        ("google-chat-webhook", f"https://chat.googleapis.com/v1/spaces/{chat}", chat),
        ("url-password", f"postgres://app:{word}@db.internal:5432/app", word),
        ("url-password", f"redis://:{word}@cache:6379/0", word),
        ("url-password", f"mongodb+srv://app:p%40{word}@cluster0.example.net/?w=majority", word),
        ("url-password", f"https://{long}@git.example.com/team/app.git", long),
        ("url-password", f"app:{word}@tcp(10.0.0.5:3306)/app?parseTime=true", word),
        ("url-password", f"jdbc:oracle:thin:app/{word}@//db:1521/x", word),
        ("authorization", f"Authorization: Bearer {long}", long),
        ("authorization", f"Authorization: Basic {basic}", basic),
        ("authorization", f'"authorization": "token {long}"', long),
        ("cookie", f"Cookie: theme=dark; session={long}", long),
        ("cookie", f"Set-Cookie: sid={long}; Path=/; HttpOnly", long),
        ("password", f"curl -u admin:{word} https://api.example.com/v1", word),
        ("password", f"mysql -h db -u root -p{word} app", word),
        ("password", f"sshpass -p {word} ssh deploy@web1", word),
        ("password", f"redis-cli -h cache -a {word} ping", word),
        ("password", f"docker login -u me -p {word} registry.example.com", word),
        ("password", f"echo {word} | docker login -u me --password-stdin", word),
        ("password", f"PGPASSWORD={word} psql -h db -U app", word),
        ("password", f"psql --password {word}", word),
        ("password", f"mysqldump --password={word} app", word),
        ("password", f"machine git.example.com login me password {word}", word),
        ("password", f"CREATE USER app WITH PASSWORD '{plain}';", plain),
        ("password", f"CREATE USER 'app'@'%' IDENTIFIED BY '{plain}';", plain),
        ("password", f"DB_PASSWORD={plain}", plain),
        ("password", f"spring.datasource.password={word}", word),
        ("password", f'{{"user": "app", "password": "{plain}"}}', plain),
        ("password", f"password: {word}", word),
        ("password", f"<password>{word}</password>", word),
        ("password", f"the password is {word}", word),
        ("password", f"パスワード: {word}", word),
        ("password", f"パスワードは{word}です。", word),
        ("password", f"管理者のパスワードは「{plain}」に変更した", plain),
        ("password", f"密码：{word}", word),
        ("secret", f"client_secret: '{long}'", long),
        ("secret", f"APIキー：{long}", long),
        ("secret", f"トークンは {long} です", long),
        ("secret", f"MISTRAL_API_KEY={_body('mistral', _ALNUM, 32)}", _body("mistral", _ALNUM, 32)),
        ("secret", f"export COHERE_API_KEY='{long}'", long),
        ("secret", f'api_key = "{long}"', long),
        ("secret", f'const token = "{long}";', long),
        ("secret", f'"auth": "{basic}"', basic),
        ("secret", f"X-Api-Key: {long}", long),
        ("secret", f"--api-key {long}", long),
        ("secret", f"//packages.example.com/:_authToken={long}", long),
        ("secret", f"//packages.example.com/:_auth={basic}", basic),
        ("secret", f"client-key-data: {_body('kube', _BASE64, 200)}", _body("kube", _BASE64, 200)),
        ("secret", f"kind: Secret\nmetadata:\n  name: x\ndata:\n  who: {manifest}\n", manifest),
        ("secret", f"stringData:\n  who: {word}\nkind: Secret\n", word),
        ("secret", f'{{"kind": "Secret", "data": {{"who": "{manifest}"}}}}', manifest),
        ("private-key", f'{{"kty":"EC","crv":"P-256","d":"{_body("jwk", _WORD, 43)}"}}', _body("jwk", _WORD, 43)),
        ("kaggle-token", f'{{"username":"me","key":"{auth}"}}', auth),
        ("jenkins-crumb", f"Jenkins-Crumb: {signature}", signature),
        ("webhook", f"https://hooks.zapier.com/hooks/catch/{hook}", hook),
        ("webhook", f"https://open.feishu.cn/open-apis/bot/v2/hook/{_body('lark', _HEX, 32)}", _body("lark", _HEX, 32)),
        ("webhook", f"https://chat.example.com/hooks/{_body('mm', _LOWER, 26)}", _body("mm", _LOWER, 26)),
        ("node-key", f"https://mainnet.infura.io/v3/{auth}", auth),
        ("seed-phrase", f'MNEMONIC="{phrase}"', phrase),
        ("seed-phrase", f"my seed phrase: {phrase}", phrase),
        ("seed-phrase", f"シードフレーズは「{phrase}」です", phrase),
    ]
    return [Sample(kind, text, (needle,)) for kind, text, needle in rows]


def samples() -> list[Sample]:
    """Every planted secret with its surroundings, and what must be gone afterwards."""
    return [Sample(kind, token, (token,)) for kind, token in tokens()] + _keys() + _in_context()


def planted() -> list[tuple[str, str]]:
    """(kind, text with the secret): to be planted where a session's commands, outputs and prompts go.

    None of the texts may be found afterwards, and none of `samples()`' needles.
    """
    return [(sample.kind, sample.text) for sample in samples()]
