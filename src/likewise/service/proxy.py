"""The OpenAI-compatible proxy: which request is verified, which passed through, and where it goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import Response

from likewise.service.access import Caller, identify, service_of
from likewise.service.call import Call, no_answer, read_object
from likewise.service.credentials import note_credentials
from likewise.service.disconnect import ClientGoneError, unless_gone
from likewise.service.errors import ServiceError
from likewise.service.examples import CHAT_BODY, CHAT_RESPONSES
from likewise.service.pass_through import Relay
from likewise.service.policies import DEFAULT_ROUTE, Chosen
from likewise.service.security.keys import Scope
from likewise.service.service import Service
from likewise.service.upstream import HeaderList, Upstream, UpstreamError
from likewise.service.verified import verified
from likewise.service.wire import Json

__all__ = ["router"]

router = APIRouter(tags=["proxy"])
_OFF = {"X-Likewise-Mode": "off"}
_LISTING_SECONDS = 10.0


@router.post("/v1/chat/completions", summary="A chat completion that holds", responses=CHAT_RESPONSES, **CHAT_BODY)
async def chat_completions(request: Request) -> Response:
    """A chat completion as OpenAI's API has it, from the upstream of its model.

    Verified by the policy of the model: the consensus of several samples comes back as an ordinary completion or
    stream, with a `likewise` object and X-Likewise-* headers; a refusal is a 409. Where the policy is off, request and
    answer pass byte for byte. Parameters that this document does not name are passed on.
    """
    return await _chat(request, DEFAULT_ROUTE)


@router.post("/r/{route}/v1/chat/completions", include_in_schema=False)
async def routed_chat_completions(request: Request, route: str) -> Response:
    """The same by a route, which chooses among policies."""
    return await _chat(request, route)


async def _chat(request: Request, route: str) -> Response:
    service = service_of(request)
    caller = await identify(request, Scope.PROXY)
    body = await request.body()
    values = read_object(body)
    model = values.get("model")
    named = model if isinstance(model, str) else ""
    chosen = service.policies.find(route, named)
    upstream = _upstream_of(service, chosen, named)
    headers = upstream.headers(request.headers.raw, caller.upstream_authorization)
    if not chosen.verifies:
        return _relay(request, service, upstream, "chat/completions", headers, body, values)
    call = Call(service, request, caller, route, values, chosen, upstream, headers)
    note_credentials(call.secrets)
    path = "/v1/chat/completions" if route == DEFAULT_ROUTE else "/r/{route}/v1/chat/completions"
    with service.tracing.request("POST", path, request.headers) as span:
        try:
            return await unless_gone(request, lambda: verified(call, span))
        except ClientGoneError:
            service.metrics.gone.inc()
            return Response(status_code=499)  # to nobody


def _upstream_of(service: Service, chosen: Chosen, model: str) -> Upstream:
    """Where a request goes.

    Raises:
        ServiceError: Nowhere.
    """
    if chosen.upstream is None:
        words = f"no upstream takes the model {model[:100]!r}; `upstreams` of the settings says which takes what"
        raise ServiceError(404, words, "model_not_found", param="model")
    return service.upstreams[chosen.upstream]


def _relay(
    request: Request,
    service: Service,
    upstream: Upstream,
    path: str,
    headers: HeaderList,
    body: bytes = b"",
    asked: Mapping[str, Any] | None = None,
) -> Relay:
    query = request.scope.get("query_string", b"")
    outgoing = upstream.request(request.method, path, query, headers, body or None)
    return Relay(upstream, outgoing, service.metrics, asked or {}, _OFF)


@router.get("/v1/models", summary="The upstreams' models")
async def models(request: Request) -> Response:
    """The models of the upstream, as it lists them; of several upstreams, those of all that answer."""
    service = service_of(request)
    caller = await identify(request, Scope.PROXY)
    upstreams = list(service.upstreams.values())
    if not upstreams:
        raise ServiceError(404, "no upstream is set; `upstreams` of the settings names them", "model_not_found")
    if len(upstreams) == 1:
        headers = upstreams[0].headers(request.headers.raw, caller.upstream_authorization)
        return _relay(request, service, upstreams[0], "models", headers)
    return await _models_of_all(request, caller, upstreams)


@router.get("/r/{route}/v1/models", include_in_schema=False)
async def routed_models(request: Request, route: str) -> Response:
    """The same: routes choose policies, not models."""
    del route
    return await models(request)


async def _models_of_all(request: Request, caller: Caller, upstreams: list[Upstream]) -> Response:
    listed: list[Any] = []
    problems: list[UpstreamError] = []
    for upstream in upstreams:
        headers = upstream.headers(request.headers.raw, caller.upstream_authorization)
        headers = [pair for pair in headers if pair[0].lower() != b"accept-encoding"]
        try:
            answer = await upstream.whole(upstream.request("GET", "models", b"", headers, None, _LISTING_SECONDS))
        except UpstreamError as problem:
            problems.append(problem)
            continue
        data = (answer.object or {}).get("data")
        listed += data if answer.status == 200 and isinstance(data, list) else []
    if problems and not listed:
        return no_answer(problems[0])
    return Json({"object": "list", "data": listed})


@router.get("/v1/models/{model:path}", summary="One model")
async def model(request: Request, model: str) -> Response:
    """One model, as its upstream describes it."""
    service = service_of(request)
    caller = await identify(request, Scope.PROXY)
    if any(part in (".", "..", "") for part in model.split("/")):
        raise ServiceError(404, "no such model", "model_not_found", param="model")
    upstream = _upstream_of(service, service.policies.find(DEFAULT_ROUTE, model), model)
    headers = upstream.headers(request.headers.raw, caller.upstream_authorization)
    return _relay(request, service, upstream, "models/" + quote(model, safe="/:@"), headers)


async def pass_through(request: Request) -> Response:
    """A further path of the API that the settings let through, unverified."""
    service = service_of(request)
    caller = await identify(request, Scope.PROXY)
    body = await request.body()
    values = read_object(body)
    model = values.get("model")
    named = model if isinstance(model, str) else ""
    upstream = _upstream_of(service, service.policies.find(DEFAULT_ROUTE, named), named)
    headers = upstream.headers(request.headers.raw, caller.upstream_authorization)
    path = request.scope["path"].removeprefix("/v1/")
    return _relay(request, service, upstream, path, headers, body, values)
