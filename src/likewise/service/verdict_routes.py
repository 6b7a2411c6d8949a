"""GET /v1/verdicts: what was said before, read back."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Literal

import anyio.to_thread
from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from likewise.service.access import Caller, caller_for, service_of
from likewise.service.errors import ServiceError
from likewise.service.examples import error_responses
from likewise.service.schemas import StoredVerdictOut, VerdictPageOut
from likewise.service.security.keys import Scope
from likewise.service.wire import Json
from likewise.store.verdicts import VerdictFilter, VerdictSummary

__all__ = ["router"]

router = APIRouter(tags=["history"])
Reader = Annotated[Caller, Depends(caller_for(Scope.READ))]
Word = Annotated[str | None, Query(max_length=200)]


@router.get(
    "/v1/verdicts", summary="Verdicts, the newest first", response_model=VerdictPageOut, responses=error_responses()
)
async def verdicts(
    request: Request,
    caller: Reader,
    agent: Word = None,
    version: Word = None,
    task_id: Word = None,
    decision: Literal["serve", "flag", "refuse", "failed"] | None = None,
    contradictory: bool | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    after: Annotated[str | None, Query(max_length=500, description="`next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """Verdicts by agent, version, task, decision and time; `next` leads to the following page."""
    del caller
    store = service_of(request).store
    wanted = VerdictFilter(
        agent=agent,
        version=version,
        task=task_id,
        decision=decision,
        contradictory=contradictory,
        since=_utc(since),
        until=_utc(until),
    )
    try:
        page = await anyio.to_thread.run_sync(partial(store.verdicts.page, wanted, after=after, limit=limit))
    except ValueError as problem:
        raise ServiceError(400, f"after: {problem}", "invalid_request", param="after") from None
    return Json({"items": [_listed(each) for each in page.items], "next": page.next})


@router.get("/v1/verdicts/{id}", summary="One verdict", response_model=StoredVerdictOut, responses=error_responses(404))
async def verdict(request: Request, id: str, caller: Reader) -> Response:
    """One verdict in full, with every run."""
    del caller
    store = service_of(request).store
    found = await anyio.to_thread.run_sync(store.verdicts.get, id[:64])
    if found is None:
        raise ServiceError(404, "no such verdict", "not_found", param="id")
    return Json(found.as_json())


def _utc(moment: datetime | None) -> datetime | None:
    """A time without a zone is in UTC."""
    if moment is None:
        return None
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise ServiceError(400, "a time out of range", "invalid_request") from None


def _listed(found: VerdictSummary) -> dict[str, Any]:
    return {
        "id": found.id,
        "created": found.created.isoformat(),
        "agent": found.agent,
        "version": found.version,
        "model": found.model,
        "task_id": found.task,
        "route": found.route,
        "query": found.query,
        "answer": found.answer,
        "decision": found.decision,
        "label": found.label,
        "reliability": found.reliability.value,
        "reliability_interval": found.reliability.as_json(),
        "contradiction_score": found.contradiction,
        "has_critical_contradiction": found.contradictory,
        "runs_agreed": found.runs_agreed,
        "runs_failed": found.runs_failed,
    }
