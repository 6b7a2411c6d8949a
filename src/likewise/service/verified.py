"""A verified request: k samples of the upstream, one verdict, one real choice back."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

from opentelemetry.trace import Span
from starlette.responses import Response, StreamingResponse

from likewise.core.errors import AgentError, StoreUnavailableError
from likewise.reliability.runs import RunRecord
from likewise.reliability.verdict import Decision, Label, Verdict
from likewise.service.call import Call, no_answer
from likewise.service.completion import chunks, completion_of, verdict_headers
from likewise.service.errors import ServiceError, no_retry
from likewise.service.sampling import ChatSampler
from likewise.service.service import new_id
from likewise.service.settings import ProxyMode, StoreDown, Verb
from likewise.service.upstream import UpstreamError
from likewise.service.wire import Json
from likewise.store.records import FAILED, Origin

__all__ = ["verified"]

SOURCE = "proxy"
MOST_CHOICES = 16
"""`n` of a caller at most: each is a run that is compared with all others."""
_LOG = logging.getLogger("likewise.service")
_NAMES = {"x-likewise-agent": "agent", "x-likewise-version": "version", "x-likewise-task": "task"}


async def verified(call: Call, span: Span) -> Response:
    """Run, compare, store, answer.

    Raises:
        ServiceError: The request cannot be verified, or its answer may not be served.
        StoreUnavailableError: The verdict cannot be stored, and the policy serves nothing unstored.
    """
    wanted = _wanted(call)
    origin, question, identity = _origin(call), question_of(call.values.get("messages")), new_id()
    sampler = ChatSampler(call.upstream, call.values, call.headers, query=call.query)
    layer = call.service.layer(call.chosen)
    if wanted > 1:  # more choices than runs would be choices that nobody compared
        layer = call.service.layer_of(call.chosen.policy.model_copy(update=_at_least(call, wanted)))
    try:
        verdict = await layer.wrap(sampler).aquery(question)
    except AgentError as problem:
        return await _unanswered(call, problem, sampler, question, origin, identity)
    call.service.metrics.count_verdict(verdict, SOURCE)
    call.service.tracing.judged(span, verdict, identity)
    _note(call, identity, verdict.decision.value)
    stored = await _keep(call, verdict, origin, identity)
    headers = verdict_headers(verdict, identity) | {"X-Likewise-Stored": stored, "X-Likewise-Mode": _mode(call)}
    body = completion_of(verdict, identity, sampler, wanted)
    if verdict.decision is Decision.REFUSE:
        raise _refusal(verdict, body, headers)
    return _answer(call, body, headers)


def _mode(call: Call) -> str:
    return call.chosen.policy.mode.value


def _at_least(call: Call, wanted: int) -> dict[str, Any]:
    """Settings under which so many choices come back: a mode that may stop early would give fewer."""
    policy = call.chosen.policy
    stops_early = policy.mode in (ProxyMode.ADAPTIVE, ProxyMode.SEQUENTIAL)
    return {"runs": max(wanted, policy.runs or 3)} | ({"mode": ProxyMode.STANDARD} if stops_early else {})


def _wanted(call: Call) -> int:
    """How many choices the caller wants.

    Raises:
        ServiceError: Not a number that can be verified.
    """
    value = call.values.get("n")
    if value is None:
        return 1
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_CHOICES:
        raise ServiceError(400, f"n: a whole number from 1 to {MOST_CHOICES}", "invalid_request", param="n")
    return value


def _origin(call: Call) -> Origin:
    """Where the verdict will stand in the history: by the caller's headers, else by route, model and conversation."""
    named = {field: call.request.headers.get(header, "").strip()[:200] for header, field in _NAMES.items()}
    agent = named["agent"] or (call.route if call.route != "default" else call.model) or call.upstream.name
    return Origin(
        agent=agent[:200],
        version=named["version"],
        model=call.model[:200],
        task=named["task"] or _digest(call.values.get("messages")),
        route=call.request.scope["path"][:200],
        caller=call.caller.name,
    )


def _digest(messages: object) -> str:
    """Names a conversation: asked again, it is the same task."""
    text = json.dumps(messages, sort_keys=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:20]


def question_of(messages: object) -> str:
    """What was asked last: the text of the last message of a user, else of any."""
    listed = [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else []
    asked = [each for each in listed if each.get("role") == "user"] or listed
    content = asked[-1].get("content") if asked else ""
    if isinstance(content, list):
        parts = [part.get("text") or f"[{part.get('type', 'part')}]" for part in content if isinstance(part, dict)]
        content = "\n".join(map(str, parts))
    return content if isinstance(content, str) else ""


def _refusal(verdict: Verdict, body: dict[str, Any], headers: dict[str, str]) -> ServiceError:
    code = "contradiction" if verdict.has_critical_contradiction else "unreliable"
    return ServiceError(
        409,
        "the runs of this request do not agree, and the policy serves no such answer: " + "; ".join(verdict.reasons),
        f"likewise_{code}",
        type="unreliable_answer",
        headers={**headers, **no_retry()},
        more={"likewise": body["likewise"]},
    )


async def _keep(call: Call, verdict: Verdict, origin: Origin, identity: str) -> str:
    """Store the verdict, as the policy wants it; says whether it is stored."""
    if not call.chosen.policy.store:
        return "off"
    try:
        await call.service.keep(verdict, origin, identity, call.secrets)
    except StoreUnavailableError:
        if call.chosen.policy.store_down is StoreDown.REFUSE:
            raise
        _LOG.warning("served without being stored: the verdict store is unavailable")
        return "failed"
    return "yes"


async def _unanswered(
    call: Call, problem: AgentError, sampler: ChatSampler, question: str, origin: Origin, identity: str
) -> Response:
    """All runs failed: the upstream's own error; or its empty answers, where those are what it gave."""
    call.service.metrics.unanswered.labels(SOURCE).inc()
    _note(call, identity, FAILED)
    if call.chosen.policy.store:
        try:
            await call.service.keep_failure(question, problem, origin, identity, call.secrets)
        except StoreUnavailableError:
            if call.chosen.policy.store_down is StoreDown.REFUSE:
                raise
    headers = {"X-Likewise-Verdict-Id": identity, "X-Likewise-Decision": FAILED, "X-Likewise-Mode": _mode(call)}
    for cause in _causes(problem):
        if isinstance(cause, UpstreamError):
            return no_answer(cause, headers | (no_retry() if cause.answer is None else {}))
    if sampler.samples and call.chosen.policy.unmeasured is not Verb.REFUSE:
        first = sampler.samples[0]
        told = {
            "id": identity,
            "decision": FAILED,
            "label": Label.NOT_MEASURED.value,
            "reliability": None,
            "reasons": [str(problem)],
            "runs_failed": len(problem.failures),
        }
        body = {**first.completion, "choices": [{**first.choice, "index": 0}], "likewise": told}
        usage = sampler.usage()
        return _answer(call, body | ({} if usage is None else {"usage": usage}), headers)
    status = 504 if all("timeout" in failure.split(":")[0] for failure in problem.failures) else 502
    code = "upstream_timeout" if status == 504 else "agent_failed"
    raise ServiceError(status, str(problem), code, type="upstream_error", headers={**headers, **no_retry()})


def _causes(problem: AgentError) -> Iterator[BaseException | None]:
    """Why each run failed; what an upstream said comes before what it did not."""
    found = [r.failure.cause for r in problem.records if isinstance(r, RunRecord) and r.failure is not None]
    return iter(sorted(found, key=lambda cause: not (isinstance(cause, UpstreamError) and cause.answer is not None)))


def _note(call: Call, identity: str, decision: str) -> None:
    """For the log line of the request."""
    call.request.scope.setdefault("state", {})["log"] = {
        "verdict": identity,
        "decision": decision,
        "upstream": call.upstream.name,
        "key": call.caller.name,
    }


def _answer(call: Call, body: dict[str, Any], headers: dict[str, str]) -> Response:
    if call.values.get("stream") is not True:
        return Json(body, headers=headers)
    options = call.values.get("stream_options")
    usage = isinstance(options, dict) and options.get("include_usage") is True

    async def events() -> AsyncIterator[bytes]:
        for chunk in chunks(body, usage):
            yield chunk

    return StreamingResponse(events(), headers=headers, media_type="text/event-stream")
