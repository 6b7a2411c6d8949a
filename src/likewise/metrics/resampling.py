"""How sure a number is: jackknife, Student-t, Wilson and bootstrap.

Pairs of runs share runs, so their spread over the root of their number is too small; everything that is a mean
over pairs takes its error from leaving out one run at a time, and its interval from `metrics.intervals`.

Sources: jackknife of a U-statistic, Arvesen 1969; Student-t for integer degrees of freedom, Abramowitz and Stegun
26.7.3 and 26.7.4; Wilson 1927; bootstrap, Efron 1987 (BCa) and Hesterberg 2015.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from jaxtyping import Float, Int

from likewise.core.estimate import Estimate
from likewise.metrics.intervals import pair_evidence, pair_mean_limits

__all__ = [
    "bca_levels",
    "bootstrap_mean",
    "jackknife",
    "jackknife_estimate",
    "pair_mean",
    "student_t_quantile",
    "wilson_interval",
    "wilson_share",
]

NO_SPREAD = 1e-12
"""A standard error below this, relative to the range of the number, is rounding."""
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

    The interval holds whatever the distribution (see `metrics.intervals`): for few runs it is wide, because a run that
    does otherwise may just not have come yet. The standard error is the jackknife's over runs, where there are three
    runs or more and leaving one out changes something; it is no part of the interval.

    Args:
        values: The function of each pair, in [0, largest]; NaN pairs are left out.
        pairs: The two runs of each pair.
        largest: The largest value the function can have.
        confidence: Least share of intervals that hold the true mean, in (0, 1).

    Returns:
        The mean in [0, largest] with n = number of runs in measured pairs; no pair is undefined.

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
    shares = np.clip(values / largest, 0.0, 1.0)
    low, high = (largest * end for end in pair_mean_limits(shares, pair_evidence(pairs), confidence))
    sums = np.bincount(position.ravel(), weights=np.repeat(values, 2))
    left = len(values) - np.bincount(position.ravel())
    stderr = jackknife((values.sum() - sums) / left, value) if (left > 0).all() else 0.0
    known = stderr if stderr > NO_SPREAD * max(1.0, largest) else None
    return Estimate(value, min(low, value), max(high, value), known, n)


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
    """Mean over tasks with a BCa bootstrap interval; tasks are the independent units.

    Bias-corrected and accelerated, because numbers of tasks are skewed (many alike, few far apart); the normal
    quantile is widened by sqrt(n/(n-1)), because resampling n tasks shows a variance too small by (n-1)/n.

    Source: Efron 1987; Hesterberg 2015 (narrowness bias).

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
    if np.ptp(values) <= NO_SPREAD * float(np.abs(values).max()):
        return Estimate(float(values[0]), n=n, reason=f"all {n} tasks have one value: resampling shows no spread")
    generator = np.random.default_rng(seed)
    rows = max(1, 1_000_000 // n)  # draws held at once, so that memory does not grow with the number of resamples
    drawn = (min(rows, resamples - start) for start in range(0, resamples, rows))
    means = np.concatenate([values[generator.integers(0, n, (k, n))].mean(axis=1) for k in drawn])
    low, high = np.quantile(means, bca_levels(values, means, confidence))
    stderr = float(values.std(ddof=1)) / math.sqrt(n)
    return Estimate(value, min(float(low), value), max(float(high), value), stderr, n)


def bca_levels(
    values: Float[np.ndarray, " tasks"], means: Float[np.ndarray, " resamples"], confidence: float
) -> tuple[float, float]:
    """The levels of the bootstrap distribution of a mean at which its BCa interval ends; see `bootstrap_mean`.

    Args:
        values: One finite number per task, not all equal.
        means: Means of the resamples.
        confidence: Share of intervals that should hold the true mean, in (0, 1).

    Returns:
        Two levels in (0, 1), the lower first.
    """
    normal, n = NormalDist(), len(values)
    centred = values.astype(np.float64) - values.mean()
    tolerance = 1e-12 * float(np.abs(centred).max())  # a resample of the same sum counts as half below
    below = np.mean(means < values.mean() - tolerance) + np.mean(np.abs(means - values.mean()) <= tolerance) / 2
    most = 1 - 0.5 / len(means)
    bias = normal.inv_cdf(min(max(float(below), 1 - most), most))
    acceleration = float((centred**3).sum()) / (6 * float(np.square(centred).sum()) ** 1.5)
    reach = normal.inv_cdf(0.5 + confidence / 2) * math.sqrt(n / (n - 1))
    ends = []
    for z in (bias - reach, bias + reach):
        # The curve turns back where acceleration * z reaches 1, which only a few very skewed values bring about.
        ends.append(normal.cdf(bias + z / max(1 - acceleration * z, 1e-3)))
    return ends[0], ends[1]


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies in (0, 1), got {confidence}")
