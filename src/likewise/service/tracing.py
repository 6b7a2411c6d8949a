"""Traces by OpenTelemetry, with the GenAI names of its conventions; texts of prompts and answers are never in them.

Off unless an endpoint is set: the tracer is then the API's own that does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.trace import NoOpTracerProvider, Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from likewise.core.version import VERSION
from likewise.reliability.verdict import Verdict
from likewise.service.settings import TelemetrySettings

__all__ = ["Tracing"]

_W3C = TraceContextTextMapPropagator()
_NO_TEXTS: dict[str, Any] = {"record_exception": False, "set_status_on_exception": False}
"""Messages of exceptions quote answers."""
_REQUEST_ATTRIBUTES = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "max_tokens": "gen_ai.request.max_tokens",
    "max_completion_tokens": "gen_ai.request.max_tokens",
    "seed": "gen_ai.request.seed",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
}


class Tracing:
    """Makes spans; exports them where an endpoint is set."""

    def __init__(self, settings: TelemetrySettings) -> None:
        """Set the exporter up; nothing is sent before the first span ends."""
        self._provider: Any = None
        self.on = settings.endpoint is not None
        if settings.endpoint is None:
            self._tracer: Tracer = NoOpTracerProvider().get_tracer("likewise")
            return
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

        headers = {name: value.get_secret_value() for name, value in settings.headers.items()}
        exporter = OTLPSpanExporter(f"{settings.endpoint.rstrip('/')}/v1/traces", headers=headers or None, timeout=10)
        resource = Resource.create({"service.name": settings.service_name, "service.version": VERSION})
        self._provider = TracerProvider(sampler=ParentBasedTraceIdRatio(settings.sample), resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=1_000))
        self._tracer = self._provider.get_tracer("likewise", VERSION)

    @contextmanager
    def request(self, method: str, route: str, headers: Mapping[str, str]) -> Iterator[Span]:
        """A request that came in; goes on with the caller's trace."""
        parent = _W3C.extract(headers)
        with self._tracer.start_as_current_span(f"{method} {route}", parent, SpanKind.SERVER, **_NO_TEXTS) as span:
            if span.is_recording():
                span.set_attributes({"http.request.method": method, "http.route": route})
            yield span

    @contextmanager
    def chat(self, upstream: str, url: str, body: Mapping[str, Any]) -> Iterator[Span]:
        """One call of a chat endpoint."""
        model = str(body.get("model", ""))
        with self._tracer.start_as_current_span(f"chat {model}".strip(), kind=SpanKind.CLIENT, **_NO_TEXTS) as span:
            if span.is_recording():
                parts = urlsplit(url)
                span.set_attributes(
                    {
                        "gen_ai.operation.name": "chat",
                        "gen_ai.provider.name": upstream,
                        "gen_ai.request.model": model,
                        "server.address": parts.hostname or "",
                        "server.port": parts.port or (443 if parts.scheme == "https" else 80),
                    }
                )
                for name, attribute in _REQUEST_ATTRIBUTES.items():
                    value = body.get(name)
                    if isinstance(value, int | float) and not isinstance(value, bool):
                        span.set_attribute(attribute, value)
                if isinstance(body.get("n"), int):
                    span.set_attribute("gen_ai.request.choice.count", body["n"])
            yield span

    def answered(self, span: Span, status: int, completion: Mapping[str, Any] | None) -> None:
        """Enter what the endpoint said of its answer."""
        if not span.is_recording():
            return
        span.set_attribute("http.response.status_code", status)
        if status >= 400:
            span.set_attribute("error.type", str(status))
            span.set_status(Status(StatusCode.ERROR))
        if completion is None:
            return
        usage = completion.get("usage")
        usage = usage if isinstance(usage, Mapping) else {}
        choices = completion.get("choices")
        reasons = [
            str(choice.get("finish_reason"))
            for choice in (choices if isinstance(choices, list) else [])
            if isinstance(choice, Mapping)
        ]
        found = {
            "gen_ai.response.id": completion.get("id"),
            "gen_ai.response.model": completion.get("model"),
            "gen_ai.response.finish_reasons": reasons or None,
            "gen_ai.usage.input_tokens": usage.get("prompt_tokens"),
            "gen_ai.usage.output_tokens": usage.get("completion_tokens"),
        }
        span.set_attributes({name: value for name, value in found.items() if isinstance(value, str | int | list)})

    def judged(self, span: Span, verdict: Verdict, identity: str) -> None:
        """Enter a verdict as the result of an evaluation."""
        if not span.is_recording():
            return
        attributes: dict[str, Any] = {
            "gen_ai.evaluation.name": "reliability",
            "gen_ai.evaluation.score.label": verdict.label.value,
            "likewise.verdict.id": identity,
            "likewise.decision": verdict.decision.value,
            "likewise.runs_agreed": verdict.runs_agreed,
            "likewise.has_critical_contradiction": verdict.has_critical_contradiction,
        }
        if verdict.reliability is not None:
            attributes["gen_ai.evaluation.score.value"] = verdict.reliability
        if verdict.contradiction_score is not None:
            attributes["likewise.contradiction_score"] = verdict.contradiction_score
        span.add_event("gen_ai.evaluation.result", attributes)

    def headers(self) -> dict[str, str]:
        """What hands the current trace on to an upstream; nothing where traces are off."""
        carrier: dict[str, str] = {}
        if self.on:
            _W3C.inject(carrier)
        return carrier

    def close(self) -> None:
        """Send what is left."""
        if self._provider is not None:
            self._provider.shutdown()
