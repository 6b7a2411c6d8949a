"""Requests that are not verified: the upstream's answer, byte for byte, as it comes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import anyio
import httpx2
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from likewise.service.call import no_answer
from likewise.service.disconnect import until_gone
from likewise.service.metrics import Metrics
from likewise.service.upstream import Upstream, UpstreamError, returned

__all__ = ["Relay"]

_LOG = logging.getLogger("likewise.service")


class Relay(Response):
    """Sends a request on when it is called, and the answer back, unread; a client that hangs up cancels the call."""

    def __init__(
        self,
        upstream: Upstream,
        request: httpx2.Request,
        metrics: Metrics,
        asked: Mapping[str, Any],
        headers: Mapping[str, str],
    ) -> None:
        """Prepare.

        Args:
            upstream: Where the request goes.
            request: As it goes there.
            metrics: Where clients that hang up are counted.
            asked: Its body, read, for traces.
            headers: Added to the upstream's own.
        """
        super().__init__()
        self._upstream, self._request, self._metrics, self._asked = upstream, request, metrics, asked
        self._more = dict(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Do it."""
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                await until_gone(receive)
                self._metrics.gone.inc()
                group.cancel_scope.cancel()

            group.start_soon(watch, name="watch the client")
            await (self._traced if self._upstream.tracing.on else self._relay)(scope, receive, send)
            group.cancel_scope.cancel()

    async def _traced(self, scope: Scope, receive: Receive, send: Send) -> None:
        tracing, url = self._upstream.tracing, self._upstream.settings.base_url
        with (
            tracing.request(scope["method"], scope["route"].path, Headers(scope=scope)),
            tracing.chat(self._upstream.name, url, self._asked) as span,
        ):
            self._request.headers.update(tracing.headers())
            tracing.answered(span, await self._relay(scope, receive, send), None)

    async def _relay(self, scope: Scope, receive: Receive, send: Send) -> int:
        """Returns the status that the caller got."""
        try:
            response = await self._upstream.send(self._request)
            if response.status_code >= 300 and self._upstream.own_secrets(self._request):
                answer = self._upstream.without_own_key(self._request, await self._upstream.read(response))
                raise UpstreamError("the upstream refused", answer.status, "upstream_error", answer)
        except UpstreamError as problem:
            await no_answer(problem, self._more)(scope, receive, send)
            return problem.status
        more = [(name.lower().encode(), value.encode()) for name, value in self._more.items()]
        try:
            headers = [*returned(response.headers.raw), *more]
            await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
            async for piece in response.aiter_raw():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except (httpx2.HTTPError, httpx2.StreamError) as problem:
            # The head is sent. Leaving the body unfinished makes the server cut the connection: the caller must not
            # take half an answer for a whole one.
            _LOG.warning("the upstream %r broke off its answer: %s", self._upstream.name, type(problem).__name__)
            return 502
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return response.status_code
