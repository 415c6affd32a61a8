"""Everything that is redacted, in one list; the documentation's table is made from it.

A family of prefixed tokens is a row of `tokens.FAMILIES`. What is known by its surroundings instead is a row
of `CONTEXTS` here: a finder, and the shapes that it finds in words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from hikidashi.redact import commands, keys, manifests, names, native, phrases, places
from hikidashi.redact.families import Secret
from hikidashi.redact.tokens import FAMILIES
from hikidashi.rules_version import RULES_VERSION

__all__ = ["CONTEXTS", "RULES_VERSION", "Context", "Shape", "describe", "kinds", "render_table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One row of the documentation's table."""

    kind: str
    provider: str
    #: What is found, in words; Markdown.
    shape: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Secrets that are known by what stands around them."""

    #: Called with a text and its lower-case twin of the same length.
    find: Callable[[str, str], Iterator[Secret]]
    #: What `find` yields: (kind, provider, shape in words).
    shapes: tuple[tuple[str, str, str], ...]
    #: Run only where one of these (lower case) occurs; () for no such condition.
    needles: tuple[str, ...] = ()
    #: Run only where one of these stands in the text's long runs of token characters (see `prefilter`).
    marks: tuple[bytes, ...] = ()
    #: The same for what no single string tells; `bool` for "where there are such runs at all".
    runs: Callable[[bytes], object] | None = None

    @property
    def in_runs(self) -> bool:
        """Whether nothing can be found where there are no long runs."""
        return bool(self.marks) or self.runs is not None


_HEADER_NOTE: Final = (
    "`Authorization` and `Proxy-Authorization` headers of any scheme; `Bearer` + a "
    "random value and `Basic` + base64 of `user:password` anywhere"
)

CONTEXTS: Final = (
    Context(
        find=keys.find_pem,
        needles=("-----",),
        runs=bool,
        shapes=(
            (
                "private-key",
                "any",
                "PEM and PGP blocks `BEGIN … PRIVATE KEY`, also encrypted, OpenSSH, with escaped "
                "line ends, without END or without BEGIN",
            ),
        ),
    ),
    Context(
        find=keys.find_putty,
        needles=("private-lines:",),
        runs=bool,
        shapes=(("private-key", "PuTTY", "the lines after `Private-Lines:`"),),
    ),
    Context(
        find=keys.find_jwt,
        shapes=(
            ("jwt", "any", "three base64url parts of which the first decodes to a JSON object (five when encrypted)"),
        ),
        marks=(b"eyJ",),
    ),
    Context(
        find=keys.find_aws_secrets,
        shapes=(("aws-secret-key", "AWS", "40 base64 characters near an access key id"),),
        marks=(b"AKIA", b"ASIA"),
    ),
    Context(
        find=keys.find_telegram,
        needles=(":aa",),
        marks=(b"AA",),
        shapes=(("telegram-token", "Telegram", "8 to 10 digits, `:AA`, 32 to 34 letters, digits, `_` and `-`"),),
    ),
    Context(
        find=keys.find_discord,
        shapes=(
            ("discord-token", "Discord", "base64 of the bot's number, `.`, 6 characters, `.`, 27 or more characters"),
        ),
        runs=re.compile(rb"\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27}").search,
    ),
    Context(
        find=keys.find_mailgun,
        shapes=(("mailgun-key", "Mailgun", "32, 8 and 8 hexadecimal digits joined by `-`"),),
        runs=re.compile(rb"-[0-9a-f]{8}-[0-9a-f]{8}").search,
    ),
    Context(
        find=keys.find_twilio,
        shapes=(("twilio-auth-token", "Twilio", "32 hexadecimal digits beside an account id (`AC` + 32)"),),
        runs=re.compile(rb"AC[0-9a-f]{32}").search,
    ),
    Context(
        find=keys.find_paired,
        shapes=(
            ("asana-token", "Asana", "`1/` or `2/` + the numbers of user and app, `:`, 32 hexadecimal digits"),
            ("astra-token", "DataStax Astra", "`AstraCS:` + the client's letters, `:`, 64 hexadecimal digits"),
            ("bitwarden-token", "Bitwarden Secrets Manager", "`0.` + a UUID, `.`, the secret, `:`, the key in base64"),
            ("jenkins-crumb", "Jenkins", "32 to 64 hexadecimal digits behind `Crumb:`"),
            ("kaggle-token", "Kaggle", "`key` beside `username` in `kaggle.json`"),
            ("rancher-token", "Rancher", "`token-` + 5, `:`, 54 letters and digits"),
            ("salesforce-token", "Salesforce", "`00` + 13 letters and digits, `!A`, 80 or more of `A-Za-z0-9._`"),
        ),
        runs=keys.may_be_paired,
    ),
    Context(
        find=manifests.find_json_keys,
        needles=('"kty',),
        shapes=(("private-key", "any", "the private members (`d`, `p`, `q`, `k` …) of a JSON Web Key"),),
        runs=re.compile(rb"[A-Za-z0-9_\-]{20}").search,
    ),
    Context(
        find=manifests.find_manifest_secrets,
        needles=("secret",),
        shapes=(("secret", "Kubernetes", "the values of `data` and `stringData` in a manifest of `kind: Secret`"),),
    ),
    Context(
        find=phrases.find_phrases,
        needles=phrases.WORDS,
        shapes=(
            (
                "seed-phrase",
                "wallets",
                "12, 15, 18, 21 or 24 words behind `mnemonic`, `seed phrase`, `recovery phrase`, `シードフレーズ` …",
            ),
        ),
    ),
    Context(
        find=places.find_url_passwords,
        needles=("://", "@"),
        shapes=(
            (
                "url-password",
                "any",
                "the password in `scheme://user:…@host` of any scheme, a random value in the "
                "user's place, Go's `user:…@tcp(host)`, Oracle's `thin:user/…@`",
            ),
            ("slack-webhook", "Slack", "the path of `hooks.slack.com/services/…`"),
            ("discord-webhook", "Discord", "the path of `discord.com/api/webhooks/…`"),
            ("teams-webhook", "Microsoft Teams", "the path of `….webhook.office.com/…`"),
            ("google-chat-webhook", "Google Chat", "the path of `chat.googleapis.com/v1/spaces/…`"),
            (
                "webhook",
                "Zapier, Make, IFTTT, Lark, WeCom, Guilded, Better Stack, Mattermost, Rocket.Chat",
                "the secret part of a webhook's address",
            ),
            ("node-key", "Infura, Alchemy, QuickNode", "the key in a node's address"),
        ),
    ),
    Context(
        find=places.find_bearer,
        needles=("bearer ",),
        runs=bool,
        shapes=(("authorization", "any", _HEADER_NOTE),),
    ),
    Context(
        find=places.find_basic,
        needles=("basic ",),
        shapes=(),
    ),
    Context(
        find=places.find_cookies,
        needles=("cookie",),
        shapes=(("cookie", "any", "what `Cookie:` and `Set-Cookie:` headers, `--cookie` and curl's `-b` hold"),),
    ),
    Context(
        find=places.find_signatures,
        marks=(b"sig=", b"Sig=", b"SIG=", b"ignature=", b"IGNATURE="),
        shapes=(
            (
                "url-signature",
                "Azure, AWS, Google",
                "`sig=`, `X-Amz-Signature=`, `X-Goog-Signature=` + a random value of 40 or more",
            ),
        ),
    ),
    Context(
        find=commands.find_options,
        needles=("-",),
        shapes=(
            (
                "password",
                "command lines",
                "`curl -u user:…`, `mysql -p…`, `sshpass -p …`, `redis-cli -a …`, `docker login -p "
                "…`, `ldapsearch -w …`, `openssl -passin pass:…`",
            ),
        ),
    ),
    Context(
        find=commands.find_settings,
        needles=(" set ", "login", "identified "),
        shapes=(
            (
                "password",
                "command lines",
                "values after `config set …token`, `.netrc`'s `password`, `IDENTIFIED BY`",
            ),
        ),
    ),
    Context(
        find=commands.find_secret_commands,
        needles=("secret",),
        shapes=(
            (
                "secret",
                "command lines",
                "arguments of `gh secret set`, `fly secrets set`, `kubectl create secret generic` and such",
            ),
        ),
    ),
    Context(
        find=names.find_valued,
        needles=("value",),
        shapes=(("secret", "Kubernetes, ECS", "`value` beside a `name` that names a secret"),),
    ),
    Context(
        find=names.find_named,
        needles=names.WORDS,
        shapes=(
            (
                "password",
                "any",
                "values beside `password`, `passwd`, `passphrase`, `pwd`, `DB_PASS` … in environment "
                "files, YAML, JSON, TOML, code, options, SQL, XML, `.netrc`, prose (`password is …`) "
                "and what is piped into `--password-stdin`",
            ),
            (
                "secret",
                "any",
                "values beside `secret`, `client_secret`, `api_key`, `access_token`, `private_key`, "
                "`auth_token` …; beside `token`, `auth` and other keys only values that look random",
            ),
            ("azure-storage-key", "Azure", "`AccountKey=` + 86 base64 characters and `==`"),
            ("azure-shared-key", "Azure", "`SharedAccessKey=` + 43 base64 characters and `=`"),
        ),
    ),
    Context(
        find=native.find_native,
        needles=native.WORDS,
        shapes=(
            (
                "password",
                "Japanese and others",
                "values after `パスワード`, `暗証番号`, `密码`, `비밀번호`, `пароль` … with a colon, brackets or a "
                "particle",
            ),
            (
                "secret",
                "Japanese and others",
                "values after `トークン`, `シークレット`, `APIキー`, `秘密鍵`, `密钥`, `令牌` …",
            ),
        ),
    ),
)


def describe() -> list[Shape]:
    """Every shape that is redacted, in the order of the documentation's table."""
    shapes = [Shape(kind=family.kind, provider=family.provider, shape=family.shape) for family in FAMILIES]
    for context in CONTEXTS:
        shapes += [Shape(kind=kind, provider=provider, shape=shape) for kind, provider, shape in context.shapes]
    return sorted(shapes, key=lambda shape: (shape.kind, shape.provider.lower(), shape.shape))


def kinds() -> list[str]:
    """Every kind that may stand in `[redacted:kind]`, sorted."""
    return sorted({shape.kind for shape in describe()})


def render_table() -> str:
    """The Markdown table of `docs/security.md` between its markers, with a newline at the end."""
    rows = [f"| `{shape.kind}` | {shape.provider} | {_cell(shape.shape)} |" for shape in describe()]
    return "\n".join(("| kind | provider | shape |", "| --- | --- | --- |", *rows)) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
