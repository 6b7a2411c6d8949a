"""/v1/reports: reports that take longer than a request."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import partial
from time import monotonic
from typing import Annotated, Any

import anyio
import anyio.to_thread
from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response, StreamingResponse

from likewise.formats.registry import available_formats
from likewise.service.access import Caller, caller_for, service_of
from likewise.service.errors import ServiceError
from likewise.service.examples import UPLOAD_BODY, error_responses
from likewise.service.jobs import KIND
from likewise.service.schemas import MOST_GAMMA, JobOut
from likewise.service.security.keys import Scope
from likewise.service.service import Service
from likewise.service.wire import Json
from likewise.store.jobs import Job, JobState

__all__ = ["router"]

router = APIRouter(tags=["reports"])
Scorer = Annotated[Caller, Depends(caller_for(Scope.SCORE))]
LOOK_SECONDS = 0.3
SIGN_SECONDS = 15.0
"""After so long without news a comment is sent: it keeps the connection open in whatever stands between."""


@router.post(
    "/v1/reports",
    status_code=202,
    summary="Have a file of runs reported on",
    response_model=JobOut,
    responses=error_responses(),
    **UPLOAD_BODY,
)
async def add_report(
    request: Request,
    caller: Scorer,
    format: Annotated[
        str | None, Query(max_length=50, description="Read as this format; found out if not given.")
    ] = None,
    name: Annotated[str, Query(max_length=100, description="Name of the file, which may tell its format.")] = "",
    gamma: Annotated[float, Query(ge=0, le=MOST_GAMMA, description="Discount per turn.")] = 0.8,
    soft: bool = False,
    pool: bool = False,
    seed: Annotated[int, Query(ge=0, lt=2**32)] = 0,
) -> Response:
    """Put a file of recorded runs into the queue; what comes back says where to look for the report."""
    service = service_of(request)
    if format is not None and format not in available_formats():
        words = f"format: no format {format[:50]!r}; there are {', '.join(available_formats())}"
        raise ServiceError(400, words, "invalid_request", param="format")
    payload = await request.body()
    if not payload:
        raise ServiceError(400, "the body is empty: send the file of runs", "unreadable_input")
    params = {"format": format, "name": name, "gamma": gamma, "soft": soft, "pool": pool, "seed": seed}
    add = partial(service.store.jobs.add, KIND, params, owner=caller.name, payload=payload)
    job = await anyio.to_thread.run_sync(add)
    return Json(_shown(job), 202, {"Location": f"/v1/reports/{job.id}"})


@router.get("/v1/reports/{id}", summary="How far a report is", response_model=JobOut, responses=error_responses(404))
async def report(request: Request, id: str, caller: Scorer) -> Response:
    """State and progress of a report."""
    return Json(_shown(await _job(service_of(request), id, caller)))


@router.get(
    "/v1/reports/{id}/result",
    summary="The report",
    response_model=dict[str, Any],
    responses=error_responses(404, 409),
)
async def result(request: Request, id: str, caller: Scorer) -> Response:
    """The report, `likewise.report/1`, once it is done."""
    service = service_of(request)
    job = await _job(service, id, caller)
    found = await anyio.to_thread.run_sync(service.store.jobs.result, job.id)
    if found is None:
        words = f"the report is {job.state.value}" + (f": {job.error}" if job.error else "")
        raise ServiceError(409, words, "report_not_done")
    return Response(found, media_type="application/json")


@router.get(
    "/v1/reports/{id}/events",
    summary="Progress as it happens",
    response_class=StreamingResponse,
    responses={
        **error_responses(404),
        200: {
            "description": "Server-sent events: `progress`, and at last `done`, `failed` or `cancelled`.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        },
    },
)
async def events(request: Request, id: str, caller: Scorer) -> Response:
    """Each change of a report as a server-sent event with the same object that GET /v1/reports/{id} gives."""
    service = service_of(request)
    first = await _job(service, id, caller)
    return StreamingResponse(_events(service, first), media_type="text/event-stream")


async def _events(service: Service, job: Job) -> AsyncIterator[bytes]:
    told, spoke = "", monotonic()
    while True:
        shown = json.dumps(_shown(job))
        ended = job.finished is not None
        if shown != told:
            yield f"event: {job.state.value if ended else 'progress'}\ndata: {shown}\n\n".encode()
            told, spoke = shown, monotonic()
        elif monotonic() - spoke > SIGN_SECONDS:
            yield b": still at it\n\n"
            spoke = monotonic()
        if ended:
            return
        if service.stopping:  # the client asks again, and another replica answers
            yield b"retry: 1000\n\n"
            return
        await anyio.sleep(LOOK_SECONDS)
        found = await anyio.to_thread.run_sync(service.store.jobs.get, job.id)
        if found is None:
            return
        job = found


@router.delete(
    "/v1/reports/{id}", summary="Have a report not be made", response_model=JobOut, responses=error_responses(404)
)
async def cancel(request: Request, id: str, caller: Scorer) -> Response:
    """Cancel a report that is not done."""
    service = service_of(request)
    job = await _job(service, id, caller)
    await anyio.to_thread.run_sync(service.store.jobs.cancel, job.id)
    return Json(_shown(await _job(service, id, caller)))


async def _job(service: Service, id: str, caller: Caller) -> Job:
    """A report of the caller's own, or any for one who may read all.

    Raises:
        ServiceError: There is none.
    """
    job = await anyio.to_thread.run_sync(service.store.jobs.get, id[:64])
    may_read = caller.principal is None or caller.principal.allows(Scope.READ)
    if job is None or job.kind != KIND or not (may_read or job.owner == caller.name):
        raise ServiceError(404, "no such report", "not_found", param="id")
    return job


def _shown(job: Job) -> dict[str, Any]:
    path = f"/v1/reports/{job.id}"
    return {
        "id": job.id,
        "state": job.state.value,
        "what": job.what,
        "done": job.done,
        "total": job.total,
        "error": job.error,
        "created": job.created.isoformat(),
        "started": None if job.started is None else job.started.isoformat(),
        "finished": None if job.finished is None else job.finished.isoformat(),
        "result_url": f"{path}/result" if job.state is JobState.DONE else None,
        "events_url": f"{path}/events",
    }
