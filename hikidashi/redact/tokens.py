"""The table of prefixed tokens: one row per family, providers in alphabetical order within each group.

To add a family, add its row here, its planted sample to `tests/secrets_samples.py`, raise `RULES_VERSION` in
`rules.py`, and run `python docs/generate.py`. Prefixes and lengths are the providers' own, from their
documentation of token formats; lengths are minima, because providers lengthen tokens more often than not.
"""

from __future__ import annotations

import re
from typing import Final

from hikidashi.redact.families import ALNUM, DIGITS_AND_CAPITALS, HEX, WORD, Family, family
from hikidashi.redact.values import is_random

__all__ = ["FAMILIES"]

_BASE64: Final = "A-Za-z0-9+/="
_DOTTED: Final = r"A-Za-z0-9_.\-"
_LOWER: Final = "a-z0-9"
#: Before a prefix that could as well be a piece of base64 or of an identifier.
_IN_BASE64: Final = "+/_-."


def _has_digit(body: str) -> bool:
    return any(char.isdigit() for char in body)


def _is_mixed_case(body: str) -> bool:
    return _has_digit(body) and body != body.lower() and body != body.upper()


def _is_azure_client_secret(body: str) -> bool:
    at = body.find("Q~")
    return at in (3, 4) and body[at - 1].isdigit()


def _is_mailchimp_key(body: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{32}-us\d{1,2}", body) is not None


_CLOUDS: Final = (
    family("alibaba-key", "Alibaba Cloud", "LTAI", ALNUM, 16, not_after=_IN_BASE64, check=_has_digit),
    family("aws-access-key-id", "AWS", "AKIA ABIA ACCA", DIGITS_AND_CAPITALS, 16, exact=True),
    family("aws-access-key-id", "AWS", "ASIA", DIGITS_AND_CAPITALS, 16, exact=True, check=_has_digit),
    family("aws-bedrock-key", "AWS", "ABSK bedrock-api-key-", _BASE64, 60, not_after=_IN_BASE64),
    family("aws-session-token", "AWS", "IQoJb3JpZ2lu FwoGZXIvYXdz FQoGZXIvYXdz", r"A-Za-z0-9+/=%", 60),
    family("azure-client-secret", "Azure", "Q~", r"A-Za-z0-9_.~\-", 37, infix=True, check=_is_azure_client_secret),
    family("azure-devops-token", "Azure", "AZDO", ALNUM, 84, exact=True, infix=True, check=_has_digit),
    family("cloudflare-token", "Cloudflare", "cfk_ cfut_ cfat_", WORD, 40),
    family("cloudflare-origin-key", "Cloudflare", "v1.0-", r"0-9a-f\-", 100),
    family("databricks-token", "Databricks", "dapi dkea dose", HEX, 32, exact=True),
    family("digitalocean-token", "DigitalOcean", "dop_v1_ doo_v1_ dor_v1_", HEX, 64),
    family("fly-token", "Fly.io", "fm1_ fm1a_ fm1r_ fm2_", r"A-Za-z0-9+/=_,\-", 60),
    family("fly-token", "Fly.io", "fo1_", WORD, 40),
    family("gcp-oauth-secret", "Google", "GOCSPX-", WORD, 28),
    family("google-api-key", "Google", "AIza", WORD, 35),
    family("google-api-key", "Google", "AQ.Ab", WORD, 30),
    family("google-oauth-token", "Google", "ya29.", _DOTTED, 20),
    family("google-refresh-token", "Google", "1//0", WORD, 40),
    family("heroku-key", "Heroku", "HRKU-", WORD, 36),
    family("neon-key", "Neon", "napi_", ALNUM, 40),
    family("netlify-token", "Netlify", "nfp_ nfo_ nfb_ nfc_ nfu_", ALNUM, 36),
    family("planetscale-token", "PlanetScale", "pscale_tkn_ pscale_pw_ pscale_oauth_", _DOTTED, 32),
    family("pulumi-token", "Pulumi", "pul-", HEX, 40, exact=True),
    family("render-key", "Render", "rnd_", ALNUM, 28),
    family("supabase-token", "Supabase", "sbp_ sbp_v0_ sbp_oauth_", HEX, 40),
    family("supabase-secret-key", "Supabase", "sb_secret_", WORD, 24),
    family("tailscale-key", "Tailscale", "tskey-", WORD, 20),
    family("tencent-key", "Tencent Cloud", "AKID", ALNUM, 32, exact=True, not_after=_IN_BASE64),
    family("terraform-token", "HashiCorp", ".atlasv1.", _DOTTED, 80, infix=True),
    family("vault-token", "HashiCorp", "hvs. hvb. hvr.", WORD, 24),
    family("vercel-token", "Vercel", "vcp_ vci_ vca_ vcr_ vck_", ALNUM, 24),
    family("yandex-token", "Yandex Cloud", "AQVN y0_", WORD, 35, not_after=_IN_BASE64),
)

_FORGES: Final = (
    family("atlassian-token", "Atlassian", "ATATT3 ATCTT3 ATSTT3", r"A-Za-z0-9_=\-", 60),
    family("bitbucket-password", "Bitbucket", "ATBB", ALNUM, 24),
    family("buildkite-token", "Buildkite", "bkua_", HEX, 40),
    family("circleci-token", "CircleCI", "CCIPAT_ CCIPRJ_", r"A-Za-z0-9_", 40),
    family("crates-token", "crates.io", "cio", ALNUM, 32, exact=True, not_after=_IN_BASE64, check=_is_mixed_case),
    family("docker-token", "Docker Hub", "dckr_pat_ dckr_oat_", WORD, 27),
    family("github-token", "GitHub", "ghp_ gho_ ghu_ ghr_", ALNUM, 36),
    family("github-token", "GitHub", "ghs_", _DOTTED, 36),
    family("github-token", "GitHub", "github_pat_", r"A-Za-z0-9_", 70),
    family(
        "gitlab-token",
        "GitLab",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- glwt-",
        _DOTTED,
        20,
    ),
    family("gitlab-token", "GitLab", "GR1348941", WORD, 20),
    family("jfrog-token", "JFrog", "AKCp", ALNUM, 60, not_after=_IN_BASE64),
    family("jfrog-token", "JFrog", "cmVmdGtu", ALNUM, 50),
    family("npm-token", "npm", "npm_", ALNUM, 36),
    family("nuget-key", "NuGet", "oy2", _LOWER, 43, exact=True, not_after=_IN_BASE64),
    family("pypi-token", "PyPI", "pypi-AgE", WORD, 50),
    family("rubygems-key", "RubyGems", "rubygems_", HEX, 48),
    family("sonarqube-token", "SonarQube", "squ_ sqp_ sqa_", HEX, 40),
    family("sourcegraph-token", "Sourcegraph", "sgp_", r"0-9a-f_", 40),
)

_MODELS: Final = (
    family("anthropic-key", "Anthropic", "sk-ant-", WORD, 40),
    family("cerebras-key", "Cerebras", "csk-", ALNUM, 40),
    family("elevenlabs-key", "ElevenLabs", "sk_", HEX, 48, exact=True),
    family("firecrawl-key", "Firecrawl", "fc-", HEX, 32, exact=True),
    family("fireworks-key", "Fireworks", "fw_", ALNUM, 22, check=_is_mixed_case),
    family("groq-key", "Groq", "gsk_", ALNUM, 40),
    family("huggingface-token", "Hugging Face", "hf_ api_org_", ALNUM, 34),
    family("jina-key", "Jina", "jina_", WORD, 50),
    family("langfuse-key", "Langfuse", "sk-lf-", r"0-9a-f\-", 36),
    family("langsmith-key", "LangSmith", "lsv2_pt_ lsv2_sk_", r"0-9a-f_", 40),
    family("nvidia-key", "NVIDIA", "nvapi-", WORD, 50),
    family("openai-key", "OpenAI", "sk-proj- sk-svcacct- sk-admin- sk-None-", WORD, 40),
    # Bare `sk-` is shared: OpenAI's older keys, DeepSeek, Moonshot, Qwen, LiteLLM and others.
    family("openai-key", "OpenAI and compatible", "sk-", ALNUM, 32, check=_has_digit),
    family("openrouter-key", "OpenRouter", "sk-or-", WORD, 40),
    family("perplexity-key", "Perplexity", "pplx-", ALNUM, 40),
    family("pinecone-key", "Pinecone", "pcsk_", r"A-Za-z0-9_", 50),
    family("replicate-token", "Replicate", "r8_", ALNUM, 37),
    family("tavily-key", "Tavily", "tvly-", WORD, 28),
    family("together-key", "Together AI", "tgp_v1_", WORD, 40),
    family("voyage-key", "Voyage AI", "pa-", WORD, 43, exact=True, check=is_random),
    family("wandb-key", "Weights & Biases", "wandb_v1_", r"A-Za-z0-9_", 40),
    family("xai-key", "xAI", "xai-", WORD, 60),
)

_PAYMENT: Final = (
    family("easypost-key", "EasyPost", "EZAK EZTK", ALNUM, 54, not_after=_IN_BASE64),
    family("flutterwave-key", "Flutterwave", "FLWSECK- FLWSECK_TEST-", r"A-Za-z0-9\-", 32),
    family("mollie-key", "Mollie", "live_", ALNUM, 30, exact=True, not_after="_-.", check=_has_digit),
    family("paypal-token", "PayPal and Braintree", "access_token$", r"a-z0-9$", 50),
    family("plaid-token", "Plaid", "access-production- access-sandbox- access-development-", r"0-9a-f\-", 36),
    family("shippo-token", "Shippo", "shippo_live_ shippo_test_", HEX, 40),
    family("square-token", "Square", "EAAA", WORD, 60, not_after=_IN_BASE64, check=_is_mixed_case),
    family("square-token", "Square", "sq0csp- sq0atp-", WORD, 22),
    family("stripe-key", "Stripe", "sk_live_ sk_test_ rk_live_ rk_test_", ALNUM, 24),
    family("stripe-webhook-secret", "Stripe", "whsec_", _BASE64, 24),
)

_MESSAGES: Final = (
    family("brevo-key", "Brevo", "xkeysib- xsmtpsib-", WORD, 60),
    family("klaviyo-key", "Klaviyo", "pk_", HEX, 34, exact=True),
    family("mailchimp-key", "Mailchimp", "-us", r"0-9a-z\-", 36, infix=True, check=_is_mailchimp_key),
    family("mailgun-key", "Mailgun", "key-", HEX, 32, exact=True),
    family("resend-key", "Resend", "re_", r"A-Za-z0-9_", 30, not_after="_-.", check=_is_mixed_case),
    family("sendgrid-key", "SendGrid", "SG.", _DOTTED, 60),
    family(
        "slack-token", "Slack", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxc- xoxd- xoxe- xoxe.", r"A-Za-z0-9%+/=._\-", 20
    ),
    family("slack-token", "Slack", "xapp-", WORD, 30),
    family("twilio-key", "Twilio", "SK", HEX, 32, exact=True),
)

_WORK: Final = (
    family("1password-token", "1Password", "ops_eyJ", r"A-Za-z0-9+/=_\-", 100),
    family("age-key", "age", "AGE-SECRET-KEY-1", DIGITS_AND_CAPITALS, 58),
    family("age-key", "age", "AGE-SECRET-KEY-PQ-1", DIGITS_AND_CAPITALS, 58),
    family("aiven-password", "Aiven", "AVNS_", WORD, 18),
    family("contentful-token", "Contentful", "CFPAT-", WORD, 40),
    family("doppler-token", "Doppler", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. dp.said.", _DOTTED, 38),
    family("dropbox-token", "Dropbox", "sl.u. sl.B", WORD, 60),
    family("dynatrace-token", "Dynatrace", "dt0c01. dt0s01. dt0s16.", "A-Z0-9.", 80),
    family("figma-token", "Figma", "figd_ figu_ figo_", WORD, 36),
    family("grafana-token", "Grafana", "glsa_", r"A-Za-z0-9_", 40),
    family("grafana-token", "Grafana", "glc_", _BASE64, 32),
    family("hubspot-token", "HubSpot", "pat-na1- pat-na2- pat-eu1- pat-ap1-", r"0-9a-fA-F\-", 36),
    family("linear-key", "Linear", "lin_api_ lin_oauth_ lin_wh_", ALNUM, 32),
    family("meta-token", "Meta", "EAA", ALNUM, 80, not_after=_IN_BASE64, check=_is_mixed_case),
    family("mongodb-secret", "MongoDB Atlas", "mdb_sa_sk_", WORD, 40),
    family("newrelic-key", "New Relic", "NRAK- NRRA- NRII-", WORD, 27),
    family("notion-token", "Notion", "ntn_", ALNUM, 40),
    family("notion-token", "Notion", "secret_", ALNUM, 43, exact=True, check=_is_mixed_case),
    family("posthog-key", "PostHog", "phx_ phs_", ALNUM, 40),
    family("postman-key", "Postman", "PMAK-", r"0-9a-f\-", 59),
    family("prefect-key", "Prefect", "pnu_ pnb_", ALNUM, 36),
    family("readme-key", "ReadMe", "rdme_", _LOWER, 60),
    family("sentry-token", "Sentry", "sntrys_", r"A-Za-z0-9+/=_.\-", 60),
    family("sentry-token", "Sentry", "sntryu_", HEX, 64),
    family("shopify-token", "Shopify", "shpat_ shpca_ shppa_ shpss_ shpua_ shprt_", r"0-9a-fA-F", 32),
    family("typeform-token", "Typeform", "tfp_", r"A-Za-z0-9_.\-", 40),
)

#: Every family of prefixed tokens. Where two match at one place the longer prefix wins.
FAMILIES: Final[tuple[Family, ...]] = _CLOUDS + _FORGES + _MODELS + _PAYMENT + _MESSAGES + _WORK
