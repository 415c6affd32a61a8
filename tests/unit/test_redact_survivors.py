"""Ordinary text comes out as it went in: a redaction that eats names and hashes ruins the memory it protects."""

from __future__ import annotations

import hashlib

import pytest

from hikidashi.redact import find_secrets, redact

SHA1 = hashlib.sha1(b"a").hexdigest()
SHA256 = hashlib.sha256(b"a").hexdigest()

SURVIVORS = [
    # hashes, ids, digests
    f"commit {SHA1}",
    f"Merge: {SHA1[:8]} {SHA1[8:16]}",
    f"index {SHA1[:7]}..{SHA1[7:14]} 100644",
    f"sha256:{SHA256}",
    f"docker pull alpine@sha256:{SHA256}",
    f"FROM docker://alpine:3.18@sha256:{SHA256}",
    f"image id {SHA256[:12]}",
    "integrity: sha512-9s+Zt4nM8bkJDH0MZJhJ4Y5LZ0v7n2r9TnN0a5cJYk9WlF4q6gEJb8N1bZbLw0fQJtC1nH2mO3pQ4rS5tU6vWw==",
    '"integrity": "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="',
    f"hash = '{SHA256}'",
    f'etag: "{SHA1}"',
    "session 6f1c2b3a-4d5e-4f60-8a7b-9c0d1e2f3a4b resumed",
    "session_id: 6f1c2b3a-4d5e-4f60-8a7b-9c0d1e2f3a4b",
    "toolu_01AbCdEfGhIjKlMnOpQrStUv",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "req_011CSHoEeqs5C35K2UUqR7Fy",
    "trace_id=4bf92f3577b34da6a3ce929d0e0e4736 span_id=00f067aa0ba902b7",
    "go.sum: github.com/x/y v1.2.3 h1:Xk9qGm0bA3rT5uV7wX9yZ1aB3cD5eF7gH9iJ1kL3mN4=",
    # paths, names, versions, times, numbers
    "/home/me/projects/app/src/components/Button/index.tsx:12:5",
    "C:\\Users\\me\\AppData\\Local\\Temp\\token_cache.bin",
    "main.7f8d9c0a1b2c3d4e.chunk.js",
    "__webpack_require__.d(exports, { a: () => _b9x })",
    "npm_config_registry npm_lifecycle_event npm_package_name",
    "hf_hub_download and re_compile and sk_learn",
    "task-runner-with-a-very-long-kebab-case-name-v2",
    "risk-assessment-of-the-whole-deployment-pipeline",
    "2025-01-02T10:11:12.123456789+09:00",
    "1234567890123456789012345678901234567890",
    "version 1.2.3-beta.4+build.5678",
    "10.0.0.5:3306 [::1]:8080 aa:bb:cc:dd:ee:ff",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJz7o0p1Q2r3S4t5U6v7W8x9Y0z1A2b3C4d5E6f7G8h9 me@host",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----",
    "the file starts with -----BEGIN PRIVATE KEY----- and then base64 follows",
    "grep -rn 'BEGIN RSA PRIVATE KEY' .",
    # numbers and words beside names
    "tokens: 1234",
    "token: 1234",
    "max_tokens=4096",
    "max_token: 4096",
    '"input_tokens": 1523, "output_tokens": 88',
    "token_count = 17",
    "tokens_used=90210 total_tokens=123456",
    "next_page_token: abc123def456",
    "eos_token = '</s>'",
    "secretName: my-secret",
    "secretKeyRef:\n  name: db-credentials\n  key: password",
    "imagePullSecrets:\n  - name: regcred",
    "secret: my-secret",
    "password_hash VARCHAR(255) NOT NULL",
    "password VARCHAR(255)",
    "password_min_length: 12",
    "password_reset_token_expires_at",
    "author: John Smith <john@example.com>",
    "authority: https://login.example.com/common",
    "authors = ['Ann B']",
    "tokenizer: gpt2",
    "tokenType: 'Bearer'",
    "keyboard: qwerty2000",
    "primary_key: user_id2",
    "public_key: abcdefgh12345678",
    "cache_key = 'user:1234:profile'",
    "key: value",
    "monkey = 'banana2banana2banana2'",
    "bypass: true12345",
    "compass=north1234",
    "PWD=/home/me/app",
    "OLDPWD=/tmp/x1",
    "PASS: tests/unit/test_login2.py",
    "pass: 12, fail: 3",
    # prose
    "the token expired",
    "the token expired after 3600s, so I refreshed it",
    "password must be 8 characters",
    "the password is sha256-hashed",
    "the password is base64encoded",
    "the password field and the token column",
    "    at a.getAuthToken (.next/server/chunks/4256.js:1:10179)",
    "Name: AUTH_SECRET\nValue: ランダムな32文字以上の文字列",
    "tests pass 8f3a9c2b7d1e4f60a5b88f3a9c2b7d1e4f60a5b8",
    "bumped key 2 of 3, token 17 of 20",
    "password step 2 needs 12 characters",
    "the key is 3 characters long",
    "use token-based auth",
    "we decided on JWT auth instead of API keys: simpler to rotate",
    "Decision: store the refresh token in an httpOnly cookie",
    "secret santa is on Friday",
    "The key is to keep it simple.",
    "auth: use OAuth2 for everything",
    "Bearer authentication is required",
    "Basic authentication was removed",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer ${API_TOKEN}",
    "Authorization: Bearer YOUR_API_KEY",
    'headers = {"Authorization": f"Bearer {token}"}',
    "Cookie: see below",
    "パスワードは8文字以上",
    "パスワードを変更した",
    "トークン: 1234",
    "トークン数は4096",
    "APIキーは .env に置く",
    "パスワードは password_hash に保存する",
    "認証はトークン方式にする",
    # placeholders and references
    "API_KEY=<your-key>",
    "API_KEY=your-api-key-here",
    "API_KEY=xxxxxxxxxxxx",
    "PASSWORD=********",
    "PASSWORD=changeme",
    "password: $DB_PASSWORD",
    "password: ${DB_PASSWORD:-}",
    "password: {{ vault.db_password }}",
    "password = os.environ['DB_PASSWORD']",
    'password = os.environ.get("DB_PASSWORD")',
    "password: process.env.DB_PASSWORD",
    "apiKey: import.meta.env.VITE_API_KEY1",
    "api_key = get_secret('x1')",
    "token = await fetchToken(user1)",
    "token=$(gh auth token)",
    "password=%DB_PASSWORD%",
    "password: !vault |",
    "https://x.example/reset?token={token}",
    "https://x.example/items/{token}/{id}",
    "postgres://user:${PASSWORD}@host/db",
    "postgres://user:<password>@host/db",
    "postgres://user:***@host/db",
    "postgres://USER:PASSWORD@host/db",
    "mysql -pPASSWORD, sshpass -p YOUR_PASSWORD, curl -u USER:PASSWORD https://x",
    "https://host:8080/@scope/pkg",
    "http://localhost:4873/a@b",
    "git@github.com:owner/repo.git",
    "git+ssh://git@github.com/owner/repo.git#v1",
    "ghp_" + "x" * 36,
    "sk-ant-your-key-goes-here-please",
    "AKIA" + "X" * 16,
    "token: string",
    "password: str | None = None",
    "password?: string;",
    "privateKey: Uint8Array",
    "secret: Option<String>",
    "login(user=user, password=password)",
    "login(token=token_b64)",
    "password=self.password",
    "secret = settings.jwt_secret",
    "private_key = certs/server1.key",
    "token_file: /run/secrets/token1",
    "password: /run/secrets/db_password1",
    '"password": "Password"',
    '"password": "Enter your password"',
    'label: "Password must not be empty."',
    '["password", "token", "secret"]',
    "password: [REDACTED]",
    # options that look like ones with a password
    "mkdir -p a/b2c",
    "docker run -p 8080:80 --name mysql mysql:8",
    "docker run -u 1000:1000 image",
    "docker exec -u www-data:www-data app ls",
    "ssh -p 2222 host1",
    "tar -xzf a1.tgz && cp -p x1 y1",
    "grep -i 'password\\|token' app1.log",
    "cat secret.txt | sha256sum",
    "curl -u $USER:$PASS https://x",
    "the --token option is required",
    "pass --password-stdin to read it",
    "git log --author=john1234",
    '[ "$TOKEN" != "local_install" ]',
    "console.log('PASSWORD:', value1)",
]


@pytest.mark.parametrize("text", SURVIVORS)
def test_ordinary_text_survives(text: str) -> None:
    for whole in (text, f"before\n{text}\nafter", f"作業: {text}"):
        assert find_secrets(whole) == [], redact(whole)
        assert redact(whole) is whole


def test_there_are_enough_of_them() -> None:
    assert len(SURVIVORS) >= 80


@pytest.mark.parametrize(
    "text",
    [
        "password: [redacted:password], token=[redacted:secret] and [redacted:jwt]",
        'DB_PASSWORD="[redacted:password]"',
        "https://me:[redacted:url-password]@host/x",
        # A text that was redacted and then cut holds half a marker.
        "export DB_PASSWORD=[redacted:passw",
        "export DB_PASSWORD=[redacted:passw…",
        "Authorization: Bearer [redacted:github-tok\nnext line",
    ],
)
def test_a_marker_is_no_secret(text: str) -> None:
    assert redact(text) == text


def test_brackets_like_a_marker_protect_nothing() -> None:
    token = "da" + "pi" + "0123456789abcdef" * 2
    assert redact(f"[redacted:{token}]") == "[redacted:[redacted:databricks-token]]"
    assert redact(f"x [redacted:{token}") == "x [redacted:[redacted:databricks-token]"
