"""A secret of every documented shape is taken out, whatever surrounds it."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import quote

import pytest

from hikidashi.redact import find_secrets, redact
from hikidashi.redact.rules import kinds
from tests.secrets_samples import Sample, prefixed, samples, tokens

#: Where a session leaves a token.
SURROUNDINGS: dict[str, Callable[[str], str]] = {
    "shell": lambda token: f"export SOME_VALUE={token} && ./deploy.sh --now",
    "shell quotes": lambda token: f"curl -H 'X-Custom: {token}' https://api.example.com/v1/items",
    "json": lambda token: json.dumps({"user": "me", "value": token, "next": [1, 2]}),
    "json in json": lambda token: json.dumps(json.dumps({"stdout": f"value:\n{token}\nok"})),
    "yaml": lambda token: f"services:\n  web:\n    value: {token}\n    port: 80\n",
    "env": lambda token: f"A=1\nVALUE={token}\nB=2\n",
    "log": lambda token: f"2025-01-02T10:11:12.123Z INFO [worker-1] using {token}, retrying (1/3)",
    "japanese": lambda token: f"設定値は{token}です。テストも書いた。",
    "japanese brackets": lambda token: f"値「{token}」を使う",
    "markdown": lambda token: f"- value: `{token}` (rotated)",
    "sentence": lambda token: f"I used {token}. It worked.",
    "colours": lambda token: f"\x1b[32m{token[:9]}\x1b[0m\x1b[1;31m{token[9:]}\x1b[0m done",
    "escaped colours": lambda token: f"\\u001b[32m{token}\\u001b[0m done",
    "broken line": lambda token: f"run --value {token[:11]}\\\n{token[11:]} --fast",
    "url": lambda token: f"GET /callback?value={quote(token, safe='')}&x=1",
    "encoded": lambda token: f"next=https%3A%2F%2Fx%2F%3Fvalue%3D{quote(token, safe='')}%26x%3D1",
    "unicode escapes": lambda token: f"?value\\u003d{token}\\u0026x",
    "alone": lambda token: token,
    "last": lambda token: f"the value is\n{token}",
}


@pytest.mark.parametrize("place", SURROUNDINGS)
def test_every_token_is_found_in_every_surrounding(place: str) -> None:
    for kind, token in tokens():
        text = SURROUNDINGS[place](token)
        shown = redact(text)
        assert token not in shown, f"{kind}: {text}"
        assert f"[redacted:{kind}]" in shown, f"{kind}: {shown}"
        # No half of it is left either.
        for piece in (token[:14], token[-12:]):
            assert piece not in shown, f"{kind}: {shown}"


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: f"{sample.kind}")
def test_every_planted_secret_is_taken_out_of_every_wrapping(sample: Sample) -> None:
    wrapped = (
        sample.text,
        f"before\n{sample.text}\nafter",
        json.dumps({"command": sample.text, "ok": True}),
        json.dumps({"line": json.dumps({"command": f"cd /srv\n{sample.text}\nls"})}),
        f"作業した。\n{sample.text}\n終わり。",
    )
    for text in wrapped:
        shown = redact(text)
        for needle in sample.needles:
            assert needle not in shown, shown
        assert f"[redacted:{sample.kind}]" in shown, shown
        assert redact(shown) == shown


def test_each_kind_of_the_table_has_a_sample() -> None:
    assert {sample.kind for sample in samples()} == set(kinds())


@pytest.mark.parametrize("kept", [12, 16])
def test_a_token_that_the_end_of_the_text_cuts_off_is_found(kept: int) -> None:
    for kind, prefix, body in prefixed():
        piece = body[:kept]
        if piece.isalpha() and piece in (piece.lower(), piece.upper()):
            continue  # letters of one case may be a word
        for text in (f"output: {prefix}{piece}", f'{{"output": "{prefix}{piece}', f"値は{prefix}{piece}\n"):
            assert piece not in redact(text), f"{kind}: {text}"


CASES = {
    "escaped quotes": ('{\\"token\\":\\"s3cr3tvalue99\\"}', "s3cr3tvalue99"),
    "twice escaped quotes": ('{\\\\\\"password\\\\\\":\\\\\\"hunter2\\\\\\"}', "hunter2"),
    "escaped slashes": ("postgres:\\/\\/app:hunter2@db\\/x", "hunter2"),
    "encoded url": ("postgres%3A%2F%2Fapp%3Ahunter2%40db%2Fx", "hunter2"),
    "encoded query": ("x%3Fpassword%3Dhunter2%26y%3D1", "hunter2"),
    "html": ("password=&quot;hunter2x&quot;", "hunter2x"),
    "typed default": ('def f(password: str = "hunter2"): ...', "hunter2"),
    "go": ('password := "hunter2"', "hunter2"),
    "php": ("'password' => 'hunter2',", "hunter2"),
    "index": ('config["password"] = "hunter2"', "hunter2"),
    "property": ("user.password = 'hunter2'", "hunter2"),
    "call": ('client.setPassword("hunter2")', "hunter2"),
    "comparison": ('if password == "hunter2":', "hunter2"),
    "environment default": ('os.getenv("DB_PASSWORD", "hunter2")', "hunter2"),
    "process environment default": ('process.env.DB_PASSWORD || "x"; password = "hunter2"', "hunter2"),
    "connection string": ("Server=db;User Id=sa;Password=hunter2;Encrypt=yes", "hunter2"),
    "query string": ("https://x.example/?user=a&password=hunter2&y=1", "hunter2"),
    "docker -e": ("docker run -e POSTGRES_PASSWORD=swordfish -p 5432:5432 postgres", "swordfish"),
    "dockerfile": ("ENV API_SECRET=hunter2x", "hunter2x"),
    "compose list": ("      - MYSQL_ROOT_PASSWORD=swordfish", "swordfish"),
    "kubectl": ("kubectl create secret generic x --from-literal=password=hunter2", "hunter2"),
    "kubectl any name": ("kubectl create secret generic x --from-literal=who=swordfish", "swordfish"),
    "fly secrets": ("fly secrets set TARGET=swordfish OTHER=abc123 -a app", "swordfish"),
    "gh secret": ("gh secret set TARGET --body 'swordfish'", "swordfish"),
    "kubernetes env": ("env:\n  - name: DB_PASSWORD\n    value: hunter2x\n", "hunter2x"),
    "ecs env": ('{"name": "DB_PASSWORD", "value": "swordfish"}', "swordfish"),
    "ecs env escaped": ('{\\"name\\":\\"API_TOKEN\\",\\"value\\":\\"hunter2x\\"}', "hunter2x"),
    "sign at the end": ("password: Hunter2!", "Hunter2!"),
    "comma inside": ("PGPASSWORD=ab,cd9 psql", "ab,cd9"),
    "confirmation": ('{"confirm_password": "swordfish"}', "swordfish"),
    "before japanese": ("password=hunter2xです", "hunter2x"),
    "password in prose": ("I put the password hunter2 into the vault", "hunter2"),
    "spaced name in prose": ("my API key is 8f3a9c2b7d1e4f60a5b8", "8f3a9c2b7d1e4f60a5b8"),
    "rails": ("secret_key_base: 8f3a9c2b7d1e4f60a5b88f3a9c2b", "8f3a9c2b7d1e4f60a5b88f3a9c2b"),
    "rails index": ("ENV['SECRET_KEY_BASE'] = 'abc123def456abc123def456'", "abc123def456abc123def456"),
    "space and exclamation": ("DB_PASSWORD='p@ss w0rd!'", "p@ss w0rd!"),
    "quoted number": ('SECRET="0123456789"', "0123456789"),
    "echo to base64": ("curl -H \"Authorization: Basic $(echo -n 'admin:hunter2' | base64)\" https://x", "hunter2"),
    "sudo here string": ("sudo -S apt update <<< 'hunter2'", "hunter2"),
    "sudo pipe": ("echo hunter2 | sudo -S apt update", "hunter2"),
    "default in a reference": ("SPRING_DATASOURCE_PASSWORD=${DB_PASS:hunter2}", "hunter2"),
    "helm": ("helm upgrade x --set postgresql.auth.postgresPassword=swordfish", "swordfish"),
    "aws configure": ("aws configure set aws_secret_access_key abcDEF123456ghiJKL", "abcDEF123456ghiJKL"),
    "numeric": ("PASSWORD=123456", "123456"),
    "numeric quoted": ('"password": "12345678"', "12345678"),
    "japanese pin": ("暗証番号：4821", "4821"),
    "japanese escaped": ('パスワード\\u003d\\"hunter2\\"', "hunter2"),
    "bold": ("**Password:** hunter2x", "hunter2x"),
    "bold with code": ("**Password**: `swordfish`", "swordfish"),
    "table": ("| password | hunter2x |", "hunter2x"),
    "block scalar": ("password: |\n  hunter2x\nuser: me", "hunter2x"),
    "camel case": ("{dbPassword: 'swordfish'}", "swordfish"),
    "powershell": ("Connect-Thing -Password hunter2x -User me", "hunter2x"),
    "quoted option": ('["--password", "hunter2x"]', "hunter2x"),
    "option with quotes": ("tool --password 'sword fish' run", "sword fish"),
    "glued user": ("curl -sSfu admin:hunter2 https://x", "hunter2"),
    "user option": ("curl --user 'admin:hunter2' https://x", "hunter2"),
    "here string": ("gh auth login --with-token <<< abcdef123456", "abcdef123456"),
    "openssl": ("openssl rsa -in k.pem -passin pass:swordfish", "swordfish"),
    "proxy": ("http_proxy=http://me:hunter2@proxy:3128", "hunter2"),
    "at sign in password": ("mysql://root:p@ss2word@db/x", "p@ss2word"),
    "slash in password": ("amqp://me:a/b2c@mq:5672", "a/b2c"),
    "bearer in prose": ("send Bearer " + "a1B2c3D4e5F6" * 3 + " along", "a1B2c3D4e5F6"),
    "json authorization": ('{"Authorization": "Bearer abc123def456"}', "abc123def456"),
    "proxy authorization": ("Proxy-Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA=="),
    "cookie option": ("curl -b 'session=abcdef123456' https://x", "abcdef123456"),
    "passphrase with spaces": ('passphrase: "correct horse battery staple"', "correct horse battery staple"),
    "hex beside a name": ("api_key: 0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"),
    "uuid beside a name": (
        "HEROKU_API_KEY=01234567-89ab-4cde-8f01-23456789abcd",
        "01234567-89ab-4cde-8f01-23456789abcd",
    ),
    "django": ("SECRET_KEY = 'django-insecure-1x$k9)v2q'", "django-insecure-1x$k9)v2q"),
    "escaped quote inside": ('"password": "ab\\"cd9"', "cd9"),
    "unclosed": ('{"password": "hunter2isl', "hunter2isl"),
}


@pytest.mark.parametrize("name", CASES)
def test_values_beside_names(name: str) -> None:
    text, secret = CASES[name]
    shown = redact(text)
    assert secret not in shown, shown
    assert "[redacted:" in shown


def test_a_key_in_a_listing_with_line_numbers_and_in_a_diff_is_found() -> None:
    line = "MIIEowIBAAKCAQEA" + "xY7z" * 12
    fence = "-----"
    for mark in ("    12→", "+", "> ", "│ "):
        text = "\n".join(
            f"{mark}{row}" for row in (f"{fence}BEGIN PRIVATE KEY{fence}", line, line, f"{fence}END PRIVATE KEY{fence}")
        )
        assert "xY7z" not in redact(text)


def test_a_key_whose_head_was_cut_off_is_found() -> None:
    line = "MIIEowIBAAKCAQEA" + "xY7z" * 12
    text = f"[… 900 characters …]\n{line}\n{line}\nab12==\n-----END RSA PRIVATE" + " KEY-----\nnext line"
    shown = redact(text)
    assert "xY7z" not in shown
    assert shown.endswith("\nnext line")


def test_the_exact_kind_wins_over_the_vague_one() -> None:
    token = dict(tokens())["github-token"]
    assert redact(f"GITHUB_TOKEN={token}") == "GITHUB_TOKEN=[redacted:github-token]"
    assert redact(f"Authorization: Bearer {token}") == "Authorization: Bearer [redacted:github-token]"
    assert redact(f"https://x-access-token:{token}@github.com/a/b") == (
        "https://x-access-token:[redacted:github-token]@github.com/a/b"
    )


def test_places_are_those_of_the_original_text() -> None:
    text = 'cd /srv && export DB_PASSWORD="swordfish" # \x1b[31mx\x1b[0m'
    (secret,) = find_secrets(text)
    assert text[secret.start : secret.end] == "swordfish"
    assert secret.kind == "password"
