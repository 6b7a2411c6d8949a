"""How much a method changes a mean over tasks, relative to a base that ran the same tasks."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from jaxtyping import Float

from likewise.core.estimate import Estimate
from likewise.metrics.resampling import FEWEST_UNITS, NO_SPREAD

__all__ = ["relative_change"]

MOST_LOST = 0.01
"""Share of resamples with a base of 0 beyond which there is no interval."""


def relative_change(
    values: Float[np.ndarray, " tasks"],
    base: Float[np.ndarray, " base_tasks"],
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """(mean - base mean) / base mean, with a bootstrap interval over tasks, both sides drawn together.

    Percentile interval, its normal quantile widened by sqrt(n/(n-1)) as in `bootstrap_mean`.

    Source: the form of Tables 1 and 3 of arXiv:2610.33012; the interval is ours.

    Args:
        values: One finite number per task.
        base: The base's, of the same tasks in the same order, at least 0.
        confidence: Share of intervals that should hold the true change, in (0, 1).
        resamples: Bootstrap samples.
        seed: Seed of the draws.

    Returns:
        The change, -0.5 for half as much; undefined without tasks or where the base's mean is 0. A value with a reason
        where there are fewer than FEWEST_UNITS tasks, no spread, or the base is 0 in too many resamples.

    Raises:
        ValueError: Other tasks on both sides, a value that is not finite, or a negative base.
    """
    if values.shape != base.shape:
        raise ValueError(f"both sides need the same tasks, got {len(values)} and {len(base)}")
    if not (np.isfinite(values).all() and np.isfinite(base).all()) or (base < 0).any():
        raise ValueError("a relative change takes finite values, and a base of at least 0")
    n = len(values)
    if n == 0:
        return Estimate.undefined("no task was measured on both sides", n=0)
    if base.mean() == 0:
        return Estimate.undefined("the base is 0: a change relative to it is undefined", n=n)
    value = float(values.mean() / base.mean() - 1)
    if n < FEWEST_UNITS:
        few = "one task" if n == 1 else f"{n} tasks"
        reason = f"{few}: resampling fewer than {FEWEST_UNITS} gives intervals that are far too narrow"
        return Estimate(value, n=n, reason=reason)
    drawn = np.random.default_rng(seed).integers(0, n, (resamples, n))
    below = base[drawn].mean(axis=1)
    usable = below > 0
    if usable.mean() < 1 - MOST_LOST:
        return Estimate(value, n=n, reason="the base is 0 in so many tasks that some resamples have nothing else")
    changes = values[drawn][usable].mean(axis=1) / below[usable] - 1
    if np.ptp(changes) <= NO_SPREAD * max(1.0, abs(value)):
        return Estimate(value, n=n, reason="the change is the same in all resamples: no spread to make an interval of")
    normal = NormalDist()
    level = normal.cdf(normal.inv_cdf(0.5 + confidence / 2) * math.sqrt(n / (n - 1)))
    low, high = np.quantile(changes, (1 - level, level))
    return Estimate(value, min(float(low), value), max(float(high), value), float(changes.std(ddof=1)), n)
