"""Where requests go and with which key: from Hikidashi's own settings, never from what else the environment says.

An `ANTHROPIC_API_KEY` that happens to be set is not used: its owner agreed to another program's spending it. The
variable is read only where the user's own settings file names it (design section 6, "Engines").
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, urlsplit

from hikidashi.config.engine import AMBIENT_KEY
from hikidashi.config.folders import shown
from hikidashi.config.settings import user_file
from hikidashi.errors import BadSettings, ModelFailure

if TYPE_CHECKING:
    from pydantic import SecretStr

    from hikidashi.config.settings import Settings

__all__ = ["ANTHROPIC_URL", "Endpoint", "is_loopback", "make_endpoint"]

#: Where requests go when no `memory.base_url` is set.
ANTHROPIC_URL: Final = "https://api.anthropic.com"

#: What servers get that want no key; the header may not be empty.
_NO_KEY: Final = "none"

#: A key of Anthropic's; it opens an account that costs money, so it never travels where others can read it.
_ANTHROPIC_KEY: Final = re.compile(r"sk-ant-", re.IGNORECASE)

#: What a header may hold: a key with anything else in it is a paste that went wrong.
_SENDABLE: Final = re.compile(r"[\x21-\x7e]+")

_PING: Final = "then run `hikidashi ping`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server that speaks the Messages API, and how it may be asked."""

    #: Without `/v1` and without a slash at its end.
    base_url: str
    #: Never shown: a `SecretStr`, and no part of the repr.
    key: SecretStr = field(repr=False)
    #: Where the key comes from, for messages; '' when there is none.
    key_origin: str
    #: Only servers on this machine may be asked.
    local_only: bool
    #: Seconds without a byte after which the server is given up.
    idle_seconds: float
    #: Seconds after which a request is given up, however its answer trickles.
    request_seconds: float
    #: How often a request is made at most.
    attempts: int

    @property
    def host(self) -> str:
        """The host's name or address, without a port."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def name(self) -> str:
        """The server as messages name it: host and port."""
        return urlsplit(self.base_url).netloc

    @property
    def must_be_loopback(self) -> bool:
        """Whether its address has to turn out to be this machine's own before anything is sent.

        So it is with `memory.local_only`, and for a key of Anthropic's over a connection that is not encrypted.
        """
        plain = urlsplit(self.base_url).scheme == "http"
        return self.local_only or (plain and bool(_ANTHROPIC_KEY.search(self.key.get_secret_value())))

    def without_key(self, text: str) -> str:
        """`text` without the key: servers repeat what they were sent, in their errors, headers and addresses."""
        return text.replace(self.key.get_secret_value(), "[redacted:key]") if self.key_origin else text

    def not_loopback(self) -> BadSettings:
        """The error for an address that is not this machine's, where it has to be."""
        if self.local_only:
            return BadSettings(
                f"memory.local_only is on and {self.name} is not on this machine, so nothing was sent: set "
                f"memory.base_url to a server here, or switch memory.local_only off in {shown(user_file())}"
            )
        return BadSettings(
            f"a key of Anthropic's is not sent to {self.name} unencrypted: write https:// in memory.base_url, "
            "or set memory.api_key to that server's own key"
        )


def is_loopback(address: str) -> bool:
    """Whether an IP address is this machine's own; False for anything that is no address."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return bool(parsed.is_loopback or (mapped is not None and mapped.is_loopback))


def make_endpoint(settings: Settings, *, environ: Mapping[str, str] = os.environ) -> Endpoint:
    """The endpoint that the settings name.

    Raises `BadSettings` for settings that cannot work or would send a key where it does not belong, `ModelFailure`
    (auth) when Anthropic's own server is meant and there is no key.
    """
    base_url = _base_url(settings)
    key, origin = _key(settings, environ)
    if not key and base_url == ANTHROPIC_URL:
        ambient = f"run `hikidashi init --use-key` to agree to the one in {AMBIENT_KEY}, or "
        raise ModelFailure(
            f"there is no key for {urlsplit(base_url).netloc}: {ambient if environ.get(AMBIENT_KEY) else ''}set "
            f"memory.api_key in {shown(user_file())}, or memory.base_url for a server of your own",
            kind="auth",
            reason="no-key",
        )
    endpoint = Endpoint(
        base_url=base_url,
        key=_secret(key or _NO_KEY),
        key_origin=origin,
        local_only=settings.memory.local_only,
        idle_seconds=settings.memory.idle_seconds,
        request_seconds=settings.memory.request_seconds,
        attempts=settings.memory.attempts,
    )
    if endpoint.must_be_loopback and not _may_be_loopback(endpoint.host):
        raise endpoint.not_loopback()
    return endpoint


def _secret(key: str) -> SecretStr:
    from pydantic import SecretStr

    return SecretStr(key)


def _may_be_loopback(host: str) -> bool:
    """False for an address elsewhere; a name is looked up when the connection is made, not before."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host != urlsplit(ANTHROPIC_URL).hostname
    return is_loopback(host)


def _base_url(settings: Settings) -> str:
    given: str = settings.memory.base_url
    if not given:
        return ANTHROPIC_URL
    where = f"memory.base_url ({settings.origin('memory.base_url')})"
    # The value itself is not shown: it may hold a password.
    try:
        url = urlsplit(given)
        port_is_good = url.port is None or url.port > 0
    except ValueError:
        raise BadSettings(f"{where} is no URL: write it like http://127.0.0.1:11434") from None
    problem = _problem(given, url) if port_is_good else "has a port that does not exist: correct it"
    if problem:
        raise BadSettings(f"{where} {problem}")
    return given.rstrip("/")


def _problem(given: str, url: SplitResult) -> str:
    """What is wrong with a base URL, with the mend; '' when nothing is."""
    if not given.isprintable() or not given.isascii() or " " in given:
        return "holds a blank or a character that no URL may have: write it like http://127.0.0.1:11434"
    if url.scheme not in ("http", "https"):
        return "must begin with https:// or http://: write it like http://127.0.0.1:11434"
    if "@" in url.netloc:
        return "holds a user name or password: take it out and set memory.api_key"
    if not url.hostname:
        return "names no host: write it like http://127.0.0.1:11434"
    if url.query or url.fragment or "?" in given or "#" in given:
        return "must end with the path: take away what stands from `?` or `#` on"
    if re.search(r"/v1(?:/messages)?/*$", url.path):
        return "must not end with /v1: that part is added by itself, so take it away"
    return ""


def _key(settings: Settings, environ: Mapping[str, str]) -> tuple[str, str]:
    """The key, '' for none, and where it comes from."""
    key: str = settings.memory.api_key.get_secret_value()
    variable: str = settings.memory.api_key_variable
    origin = settings.origin("memory.api_key")
    from_environment = bool(key) and origin.startswith("$")
    if not key and variable:
        key = environ.get(variable, "")
        origin = f"${variable}, named by {settings.origin('memory.api_key_variable')}"
        if not key:
            raise ModelFailure(
                f"{settings.origin('memory.api_key_variable')}: memory.api_key_variable names {shown(variable)}, which "
                f"is not set here: set it, or put the key into memory.api_key, {_PING}",
                kind="auth",
                reason="no-key",
            )
    key = key.strip()
    if not key:
        return "", ""
    if not _SENDABLE.fullmatch(key):
        raise BadSettings(f"the key from {origin} holds a blank or a character that no key has: paste it again")
    if settings.origin("memory.base_url").startswith("$") and not from_environment:
        # Whoever chooses a command's environment (an agent does) would choose who gets to see the key.
        raise BadSettings(
            f"the key from {origin} is not sent to a server that the environment names "
            f"({settings.origin('memory.base_url')}): set memory.base_url in {shown(user_file())} too"
        )
    return key, origin
