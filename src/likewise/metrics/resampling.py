"""How sure a number is: jackknife, Student-t, Wilson, bootstrap and permutation.

Pairs of runs share runs, so their spread over the root of their number is too small; everything that is a mean
over pairs takes its error from leaving out one run at a time.

Sources: jackknife of a U-statistic, Arvesen 1969; Student-t for integer degrees of freedom, Abramowitz and Stegun
26.7.3 and 26.7.4; Wilson 1927; Hoeffding 1963, section 5.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product
from statistics import NormalDist

import numpy as np
from jaxtyping import Float, Int

from likewise.core.estimate import Estimate

__all__ = [
    "bootstrap_mean",
    "jackknife",
    "jackknife_estimate",
    "pair_mean",
    "paired_permutation_p",
    "student_t_quantile",
    "wilson_interval",
    "wilson_share",
]

NO_SPREAD = 1e-12
"""A standard error below this, relative to the range of the number, is rounding."""
ENUMERATE_UP_TO = 12
"""Sign flips of so many differences are enumerated (4096 of them); above, they are drawn."""

FEWEST_UNITS = 5
"""Tasks that a bootstrap over tasks needs: two tasks would give an interval that is just their two values."""


def jackknife(values_without_each: Float[np.ndarray, " n"], value: float) -> float:
    """Standard error of a statistic from its values without each unit.

    Centred on the statistic of all units (for a U-statistic that is the mean of the others, Arvesen 1969).

    Args:
        values_without_each: The statistic recomputed without unit 0, 1, ...
        value: The statistic of all units.

    Returns:
        The standard error, at least 0, in the statistic's unit.

    Raises:
        ValueError: Fewer than two units.
    """
    n = len(values_without_each)
    if n < 2:
        raise ValueError(f"a jackknife needs at least two units, got {n}")
    return math.sqrt((n - 1) / n * float(np.square(values_without_each - value).sum()))


def jackknife_estimate(
    value: float, without_each: Float[np.ndarray, " n"], limits: tuple[float, float], confidence: float = 0.95
) -> Estimate:
    """A statistic with its jackknife Student-t interval (n - 1 degrees of freedom), clipped to its range.

    Args:
        value: The statistic of all units.
        without_each: The statistic recomputed without unit 0, 1, ...
        limits: The range the statistic can have.
        confidence: Share of intervals that should hold the true value, in (0, 1).

    Returns:
        The estimate; without an interval, and with the reason, where leaving out a unit never changes the value.

    Raises:
        ValueError: Fewer than two units, or a confidence outside (0, 1).
    """
    _check_confidence(confidence)
    n, stderr = len(without_each), jackknife(without_each, value)
    if stderr <= NO_SPREAD * max(1.0, abs(value)):
        reason = f"leaving out any one of the {n} changes nothing: no spread to make an interval from"
        return Estimate(value, n=n, reason=reason)
    reach = student_t_quantile(0.5 + confidence / 2, n - 1) * stderr
    low, high = max(limits[0], value - reach), min(limits[1], value + reach)
    return Estimate(value, min(low, value), max(high, value), stderr, n)


def pair_mean(
    values: Float[np.ndarray, " pairs"],
    pairs: Int[np.ndarray, "pairs 2"],
    largest: float,
    confidence: float = 0.95,
) -> Estimate:
    """The mean of a symmetric function over pairs of runs (a U-statistic), with an interval over runs.

    The interval is the jackknife's over runs. Where leaving out a run never changes the mean (all runs alike, or a
    balanced split) the jackknife would claim certainty; a distribution-free interval takes its place. If all pairs
    have one value v, the chance that K runs do so is at most Pr(a pair does)^(K/2) (Kruskal-Katona), which leaves
    Pr(a pair differs) <= 1 - alpha^(2/K); else Hoeffding's bound for U-statistics over floor(K/2) separate pairs.

    Args:
        values: The function of each pair, in [0, largest]; NaN pairs are left out.
        pairs: The two runs of each pair.
        largest: The largest value the function can have.
        confidence: Share of intervals that should hold the true mean, in (0, 1).

    Returns:
        The mean in [0, largest] with n = number of runs in measured pairs; one pair gives a value with a reason, no
        pair is undefined.

    Raises:
        ValueError: A value outside [0, largest], or a confidence outside (0, 1).
    """
    _check_confidence(confidence)
    measured = ~np.isnan(values)
    values, pairs = values[measured].astype(np.float64), pairs[measured]
    if len(values) == 0:
        return Estimate.undefined("no pair of runs was measured: at least two runs are needed", n=0)
    if values.min() < -NO_SPREAD or values.max() > largest * (1 + NO_SPREAD):
        raise ValueError(f"pair values lie in [0, {largest:g}], got [{values.min():g}, {values.max():g}]")
    runs, position = np.unique(pairs, return_inverse=True)
    value, n = float(values.mean()), len(runs)
    if len(values) == 1:
        return Estimate(value, n=n, reason="one pair of runs: an interval needs at least three runs")
    sums = np.bincount(position.ravel(), weights=np.repeat(values, 2))
    left = len(values) - np.bincount(position.ravel())
    if (left == 0).any():
        reason = f"every measured pair holds run {int(runs[np.argmin(left)])}: no interval over runs"
        return Estimate(value, n=n, reason=reason)
    without_each = (values.sum() - sums) / left
    if jackknife(without_each, value) > NO_SPREAD * max(1.0, largest):
        return jackknife_estimate(value, without_each, (0.0, largest), confidence)
    low, high = _without_spread(values, n, largest, confidence)
    return Estimate(value, min(low, value), max(high, value), n=n)


def _without_spread(
    values: Float[np.ndarray, " pairs"], n: int, largest: float, confidence: float
) -> tuple[float, float]:
    """A distribution-free interval for a pair mean whose jackknife error is zero; see `pair_mean`."""
    value, alpha = float(values.mean()), 1.0 - confidence
    if np.ptp(values) <= NO_SPREAD * largest:
        at_edge = min(value, largest - value) <= NO_SPREAD * largest
        alike = (alpha if at_edge else alpha / 2) ** (2 / n)
        return value * alike, value * alike + largest * (1 - alike)
    reach = largest * math.sqrt(math.log(2 / alpha) / (2 * (n // 2)))
    return max(0.0, value - reach), min(largest, value + reach)


@lru_cache(maxsize=256)
def student_t_quantile(probability: float, df: int) -> float:
    """Quantile of Student's t distribution, by bisection of its closed form for integer degrees of freedom.

    Source: Abramowitz and Stegun 26.7.3 and 26.7.4.

    Args:
        probability: Probability below the quantile, in (0, 1).
        df: Degrees of freedom, at least 1.

    Returns:
        The quantile, exact to about 1e-9 of itself.

    Raises:
        ValueError: A probability outside (0, 1), or fewer than one degree of freedom.
    """
    if not 0 < probability < 1:
        raise ValueError(f"a probability lies in (0, 1), got {probability}")
    if df < 1:
        raise ValueError(f"degrees of freedom are at least 1, got {df}")
    if probability == 0.5:
        return 0.0
    if probability < 0.5:
        return -student_t_quantile(1 - probability, df)
    central = 2 * probability - 1
    low, high = 0.0, math.pi / 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _central_probability(middle, df) < central else (low, middle)
    return math.sqrt(df) * math.tan(low)


def _central_probability(angle: float, df: int) -> float:
    """Pr(|t| < sqrt(df) tan(angle)), a finite series in the angle's cosine."""
    sine, cosine, odd = math.sin(angle), math.cos(angle), df % 2
    total, term = 0.0, cosine if odd else 1.0
    for power in range(odd, df - 1, 2):
        total += term
        term *= cosine * cosine * (power + 1) / (power + 2)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def wilson_interval(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Interval of a share, never of zero width: 10 of 10 gives [0.72, 1].

    Source: Wilson 1927, the score interval.

    Args:
        successes: Counted successes, 0 to n.
        n: Independent trials, at least 1.
        confidence: Share of intervals that should hold the true share, in (0, 1).

    Returns:
        Lower and upper limit in [0, 1].

    Raises:
        ValueError: No trial, successes outside [0, n], or a confidence outside (0, 1).
    """
    _check_confidence(confidence)
    if n < 1:
        raise ValueError(f"a share needs at least one trial, got {n}")
    if not 0 <= successes <= n:
        raise ValueError(f"successes lie in [0, {n}], got {successes}")
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share, z2 = successes / n, z * z
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return (0.0 if successes == 0 else centre - reach, 1.0 if successes == n else centre + reach)


def wilson_share(successes: int, n: int, what: str, confidence: float = 0.95) -> Estimate:
    """A share with its Wilson interval; undefined, with `what` named as missing, where n is 0."""
    if n == 0:
        return Estimate.undefined(f"no {what} was measured", n=0)
    low, high = wilson_interval(successes, n, confidence)
    share = successes / n
    return Estimate(share, low, high, math.sqrt(share * (1 - share) / n), n)


def bootstrap_mean(
    values: Float[np.ndarray, " tasks"], confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> Estimate:
    """Mean over tasks with a percentile bootstrap interval; tasks are the independent units.

    Args:
        values: One number per task.
        confidence: Share of intervals that should hold the true mean, in (0, 1).
        resamples: Bootstrap samples.
        seed: Seed of the draws; equal seeds give equal intervals.

    Returns:
        The mean in the values' unit. Fewer than FEWEST_UNITS tasks, or tasks that all have one value, give a value
        with a reason in place of an interval that would claim too much; no task is undefined.

    Raises:
        ValueError: A value that is not finite, a confidence outside (0, 1), or fewer than one resample.
    """
    _check_confidence(confidence)
    if resamples < 1:
        raise ValueError(f"a bootstrap needs at least one resample, got {resamples}")
    if not np.isfinite(values).all():
        raise ValueError("a mean over tasks takes finite values; leave out tasks that were not measured and name them")
    n = len(values)
    if n == 0:
        return Estimate.undefined("no task was measured", n=0)
    value = float(values.mean())
    if n < FEWEST_UNITS:
        few = "one task" if n == 1 else f"{n} tasks"
        reason = f"{few}: resampling fewer than {FEWEST_UNITS} gives intervals that are far too narrow"
        return Estimate(value, n=n, reason=reason)
    if np.ptp(values) == 0:
        return Estimate(float(values[0]), n=n, reason=f"all {n} tasks have one value: resampling shows no spread")
    generator = np.random.default_rng(seed)
    rows = max(1, 1_000_000 // n)  # draws held at once, so that memory does not grow with the number of resamples
    drawn = (min(rows, resamples - start) for start in range(0, resamples, rows))
    means = np.concatenate([values[generator.integers(0, n, (k, n))].mean(axis=1) for k in drawn])
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    stderr = float(values.std(ddof=1)) / math.sqrt(n)
    return Estimate(value, min(float(low), value), max(float(high), value), stderr, n)


def paired_permutation_p(differences: Float[np.ndarray, " tasks"], resamples: int = 10_000, seed: int = 0) -> float:
    """Two-sided p-value of a mean difference between two agents on the same tasks, by flipping signs.

    Up to 12 tasks all sign patterns are enumerated and the value is exact; above, patterns are drawn and the observed
    one counts as drawn too, so the value is never 0.

    Args:
        differences: Second agent minus first, one per task.
        resamples: Drawn sign patterns above 12 tasks.
        seed: Seed of the draws.

    Returns:
        The p-value in (0, 1].

    Raises:
        ValueError: No task, a difference that is not finite, or fewer than one resample.
    """
    n = len(differences)
    if n == 0:
        raise ValueError("a paired test needs at least one task that both agents ran")
    if not np.isfinite(differences).all():
        raise ValueError("a paired test takes finite differences; leave out tasks that one agent lacks and name them")
    if resamples < 1:
        raise ValueError(f"a permutation test needs at least one resample, got {resamples}")
    # Ties with the observed sum must count whatever the order of summation rounds to.
    observed = abs(float(differences.sum())) - 1e-9 * float(np.abs(differences).sum())
    if n <= ENUMERATE_UP_TO:
        signs = np.array(list(product((1.0, -1.0), repeat=n)))
        return float(np.mean(np.abs(signs @ differences) >= observed))
    generator = np.random.default_rng(seed)
    hits = sum(abs(float(generator.choice((-1.0, 1.0), n) @ differences)) >= observed for _ in range(resamples))
    return (1 + hits) / (1 + resamples)


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies in (0, 1), got {confidence}")
