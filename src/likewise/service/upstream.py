"""Calls of an OpenAI-compatible endpoint: whose key, which headers, how long, and what its answer was, unchanged."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import httpx2

from likewise.service.connections import watched
from likewise.service.credentials import credentials_of, without
from likewise.service.metrics import Metrics
from likewise.service.security.allow_list import BlockedAddressError
from likewise.service.settings import KeyFrom, UpstreamSettings
from likewise.service.tracing import Tracing

__all__ = ["Answer", "Upstream", "UpstreamError", "forwarded", "returned"]

HeaderList = list[tuple[bytes, bytes]]
STALE_SECONDS = 0.5
"""A closed connection shows at once; what breaks later had begun to work, and is not asked for twice."""
_LOG = logging.getLogger("likewise.service")
_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_NOT_FORWARDED = _HOP_BY_HOP | {b"host", b"content-length", b"authorization", b"cookie", b"expect", b"forwarded"}
_OURS_TO_SAY = (b"x-likewise-", b"access-control-")
"""What the verdict is, and which web pages may read it."""
_NOT_RETURNED = _HOP_BY_HOP | {b"date", b"server", b"set-cookie"}
"""A cookie of the upstream would be one of ours, since both have our address."""


def _named(headers: Iterable[tuple[bytes, bytes]]) -> set[bytes]:
    """Headers that `Connection` makes hop-by-hop."""
    return {
        part.strip().lower() for name, value in headers if name.lower() == b"connection" for part in value.split(b",")
    }


def forwarded(headers: HeaderList) -> HeaderList:
    """A caller's headers that an upstream gets: not what belongs to this hop, nor to us, nor any key or cookie."""
    gone = _named(headers)
    return [
        (name, value)
        for name, value in headers
        if (low := name.lower()) not in _NOT_FORWARDED
        and low not in gone
        and not low.startswith((b"x-likewise-", b"x-forwarded-"))
    ]


def returned(headers: Iterable[tuple[bytes, bytes]], *, decoded: bool = False) -> HeaderList:
    """An upstream's headers that the caller gets; without those of the encoding where the body was decoded."""
    pairs = list(headers)
    gone = _named(pairs) | ({b"content-encoding", b"content-length"} if decoded else set())
    return [
        (low, value)
        for name, value in pairs
        if (low := name.lower()) not in _NOT_RETURNED and low not in gone and not low.startswith(_OURS_TO_SAY)
    ]


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")  # what cannot be sent on is not read


def _has_choices(completion: Mapping[str, Any]) -> bool:
    """Whether there are choices, and each is one; a message that is left out, or null, is an empty one."""
    choices = completion.get("choices")
    if not isinstance(choices, list) or not choices:
        return False
    return all(isinstance(each, dict) and isinstance(each.get("message"), dict | None) for each in choices)


def _may_repeat(request: httpx2.Request) -> bool:
    """Whether a request that was perhaps begun may be sent again: another POST might make a second thing."""
    return request.method in ("GET", "HEAD") or request.url.path.endswith("/chat/completions")


@dataclass(frozen=True, slots=True)
class Answer:
    """What an upstream answered: status, headers, and the body, decoded from its transfer."""

    status: int
    headers: HeaderList
    body: bytes

    @property
    def object(self) -> dict[str, Any] | None:
        """The body as a JSON object; None where it is none."""
        try:
            value = json.loads(self.body, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


class UpstreamError(RuntimeError):
    """A call that gave no answer to compare; `answer` is what the upstream said, where it said something.

    `status_code` and `response` are where the layer's retries look for them.
    """

    def __init__(self, message: str, status: int, code: str, answer: Answer | None = None) -> None:
        """Keep what the caller is to be told."""
        super().__init__(message)
        self.status, self.code, self.answer = status, code, answer
        self.status_code = answer.status if answer is not None else None
        self.response = self
        self.retryable = None if answer is not None else code not in ("upstream_nonsense", "upstream_blocked")

    @property
    def headers(self) -> dict[str, str]:
        """The upstream's headers, for `Retry-After`."""
        pairs = self.answer.headers if self.answer is not None else []
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in pairs}


@dataclass
class Upstream:
    """One endpoint, with the connections to it.

    Attributes:
        name: Its name in the settings.
        settings: Its settings.
        client: Connections, kept between calls; follows no redirect.
        metrics: Where calls are counted.
        tracing: Where calls are traced.
        max_response: Largest answer that is read as a whole, in bytes.
    """

    name: str
    settings: UpstreamSettings
    client: httpx2.AsyncClient
    metrics: Metrics
    tracing: Tracing
    max_response: int
    _heeds_n: dict[str, bool] = field(default_factory=dict)

    @property
    def timeout(self) -> httpx2.Timeout:
        """Of one call."""
        return httpx2.Timeout(self.settings.timeout, connect=self.settings.connect_timeout, pool=None)

    def heeds_n(self, model: str) -> bool:
        """Whether it is worth asking for several samples at once."""
        return self.settings.by_n and self._heeds_n.get(model, True)

    def remember_no_n(self, model: str) -> None:
        """It is not, for this model."""
        if len(self._heeds_n) < 1_000:  # callers make up models
            self._heeds_n[model] = False

    def headers(self, caller: HeaderList, callers_key: str | None) -> HeaderList:
        """Headers of a call.

        Args:
            caller: The caller's headers.
            callers_key: Value of the caller's Authorization, unless it is a key of ours.
        """
        own = self.settings.own_headers
        headers = [pair for pair in forwarded(caller) if pair[0].decode("latin-1").lower() not in own]
        headers += [(name.encode(), value.encode()) for name, value in own.items()]
        authorization = callers_key if self.settings.key_from is not KeyFrom.SERVER else None
        if authorization is None and self.settings.key_from is not KeyFrom.CALLER and self.settings.key:
            authorization = f"Bearer {self.settings.key}"
        if authorization is not None and "authorization" not in own:
            headers.append((b"authorization", authorization.encode("latin-1", "replace")))
        return headers

    def request(
        self,
        method: str,
        path: str,
        query: bytes,
        headers: HeaderList,
        body: bytes | None,
        patience: float | None = None,
    ) -> httpx2.Request:
        """A request as it goes out: our client adds nothing to it but Host and Content-Length."""
        url = f"{self.settings.base_url}/{path.lstrip('/')}" + (f"?{query.decode('latin-1')}" if query else "")
        times = self.timeout.as_dict() | ({} if patience is None else {"read": patience})
        return httpx2.Request(method, url, headers=headers, content=body, extensions={"timeout": times})

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """The head of the answer; the body is yet to be read, and the response to be closed.

        Raises:
            UpstreamError: There is no answer.
        """
        began, status = perf_counter(), "none"
        try:
            response = await self._sent(request)
            status = f"{response.status_code // 100}xx"
        except httpx2.TimeoutException as problem:
            raise self._no_answer(problem) from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
            raise self._no_answer(problem) from None
        finally:
            self.metrics.upstream_requests.labels(self.name, status).inc()
            self.metrics.upstream_seconds.labels(self.name).observe(perf_counter() - began)
        return response

    async def _sent(self, request: httpx2.Request) -> httpx2.Response:
        """Send; once more, where a kept connection turns out to have been closed in the meantime.

        What was asked may have been begun nevertheless: nothing on the wire tells. So it is asked again only where
        the second time does no more than cost a run, and where not one byte of an answer came.
        """
        began = perf_counter()
        with watched() as wire:
            try:
                return await self.client.send(request, stream=True, follow_redirects=False)
            except (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError):
                late = perf_counter() - began > STALE_SECONDS
                if late or not wire.unheard_on_kept or not _may_repeat(request):
                    raise
        _LOG.info("the upstream %r had closed a kept connection; it is asked again", self.name)
        return await self.client.send(request, stream=True, follow_redirects=False)

    def _no_answer(self, problem: Exception) -> UpstreamError:
        if isinstance(problem, httpx2.TimeoutException):
            return UpstreamError(f"the upstream {self.name!r} did not answer in time", 504, "upstream_timeout")
        if isinstance(problem, BlockedAddressError):
            return UpstreamError(str(problem), 502, "upstream_blocked")
        kind = type(problem).__name__
        return UpstreamError(f"the upstream {self.name!r} cannot be reached ({kind})", 502, "upstream_unreachable")

    async def chat(self, path: str, query: bytes, headers: HeaderList, body: Mapping[str, Any]) -> dict[str, Any]:
        """One chat completion, whole.

        Raises:
            UpstreamError: The upstream gave none.
        """
        content = json.dumps(body, separators=(",", ":")).encode("ascii")
        with self.tracing.chat(self.name, self.settings.base_url, body) as span:
            request = self.request("POST", path, query, headers, content)
            request.headers.update(self.tracing.headers())
            answer = await self.whole(request)
            completion = answer.object if answer.status < 400 else None
            self.tracing.answered(span, answer.status, completion)
        if answer.status >= 300:
            words = f"the upstream {self.name!r} answered with status {answer.status}"
            raise UpstreamError(words, answer.status, "upstream_error", self.without_own_key(request, answer))
        if completion is None or not _has_choices(completion):
            raise UpstreamError(f"the upstream {self.name!r} answered no chat completion", 502, "upstream_nonsense")
        return completion

    def own_secrets(self, request: httpx2.Request) -> tuple[str, ...]:
        """The server's own credentials that this call was made with; the caller's are no news to the caller."""
        own = [(name.encode(), value.encode()) for name, value in self.settings.own_headers.items()]
        own.append((b"authorization", f"Bearer {self.settings.key or ''}".encode("latin-1", "replace")))
        sent = {(name.lower(), value) for name, value in request.headers.raw}
        return credentials_of(pair for pair in own if pair in sent)

    def without_own_key(self, request: httpx2.Request, answer: Answer) -> Answer:
        """An error as it may be told to a caller: without the server's own credentials."""
        secrets = self.own_secrets(request)
        headers = [(name, without(secrets, value)) for name, value in answer.headers]
        return Answer(answer.status, headers, without(secrets, answer.body))

    async def whole(self, request: httpx2.Request) -> Answer:
        """The whole answer, decoded.

        Raises:
            UpstreamError: There is none, or it is too large.
        """
        return await self.read(await self.send(request))

    async def read(self, response: httpx2.Response) -> Answer:
        """The whole of an answer whose head is there; see `whole`."""
        try:
            body = bytearray()
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > self.max_response:
                    words = f"the answer of the upstream {self.name!r} is larger than {self.max_response:,} bytes"
                    raise UpstreamError(words, 502, "upstream_nonsense")
        except (httpx2.HTTPError, httpx2.StreamError) as problem:
            raise self._no_answer(problem) from None
        finally:
            await response.aclose()
        return Answer(response.status_code, returned(response.headers.raw, decoded=True), bytes(body))
