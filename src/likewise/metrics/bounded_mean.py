"""The mean of numbers that lie in [0, 1], from their count, sum and sum of squares alone."""

from __future__ import annotations

import math
from statistics import NormalDist

from likewise.core.estimate import Estimate
from likewise.metrics.resampling import student_t_quantile

__all__ = ["bounded_mean"]

FEWEST_FOR_SPREAD = 10
"""Numbers from which on their own spread makes the interval."""


def bounded_mean(total: float, squares: float, n: int, what: str, confidence: float = 0.95) -> Estimate:
    """Mean of n numbers in [0, 1], with an interval that is never of zero width.

    Few numbers, or numbers that are all alike, tell nothing of the spread. The interval is then the score interval of
    a share: no numbers in [0, 1] with the same mean spread more than those that are 0 or 1, so it is at least as wide
    as it must be. Else it is Student's.

    Source: Wilson 1927 for the score interval; variance of X in [0, 1] is at most m (1 - m) (Bhatia and Davis 2000).

    Args:
        total: Their sum.
        squares: The sum of their squares.
        n: How many there are.
        what: Name of one of them, for the reason where there is none.
        confidence: Share of intervals that should hold the true mean, in (0, 1).

    Returns:
        The mean in [0, 1] with limits and standard error (None below two numbers); undefined where n is 0.

    Raises:
        ValueError: A count below 0, sums that no numbers in [0, 1] have, or a confidence outside (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies in (0, 1), got {confidence}")
    slack = 1e-9 * max(n, 1)
    if n < 0 or not (-slack <= squares <= total + slack and total <= n + slack):
        raise ValueError(f"no {n} numbers in [0, 1] have the sum {total} and the sum of squares {squares}")
    if n == 0:
        return Estimate.undefined(f"no {what} was measured", n=0)
    mean = min(max(total / n, 0.0), 1.0)
    stderr = math.sqrt(max(squares - n * mean * mean, 0.0) / (n - 1) / n) if n > 1 else None
    if stderr is not None and n >= FEWEST_FOR_SPREAD and stderr > 1e-9:
        reach = student_t_quantile(0.5 + confidence / 2, n - 1) * stderr
        return Estimate(mean, max(mean - reach, 0.0), min(mean + reach, 1.0), stderr, n)
    low, high = _score_interval(mean, n, confidence)
    return Estimate(mean, min(low, mean), max(high, mean), stderr, n)


def _score_interval(mean: float, n: int, confidence: float) -> tuple[float, float]:
    z2 = NormalDist().inv_cdf(0.5 + confidence / 2) ** 2
    centre = (mean + z2 / (2 * n)) / (1 + z2 / n)
    reach = math.sqrt(z2) / (1 + z2 / n) * math.sqrt(mean * (1 - mean) / n + z2 / (4 * n * n))
    return max(centre - reach, 0.0), min(centre + reach, 1.0)
