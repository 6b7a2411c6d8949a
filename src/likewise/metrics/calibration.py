"""What held-out tasks allow to be said of a score: a monotone correction, a threshold with a guarantee, a margin.

The exchangeable unit is the task: turns and pairs of one task say much the same, so each task gives one number. With n
tasks and not one failure, the upper limit of a risk at confidence c is 1 - (1-c)^(1/n): no smaller claim can be made,
whatever the scores (metrics.power.smallest_claim).

Sources: isotonic regression, Barlow et al. 1972; risk-controlling sets, Bates et al. 2021 (arXiv:2101.02703), with the
upper limit of metrics.intervals; learn then test, Angelopoulos et al. 2021 (arXiv:2110.01052); conformal risk control,
Angelopoulos et al. 2022 (arXiv:2208.02814); split conformal margins, Vovk et al. 2005.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int

from likewise.metrics.intervals import pair_mean_limits
from likewise.metrics.power import runs_for_claim

__all__ = [
    "Threshold",
    "conformal_margin",
    "controlled_threshold",
    "isotonic",
    "task_risks",
]


class Threshold(NamedTuple):
    """A threshold and what is known of it, or the reason why there is none.

    Attributes:
        value: Scores up to this are let through; None where no threshold keeps the claim.
        limit: Upper limit of the risk at it (its expectation's bound for conformal risk control).
        tasks: Tasks it rests on.
        let_through: Share of states let through, a task's states counting together as one.
        reason: Why there is none; None where there is one.
    """

    value: float | None
    limit: float | None
    tasks: int
    let_through: float
    reason: str | None = None


def isotonic(
    scores: Float[np.ndarray, " n"], values: Float[np.ndarray, " n"]
) -> tuple[Float64[np.ndarray, " knots"], Float64[np.ndarray, " knots"]]:
    """The non-decreasing function of the score that comes nearest to the values, by pooling adjacent violators.

    Args:
        scores: At least one.
        values: What was measured at each.

    Returns:
        Distinct scores and the function there.

    Raises:
        ValueError: There is no score.
    """
    if not len(scores):
        raise ValueError("a correction needs at least one score")
    distinct, place = np.unique(scores.astype(np.float64), return_inverse=True)
    weight = np.bincount(place).astype(np.float64)
    mean = np.bincount(place, weights=values.astype(np.float64)) / weight
    blocks: list[tuple[float, float, int]] = []
    for level, mass in zip(mean.tolist(), weight.tolist(), strict=True):
        now = (level, mass, 1)
        while blocks and blocks[-1][0] >= now[0]:
            before = blocks.pop()
            total = before[1] + now[1]
            now = ((before[0] * before[1] + now[0] * now[1]) / total, total, before[2] + now[2])
        blocks.append(now)
    fitted = np.repeat([block[0] for block in blocks], [block[2] for block in blocks])
    return distinct, np.asarray(fitted, dtype=np.float64)


def task_risks(
    task: Int[np.ndarray, " states"],
    scores: Float[np.ndarray, " states"],
    bad: Float[np.ndarray, " states"],
    threshold: float,
) -> Float64[np.ndarray, " tasks"]:
    """The risk of each task at a threshold: the mean over its states of `bad`, a state not let through counting 0.

    Args:
        task: Number of the task of each state, from 0, none left out.
        scores: Score of each state.
        bad: Share of the run pairs from each state that went wrong, in [0, 1].
        threshold: States with scores up to this are let through.

    Returns:
        One number a task in [0, 1]; it does not fall as the threshold rises.
    """
    count = np.bincount(task).astype(np.float64)
    passed = np.bincount(task, weights=np.where(scores <= threshold, bad.astype(np.float64), 0.0))
    return np.asarray(passed / np.maximum(count, 1.0), dtype=np.float64)


def controlled_threshold(
    task: Int[np.ndarray, " states"],
    scores: Float[np.ndarray, " states"],
    bad: Float[np.ndarray, " states"],
    at_most: float,
    confidence: float | None = 0.95,
) -> Threshold:
    """The largest threshold whose risk in a new task is at most so much.

    The risk of a threshold is the expected share of a task's run pairs that are let through and go wrong. It does not
    fall as the threshold rises, so testing upwards until the first threshold that fails needs no correction for many
    tests. The true risk of the result is at most `at_most` with probability `confidence` over the calibration tasks.
    Without a confidence the weaker claim of conformal risk control is made: the risk is at most `at_most` on average
    over calibration sets.

    Args:
        task: Number of the task of each state, from 0, none left out.
        scores: Score of each state.
        bad: Share of the run pairs from each state that went wrong, in [0, 1].
        at_most: Risk claimed, in (0, 1).
        confidence: In (0.5, 1); None for conformal risk control.

    Returns:
        The threshold, or the reason why there is none; it names the tasks needed where these are too few.

    Raises:
        ValueError: A number outside its range, or no state.
    """
    _check(at_most, 0.5 if confidence is None else confidence)
    if not len(scores) or (bad < 0).any() or (bad > 1).any():
        raise ValueError("calibration needs at least one state, and shares in [0, 1]")
    if confidence is not None and confidence <= 0.5:
        raise ValueError(f"a claim is made with a confidence above 0.5, got {confidence}")
    tasks = int(task.max()) + 1
    fewest = math.ceil(1 / at_most - 1 - 1e-9) if confidence is None else runs_for_claim(at_most, confidence)
    if tasks < fewest:
        sure = "" if confidence is None else f" with confidence {confidence:.0%}"
        return Threshold(
            None, None, tasks, 0.0, f"{tasks} task(s) cannot support 'at most {at_most:.2%}'{sure}: {fewest} are needed"
        )
    candidates = np.unique(scores.astype(np.float64))
    low, high = 0, len(candidates)  # candidates[:low] pass, candidates[high:] fail
    while low < high:
        middle = (low + high) // 2
        if _limit(task_risks(task, scores, bad, float(candidates[middle])), confidence) <= at_most:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return Threshold(
            None, None, tasks, 0.0, f"even the lowest scores go wrong too often for 'at most {at_most:.2%}'"
        )
    value = float(candidates[low - 1])
    passed = task_risks(task, scores, np.ones(len(scores)), value)
    limit = _limit(task_risks(task, scores, bad, value), confidence)
    return Threshold(value, limit, tasks, float(passed.mean()))


def _limit(risks: Float64[np.ndarray, " tasks"], confidence: float | None) -> float:
    if confidence is None:
        return float((risks.sum() + 1) / (len(risks) + 1))
    return float(pair_mean_limits(risks, float(len(risks)), 2 * confidence - 1)[1])  # one side of the two


def conformal_margin(misses: Float[np.ndarray, " tasks"], confidence: float = 0.95) -> float | None:
    """What to add to a score so that no state of a new task lies above, with this confidence.

    Args:
        misses: Of each task, the most by which a state's measured value lay above its score.
        confidence: In (0, 1).

    Returns:
        The margin; None where the tasks are too few, fewer than confidence/(1-confidence).

    Raises:
        ValueError: A confidence outside (0, 1).
    """
    _check(0.5, confidence)
    rank = math.ceil((len(misses) + 1) * confidence - 1e-9)
    return None if rank > len(misses) else float(np.sort(misses)[rank - 1])


def _check(at_most: float, confidence: float) -> None:
    if not 0 < at_most < 1:
        raise ValueError(f"a risk lies in (0, 1), got {at_most}")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies in (0, 1), got {confidence}")
