"""What of the environment a probe gets, and where its program is looked for (design section 8, "Probes").

A probe gets what a program needs to find its user and its own credentials, and no other program's. A variable that
makes a program load or run something else (`LD_PRELOAD`, `NODE_OPTIONS`, `GIT_SSH_COMMAND`, `BASH_ENV`) is not among
it, and neither is a host's marker.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Final

__all__ = ["EVERY_PROBE", "OF_PROGRAM", "find_program", "probe_environment", "search_path", "stem"]

#: What every probe gets; a name that ends with `_` stands for all that begin so. In order: who and where the user is;
#: the user's agents for keys and tickets; the way out of the network, and whom to believe there; where version managers
#: keep the programs that stand in PATH as a shim; what programs need on Windows.
EVERY_PROBE: Final[tuple[str, ...]] = (
    *("HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_", "TZ", "XDG_"),
    *("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "KRB5CCNAME"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("ASDF_DATA_DIR", "ASDF_DIR", "MISE_DATA_DIR", "NVM_DIR", "PYENV_ROOT", "RBENV_ROOT", "SDKMAN_DIR", "VOLTA_HOME"),
    *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROGRAMDATA", "PROGRAMFILES"),
    *("SYSTEMDRIVE", "SYSTEMROOT", "USERNAME", "USERPROFILE", "WINDIR"),
)

_AWS: Final = ("AWS_",)
_GOOGLE: Final = ("CLOUDSDK_", "GOOGLE_", "GCLOUD_")
_AZURE: Final = ("AZURE_", "ARM_")
_CLOUDS: Final = (*_AWS, *_GOOGLE, *_AZURE)
_NODE: Final = ("NPM_", "npm_config_", "NODE_AUTH_TOKEN")

#: What single programs get besides, by the program's name: their profile, configuration and credentials.
OF_PROGRAM: Final[dict[str, tuple[str, ...]]] = {
    "ansible": ("ANSIBLE_",),
    "argocd": ("ARGOCD_", "KUBECONFIG"),
    "aws": _AWS,
    "az": _AZURE,
    "azd": _AZURE,
    "bq": _GOOGLE,
    "bun": _NODE,
    "bw": ("BW_", "BITWARDENCLI_"),
    "cargo": ("CARGO_", "RUSTUP_"),
    "cdk": _AWS,
    "claude": ("ANTHROPIC_", "CLAUDE_CONFIG_DIR"),
    "codex": ("CODEX_HOME", "OPENAI_"),
    "databricks": ("DATABRICKS_",),
    "docker": ("DOCKER_",),
    "doctl": ("DIGITALOCEAN_",),
    "doppler": ("DOPPLER_",),
    "eas": ("EXPO_",),
    "eksctl": _AWS,
    "firebase": ("FIREBASE_", *_GOOGLE),
    "fly": ("FLY_",),
    "flyctl": ("FLY_",),
    "gcloud": _GOOGLE,
    "gem": ("GEM_", "RUBYGEMS_"),
    "gh": ("GH_", "GITHUB_"),
    "glab": ("GITLAB_", "GLAB_"),
    "gsutil": _GOOGLE,
    "hcloud": ("HCLOUD_",),
    "helm": ("HELM_", "KUBECONFIG", *_CLOUDS),
    "heroku": ("HEROKU_",),
    "hf": ("HF_", "HUGGING_FACE_"),
    "kubectl": ("KUBECONFIG", *_CLOUDS),
    "linode-cli": ("LINODE_",),
    "mariadb": ("MYSQL_", "MARIADB_"),
    "mongosh": ("MONGODB_",),
    "mysql": ("MYSQL_",),
    "neonctl": ("NEON_",),
    "netlify": ("NETLIFY_",),
    "npm": _NODE,
    "oc": ("KUBECONFIG", *_CLOUDS),
    "oci": ("OCI_",),
    "op": ("OP_",),
    "pg_isready": ("PG",),
    "pnpm": ("PNPM_", *_NODE),
    "podman": ("CONTAINER_", "CONTAINERS_", "DOCKER_", "REGISTRY_"),
    "poetry": ("POETRY_",),
    "pscale": ("PLANETSCALE_",),
    "psql": ("PG",),
    "pulumi": ("PULUMI_", *_CLOUDS),
    "railway": ("RAILWAY_",),
    "redis-cli": ("REDISCLI_",),
    "render": ("RENDER_",),
    "sam": _AWS,
    "sentry-cli": ("SENTRY_",),
    "serverless": ("SERVERLESS_", *_CLOUDS),
    "snyk": ("SNYK_",),
    "stripe": ("STRIPE_",),
    "supabase": ("SUPABASE_",),
    "terraform": ("TF_", *_CLOUDS),
    "tofu": ("TF_", *_CLOUDS),
    "turso": ("TURSO_",),
    "twine": ("TWINE_",),
    "uv": ("UV_",),
    "vault": ("VAULT_",),
    "vercel": ("VERCEL_",),
    "wrangler": ("CF_", "CLOUDFLARE_", "WRANGLER_"),
    "yarn": ("YARN_", *_NODE),
}


def stem(program: str) -> str:
    """The name of a program without its folder and Windows's suffix, as `OF_PROGRAM` knows it."""
    name = PurePath(program.replace("\\", "/")).name
    suffix = PurePath(name).suffix.lower()
    return name[: -len(suffix)] if suffix in (".exe", ".cmd", ".bat") else name


def search_path(environ: Mapping[str, str]) -> str:
    """PATH without its relative and empty entries: those would be looked for in whatever folder is the current one."""
    entries = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if Path(entry).is_absolute())


def find_program(program: str, environ: Mapping[str, str]) -> str:
    """The full path of a probe's program; '' when there is none, or it was given relative to a folder."""
    if PurePath(program).name != program:
        return program if Path(program).is_absolute() and shutil.which(program) else ""
    path = search_path(environ)
    return (shutil.which(program, path=path) or "") if path else ""


def probe_environment(program: str, environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    """What a probe of `program` gets of `environ`; temporary files go to `folder`."""
    allowed = (*EVERY_PROBE, *OF_PROGRAM.get(stem(program), ()))
    whole = {name for name in allowed if not name.endswith("_")}
    begins = tuple(name for name in allowed if name.endswith("_") or name == "PG")
    fold = str.upper if sys.platform == "win32" else str
    kept = {name: value for name, value in environ.items() if fold(name) in whole or fold(name).startswith(begins)}
    kept |= {"PATH": search_path(environ), "TERM": "dumb", "NO_COLOR": "1"}
    return kept | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
