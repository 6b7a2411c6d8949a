"""/healthz, /readyz and /metrics: for what watches the service."""

from __future__ import annotations

import anyio
import anyio.to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response

from likewise.core.errors import StoreUnavailableError
from likewise.service.access import identify, service_of
from likewise.service.schemas import ReadyOut
from likewise.service.security.keys import Scope
from likewise.service.wire import Json

__all__ = ["router"]

router = APIRouter(tags=["health"])
STORE_SECONDS = 2.0


@router.get("/healthz", summary="Whether the process lives", response_model=dict[str, str])
async def healthz() -> Response:
    """Always 200 while the process can answer at all."""
    return Json({"status": "alive"})


@router.get(
    "/readyz", summary="Whether requests can be served", response_model=ReadyOut, responses={503: {"model": ReadyOut}}
)
async def readyz(request: Request) -> Response:
    """200 where models are loaded and the history answers; 503 otherwise, and from the moment of a shutdown."""
    service = service_of(request)
    checks = {"models": "ok" if service.ready else "not loaded", "store": "ok"}
    if service.stopping:
        checks["process"] = "shutting down"
    with anyio.move_on_after(STORE_SECONDS) as scope:
        try:
            await anyio.to_thread.run_sync(service.store.ping, abandon_on_cancel=True)
        except StoreUnavailableError:
            checks["store"] = "unavailable"
    if scope.cancelled_caught:
        checks["store"] = f"no answer within {STORE_SECONDS:g} s"
    ready = all(found == "ok" for found in checks.values())
    return Json({"status": "ready" if ready else "not ready", "checks": checks}, 200 if ready else 503)


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={
        200: {"description": "Prometheus' text format.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    },
)
async def metrics(request: Request) -> Response:
    """All metrics; behind a key with the scope `read` where `metrics_keys` is set."""
    service = service_of(request)
    if service.settings.metrics_keys:
        await identify(request, Scope.READ)
    service.metrics.store_waiting.set(service.writer.waiting)
    return Response(service.metrics.text(), media_type=service.metrics.content_type)
