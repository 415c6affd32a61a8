"""Planted secrets, one or more per family, for tests that search for them afterwards.

They are put together when the tests run, from pieces and from random characters with a fixed seed, so that
this file holds nothing that a secret scanner would take for a live one. Shapes are written down here again,
from the providers' documentation, and not taken from the rules: a wrong rule must fail a test.
"""

from __future__ import annotations

import base64
import json
import random
import string
from dataclasses import dataclass
from typing import Final

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
    rng = random.Random(seed)
    while True:
        body = "".join(rng.choice(alphabet) for _ in range(length))
        # Real tokens start with a letter or digit more often than not, and have digits in them.
        if body[0].isalnum() and body[-1].isalnum() and any(c.isdigit() for c in body) and any(map(str.isalpha, body)):
            return body


#: kind, the prefix in two pieces, alphabet, length of what follows.
_PREFIXED: Final = (
    ("1password-token", "ops_", "eyJ", _ALNUM, 200),
    ("age-key", "AGE-SECRET", "-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    ("aiven-password", "AV", "NS_", _WORD, 19),
    ("alibaba-key", "LT", "AI5t", _ALNUM, 20),
    ("anthropic-key", "sk-", "ant-api03-", _WORD, 95),
    ("anthropic-key", "sk-", "ant-oat01-", _WORD, 95),
    ("anthropic-key", "sk-", "ant-admin01-", _WORD, 80),
    ("atlassian-token", "ATA", "TT3x", _WORD, 184),
    ("atlassian-token", "ATC", "TT3x", _WORD, 180),
    ("aws-access-key-id", "AK", "IA", _UPPER, 16),
    ("aws-access-key-id", "AS", "IA", _UPPER, 16),
    ("aws-bedrock-key", "AB", "SK", _BASE64, 128),
    ("aws-session-token", "IQo", "Jb3JpZ2luX2VjE", _BASE64, 300),
    ("bitbucket-password", "AT", "BB", _ALNUM, 32),
    ("brevo-key", "xkey", "sib-", _HEX, 64),
    ("buildkite-token", "bk", "ua_", _HEX, 40),
    ("cerebras-key", "cs", "k-", _LOWER, 48),
    ("circleci-token", "CCI", "PAT_", _ALNUM, 62),
    ("cloudflare-token", "cf", "ut_", _ALNUM, 48),
    ("cloudflare-token", "cf", "at_", _ALNUM, 48),
    ("cloudflare-token", "cf", "k_", _ALNUM, 48),
    ("cloudflare-origin-key", "v1", ".0-", _HEX, 171),
    ("contentful-token", "CF", "PAT-", _WORD, 43),
    ("crates-token", "ci", "o", _ALNUM, 32),
    ("databricks-token", "da", "pi", _HEX, 32),
    ("digitalocean-token", "dop", "_v1_", _HEX, 64),
    ("docker-token", "dckr", "_pat_", _WORD, 27),
    ("doppler-token", "dp.", "pt.", _ALNUM, 43),
    ("dropbox-token", "sl", ".u.", _WORD, 130),
    ("dynatrace-token", "dt0", "c01.", _UPPER, 88),
    ("easypost-key", "EZ", "AK", _ALNUM, 54),
    ("elevenlabs-key", "sk", "_", _HEX, 48),
    ("figma-token", "fi", "gd_", _WORD, 40),
    ("firecrawl-key", "f", "c-", _HEX, 32),
    ("fireworks-key", "f", "w_", _ALNUM, 24),
    ("flutterwave-key", "FLW", "SECK-", _ALNUM, 34),
    ("fly-token", "fm", "2_", _BASE64, 400),
    ("fly-token", "fo", "1_", _WORD, 43),
    ("gcp-oauth-secret", "GOC", "SPX-", _WORD, 28),
    ("github-token", "gh", "p_", _ALNUM, 36),
    ("github-token", "gh", "o_", _ALNUM, 36),
    ("github-token", "gh", "u_", _ALNUM, 36),
    ("github-token", "gh", "s_", _ALNUM, 36),
    ("github-token", "gh", "r_", _ALNUM, 76),
    ("github-token", "github", "_pat_", _ALNUM, 82),
    ("gitlab-token", "gl", "pat-", _WORD, 20),
    ("gitlab-token", "gl", "ptt-", _HEX, 40),
    ("gitlab-token", "gl", "rt-", _WORD, 20),
    ("gitlab-token", "gl", "dt-", _WORD, 20),
    ("gitlab-token", "GR13", "48941", _WORD, 20),
    ("google-api-key", "AI", "za", _WORD, 35),
    ("google-api-key", "AQ", ".Ab", _WORD, 50),
    ("google-oauth-token", "ya", "29.", _WORD, 180),
    ("google-refresh-token", "1/", "/0", _WORD, 100),
    ("grafana-token", "gl", "sa_", _ALNUM, 41),
    ("grafana-token", "gl", "c_", _BASE64, 100),
    ("groq-key", "gs", "k_", _ALNUM, 52),
    ("heroku-key", "HR", "KU-", _WORD, 60),
    ("hubspot-token", "pat", "-na1-", _HEX, 36),
    ("huggingface-token", "h", "f_", _ALNUM, 34),
    ("jfrog-token", "AK", "Cp", _ALNUM, 69),
    ("jina-key", "ji", "na_", _ALNUM, 60),
    ("klaviyo-key", "p", "k_", _HEX, 34),
    ("langfuse-key", "sk-", "lf-", _HEX, 36),
    ("langsmith-key", "lsv2", "_pt_", _HEX, 43),
    ("linear-key", "lin_", "api_", _ALNUM, 40),
    ("mailgun-key", "ke", "y-", _HEX, 32),
    ("meta-token", "EA", "AB", _ALNUM, 180),
    ("mollie-key", "li", "ve_", _ALNUM, 30),
    ("mongodb-secret", "mdb_", "sa_sk_", _WORD, 40),
    ("neon-key", "na", "pi_", _LOWER, 64),
    ("netlify-token", "nf", "p_", _ALNUM, 36),
    ("newrelic-key", "NR", "AK-", _UPPER, 27),
    ("notion-token", "nt", "n_", _ALNUM, 46),
    ("notion-token", "sec", "ret_", _ALNUM, 43),
    ("npm-token", "np", "m_", _ALNUM, 36),
    ("nuget-key", "oy", "2", _LOWER, 43),
    ("nvidia-key", "nv", "api-", _WORD, 64),
    ("openai-key", "s", "k-", _ALNUM, 48),
    ("openai-key", "sk-", "proj-", _WORD, 156),
    ("openai-key", "sk-", "svcacct-", _WORD, 156),
    ("openai-key", "sk-", "admin-", _WORD, 150),
    ("openrouter-key", "sk-", "or-v1-", _HEX, 64),
    ("perplexity-key", "pp", "lx-", _ALNUM, 48),
    ("pinecone-key", "pc", "sk_", _ALNUM, 70),
    ("plaid-token", "access-", "production-", _HEX, 36),
    ("planetscale-token", "pscale", "_tkn_", _WORD, 43),
    ("posthog-key", "ph", "x_", _ALNUM, 43),
    ("postman-key", "PM", "AK-", _HEX, 59),
    ("prefect-key", "pn", "u_", _ALNUM, 36),
    ("pulumi-token", "pu", "l-", _HEX, 40),
    ("pypi-token", "py", "pi-AgEIcHlwaS5vcmc", _WORD, 150),
    ("readme-key", "rd", "me_", _LOWER, 70),
    ("render-key", "rn", "d_", _ALNUM, 32),
    ("replicate-token", "r", "8_", _ALNUM, 37),
    ("resend-key", "r", "e_AbCd1234_", _ALNUM, 24),
    ("rubygems-key", "ruby", "gems_", _HEX, 48),
    ("sendgrid-key", "S", "G.", _ALNUM, 66),
    ("sentry-token", "sn", "trys_", _ALNUM, 120),
    ("sentry-token", "sn", "tryu_", _HEX, 64),
    ("shippo-token", "shippo", "_live_", _HEX, 40),
    ("shopify-token", "shp", "at_", _HEX, 32),
    ("slack-token", "xo", "xb-", "0123456789-" + _ALNUM, 50),
    ("slack-token", "xo", "xp-", "0123456789-" + _ALNUM, 70),
    ("slack-token", "xa", "pp-1-A0", _WORD, 80),
    ("sonarqube-token", "sq", "u_", _HEX, 40),
    ("sourcegraph-token", "sg", "p_", _HEX, 40),
    ("square-token", "EA", "AAl", _WORD, 59),
    ("square-token", "sq0", "csp-", _WORD, 43),
    ("stripe-key", "sk", "_live_", _ALNUM, 24),
    ("stripe-key", "sk", "_test_", _ALNUM, 99),
    ("stripe-key", "rk", "_live_", _ALNUM, 40),
    ("stripe-webhook-secret", "wh", "sec_", _BASE64, 32),
    ("supabase-secret-key", "sb_", "secret_", _WORD, 31),
    ("supabase-token", "sb", "p_", _HEX, 40),
    ("tailscale-key", "ts", "key-auth-", _ALNUM, 44),
    ("tavily-key", "tv", "ly-dev-", _ALNUM, 32),
    ("tencent-key", "AK", "ID", _ALNUM, 32),
    ("together-key", "tgp", "_v1_", _WORD, 43),
    ("twilio-key", "S", "K", _HEX, 32),
    ("typeform-token", "tf", "p_", _ALNUM, 59),
    ("vault-token", "hv", "s.", _WORD, 95),
    ("vercel-token", "vc", "p_", _ALNUM, 56),
    ("voyage-key", "p", "a-", _WORD, 43),
    ("wandb-key", "wandb", "_v1_", _ALNUM, 60),
    ("xai-key", "xa", "i-", _ALNUM, 80),
    ("yandex-token", "AQ", "VN", _WORD, 36),
)


def _encoded(data: object) -> str:
    text = data if isinstance(data, str) else json.dumps(data)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _structured() -> list[tuple[str, str]]:
    """Tokens that are more than a prefix and a run."""
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
        ("azure-client-secret", _body("az1", _ALNUM, 3) + "8" + "Q" + "~" + _body("az2", _ALNUM + "_.~-", 34)),
        ("azure-devops-token", _body("azdo", _ALNUM, 76) + "AZ" + "DO" + _body("azdo2", _ALNUM, 4)),
        ("discord-token", _encoded(number) + "." + _body("d1", _WORD, 6) + "." + _body("d2", _WORD, 38)),
        ("mailchimp-key", _body("mc", _HEX, 32) + "-u" + "s14"),
        ("mailgun-key", "-".join((_body("mg", _HEX, 32), _body("mg2", _HEX, 8), _body("mg3", _HEX, 8)))),
        ("paypal-token", "access_" + "token$production$" + _body("pp", _LOWER, 16) + "$" + _body("pp2", _HEX, 32)),
        ("telegram-token", "61" + "23456789" + ":" + "AA" + _body("tg", _WORD, 33)),
        ("terraform-token", _body("tf", _ALNUM, 14) + ".atlas" + "v1." + _body("tf2", _ALNUM, 67)),
        ("gitlab-token", "gl" + "pat-" + _body("glr", _WORD, 51) + ".01." + _body("glr2", _LOWER, 9)),
        ("sendgrid-key", "S" + "G." + _body("sg1", _WORD, 22) + "." + _body("sg2", _WORD, 43)),
    ]


def prefixed() -> list[tuple[str, str, str]]:
    """(kind, prefix, body) of every family that is a prefix and a run of one alphabet."""
    return [
        (kind, first + second, _body(kind + second, alphabet, length))
        for kind, first, second, alphabet, length in _PREFIXED
    ]


def tokens() -> list[tuple[str, str]]:
    """(kind, token) of every family that is known by itself."""
    return [(kind, prefix + body) for kind, prefix, body in prefixed()] + _structured()


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
