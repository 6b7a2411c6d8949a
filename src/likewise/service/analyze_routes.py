"""POST /v1/analyze: run an agent several times, and say whether it agrees with itself."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from likewise.core.errors import AgentError
from likewise.reliability.verdict import Verdict
from likewise.service.access import Caller, caller_for, service_of
from likewise.service.agents import endpoint_of
from likewise.service.credentials import note_credentials
from likewise.service.disconnect import ClientGoneError, unless_gone
from likewise.service.errors import ServiceError, no_retry
from likewise.service.examples import error_responses
from likewise.service.schemas import AnalyzeIn, HandlingIn, VerdictOut
from likewise.service.security.keys import Scope
from likewise.service.service import Service, new_id
from likewise.service.settings import PolicySettings
from likewise.service.verified import question_of
from likewise.service.wire import Json
from likewise.store.records import Origin

__all__ = ["analyze", "router", "settings_of"]

router = APIRouter(tags=["reliability"])
SOURCE = "analyze"


@router.post(
    "/v1/analyze",
    summary="Run an agent several times",
    response_model=VerdictOut,
    responses=error_responses(502, 504),
)
async def analyze_route(
    request: Request, wanted: AnalyzeIn, caller: Annotated[Caller, Depends(caller_for(Scope.ANALYZE))]
) -> Response:
    """Run an agent's endpoint k times, compare the answers, and give the verdict, which is stored before it is sent.

    An answer that may not be served is no error here: `decision` says "refuse", and `answer` is null.
    """
    service = service_of(request)
    try:
        identity, verdict = await unless_gone(request, lambda: analyze(service, wanted, caller.name))
    except ClientGoneError:
        service.metrics.gone.inc()
        return Response(status_code=499)
    return Json({"id": identity, **verdict.as_json()})


async def analyze(service: Service, wanted: AnalyzeIn, caller: str) -> tuple[str, Verdict]:
    """Run, compare and store.

    Args:
        service: Everything shared.
        wanted: What is to be run.
        caller: Who wants it, for the history.

    Returns:
        The name under which the verdict is stored, and the verdict.

    Raises:
        ServiceError: The agent may not be run, or gave no answer.
        StoreUnavailableError: The verdict cannot be stored.
    """
    limits = service.settings
    if (wanted.runs or 0) > limits.max_runs or wanted.budget_runs > limits.max_runs:
        raise ServiceError(400, f"runs: at most {limits.max_runs}", "invalid_request", param="runs")
    if wanted.deadline > limits.max_deadline:
        raise ServiceError(400, f"deadline: at most {limits.max_deadline:g} s", "invalid_request", param="deadline")
    endpoint = endpoint_of(service, wanted.agent, name=wanted.agent_name, version=wanted.version)
    policy = settings_of(
        wanted.handling,
        mode=wanted.proxy_mode,
        runs=wanted.runs,
        escalate_threshold=wanted.escalate_threshold,
        error=wanted.error,
        **wanted.model_dump(include={"budget_runs"}, exclude_unset=True),
        deadline=wanted.deadline,
        critical_threshold=wanted.critical_threshold,
        attempts=3,
    )
    try:
        layer = service.layer_of(policy, tv=wanted.tv)
    except ValueError as problem:
        raise ServiceError(400, str(problem), "invalid_request") from None
    question = wanted.query if isinstance(wanted.query, str) else question_of(wanted.query)
    origin = Origin(
        agent=endpoint.name[:200],
        version=endpoint.version,
        model=endpoint.model,
        task=wanted.task_id,
        route="/v1/analyze",
        caller=caller,
    )
    identity, secrets = new_id(), endpoint.secrets
    note_credentials(secrets)
    with service.tracing.request("POST", "/v1/analyze", {}) as span:
        agent = endpoint.agent(service, wanted.query)
        try:
            verdict = await layer.wrap(agent).aquery(wanted.query, sources=wanted.sources)
        except AgentError as problem:
            service.metrics.unanswered.labels(SOURCE).inc()
            await service.keep_failure(question, problem, origin, identity, secrets)
            raise _failed(problem, identity) from None
        service.metrics.count_verdict(verdict, SOURCE)
        service.tracing.judged(span, verdict, identity)
    await service.keep(verdict, origin, identity, secrets)
    return identity, verdict


def settings_of(handling: HandlingIn, **more: Any) -> PolicySettings:  # noqa: ANN401 - fields of the settings
    """A request's wishes as the settings of a policy."""
    return PolicySettings(**handling.model_dump(), **more)


def _failed(problem: AgentError, identity: str) -> ServiceError:
    late = all(failure.startswith("timeout") for failure in problem.failures)
    return ServiceError(
        504 if late else 502,
        str(problem),
        "agent_timeout" if late else "agent_failed",
        type="upstream_error",
        headers={**no_retry(), "X-Likewise-Verdict-Id": identity},
    )
