"""The errors that the Messages API answers with, each in the shape in which it is met."""

from __future__ import annotations

from email.utils import formatdate

from hikidashi.testing.turns import HttpError

__all__ = [
    "billing",
    "credit_too_low",
    "forbidden",
    "garbage",
    "http_error",
    "overloaded",
    "prompt_too_long",
    "rate_limited",
    "redirect",
    "server_error",
    "too_large",
    "unauthorized",
]


def http_error(status: int, kind: str = "api_error", message: str = "Something went wrong.") -> HttpError:
    """Any other error status."""
    return HttpError(status=status, kind=kind, message=message)


def unauthorized(message: str = "invalid x-api-key") -> HttpError:
    """401: the key is wrong."""
    return HttpError(status=401, kind="authentication_error", message=message)


def forbidden(message: str = "Your account does not have access to this model.") -> HttpError:
    """403: the key is right, but may not do this."""
    return HttpError(status=403, kind="permission_error", message=message)


def billing(message: str = "Your payment method was declined.") -> HttpError:
    """402: the account cannot pay."""
    return HttpError(status=402, kind="billing_error", message=message)


def credit_too_low() -> HttpError:
    """400 that is a billing error in fact: prepaid credit is used up."""
    message = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing."
    return HttpError(status=400, kind="invalid_request_error", message=message)


def rate_limited(
    *,
    seconds: float | str | None = None,
    milliseconds: int | None = None,
    until: float | None = None,
    message: str = "This request would exceed your rate limit.",
) -> HttpError:
    """429, and when to come back: `retry-after` in seconds or as a date (`until`, Unix time), or `retry-after-ms`."""
    headers = {}
    if seconds is not None:
        headers["retry-after"] = seconds if isinstance(seconds, str) else f"{seconds:g}"
    if until is not None:
        headers["retry-after"] = formatdate(until, usegmt=True)
    if milliseconds is not None:
        headers["retry-after-ms"] = str(milliseconds)
    return HttpError(status=429, kind="rate_limit_error", message=message, headers=headers)


def server_error(status: int = 500, message: str = "Internal server error") -> HttpError:
    """500, or another of its family."""
    return HttpError(status=status, kind="api_error", message=message)


def overloaded(*, seconds: float | None = None) -> HttpError:
    """529: the servers are overloaded."""
    headers = {} if seconds is None else {"retry-after": f"{seconds:g}"}
    return HttpError(status=529, kind="overloaded_error", message="Overloaded", headers=headers)


def prompt_too_long(tokens: int = 1_000_001, limit: int = 1_000_000) -> HttpError:
    """400: more input than the model's window holds."""
    message = f"prompt is too long: {tokens} tokens > {limit} maximum"
    return HttpError(status=400, kind="invalid_request_error", message=message)


def too_large() -> HttpError:
    """413: more bytes than the server takes."""
    return HttpError(status=413, kind="request_too_large", message="Request exceeds the maximum size")


def redirect(to: str, *, status: int = 307) -> HttpError:
    """A redirect to another address, which a key must not follow."""
    return HttpError(status=status, headers={"location": to}, body=b"")


def garbage(
    body: bytes = b"<html>It works!</html>", *, status: int = 200, content_type: str = "text/html"
) -> HttpError:
    """What answers when something else listens there: a proxy's login page, another server."""
    return HttpError(status=status, body=body, content_type=content_type)
