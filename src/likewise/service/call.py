"""One request to the proxy, read once; and what a caller is told where its upstream has no answer."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from starlette.responses import Response

from likewise.service.access import Caller
from likewise.service.credentials import credentials_of
from likewise.service.errors import ServiceError, error_body
from likewise.service.policies import Chosen
from likewise.service.service import Service
from likewise.service.upstream import HeaderList, Upstream, UpstreamError
from likewise.service.wire import Json

__all__ = ["Call", "no_answer", "read_object"]

DECIDING = ("model", "stream", "n", "messages")
"""Keys of a request that choose what holds for it and how it is verified."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request to the proxy.

    Attributes:
        service: Everything shared.
        request: The request itself.
        caller: Who asks.
        route: Route in its path.
        values: Its body.
        chosen: What holds for it.
        upstream: Where it goes.
        headers: What goes there with it.
    """

    service: Service
    request: Request
    caller: Caller
    route: str
    values: Mapping[str, Any]
    chosen: Chosen
    upstream: Upstream
    headers: HeaderList

    @property
    def model(self) -> str:
        """The model that is asked for."""
        model = self.values.get("model")
        return model if isinstance(model, str) else ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Credentials that the upstream gets with it, and may repeat."""
        return credentials_of(self.headers, self.query)

    @property
    def query(self) -> bytes:
        """The query string as it came."""
        raw: bytes = self.request.scope.get("query_string", b"")
        return raw


def read_object(body: bytes) -> dict[str, Any]:
    """The body as a JSON object.

    Raises:
        ServiceError: It is none.
    """
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_once)
    except RecursionError:
        raise ServiceError(400, "the body is nested too deeply", "malformed_json") from None
    except ValueError as problem:
        raise ServiceError(400, f"the body is not JSON: {str(problem)[:200]}", "malformed_json") from None
    if not isinstance(value, dict):
        raise ServiceError(400, "the body is no JSON object", "malformed_json")
    return value


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    """What is infinite here cannot be sent on as a number."""
    value = float(text)
    if math.isinf(value):
        raise ValueError("a number out of range")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which DECIDING keys stand once: of two values one parser takes the first, another the last.

    Other keys may stand twice: what is passed through is passed through as it is.
    """
    names = [name for name, _ in pairs]
    if twice := next((name for name in DECIDING if names.count(name) > 1), None):
        raise ValueError(f"{twice!r} stands twice in one object")
    return dict(pairs)


def no_answer(problem: UpstreamError, headers: Mapping[str, str] | None = None) -> Response:
    """What a caller gets where the upstream gave nothing to compare: its own error, unchanged, where it sent one."""
    if problem.answer is None:
        body = error_body(str(problem), problem.code, "upstream_error")
        return Json(body, problem.status, dict(headers or {}))
    response = Response(problem.answer.body, problem.answer.status)
    response.raw_headers = [*response.raw_headers, *problem.answer.headers]
    response.headers.update(headers or {})
    return response
