"""Does a fix help? Run the agent without it and with it on the same queries, and compare, query by query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import anyio
import numpy as np

from likewise.core.errors import AgentError
from likewise.core.estimate import Estimate
from likewise.metrics.resampling import bootstrap_mean
from likewise.metrics.testing import paired_permutation_p
from likewise.reliability.handling import Handling, OnFail
from likewise.reliability.layer import ReliabilityLayer
from likewise.reliability.policy import Mode, Policy
from likewise.reliability.verdict import Verdict

__all__ = ["Effect", "FixReport", "averify_fix", "verify_fix"]

Checker = Callable[[Any, str], bool]
"""Says whether an answer to a query is right."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Mean of `after` minus mean of `before`, paired by query, with its interval and two-sided p-value."""

    name: str
    before: float | None
    after: float | None
    difference: Estimate
    p: float | None

    def as_json(self) -> dict[str, object]:
        """The fields by name."""
        return {
            "name": self.name,
            "before": self.before,
            "after": self.after,
            "difference": self.difference.as_json(),
            "p": self.p,
        }


@dataclass(frozen=True, slots=True)
class FixReport:
    """What a fix does.

    Attributes:
        variance: Effect on 1 - reliability (mean total variance); negative is better.
        contradiction: Effect on the highest contradiction score; negative is better.
        accuracy: Effect on the share of runs that are right; None where no checker was given.
        failed: Effect on the share of runs that fail.
        queries: Queries that both measured.
        left_out: Queries that one of them did not measure, and why.
        runs: Runs of each query, before and after.
    """

    variance: Effect
    contradiction: Effect
    accuracy: Effect | None
    failed: Effect
    queries: int
    left_out: tuple[str, ...]
    runs: int

    @property
    def helps(self) -> bool:
        """Whether variance fell beyond chance and accuracy did not fall beyond chance. Else: drop the advice."""
        high = self.variance.difference.high
        harmed = self.accuracy is not None and (self.accuracy.difference.high or 0.0) < 0
        return high is not None and high < 0 and not harmed

    def __str__(self) -> str:
        """The report in one sentence."""
        found = self.variance.difference
        if found.value is None:
            return f"nothing was measured: {found.reason}"
        interval = f"95% [{found.low:+.2f}, {found.high:+.2f}]" if found.low is not None else str(found.reason)
        right = ""
        if self.accuracy is not None and self.accuracy.difference.value is not None:
            right = f", accuracy {self.accuracy.difference.value:+.2f}"
        verdict = "the fix helps" if self.helps else "no help was shown: drop it, or measure more queries"
        return f"total variance {found.value:+.2f} ({interval}) on {self.queries} queries{right}: {verdict}"

    def as_json(self) -> dict[str, object]:
        """Everything."""
        return {
            "helps": self.helps,
            "summary": str(self),
            "variance": self.variance.as_json(),
            "contradiction": self.contradiction.as_json(),
            "accuracy": None if self.accuracy is None else self.accuracy.as_json(),
            "failed": self.failed.as_json(),
            "queries": self.queries,
            "left_out": list(self.left_out),
            "runs": self.runs,
        }


def verify_fix(
    before: Callable[[Any], Any],
    after: Callable[[Any], Any],
    queries: Sequence[Any],
    *,
    layer: ReliabilityLayer | None = None,
    runs: int = 5,
    checker: Checker | None = None,
    seed: int = 0,
) -> FixReport:
    """Measure what a fix does; see `averify_fix`. Not for use inside a running event loop."""

    async def all_of_it() -> FixReport:
        return await averify_fix(before, after, queries, layer=layer, runs=runs, checker=checker, seed=seed)

    return anyio.run(all_of_it)


async def averify_fix(
    before: Callable[[Any], Any],
    after: Callable[[Any], Any],
    queries: Sequence[Any],
    *,
    layer: ReliabilityLayer | None = None,
    runs: int = 5,
    checker: Checker | None = None,
    seed: int = 0,
) -> FixReport:
    """Run both agents on all queries and compare them, paired by query.

    Args:
        before: The agent as it is.
        after: The agent with the fix.
        queries: At least five, for an interval; the more, the smaller the effect that shows.
        layer: Judge, thresholds and run settings; its mode and handling are not used.
        runs: Runs of each query and agent, always as many: a mode that stops early would bias the comparison.
        checker: Says whether an answer is right.
        seed: Seed of the bootstrap.

    Raises:
        ValueError: No query.
    """
    if not queries:
        raise ValueError("verifying a fix takes queries to run")
    base = layer or ReliabilityLayer()
    plain = _plain(base, runs)
    one, other = plain.wrap(before), plain.wrap(after)
    pairs: list[tuple[Any, Verdict, Verdict]] = []
    left_out: list[str] = []
    for query in queries:
        try:  # side by side in time, so that what drifts at the provider meets both
            first, second = await one.aquery(query), await other.aquery(query)
        except AgentError as problem:
            left_out.append(f"{_short(query)}: {problem}")
            continue
        unmeasured = next((v for v in (first, second) if v.reliability is None), None)
        if unmeasured is not None:
            left_out.append(f"{_short(query)}: {unmeasured.reliability_estimate.reason}")
            continue
        pairs.append((query, first, second))

    def effect(name: str, of: Callable[[Any, Verdict], float]) -> Effect:
        return _effect(name, [of(q, a) for q, a, _ in pairs], [of(q, b) for q, _, b in pairs], seed)

    return FixReport(
        effect("mean total variance", lambda _, v: 1 - (v.reliability or 0.0)),
        effect("contradiction", lambda _, v: v.contradiction_score or 0.0),
        None if checker is None else effect("accuracy", lambda q, v: _accuracy(q, v, checker)),
        effect("failed runs", lambda _, v: v.runs_failed / len(v.records)),
        len(pairs),
        tuple(left_out),
        runs,
    )


def _plain(base: ReliabilityLayer, runs: int) -> ReliabilityLayer:
    """The same measure, with a fixed number of runs and no refusals."""
    noop = Handling(*(OnFail.NOOP,) * 5)
    return ReliabilityLayer(
        policy=Policy(Mode.STANDARD, runs=runs),
        critical_threshold=base.critical_threshold,
        tv=base.tv,
        handling=noop,
        running=replace(base.running),
        judge=base.judge,
        encoder=base.encoder if base.tv == "embedding" else None,
        tool_rules=base.tool_rules,
        rules=base.rules,
    )


def _accuracy(query: object, verdict: Verdict, checker: Checker) -> float:
    answers = [record.fields.main_answer for record in verdict.records if record.fields is not None]
    return float(np.mean([bool(checker(query, answer)) for answer in answers]))


def _effect(name: str, before: list[float], after: list[float], seed: int) -> Effect:
    if not before:
        return Effect(name, None, None, Estimate.undefined("no query was measured by both", n=0), None)
    differences = np.array(after) - np.array(before)
    p = paired_permutation_p(differences, seed=seed)
    return Effect(name, float(np.mean(before)), float(np.mean(after)), bootstrap_mean(differences, seed=seed), p)


def _short(query: object) -> str:
    words = " ".join(str(query).split())
    return words if len(words) <= 80 else f"{words[:80]}..."
