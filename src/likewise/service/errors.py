"""Every refusal of the service in the one form that OpenAI's clients know: {"error": {message, type, code, param}}."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from likewise.core.errors import (
    AgentError,
    BackendError,
    ConfigError,
    GroupError,
    LikewiseError,
    RolloutFormatError,
    StoreUnavailableError,
    UnknownFormatError,
)
from likewise.service.wire import Json

__all__ = ["API_PATHS", "ServiceError", "add_error_handlers", "error_body", "error_response", "no_retry"]

API_PATHS = ("/v1", "/r/", "/healthz", "/readyz", "/metrics", "/openapi.json")
"""Paths whose errors are JSON; others are pages."""
_LOG = logging.getLogger("likewise.service")


class ServiceError(Exception):
    """A refusal: what a caller is told, and how.

    `headers` are sent with it; `more` stands beside `error` in the body.
    """

    def __init__(
        self,
        status: int,
        message: str,
        code: str,
        *,
        type: str = "invalid_request_error",
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        """Say what is wrong, and what to do, in one sentence."""
        super().__init__(message)
        self.status, self.message, self.code, self.type, self.param = status, message, code, type, param
        self.headers, self.more = dict(headers or {}), dict(more or {})


def error_body(message: str, code: str, type: str, param: str | None = None) -> dict[str, Any]:
    """The one form."""
    return {"error": {"message": message, "type": type, "code": code, "param": param}}


def error_response(problem: ServiceError) -> Json:
    """A refusal as it is sent."""
    body = error_body(problem.message, problem.code, problem.type, problem.param) | problem.more
    return Json(body, problem.status, problem.headers)


def no_retry() -> dict[str, str]:
    """Tells OpenAI's clients, which take 409 and 5xx for passing, that asking again is of no use."""
    return {"x-should-retry": "false"}


def as_service_error(problem: Exception) -> ServiceError:
    """What a caller is told of an error of the package; of any other, nothing but that it is ours."""
    if isinstance(problem, ServiceError):
        return problem
    if isinstance(problem, StoreUnavailableError):
        return ServiceError(
            503,
            "the verdict store is unavailable: nothing was served; try again later",
            "store_unavailable",
            type="server_error",
            headers={"Retry-After": "5"},
        )
    if isinstance(problem, RolloutFormatError | UnknownFormatError | GroupError | ConfigError):
        return ServiceError(400, str(problem), "unreadable_input")
    if isinstance(problem, AgentError):
        return ServiceError(502, str(problem), "agent_failed", type="upstream_error", headers=no_retry())
    if isinstance(problem, BackendError):
        return ServiceError(503, f"the judge does not work: {problem}", "judge_unavailable", type="server_error")
    return ServiceError(500, "an error of the service itself; its log says more", "internal_error", type="server_error")


async def _handle(request: Request, problem: Exception) -> Response:
    told = as_service_error(problem)
    if told.status == 503:  # the server itself logs what becomes a 500
        _LOG.warning("request refused: %s", problem, extra={"path": request.url.path})
    return await _told(request, told)


async def _told(request: Request, told: ServiceError) -> Response:
    page = getattr(request.app.state, "page_errors", None)
    if page is not None and not request.url.path.startswith(API_PATHS):
        shown: Response = await page(request, told.status, told.message)
        return shown
    return error_response(told)


async def _handle_invalid(request: Request, problem: Exception) -> Response:
    """A request that its schema refuses; the value itself is not repeated, for it may be a secret."""
    found = problem.errors()[0] if isinstance(problem, RequestValidationError) and problem.errors() else {}
    parts = [str(part) for part in found.get("loc", ())[1:] if "[" not in str(part) and str(part) != "constrained-str"]
    words = str(found.get("msg", "the request is not valid")).removeprefix("Value error, ")
    param = ".".join(parts) or None
    message = f"{param}: {words}" if param else words
    code = "malformed_json" if found.get("type") == "json_invalid" else "invalid_request"
    return await _told(request, ServiceError(400, message, code, param=param))


_CODES = {
    401: "invalid_api_key",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_too_slow",
    413: "request_too_large",
    415: "unsupported_media_type",
}


async def _handle_http(request: Request, problem: Exception) -> Response:
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    detail = str(problem.detail) if isinstance(problem, HTTPException) else "error"
    headers = dict(problem.headers or {}) if isinstance(problem, HTTPException) else {}
    message = f"no such path: {request.url.path[:200]}" if status == 404 and detail == "Not Found" else detail
    code, kind = _CODES.get(status, "error"), "invalid_request_error" if status < 500 else "server_error"
    return await _told(request, ServiceError(status, message, code, type=kind, headers=headers))


async def _handle_gone(request: Request, problem: Exception) -> Response:
    """A client that went in the middle of its body: nobody is there to be told."""
    del request, problem
    return Response(status_code=499)


def add_error_handlers(app: FastAPI) -> None:
    """Let every error that leaves a route take the one form."""
    app.add_exception_handler(RequestValidationError, _handle_invalid)
    app.add_exception_handler(HTTPException, _handle_http)
    app.add_exception_handler(ClientDisconnect, _handle_gone)
    app.add_exception_handler(ServiceError, _handle)
    app.add_exception_handler(LikewiseError, _handle)
    app.add_exception_handler(Exception, _handle)
