"""Does a number of a task go with its failing? Rank correlation, AUROC, and what is left of both beside a rival.

Tasks are the independent units: intervals resample tasks, p-values reassign outcomes to tasks. A resample is a count
for each task (how often it was drawn), so that all statistics take a matrix of counts and resampling costs a sort.

Sources: Spearman 1904 (ties by mean ranks); Hanley and McNeil 1982 (AUROC as a probability); partial correlation,
Fisher 1924; permutation under a reduced model, Freedman and Lane 1983.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Float64, Int

from likewise.core.estimate import Estimate
from likewise.metrics.resampling import FEWEST_UNITS

__all__ = [
    "Counts",
    "auroc_p",
    "bootstrap_association",
    "correlation_p",
    "failure_auroc",
    "partial_correlation",
    "partial_p",
    "rank_correlation",
    "task_draws",
]

Values: TypeAlias = Float[np.ndarray, " tasks"]
Counts: TypeAlias = Int[np.ndarray, "draws tasks"]
Drawn: TypeAlias = Float64[np.ndarray, " draws"]

NO_SPREAD = 1e-12
MOST_LOST = 0.05
"""Share of resamples without a value (all tasks alike) beyond which there is no interval."""
_ROWS = 2_000_000
"""Cells of a block of resamples, so that memory does not grow with their number."""


def task_draws(n: int, resamples: int, seed: int) -> Counts:
    """How often each of n tasks is drawn in each bootstrap resample."""
    generator = np.random.default_rng(seed)
    return generator.multinomial(n, np.full(n, 1 / n), size=resamples)


def _once(n: int) -> Counts:
    return np.ones((1, n), dtype=np.int64)


def _ranks(values: Values, counts: Counts) -> Float64[np.ndarray, "draws tasks"]:
    """Mean ranks of the drawn tasks: those below, and half of those that tie."""
    _, group = np.unique(values, return_inverse=True)
    group = group.ravel()
    sizes = np.zeros((len(counts), int(group.max(initial=-1)) + 1))
    for task, where in enumerate(group):
        sizes[:, where] += counts[:, task]
    below = np.cumsum(sizes, axis=1) - sizes
    return np.asarray((below + (sizes + 1) / 2)[:, group], dtype=np.float64)


def _correlation(x: np.ndarray, y: np.ndarray, counts: Counts) -> Drawn:
    """Correlation of x and y with each task counted as often as it was drawn; NaN where one does not vary."""
    n = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    one = x - (counts * x).sum(axis=1, keepdims=True) / n
    other = y - (counts * y).sum(axis=1, keepdims=True) / n
    spread = np.sqrt((counts * one**2).sum(axis=1) * (counts * other**2).sum(axis=1))
    flat = spread <= NO_SPREAD * counts.shape[1]
    return np.where(flat, np.nan, (counts * one * other).sum(axis=1) / np.where(flat, 1.0, spread))


def rank_correlation(x: Values, y: Values, counts: Counts | None = None) -> Drawn:
    """Spearman's rank correlation of two numbers of tasks.

    Args:
        x: One finite number per task.
        y: Another.
        counts: How often each task is drawn, a row a resample; each once where None.

    Returns:
        Correlation in [-1, 1], one a row; NaN where one of the numbers does not vary.
    """
    drawn = _once(len(x)) if counts is None else counts
    return _correlation(_ranks(x, drawn), _ranks(y, drawn), drawn)


def partial_correlation(x: Values, y: Values, z: Values, counts: Counts | None = None) -> Drawn:
    """Rank correlation of x and y where z is held: (r_xy - r_xz r_yz) / sqrt((1 - r_xz^2)(1 - r_yz^2)).

    Args:
        x: One finite number per task.
        y: Another.
        z: The one that is held.
        counts: How often each task is drawn, a row a resample; each once where None.

    Returns:
        Correlation in [-1, 1], one a row; NaN where a number does not vary, or z says all of another.
    """
    drawn = _once(len(x)) if counts is None else counts
    xy, xz, yz = (rank_correlation(a, b, drawn) for a, b in ((x, y), (x, z), (y, z)))
    left = (1 - xz**2) * (1 - yz**2)
    known = left > NO_SPREAD  # false for NaN
    return np.where(known, (xy - xz * yz) / np.sqrt(np.where(known, left, 1.0)), np.nan)


def failure_auroc(
    x: Values,
    failures: Int[np.ndarray, " tasks"],
    successes: Int[np.ndarray, " tasks"],
    counts: Counts | None = None,
) -> Drawn:
    """Probability that of a failed and a successful run of two tasks the failed one's task has the larger x.

    Ties count half. Pairs of runs of one task, which x cannot tell apart, are left out.

    Source: the AUROC as a probability, Hanley and McNeil 1982; with one run a task it is the usual one.

    Args:
        x: One finite number per task.
        failures: Failed runs of each task.
        successes: Successful runs of each task.
        counts: How often each task is drawn, a row a resample; each once where None.

    Returns:
        Probability in [0, 1], one a row; 0.5 tells nothing; NaN where no two tasks have a failed and a successful run.
    """
    drawn = _once(len(x)) if counts is None else counts
    return _auroc(x, drawn * failures, drawn * successes)


def _auroc(x: Values, failed: np.ndarray, solved: np.ndarray) -> Drawn:
    """The AUROC for failed and successful runs of each task, a row a resample."""
    values, group = np.unique(x, return_inverse=True)
    by_value = np.zeros((2, len(failed), len(values)))
    for task, where in enumerate(group.ravel()):
        by_value[0, :, where] += failed[:, task]
        by_value[1, :, where] += solved[:, task]
    below = np.cumsum(by_value[1], axis=1) - by_value[1]
    own = (failed * solved).sum(axis=1)
    larger = (by_value[0] * (below + by_value[1] / 2)).sum(axis=1) - own / 2
    pairs = failed.sum(axis=1) * solved.sum(axis=1) - own
    return np.where(pairs > 0, larger / np.where(pairs > 0, pairs, 1), np.nan)


def bootstrap_association(
    statistic: Callable[[Counts], Drawn],
    n: int,
    limits: tuple[float, float],
    undefined: str,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """A statistic of tasks with its percentile bootstrap interval over tasks, widened by sqrt(n/(n-1)).

    Args:
        statistic: Its value for each row of counts, NaN where it has none.
        n: Tasks.
        limits: The range it can have.
        undefined: Why it has no value where it has none.
        confidence: Share of intervals that should hold the true value, in (0, 1).
        resamples: Bootstrap samples; equal seeds draw the same tasks, whatever the statistic.
        seed: Seed of the draws.

    Returns:
        The estimate; a value with a reason where tasks are too few or too many resamples have no value.
    """
    value = float(statistic(_once(n))[0]) if n else math.nan
    if math.isnan(value):
        return Estimate.undefined(undefined, n=n)
    if n < FEWEST_UNITS:
        return Estimate(value, n=n, reason=f"{n} tasks: resampling needs at least {FEWEST_UNITS}")
    draws = task_draws(n, resamples, seed)
    rows = max(1, _ROWS // n)
    found = np.concatenate([statistic(draws[start : start + rows]) for start in range(0, resamples, rows)])
    usable = found[~np.isnan(found)]
    if len(usable) < (1 - MOST_LOST) * resamples:
        return Estimate(value, n=n, reason="too many resamples leave nothing to compare")
    if np.ptp(usable) <= NO_SPREAD:
        return Estimate(value, n=n, reason="all resamples have one value: no spread to make an interval of")
    normal = NormalDist()
    level = normal.cdf(normal.inv_cdf(0.5 + confidence / 2) * math.sqrt(n / (n - 1)))
    low, high = (float(end) for end in np.quantile(usable, (1 - level, level)))
    low, high = max(limits[0], min(low, value)), min(limits[1], max(high, value))
    return Estimate(value, low, high, float(usable.std(ddof=1)), n)


def correlation_p(x: Values, y: Values, resamples: int = 10_000, seed: int = 0) -> float | None:
    """Two-sided permutation p-value of the rank correlation: is x of another task as good?

    Args:
        x: One finite number per task.
        y: Another.
        resamples: Reassignments of y to tasks.
        seed: Seed of the draws.

    Returns:
        p in (0, 1]; None where one of the numbers does not vary.
    """
    once = _once(len(x))
    return _permuted_p(_ranks(x, once)[0], _ranks(y, once)[0], lambda drawn: drawn, resamples, seed)


def partial_p(x: Values, y: Values, z: Values, resamples: int = 10_000, seed: int = 0) -> float | None:
    """Two-sided permutation p-value of the partial rank correlation given z.

    What z leaves of y's ranks is reassigned to tasks, then stripped of z again.

    Source: Freedman and Lane 1983.

    Args:
        x: One finite number per task.
        y: Another.
        z: The one that is held.
        resamples: Reassignments.
        seed: Seed of the draws.

    Returns:
        p in (0, 1]; None where the partial correlation is undefined.
    """
    once = _once(len(x))
    ranks = [_ranks(values, once)[0] for values in (x, y, z)]
    centred = [values - values.mean() for values in ranks]
    held = float(centred[2] @ centred[2])
    if held <= NO_SPREAD:
        return None

    def left(values: np.ndarray) -> np.ndarray:
        return np.asarray(values - np.outer(values @ centred[2], centred[2]).reshape(values.shape) / held)

    return _permuted_p(left(centred[0]), left(centred[1]), left, resamples, seed)


def _permuted_p(
    x: np.ndarray, y: np.ndarray, strip: Callable[[np.ndarray], np.ndarray], resamples: int, seed: int
) -> float | None:
    n = len(x)
    scale = max(1.0, float(n) ** 2)
    if n < 2 or x.std() <= NO_SPREAD * scale or y.std() <= NO_SPREAD * scale:
        return None
    one = (x - x.mean()) / np.linalg.norm(x - x.mean())
    observed = abs(float(one @ (y - y.mean())) / float(np.linalg.norm(y - y.mean())))
    generator = np.random.default_rng(seed)
    extreme, rows = 0, max(1, _ROWS // n)
    for start in range(0, resamples, rows):
        drawn = np.broadcast_to(y, (min(rows, resamples - start), n))
        other = strip(generator.permuted(drawn, axis=1))
        other = other - other.mean(axis=1, keepdims=True)
        size = np.linalg.norm(other, axis=1)
        found = np.abs(other @ one) / np.where(size > 0, size, 1.0)
        extreme += int(np.count_nonzero(found >= observed - NO_SPREAD))
    return (1 + extreme) / (1 + resamples)


def auroc_p(
    x: Values,
    failures: Int[np.ndarray, " tasks"],
    successes: Int[np.ndarray, " tasks"],
    resamples: int = 10_000,
    seed: int = 0,
) -> float | None:
    """Two-sided permutation p-value of the AUROC: are the outcomes of another task as good?

    Args:
        x: One finite number per task.
        failures: Failed runs of each task.
        successes: Successful runs of each task.
        resamples: Reassignments of outcomes to tasks.
        seed: Seed of the draws.

    Returns:
        p in (0, 1]; None where the AUROC is undefined or x does not vary.
    """
    n = len(x)
    value = float(failure_auroc(x, failures, successes)[0]) if n else math.nan
    if math.isnan(value) or np.ptp(x) == 0:
        return None
    generator = np.random.default_rng(seed)
    extreme, rows = 0, max(1, _ROWS // n)
    for start in range(0, resamples, rows):
        order = generator.permuted(np.broadcast_to(np.arange(n), (min(rows, resamples - start), n)), axis=1)
        found = _auroc(x, failures[order], successes[order])
        extreme += int(np.count_nonzero(np.abs(found - 0.5) >= abs(value - 0.5) - NO_SPREAD))
    return (1 + extreme) / (1 + resamples)
