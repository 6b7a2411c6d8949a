"""Contradictions over all pairs of runs: how many, how strong, and where the critical ones are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, Int8

from likewise.core.estimate import Estimate
from likewise.core.labels import NOT_MEASURED, Relation
from likewise.metrics.intervals import pair_evidence, pair_share_limits
from likewise.metrics.resampling import wilson_share

__all__ = ["ContradictionSummary", "summarise"]


@dataclass(frozen=True, slots=True)
class ContradictionSummary:
    """Contradictions among the judged pairs of actions.

    Attributes:
        pairs: Judged pairs of actions (a pair of runs counts once for each turn judged).
        contradictory: How many of them are contradictory.
        share: Their share, with an interval over runs where the runs of the pairs are known (pairs that share a run
            are not independent), else Wilson's, which is then too narrow.
        max: The highest contradiction score in [0, 1]; None where nothing was scored.
        mean: The mean contradiction score in [0, 1]; None where nothing was scored.
        critical: (pair index, turn) of scores above the threshold, the highest first.
    """

    pairs: int
    contradictory: int
    share: Estimate
    max: float | None
    mean: float | None
    critical: tuple[tuple[int, int], ...]


def summarise(
    score: Float[np.ndarray, "pairs turns"],
    relation: Int8[np.ndarray, "pairs turns"],
    threshold: float = 0.7,
    pairs: Int[np.ndarray, "pairs 2"] | None = None,
    confidence: float = 0.95,
) -> ContradictionSummary:
    """Count and rank the contradictions of a group.

    Args:
        score: Contradiction scores in [0, 1], the larger of both directions; NaN where not scored.
        relation: Relation labels; NOT_MEASURED pairs are ignored, their scores too.
        threshold: Scores above it are critical.
        pairs: The two runs of each pair; None where they are not known.
        confidence: Share of intervals that should hold the true share, in (0, 1).

    Returns:
        The summary; its share is undefined where nothing was judged.

    Raises:
        ValueError: A score outside [0, 1].
    """
    if (score < 0).any() or (score > 1).any():
        raise ValueError("contradiction scores lie in [0, 1]")
    judged = relation != NOT_MEASURED
    total = int(np.count_nonzero(judged))
    clashing = relation == Relation.CONTRADICTORY
    contradictory = int(np.count_nonzero(clashing))
    scored = judged & ~np.isnan(score)
    scores = score[scored].astype(np.float64)
    critical = np.argwhere(scored & (score > threshold))
    # A stable sort keeps equal scores in the order of pair and turn.
    order = np.argsort(-score[critical[:, 0], critical[:, 1]], kind="stable")
    return ContradictionSummary(
        pairs=total,
        contradictory=contradictory,
        share=wilson_share(contradictory, total, "pair of actions", confidence)
        if pairs is None or total == 0
        else _share_over_runs(clashing, judged, pairs, confidence),
        max=float(scores.max()) if scores.size else None,
        mean=float(scores.mean()) if scores.size else None,
        critical=tuple((int(pair), int(turn)) for pair, turn in critical[order]),
    )


def _share_over_runs(
    clashing: Bool[np.ndarray, "pairs turns"],
    judged: Bool[np.ndarray, "pairs turns"],
    pairs: Int[np.ndarray, "pairs 2"],
    confidence: float,
) -> Estimate:
    """Share of judged pairs of actions that contradict, n = runs that some judged pair is of."""
    part, whole = clashing.sum(axis=1), judged.sum(axis=1)
    measured = whole > 0
    evidence = pair_evidence(pairs[measured])
    counts = part[measured].astype(np.float64), whole[measured].astype(np.float64)
    low, high = pair_share_limits(*counts, evidence, confidence)
    share = float(counts[0].sum() / counts[1].sum())
    return Estimate(share, min(low, share), max(high, share), n=len(np.unique(pairs[measured])))
