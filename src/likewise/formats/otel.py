"""OpenTelemetry traces of agents: GenAI semantic conventions, OpenInference, Vercel AI SDK and OpenLLMetry attributes.

Files: OTLP JSON (one request, or one a line as the collector writes), spans as the SDKs' exporters print them, and rows
of a span table.

Decisions:
- One trace is one run, but traces of one `gen_ai.conversation.id` are one conversation, so one run. Turns: `traces`.
- Spans that the Vercel SDK writes twice (`ai.generateText` around `.doGenerate`) belong together even where each has
  a trace of its own: the same function, one within the other's time.
- Traces without a model call (requests, databases, embeddings) are left out, together, with their number.
- The task is `task_id` (or `task.id`, `taskId`, `likewise.task_id`) among the attributes of a span or its resource, or
  in OpenInference's `metadata`; else what the user said before the first action.
- A `gen_ai.evaluation.result` named success, passed, pass, correct or correctness gives success where its label or
  score says yes or no; one named reward or score gives the reward.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Final

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import Excluded, JsonValue, Rollout
from likewise.formats.assemble import assemble, task_of
from likewise.formats.fields import FieldError
from likewise.formats.files import outline, read_values
from likewise.formats.message_shapes import parsed
from likewise.formats.otel_attributes import SUCCESS_NAMES, kind_of, step_of, verdict
from likewise.formats.otel_spans import Attributes, Span, spans_of
from likewise.formats.rollout_set import Parsed
from likewise.formats.traces import Kind, read_trace

__all__ = ["DESCRIPTION", "NAME", "read", "sniff"]

NAME = "otel"
DESCRIPTION = "OpenTelemetry traces (GenAI, OpenInference, Vercel AI SDK), OTLP JSON or spans as printed"

_TASK_KEYS: Final = ("task_id", "task.id", "taskId", "likewise.task_id")
_TASK_PLACES: Final = ("", "metadata.", "ai.telemetry.metadata.", "traceloop.association.properties.")
_MODELS: Final = ("gen_ai.request.model", "llm.model_name", "ai.model.id", "gen_ai.response.model")
_AGENTS: Final = ("gen_ai.agent.name", "agent.name", "ai.telemetry.functionId")
_RESPONSES: Final = ("gen_ai.response.id", "ai.response.id")


def sniff(head: str, path: Path) -> str | None:
    """None where the first value holds spans, else why not."""
    del path
    seen = outline(head)
    if seen.kind == "other":
        return "the file does not start with a JSON object or list"
    if {"resourceSpans", "resource_spans", "batches[].scopeSpans", "batches[].instrumentationLibrarySpans"} & seen.keys:
        return None
    for prefix in ("", "[].", "spans[]."):
        keys = {key.removeprefix(prefix) for key in seen.keys if key.startswith(prefix)}
        ids = {"spanContext.spanId", "context.span_id", "spanId", "span_id"} & keys
        if ids and {"spanContext.traceId", "context.trace_id", "traceId", "trace_id"} & keys:
            return None
    return "no spans of OpenTelemetry"


def read(path: Path, label: str) -> Parsed:
    """Read a file of spans; run ids are `label#trace id`.

    Raises:
        RolloutFormatError: The file cannot be read, or no span is in it.
    """
    spans, excluded = spans_of(read_values(path).values, str(path))
    if not spans:
        first = excluded[0] if excluded else Excluded(None, None, "no spans")
        raise RolloutFormatError(str(path), first.reason, line=first.line, pointer=first.pointer)
    rollouts: list[Rollout] = []
    empty: list[str] = []
    for trace, members in _runs(_reunited(spans)).items():
        if not any(kind_of(span) is Kind.GENERATION for span in members):
            empty.append(trace)
            continue
        try:
            rollouts.append(_rollout(trace, members, path, label))
        except FieldError as error:
            excluded.append(Excluded(None, trace, error.problem, str(path), members[0].line, error.pointer))
        except RecursionError:
            excluded.append(Excluded(None, trace, "nested too deeply", str(path), members[0].line))
    if empty:
        few = f"{len(empty)} trace{'' if len(empty) == 1 else 's'} without a model call"
        excluded.append(
            Excluded(None, empty[0], few if len(empty) == 1 else f"{few}, the first {empty[0]!r}", str(path))
        )
    return Parsed(tuple(rollouts), tuple(excluded))


def _reunited(spans: list[Span]) -> list[Span]:
    """The spans, those of the Vercel SDK that were torn from the call around them put back under it."""
    inner_of: dict[tuple[str, str], list[Span]] = defaultdict(list)
    known = {span.id for span in spans}
    for span in spans:
        operation = str(span.attributes.get("ai.operationId") or "")
        base, _, inner = operation.rpartition(".do")
        if inner and (span.parent is None or span.parent not in known):
            inner_of[base, str(span.attributes.get("ai.telemetry.functionId"))].append(span)
    moved: dict[str, Span] = {}
    for span in spans:
        key = str(span.attributes.get("ai.operationId") or ""), str(span.attributes.get("ai.telemetry.functionId"))
        for inner_span in inner_of.get(key, ()):
            if inner_span.id not in moved and span.start <= inner_span.start and inner_span.end <= span.end:
                moved[inner_span.id] = replace(inner_span, trace=span.trace, parent=span.id)
    return [moved.get(span.id, span) for span in spans]


def _runs(spans: list[Span]) -> dict[str, list[Span]]:
    """Spans by run: by trace, the traces of one conversation together under the first's id."""
    by_trace: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        by_trace[span.trace].append(span)
    runs: dict[str, list[Span]] = {}
    first_of: dict[str, str] = {}
    for trace, members in by_trace.items():
        talks = (span.attributes.get("gen_ai.conversation.id") for span in members)
        talk = next((each for each in talks if isinstance(each, str) and each), None)
        home = first_of.setdefault(talk, trace) if talk is not None else trace
        runs.setdefault(home, []).extend(members)
    return runs


def _rollout(trace: str, spans: list[Span], path: Path, label: str) -> Rollout:
    found = read_trace([step_of(span) for span in spans], spans[0].pointer)
    by_id = {span.id: span for span in spans}
    generations = [by_id[step.id] for step in found.generations]
    task = _task(spans)
    scores: dict[str, Attributes] = {}
    for span in spans:
        for name, fields in span.events:
            if name == "gen_ai.evaluation.result":
                scores[str(fields.get("gen_ai.evaluation.name")).lower()] = fields
    success = next((said for name in SUCCESS_NAMES if (said := verdict(scores.get(name))) is not None), None)
    reward = next(
        (scores[name].get("gen_ai.evaluation.score.value") for name in ("reward", "score") if name in scores), None
    )
    return assemble(
        task if task is not None else task_of(found.asked) or task_of(spans[0].name or trace),
        f"{label}#{trace}",
        found.talk,
        found.ending,
        path=str(path),
        reward=reward,
        success=success,
        meta=_meta(trace, spans, generations),
    )


def _task(spans: list[Span]) -> str | None:
    """The task's id where the application set one."""
    for span in sorted(spans, key=lambda each: each.parent is not None):
        metadata = parsed(span.attributes.get("metadata"))
        inside = {f"metadata.{key}": value for key, value in metadata.items()} if isinstance(metadata, dict) else {}
        for facts in (span.attributes, inside, span.resource):
            for key in (place + name for place in _TASK_PLACES for name in _TASK_KEYS):
                value = facts.get(key)
                if isinstance(value, int | str) and not isinstance(value, bool) and str(value).strip():
                    return str(value)
    return None


def _meta(trace: str, spans: list[Span], generations: list[Span]) -> dict[str, JsonValue]:
    models = list(dict.fromkeys(name for span in generations if (name := _named(span.attributes, _MODELS))))
    agents = (name for span in [*generations, *spans] if (name := _named(span.attributes, _AGENTS)))
    agent = next(agents, None)
    meta: dict[str, JsonValue] = {"record_id": trace}
    meta |= {"model": models[0]} if models else {}
    meta |= {"models": list[JsonValue](models)} if len(models) > 1 else {}
    meta |= {"agent": agent} if agent else {}
    service = spans[0].resource.get("service.name")
    meta |= {"service": service} if isinstance(service, str) else {}
    for key in ("session.id", "gen_ai.conversation.id"):
        if isinstance(value := spans[0].attributes.get(key), str):
            meta[key] = value
    ids: list[JsonValue] = [each for span in generations if (each := _named(span.attributes, _RESPONSES))]
    meta |= {"response_ids": ids} if ids else {}
    meta |= {"cached": True} if any(span.attributes.get("cache_hit") is True for span in generations) else {}
    started, ended = min(span.start for span in spans), max(span.end for span in spans)
    return meta | {"started": round(started, 6), "ended": round(ended, 6)}


def _named(attributes: Attributes, keys: tuple[str, ...]) -> str | None:
    return next((value for key in keys if isinstance(value := attributes.get(key), str) and value), None)
