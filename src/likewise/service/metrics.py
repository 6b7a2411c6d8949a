"""What Prometheus reads: counts and times, labelled by things that the operator names, never by what callers send."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from likewise.core.version import VERSION
from likewise.reliability.verdict import Verdict

__all__ = ["Metrics"]

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_SHORT = (0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)


class Metrics:
    """All metrics of one service, in a registry of its own."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        """Start from zero."""
        self.registry = registry = CollectorRegistry()
        Gauge("likewise_info", "Version of the service.", ["version"], registry=registry).labels(VERSION).set(1)
        self.requests = Counter(
            "likewise_requests", "Requests answered.", ["method", "route", "status"], registry=registry
        )
        self.request_seconds = Histogram(
            "likewise_request_seconds",
            "From a request's head to the end of its answer.",
            ["route"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.in_flight = Gauge("likewise_in_flight", "Requests being worked on.", registry=registry)
        self.gone = Counter("likewise_clients_gone", "Clients that hung up before their answer.", registry=registry)
        self.refused = Counter("likewise_refused", "Requests refused before any work.", ["why"], registry=registry)
        self.verdicts = Counter("likewise_verdicts", "Verdicts.", ["source", "decision", "label"], registry=registry)
        self.contradictions = Counter(
            "likewise_critical_contradictions", "Verdicts with a critical contradiction.", ["source"], registry=registry
        )
        self.unanswered = Counter(
            "likewise_unanswered", "Queries whose runs all failed.", ["source"], registry=registry
        )
        self.runs = Counter("likewise_runs", "Runs of agents.", ["source", "status"], registry=registry)
        self.tokens = Counter("likewise_tokens", "Tokens of verified requests.", ["direction"], registry=registry)
        self.judging_seconds = Histogram(
            "likewise_judging_seconds",
            "Comparing the answers of one query, waiting for the judge included.",
            buckets=_SECONDS,
            registry=registry,
        )
        self.upstream_requests = Counter(
            "likewise_upstream_requests", "Calls of upstreams.", ["upstream", "status"], registry=registry
        )
        self.upstream_seconds = Histogram(
            "likewise_upstream_seconds",
            "From a call to the head of its answer.",
            ["upstream"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.store_waiting = Gauge("likewise_store_waiting", "Verdicts waiting to be stored.", registry=registry)
        self.stored = Counter("likewise_store_verdicts", "Verdicts stored.", registry=registry)
        self.store_failures = Counter("likewise_store_failures", "Batches that could not be stored.", registry=registry)
        self.store_seconds = Histogram(
            "likewise_store_seconds", "Storing one batch.", buckets=_SHORT, registry=registry
        )
        self.jobs = Counter("likewise_jobs", "Background reports that ended.", ["state"], registry=registry)
        self.jobs_running = Gauge("likewise_jobs_running", "Background reports at work here.", registry=registry)

    def count_verdict(self, verdict: Verdict, source: str) -> None:
        """Enter a verdict; `source` is the endpoint that made it."""
        self.verdicts.labels(source, verdict.decision.value, verdict.label.value).inc()
        if verdict.has_critical_contradiction:
            self.contradictions.labels(source).inc()
        good = len(verdict.records) - verdict.runs_failed
        self.runs.labels(source, "ok").inc(good)
        self.runs.labels(source, "failed").inc(verdict.runs_failed)
        seconds = verdict.metadata.get("seconds_judging")
        if isinstance(seconds, int | float):
            self.judging_seconds.observe(seconds)
        usage = verdict.metadata.get("usage")
        for direction in ("input", "output"):
            tokens = usage.get(f"{direction}_tokens") if isinstance(usage, dict) else None
            if isinstance(tokens, int):
                self.tokens.labels(direction).inc(tokens)

    def text(self) -> bytes:
        """All of it, in Prometheus' text format."""
        return generate_latest(self.registry)
