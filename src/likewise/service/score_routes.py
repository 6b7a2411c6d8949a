"""POST /v1/score and /v1/compare: numbers of answers and runs that were recorded elsewhere."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, TypeVar

import anyio
import anyio.to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from likewise.core.errors import AgentError, RolloutFormatError
from likewise.core.rollout import Rollout
from likewise.evaluation.compare import compare
from likewise.evaluation.evaluate import evaluate
from likewise.evaluation.sides import FIGURES, Side, read_side, side_of
from likewise.evaluation.versions import Measuring
from likewise.formats.fields import FieldError
from likewise.formats.native import rollout_from_json
from likewise.report.as_json import evaluation_as_json
from likewise.report.compare_json import comparison_as_json
from likewise.scoring.score import ScoringOptions
from likewise.service.access import Caller, caller_for, service_of
from likewise.service.analyze_routes import settings_of
from likewise.service.errors import ServiceError, no_retry
from likewise.service.examples import error_responses
from likewise.service.schemas import CompareIn, ScoreIn, ScoreOut, SideIn
from likewise.service.security.keys import Scope
from likewise.service.service import Service, new_id
from likewise.service.turns import OutOfTimeError, TurnTakingEncoder, TurnTakingJudge
from likewise.service.wire import Json
from likewise.store.records import Origin

__all__ = ["router"]

router = APIRouter(tags=["reliability"])
SOURCE = "score"
Result = TypeVar("Result")
Scorer = Annotated[Caller, Depends(caller_for(Scope.SCORE))]


@router.post(
    "/v1/score",
    summary="Score recorded answers or runs",
    response_model=ScoreOut,
    response_model_exclude_none=True,
    responses=error_responses(504),
)
async def score_route(request: Request, wanted: ScoreIn, caller: Scorer) -> Response:
    """The verdict of one query's answers, which is stored; or the report of recorded runs of tasks, which is not."""
    service = service_of(request)
    if wanted.rollouts is not None:
        rollouts = _rollouts(service, wanted.rollouts, "rollouts")
        return Json({"report": await _in_thread(service, partial(_report, *_turns(service), rollouts))})
    layer = service.layer_of(settings_of(wanted.handling, critical_threshold=wanted.critical_threshold), tv=wanted.tv)
    score = partial(layer.score, wanted.answers or [], wanted.query, sources=wanted.sources)
    try:
        verdict = await _in_thread(service, score)
    except AgentError as problem:
        raise ServiceError(400, f"answers: {problem}", "no_answer", param="answers") from None
    service.metrics.count_verdict(verdict, SOURCE)
    identity = new_id()
    origin = Origin(
        agent=wanted.agent_name or "scored",
        version=wanted.version,
        task=wanted.task_id,
        route="/v1/score",
        caller=caller.name,
    )
    await service.keep(verdict, origin, identity)
    return Json({"verdict": {"id": identity, **verdict.as_json()}})


@router.post(
    "/v1/compare",
    summary="Compare two versions of an agent",
    response_model=dict[str, Any],
    responses=error_responses(504),
)
async def compare_route(request: Request, wanted: CompareIn, caller: Scorer) -> Response:
    """Better, worse, or undecided: figure by figure with intervals, over the tasks that both versions ran."""
    del caller
    service = service_of(request)
    for name in wanted.deciding:
        if name not in FIGURES:
            words = f"deciding: no figure {name!r}; there are {', '.join(FIGURES)}"
            raise ServiceError(400, words, "invalid_request", param="deciding")
    sides = [
        _rollouts(service, side.rollouts, f"{word}.rollouts") if side.rollouts is not None else side
        for word, side in (("base", wanted.base), ("candidate", wanted.candidate))
    ]
    return Json(await _in_thread(service, partial(_comparison, *_turns(service), wanted, sides)))


async def _in_thread(service: Service, function: Callable[[], Result]) -> Result:
    """Blocking work, beside the event loop. A caller who has gone lets it end unheard.

    Raises:
        ServiceError: It takes longer than the settings allow.
    """
    limit = service.settings.score_seconds
    try:
        with anyio.fail_after(limit):
            return await anyio.to_thread.run_sync(function, abandon_on_cancel=True)
    except (TimeoutError, OutOfTimeError):
        words = f"not finished within {limit:g} s; send fewer runs, or send them to POST /v1/reports"
        raise ServiceError(504, words, "out_of_time", type="server_error", headers=no_retry()) from None


def _turns(service: Service) -> tuple[TurnTakingJudge, TurnTakingEncoder]:
    """What compares the runs of one request, for as long as it may take: what nobody waits for is not gone on with."""
    ends = time.monotonic() + service.settings.score_seconds
    return TurnTakingJudge(service.judge, ends), TurnTakingEncoder(service.encoder, ends)


def _rollouts(service: Service, records: Sequence[dict[str, Any]], place: str) -> list[Rollout]:
    """Rollouts of a request.

    Raises:
        ServiceError: Too many, or one that is none.
    """
    if len(records) > service.settings.max_rollouts:
        words = f"{place}: at most {service.settings.max_rollouts} at once; POST /v1/reports takes more"
        raise ServiceError(413, words, "too_many_rollouts", param=place)
    rollouts = []
    for i, record in enumerate(records):
        try:
            rollouts.append(rollout_from_json(record, f"/{i}"))
        except FieldError as problem:
            raise ServiceError(400, f"{place}: {problem}", "unreadable_input", param=f"{place}.{i}") from None
    return rollouts


def _report(judge: TurnTakingJudge, encoder: TurnTakingEncoder, rollouts: list[Rollout]) -> dict[str, Any]:
    return evaluation_as_json(evaluate(rollouts, judge=judge, encoder=encoder))


def _comparison(
    judge: TurnTakingJudge, encoder: TurnTakingEncoder, wanted: CompareIn, sides: Sequence[list[Rollout] | SideIn]
) -> dict[str, Any]:
    how = Measuring(
        judge=judge,
        encoder=encoder,
        options=ScoringOptions(gamma=wanted.gamma, soft=wanted.soft),
        seed=wanted.seed,
        pool=wanted.pool,
    )
    names = wanted.base.name or "base", wanted.candidate.name or "candidate"
    one, other = sides
    between = None
    if isinstance(one, list) and isinstance(other, list):
        base, candidate, between = how.both(one, other)
        known = [side_of(base, names[0]), side_of(candidate, names[1])]
    else:
        known = [
            side_of(how.one(side), name) if isinstance(side, list) else _read(side, name)
            for side, name in zip(sides, names, strict=True)
        ]
    found = compare(known[0], known[1], deciding=wanted.deciding, between=between, seed=wanted.seed)
    return comparison_as_json(found)


def _read(side: SideIn, name: str) -> Side:
    """A report of the request, read as the file that it would be."""
    with TemporaryDirectory(prefix="likewise-") as folder:
        path = Path(folder) / "report.json"
        path.write_text(json.dumps(side.report), encoding="utf-8")
        try:
            found = read_side(path)
        except RolloutFormatError as problem:
            raise RolloutFormatError(name, problem.problem, pointer=problem.pointer) from None
    return Side(name, found.signature, found.tasks, found.files)
