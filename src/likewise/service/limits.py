"""What every request passes: size limit, count, time, a log line, headers. Plain ASGI, so that streams stay streams."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from time import perf_counter
from uuid import uuid4

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from likewise.service.errors import API_PATHS, ServiceError, error_response
from likewise.service.metrics import Metrics

__all__ = ["REQUEST_ID", "Entrance", "TooLargeError", "TooSlowError"]

REQUEST_ID = "x-likewise-request-id"
SLOWEST = 10_000
"""Bytes a second of the slowest body that is waited for."""
_SOUND_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_QUIET = ("/healthz", "/readyz", "/metrics")
_LOG = logging.getLogger("likewise.access")


class TooLargeError(HTTPException):
    """A request over its limit; an HTTPException, the one kind that readers of bodies let through."""

    def __init__(self, limit: int) -> None:
        """Name the limit."""
        super().__init__(413, f"the request is larger than {limit:,} bytes")


class TooSlowError(HTTPException):
    """A request whose body does not come: it would hold its place for as long as its sender likes."""

    def __init__(self) -> None:
        """Say so, and hang up."""
        super().__init__(408, "the body of the request did not arrive in time", {"Connection": "close"})


class Entrance:
    """The outermost part of the service."""

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        *,
        max_body: int,
        max_in_flight: int,
        receive_seconds: float,
        larger: Mapping[str, int],
    ) -> None:
        """Guard `app`; `larger` gives paths that take more than `max_body` bytes."""
        self._app, self._metrics, self._receive_seconds = app, metrics, receive_seconds
        self._max_body, self._max_in_flight, self._larger = max_body, max_in_flight, dict(larger)
        self.in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        visit = _Visit(scope, send)
        quiet = scope["path"] in _QUIET
        try:
            refusal = self._refusal(scope, quiet)
            if refusal is not None:
                await error_response(refusal)(scope, receive, visit.send)
                return
            self.in_flight += not quiet
            self._metrics.in_flight.set(self.in_flight)
            try:
                await self._guarded(scope, receive, visit)
            finally:
                self.in_flight -= not quiet
                self._metrics.in_flight.set(self.in_flight)
        finally:
            self._account(scope, visit, quiet)

    def _limit(self, path: str) -> int:
        return self._larger.get(path, self._max_body)

    def _refusal(self, scope: Scope, quiet: bool) -> ServiceError | None:
        limit = self._limit(scope["path"])
        length = Headers(scope=scope).get("content-length", "")
        if length.isascii() and length.isdigit() and int(length[:20]) > limit:
            self._metrics.refused.labels("size").inc()
            return ServiceError(413, TooLargeError(limit).detail, "request_too_large")
        if not quiet and self.in_flight >= self._max_in_flight:
            self._metrics.refused.labels("load").inc()
            words = f"{self._max_in_flight} requests are being worked on, which is the limit; try again"
            return ServiceError(503, words, "overloaded", type="server_error", headers={"Retry-After": "1"})
        return None

    async def _guarded(self, scope: Scope, receive: Receive, visit: _Visit) -> None:
        limit, read, whole = self._limit(scope["path"]), 0, False
        began = perf_counter()

        async def counted() -> Message:
            nonlocal read, whole
            if whole:  # what is waited for now is the caller's going
                return await receive()
            try:
                with anyio.fail_after(began + self._receive_seconds + read / SLOWEST - perf_counter()):
                    message = await receive()
            except TimeoutError:
                self._metrics.refused.labels("time").inc()
                raise TooSlowError from None
            read += len(message.get("body", b""))
            if read > limit:
                raise TooLargeError(limit)
            whole = not message.get("more_body", False)
            return message

        await self._app(scope, counted, visit.send)

    def _account(self, scope: Scope, visit: _Visit, quiet: bool) -> None:
        seconds = perf_counter() - visit.began
        route = getattr(scope.get("route"), "path", None) or "none"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.requests.labels(method, route, str(visit.status or 499)).inc()
        self._metrics.request_seconds.labels(route).observe(seconds)
        _LOG.log(
            logging.DEBUG if quiet else logging.INFO,
            "%s %s %s",
            scope["method"],
            scope["path"],
            visit.status or "no answer",
            extra={
                "status": visit.status,
                "route": route,
                "seconds": round(seconds, 4),
                "request_id": visit.request_id,
                **scope.get("state", {}).get("log", {}),
            },
        )


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class _Visit:
    """One request on its way: when it came, what it was answered."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.began, self.status, self._send = perf_counter(), None, send
        given = Headers(scope=scope).get(REQUEST_ID, "")
        self.request_id = given if _SOUND_ID.fullmatch(given) else uuid4().hex
        self._api = scope["path"].startswith(API_PATHS)
        scope.setdefault("state", {})["request_id"] = self.request_id

    status: int | None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers[REQUEST_ID] = self.request_id
            headers.setdefault("X-Content-Type-Options", "nosniff")
            headers.setdefault("Referrer-Policy", "no-referrer")
            if self._api:
                headers.setdefault("Cache-Control", "no-store")
        await self._send(message)
