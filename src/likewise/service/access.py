"""Who asks: the key of a request, what it may do, and how often."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from fastapi import Request

from likewise.service.errors import ServiceError
from likewise.service.security.attempts import TooManyAttemptsError
from likewise.service.security.keys import Principal, Scope, UnknownKeyError, looks_like_key
from likewise.service.service import Service
from likewise.service.settings import is_loopback

__all__ = ["KEY_HEADER", "Caller", "caller_for", "service_of"]

KEY_HEADER = "x-likewise-key"
"""Where our key stands when Authorization holds the upstream's."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks.

    Attributes:
        principal: The key; None where keys are off.
        upstream_authorization: The Authorization header, where it is none of ours: for the upstream.
    """

    principal: Principal | None
    upstream_authorization: str | None

    @property
    def name(self) -> str:
        """For the history: the key's prefix, which is no secret."""
        return self.principal.prefix if self.principal is not None else ""


def service_of(request: Request) -> Service:
    """The service that a request is for."""
    service: Service = request.app.state.likewise
    return service


def caller_for(scope: Scope) -> Callable[[Request], Awaitable[Caller]]:
    """A dependency: the caller, who may do what `scope` says, and has requests left."""

    async def caller(request: Request) -> Caller:
        return await identify(request, scope)

    return caller


async def identify(request: Request, scope: Scope) -> Caller:
    """The caller of a request.

    Raises:
        ServiceError: No key, an unknown one, one without the scope, or too many requests.
    """
    service = service_of(request)
    authorization = request.headers.get("authorization", "").strip()
    bearer = authorization[7:].strip() if authorization[:7].lower() == "bearer " else authorization
    ours = bearer if looks_like_key(bearer) else None
    theirs = authorization if ours is None and authorization else None
    given = request.headers.get(KEY_HEADER, "").strip() or ours
    if not service.settings.keys:
        _refuse_pages_of_others(request)
        return Caller(None, theirs)
    if not given:
        raise _unauthorised(
            f"this needs an API key of the service: send Authorization: Bearer lw_..., or {KEY_HEADER}: lw_..."
        )
    address = request.client.host if request.client is not None else ""
    try:
        principal = await service.ring.check(given, address)
    except UnknownKeyError:
        service.metrics.refused.labels("key").inc()
        raise _unauthorised("the API key is unknown or revoked") from None
    except TooManyAttemptsError as problem:
        raise _wait("too many wrong API keys", problem.retry_after, "too_many_attempts") from None
    if not principal.allows(scope):
        words = f"the API key lacks the scope {scope.value!r}"
        raise ServiceError(403, words, "missing_scope", type="permission_error")
    wait = service.limiter.take(principal.prefix, principal.per_minute, principal.burst)
    if wait > 0:
        service.metrics.refused.labels("rate").inc()
        raise _wait(f"more than {principal.per_minute:g} requests a minute", wait, "rate_limit_exceeded")
    return Caller(principal, theirs)


def _refuse_pages_of_others(request: Request) -> None:
    """Without keys the service trusts whoever is on this machine, which a page of the internet in its browser is, too.

    Such a page says where it comes from, or calls us by a name of its own that it has led here.

    Raises:
        ServiceError: It may be one.
    """
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    places = [f"//{host}"] if origin is None else [f"//{host}", origin]
    if all(is_loopback(_host_of(place)) for place in places):
        return
    words = "without keys only programs of this machine may ask, by 127.0.0.1 or localhost; set keys = true for others"
    raise ServiceError(403, words, "forbidden", type="permission_error")


def _host_of(place: str) -> str:
    try:
        return urlsplit(place).hostname or ""
    except ValueError:
        return ""


def _unauthorised(words: str) -> ServiceError:
    headers = {"WWW-Authenticate": "Bearer"}
    return ServiceError(401, words, "invalid_api_key", type="authentication_error", headers=headers)


def _wait(words: str, seconds: float, code: str) -> ServiceError:
    headers = {"Retry-After": str(math.ceil(seconds))}
    return ServiceError(429, words, code, type="rate_limit_error", headers=headers)
