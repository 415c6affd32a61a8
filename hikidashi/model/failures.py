"""What a failed request means, in our own words: every error of the SDK, of the connection and of a stream.

Only the number, the type and the code of an error decide where they can; its words are looked at where servers give
one number to several situations (400 is an empty account, a prompt that is too long, or an option they do not know).
The server's words are shown, shortened and without secrets: some servers repeat the key that they were sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from hikidashi.errors import HikidashiError, ModelFailure
from hikidashi.model.endpoint import ANTHROPIC_URL, Endpoint
from hikidashi.model.policy import LONGEST_ASKED_WAIT, asked_wait
from hikidashi.redact import redact

__all__ = [
    "Refusal",
    "cut_off",
    "failure_of",
    "no_answer",
    "part_from",
    "refusal_of",
    "refused",
    "stream_failure",
    "was_sent",
]

Kind = Literal["auth", "billing", "overloaded", "network", "content"]

#: Characters of a server's words that are shown.
_SHOWN: Final = 200

_BILLING: Final = re.compile(
    r"credit balance|insufficient[_ ](?:quota|funds|credit|balance)|out of credits?|payment required|"
    r"spend(?:ing)? limit|exceeded your current quota|purchase (?:more )?credits",
    re.IGNORECASE,
)
#: No such word is believed of a 400: servers that find a request wrong repeat it, and the session is in there.
_ABOUT_BILLING: Final = re.compile(r"billing", re.IGNORECASE)
#: So much of the words tells what a 400 is; what a server repeats stands behind.
_HEAD: Final = 200
_TOO_LONG: Final = re.compile(
    r"prompt is too long|(?:input|prompt|request|context)[^.]{0,60}(?:too (?:long|large)|exceed)|"
    r"exceed[^.]{0,60}(?:context|maximum (?:length|size)|token limit|context_size)|context[_ ](?:length|size|window)|"
    r"maximum context|too many (?:input )?tokens|larger than the (?:model|context)",
    re.IGNORECASE,
)
#: A request that alone is more than a server takes in a minute: waiting does not mend it.
_MORE_THAN_A_MINUTE: Final = re.compile(r"request (?:is )?too large", re.IGNORECASE)
#: Codes under 429 that waiting does not mend.
_BILLING_CODES: Final = frozenset(
    {"contract_spend_limit_reached", "enforced_spend_limit_reached", "insufficient_quota", "billing_hard_limit_reached"}
)
#: Types of errors in the middle of a stream, and the number that they would have had at its start.
_STATUS_OF_TYPE: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}

#: What a server says that broke down over a request, or a proxy before it that did not wait for the answer.
_AT_WORK: Final = frozenset({408, 499, 500, 504})

_PING: Final = "then run `hikidashi ping`"
_GOES_ON: Final = "nothing is lost, and a later run goes on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An answer of a server that says no."""

    status: int
    #: `error.type`, '' when it has none.
    type: str
    #: `error.details.error_code` or `error.code`.
    code: str
    #: The server's words as they came: not for showing.
    words: str
    #: What it asked to wait.
    wait: float | None = None
    #: It says itself that asking again is no use.
    final: bool = False
    #: The host that a redirect leads to.
    leads_to: str = ""


def refusal_of(status: int, body: object, headers: Any = None, *, now: datetime) -> Refusal:
    """Read an error's body, in the Messages API's form or in one of those that other servers have."""
    headers = headers or {}
    error = body.get("error", body) if isinstance(body, dict) else body
    details = error.get("details") if isinstance(error, dict) else None
    return Refusal(
        status=status,
        type=_text(error, "type"),
        code=_text(details, "error_code") or _text(error, "code"),
        words=_words(error),
        wait=asked_wait(headers, now),
        final=str(headers.get("x-should-retry", "")).lower() == "false",
        leads_to=_host(str(headers.get("location", ""))) if 300 <= status < 400 else "",
    )


def _text(holder: object, key: str) -> str:
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, str) else ""


def _words(error: object) -> str:
    if isinstance(error, dict):
        for key in ("message", "detail", "error"):
            if error.get(key):
                return str(error[key])
        return ""
    return str(error) if isinstance(error, (str, list)) else ""


def _host(location: str) -> str:
    found = re.match(r"https?://(?:[^/@]*@)?([\w.:\[\]-]+)", location)
    return found.group(1) if found else ""


def _understood(refusal: Refusal) -> tuple[Kind, str]:
    """The kind and the reason of a refusal."""
    status, words = refusal.status, refusal.words
    if status == 402 or refusal.code in _BILLING_CODES or refusal.type == "billing_error":
        return "billing", ""
    if _is_billing(status, words):
        return "billing", ""
    if status == 413 or (status in (400, 422, 500) and _TOO_LONG.search(f"{refusal.code} {words}")):
        return "content", "too-long"
    if status == 429 and _MORE_THAN_A_MINUTE.search(words):
        return "content", "too-long"
    if 300 <= status < 400:
        return "auth", "redirect"
    if status in (401, 403):
        return "auth", ""
    if status in (404, 405, 410, 501):
        return "auth", "not-found"
    if status in (408, 499):
        return "network", ""
    if status in (409, 425, 429) or status >= 500:
        return "overloaded", ""
    return "content", "refused-request"


def _is_billing(status: int, words: str) -> bool:
    if status == 400:
        return _BILLING.search(words[:_HEAD]) is not None
    return status in (403, 429) and (_BILLING.search(words) or _ABOUT_BILLING.search(words)) is not None


def stream_failure(body: object, *, endpoint: Endpoint, model: str, now: datetime) -> ModelFailure:
    """The failure that an `error` event in the middle of a stream tells of."""
    error = body.get("error") if isinstance(body, dict) else None
    status = _STATUS_OF_TYPE.get(_text(error, "type"), 500)
    return _refused(refusal_of(status, body, now=now), endpoint=endpoint, model=model, now=now)


def refused(status: int, body: object, headers: Any, *, endpoint: Endpoint, model: str, now: datetime) -> ModelFailure:
    """The failure that an answer with an error status means."""
    return _refused(refusal_of(status, body, headers, now=now), endpoint=endpoint, model=model, now=now)


def cut_off(why: str, *, endpoint: Endpoint) -> ModelFailure:
    """The failure of an answer that ended before its end, or that is none."""
    return ModelFailure(
        f"{endpoint.name} broke off in the middle of its answer ({why}): {_GOES_ON}",
        kind="network",
        again=True,
        at_work=True,
    )


def no_answer(content_type: str, *, endpoint: Endpoint) -> ModelFailure:
    """The failure of a server that answers with something else: a proxy's login page, another program's port."""
    kind = f" ({_shown(endpoint.without_key(content_type))})" if content_type else ""
    return ModelFailure(
        f"{endpoint.name} answers with no message{kind}: check memory.base_url, {_PING}", kind="network"
    )


def was_sent(error: BaseException) -> bool:
    """Whether the server may have worked for a request that ended so: not when it said no, or was never reached."""
    import anthropic

    if isinstance(error, anthropic.APIStatusError):
        return False
    never = {"ConnectError", "ConnectTimeout", "ProxyError", "PoolTimeout", "LocalProtocolError", "UnsupportedProtocol"}
    return not any(isinstance(link, HikidashiError) or type(link).__name__ in never for link in _chain(error))


def failure_of(
    error: Exception, *, endpoint: Endpoint, model: str, now: datetime, began: bool = False
) -> HikidashiError:
    """What an exception of the SDK, of httpx2 or of httpcore2 means; any other is raised again.

    `began`: an answer had begun to come.
    """
    import anthropic
    import httpcore2
    import httpx2

    for link in _chain(error):
        if isinstance(link, HikidashiError):  # raised by us where the connection is made
            return link
    if isinstance(error, anthropic.APIStatusError):
        return refused(error.status_code, error.body, error.response.headers, endpoint=endpoint, model=model, now=now)
    if isinstance(error, anthropic.APIResponseValidationError):
        return cut_off("no answer of the Messages API", endpoint=endpoint)
    connection = (
        *(anthropic.APIConnectionError, httpx2.HTTPError, httpx2.StreamError),
        *(httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ProxyError),
        httpcore2.UnsupportedProtocol,
    )
    if isinstance(error, connection):
        return _unreachable(error, endpoint, (httpx2.TimeoutException, httpcore2.TimeoutException), began=began)
    if isinstance(error, anthropic.AnthropicError):  # credentials, webhooks, tool sets: nothing that we use
        return ModelFailure(
            f"the Anthropic SDK refused the request ({type(error).__name__}): check memory.api_key and "
            f"memory.base_url, {_PING}",
            kind="auth",
        )
    raise error


def part_from(error: BaseException, handled: BaseException | None) -> None:
    """End the chain of `error` before `handled`, the error that a caller is handling: it is no cause of this one.

    Without it, what `ping` does after a `NoWorkspace` would fail as that.
    """
    for link in _chain(error):
        if handled is not None and link.__context__ is handled:
            link.__context__ = None


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    for _ in range(10):  # chains may be circles
        if link is None:
            return
        yield link
        link = link.__cause__ or link.__context__


def _unreachable(
    error: Exception, endpoint: Endpoint, timeouts: tuple[type[Exception], ...], *, began: bool
) -> ModelFailure:
    links = list(_chain(error))
    names = {type(link).__name__ for link in links}
    at_work = False
    if "TookTooLong" in names and began:  # a slow model: the same again would take as long, and less may do
        return ModelFailure(
            f"{endpoint.name} did not end its answer within {endpoint.request_seconds:g} seconds: raise "
            "memory.request_seconds, lower capture.chunk_tokens, or take a faster model",
            kind="content",
            reason="too-slow",
            at_work=True,
        )
    if "TookTooLong" in names:
        at_work = True
        what = f"{endpoint.name} did not end its answer within {endpoint.request_seconds:g} seconds"
        mend = "raise memory.request_seconds, or take a faster model"
    elif "AnswerTooLarge" in names:
        what, mend = f"{endpoint.name} sends more than an answer has", "check memory.base_url"
    elif "ConnectTimeout" in names:
        what, mend = f"{endpoint.name} did not take the connection in time", "check memory.base_url and the network"
    elif any(isinstance(link, timeouts) for link in links):
        what = f"{endpoint.name} sent nothing for {endpoint.idle_seconds:g} seconds"
        mend = "raise memory.idle_seconds if the model needs longer to begin"
        at_work = True
    elif {"ConnectError", "ProxyError"} & names:
        what = f"{endpoint.name} cannot be reached ({_system_words(links, endpoint)})"
        theirs = endpoint.base_url == ANTHROPIC_URL  # nobody here can start that
        mend = "check the network" if theirs else "start the server, or check memory.base_url and the network"
    else:
        return cut_off(_system_words(links, endpoint), endpoint=endpoint)
    return ModelFailure(f"{what}: {_GOES_ON}; {mend}", kind="network", again=True, at_work=at_work)


def _system_words(links: list[BaseException], endpoint: Endpoint) -> str:
    """The innermost words that an error chain has: those of the operating system."""
    for link in reversed(links):
        words = link.strerror if isinstance(link, OSError) and link.strerror else str(link)
        if words:
            return _shown(endpoint.without_key(words))
    return type(links[0]).__name__


def _shown(words: str) -> str:
    line = redact(" ".join(words.split()))
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1].rstrip() + "…"


def _refused(refusal: Refusal, *, endpoint: Endpoint, model: str, now: datetime) -> ModelFailure:
    kind, reason = _understood(refusal)
    words = endpoint.without_key(refusal.words)  # here too: once shortened, it would be a part of the key
    said = f"{refusal.status}: {_shown(words)}" if words.strip() else str(refusal.status)
    again = kind in ("overloaded", "network") and not refusal.final
    return ModelFailure(
        _message(kind, reason, refusal, said, endpoint=endpoint, model=model, now=now),
        kind=kind,
        reason=reason,
        again=again,
        wait=refusal.wait if kind in ("overloaded", "network") else None,
        at_work=refusal.status in _AT_WORK,
    )


def _message(
    kind: Kind, reason: str, refusal: Refusal, said: str, *, endpoint: Endpoint, model: str, now: datetime
) -> str:
    name = endpoint.name
    if kind == "billing":
        return f"{name} refuses for reasons of billing ({said}): settle it with the provider, {_PING}"
    if reason == "redirect":
        to = f" to {refusal.leads_to}" if refusal.leads_to else ""
        return (
            f"{name} sends requests on{to}, and a key does not follow: set memory.base_url to the real address, {_PING}"
        )
    if reason == "not-found":
        setting = "memory.extraction_model (or consolidation_model)"
        if endpoint.base_url == ANTHROPIC_URL:
            return f'{name} has no model "{_shown(model)}" ({said}): correct its name in {setting}, {_PING}'
        return (
            f'{name} has no model "{_shown(model)}", or no Messages API ({said}): correct the model\'s name in '
            f"{setting}, or memory.base_url, {_PING}"
        )
    if kind == "auth":
        if not endpoint.key_origin:
            return f"{name} wants a key ({said}; none is set): set it in memory.api_key, {_PING}"
        return f"{name} refused the key from {endpoint.key_origin} ({said}): set a valid one there, {_PING}"
    if reason == "too-long":
        return (
            f"the request is too long for {name} ({said}): give the model a larger window there, or lower "
            "capture.chunk_tokens and memory.context_tokens"
        )
    if reason == "refused-request":
        return f"{name} calls the request wrong ({said}): try another model or server, {_PING}"
    if refusal.wait is not None and refusal.wait > LONGEST_ASKED_WAIT:
        until = now + timedelta(seconds=refusal.wait)
        return f"{name} wants no request before {until:%Y-%m-%d %H:%M} UTC ({said}): {_GOES_ON} then"
    return f"{name} is overloaded or in trouble ({said}): {_GOES_ON}"
