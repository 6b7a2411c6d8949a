"""The service as an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec

from fastapi import FastAPI

from likewise.core.protocols import Encoder, Judge
from likewise.core.version import VERSION
from likewise.service import (
    analyze_routes,
    docs_page,
    health_routes,
    job_routes,
    proxy,
    score_routes,
    verdict_routes,
)
from likewise.service.errors import add_error_handlers
from likewise.service.jobs import work_on_jobs
from likewise.service.limits import Entrance
from likewise.service.retention import delete_what_is_old
from likewise.service.service import Service
from likewise.service.settings import ServiceSettings, load_settings

__all__ = ["create_app", "create_service_app"]

DESCRIPTION = (
    "Runs an agent several times, says whether the runs agree, and serves what holds. "
    "Send an API key of the service as `Authorization: Bearer lw_...`, or as `X-Likewise-Key` where Authorization "
    "holds the upstream's."
)


def create_app(
    settings: ServiceSettings | None = None, *, judge: Judge | None = None, encoder: Encoder | None = None
) -> FastAPI:
    """The application.

    Args:
        settings: All settings; from environment and file where None.
        judge: In place of the one that the settings name.
        encoder: In place of the one that the settings name.

    Raises:
        ConfigError: Settings that cannot be.
    """
    return create_service_app(Service(settings or load_settings(), judge=judge, encoder=encoder))


def create_service_app(service: Service) -> FastAPI:
    """The application of a service, which may be loaded already."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        del app
        async with service.running():
            yield

    app = FastAPI(
        title="likewise",
        version=VERSION,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # its page would load scripts from elsewhere; docs_page has our own
        redoc_url=None,
        redirect_slashes=False,  # would send the caller to whatever host the request names
    )
    app.state.likewise = service
    add_error_handlers(app)
    for part in (health_routes, proxy, analyze_routes, score_routes, job_routes, verdict_routes, docs_page):
        app.include_router(part.router)
    for path in service.settings.pass_through:
        app.add_api_route(f"/v1/{path.strip('/')}", proxy.pass_through, methods=["POST"], include_in_schema=False)
    if service.settings.jobs:
        service.spawn("jobs", work_on_jobs)
        service.spawn("retention", delete_what_is_old)
    if service.settings.dashboard.enabled and find_spec("likewise.service.dashboard") is not None:
        from likewise.service.dashboard import add_dashboard

        add_dashboard(app, service)
    settings = service.settings
    app.add_middleware(
        Entrance,
        metrics=service.metrics,
        max_body=settings.max_body_bytes,
        max_in_flight=settings.max_in_flight,
        receive_seconds=settings.receive_seconds,
        larger={"/v1/reports": settings.max_upload_bytes},
    )
    return app
